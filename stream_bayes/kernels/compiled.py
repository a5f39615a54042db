"""The one decorator that compiles a kernel, and the array types kernels speak."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Function = TypeVar("Function", bound=Callable[..., object])


def _sources_checksum() -> int:
    checksum = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        checksum = zlib.crc32(path.read_bytes(), checksum)
    return checksum


# numba's cache notices a change in a kernel's own file only, and would go on using machine code that has an old
# helper of another file inlined. So every kernel is stamped with the sources of all of them.
SOURCES_CHECKSUM = _sources_checksum()


def kernel(function: Function) -> Function:
    """Compile on first call, without the interpreter lock, and keep the machine code on disk.

    Division by zero gives an infinity, as in numpy: kernels never raise.
    """
    return _compiled(function, "never")


def inlined(function: Function) -> Function:
    """The same for a part that is written into the kernels that call it: no slice handed over is counted (-15 %)."""
    return _compiled(function, "always")


def _compiled(function: Function, inline: Literal["never", "always"]) -> Function:
    dispatcher = njit(cache=True, nogil=True, error_model="numpy", inline=inline)(function)
    cache = getattr(dispatcher, "_cache", None)  # there is none under NUMBA_DISABLE_JIT
    if cache is not None:
        cache._cache_file._source_stamp = SOURCES_CHECKSUM
    return cast(Function, dispatcher)
