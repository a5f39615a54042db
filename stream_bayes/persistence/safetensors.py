"""The safetensors layout: a table as JSON, padded to eight bytes, then one array after the other."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import SnapshotError

Arrays = dict[str, NDArray[Any]]

METADATA = "__metadata__"
# What other readers of the format take.
MAX_BYTES = 100_000_000
_ALIGNMENT = 8
_CODES = {
    np.dtype(name): f"{letter}{8 * np.dtype(name).itemsize}"
    for letter, names in (
        ("F", ("float64", "float32", "float16")),
        ("I", ("int64", "int32", "int16", "int8")),
        ("U", ("uint64", "uint32", "uint16", "uint8")),
    )
    for name in names
} | {np.dtype(np.bool_): "BOOL"}
_TYPES = {code: dtype for dtype, code in _CODES.items()}


class ArrayPlace(NamedTuple):
    """The place of an array, counted from the end of the table."""

    begin: int
    end: int
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def plain_arrays(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays as they are written: in row order, little-endian; copied only where they are not so already."""
    plain = {name: np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C") for name, array in arrays.items()}
    for name, array in plain.items():
        if array.dtype not in _CODES or name == METADATA:
            message = f"an array {name!r} of {array.dtype} cannot be kept in a file: use numbers of 8 to 64 bits"
            raise SnapshotError(message)
    return plain


def bytes_of(array: NDArray[Any]) -> memoryview:
    """The bytes of an array in row order; not a copy."""
    return array.reshape(-1).view(np.uint8).data


def lay_out(metadata: Mapping[str, str], arrays: Arrays) -> tuple[bytes, list[str]]:
    """The head of the file, and the order of the arrays after it: the widest first, so that each is aligned."""
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    table: dict[str, Any] = {METADATA: dict(metadata)}
    place = 0
    for name in order:
        array = arrays[name]
        offsets = [place, place + array.nbytes]
        table[name] = {"dtype": _CODES[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        place += array.nbytes
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    if len(text) > MAX_BYTES:
        message = f"a header of {len(text):,} bytes cannot be read back (at most {MAX_BYTES:,}): keep less in it"
        raise SnapshotError(message)
    return len(text).to_bytes(8, "little") + text, order


def split(content: bytes) -> tuple[dict[str, str], dict[str, Any]]:
    """The metadata and the table of arrays; both empty if this is not the head of such a file."""
    try:
        table = json.loads(content)
        metadata = table.pop(METADATA)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return {}, {}
    texts = isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    return (metadata, table) if texts else ({}, {})


def places_of(table: Mapping[str, Any], room: int) -> list[ArrayPlace]:
    """The places of the arrays, in order; raises `ValueError` unless they fill the room without holes."""
    places = sorted(_place_of(name, entry) for name, entry in table.items())
    end = 0
    for place in places:
        if place.begin != end:
            message = f"the array {place.name!r} begins at {place.begin} instead of {end}"
            raise ValueError(message)
        end = place.end
    if end != room:
        message = f"its arrays take {end} bytes and it has {room}"
        raise ValueError(message)
    return places


def _place_of(name: str, entry: Any) -> ArrayPlace:
    code = entry["dtype"]
    shape = entry["shape"]
    (begin, end) = entry["data_offsets"]
    dtype = _TYPES[code]
    if len(entry) != 3 or not all(type(number) is int and number >= 0 for number in (*shape, begin, end)):
        message = f"the array {name!r} is not described by a type, a shape and a place"
        raise ValueError(message)
    if math.prod(shape) * dtype.itemsize != end - begin:
        message = f"the array {name!r} of shape {shape} does not take {end - begin} bytes"
        raise ValueError(message)
    return ArrayPlace(begin, end, name, dtype, tuple(shape))


def read_arrays(file: BinaryIO, places: list[ArrayPlace]) -> Arrays:
    """The arrays, each read into its own memory; the file must be at the first of them."""
    arrays: Arrays = {}
    for place in places:
        array = np.empty(place.shape, dtype=place.dtype)
        if file.readinto(bytes_of(array)) != array.nbytes:  # type: ignore[attr-defined]
            message = f"it ends within the array {place.name!r}"
            raise ValueError(message)
        arrays[place.name] = array
    return arrays
