"""Arrays that grow, and the index of a row."""

from __future__ import annotations

from dataclasses import fields, replace
from operator import index
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

SMALLEST_ROOM = 64

Predictions = TypeVar("Predictions")


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


def row_at(row: int, count: int) -> int:
    """The index of a row from 0 on, where negative ones count from the end; raises `IndexError` if there is none."""
    place = index(row)
    if not -count <= place < count:
        message = f"there are {count} rows, and none has the index {place}"
        raise IndexError(message)
    return place % count


def is_selection(rows: Any) -> TypeGuard[slice | list[int] | NDArray[Any]]:
    """Whether an index stands for several rows: a slice, or a list or an array of indices or of booleans."""
    return isinstance(rows, slice) or np.ndim(rows) == 1


def select_rows(predictions: Predictions, count: int, rows: slice | list[int] | NDArray[Any]) -> Predictions:
    """A dataclass whose arrays have `count` rows each, with some of them."""
    places = np.arange(count)[rows]
    values = {entry.name: getattr(predictions, entry.name) for entry in fields(predictions)}  # type: ignore[arg-type]
    kept = {name: array[places] for name, array in values.items() if isinstance(array, np.ndarray) and len(array)}
    return replace(predictions, **kept)  # type: ignore[type-var]
