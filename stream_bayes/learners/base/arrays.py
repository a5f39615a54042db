"""Arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST_ROOM = 64


def padded(array: NDArray[Any], shape: tuple[int, ...], fill: int = 0) -> NDArray[Any]:
    """The array itself if it has the shape, else a copy with the new places filled."""
    if array.shape == shape:
        return array
    larger = np.full(shape, fill, dtype=array.dtype)
    larger[tuple(slice(length) for length in array.shape)] = array
    return larger


def with_room(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """At least the shape; when rows run out their number doubles, so that growth costs little an event."""
    rows = shape[0]
    if len(shape) == 1 or rows == array.shape[0]:
        return padded(array, shape)
    return padded(
        array,
        (array.shape[0] if rows < array.shape[0] else max(rows, 2 * array.shape[0], SMALLEST_ROOM), shape[1]),
    )
