"""Array types that signatures in all layers use."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class SupportsArray(Protocol):
    """A data frame, a series or an array."""

    def __array__(self) -> Any:
        """Return its values."""
