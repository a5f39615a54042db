"""What kafka-python leaves behind when it is not let in, or when the broker is gone."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def leaked_sockets_allowed() -> Iterator[None]:
    """Within, sockets may be left to the garbage collector: kafka-python does not close one that could not connect.

    Clients must be gone, not only closed, when it ends.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()
