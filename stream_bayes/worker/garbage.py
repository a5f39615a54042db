"""How often Python looks for garbage while a worker runs."""

from __future__ import annotations

import gc

_OBJECTS = 100_000


def look_rarely() -> None:
    """Let Python look for garbage more rarely, in a process that does nothing but a worker's work.

    An event makes about ten objects, which live until its batch is committed and are in no cycles. Python would look
    through all there are every few thousand events: measured, 70 ms each time, and 7 to 12 µs a mail.
    """
    gc.set_threshold(_OBJECTS, 10, 10)
