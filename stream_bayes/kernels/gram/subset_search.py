"""Exhaustive subset search: the best columns of every size, from rows of coordinates."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.gram.gram_rotations import dot
from stream_bayes.typing import FloatArray, IntArray


@kernel
def take_out(row: FloatArray, length: float, source: FloatArray, result: FloatArray) -> None:
    """Write what is left of a vector at right angles to a row of that squared length."""
    step = dot(row, source) / length
    for i in range(len(row)):
        result[i] = source[i] - step * row[i]


@kernel
def search_subsets(
    rows: FloatArray, target: FloatArray, limits: FloatArray, masks: IntArray, squares: FloatArray
) -> None:
    """Write for every size the subset of rows that explains most of the target, as bits, and the squares left.

    Depth first, with columns in order: each subset takes one column out of what its parent left, and no rounding is
    handed on but to its own descendants. Most subsets end at the last columns, where little is left to do: all 2^d
    take 6 r 2^d steps for r coordinates. Subsets of dependent columns are left out. Sizes that none has keep
    infinity.
    """
    width = len(rows)
    left = np.empty((width + 1, width, len(target)))
    rest = np.empty((width + 1, len(target)))
    candidates = np.zeros(width + 1, np.int64)
    left[0] = rows
    rest[0] = target
    squares[:] = np.inf
    squares[0] = dot(target, target)
    masks[:] = 0
    mask = 0
    depth = 0
    while depth >= 0:
        j = candidates[depth]
        if j == width:
            depth -= 1
            if depth >= 0:
                mask ^= 1 << (candidates[depth] - 1)
            continue
        candidates[depth] = j + 1
        row = left[depth, j]
        length = dot(row, row)
        if length <= limits[j]:
            continue
        take_out(row, length, rest[depth], rest[depth + 1])
        size = dot(rest[depth + 1], rest[depth + 1])
        mask ^= 1 << j
        if size < squares[depth + 1]:
            squares[depth + 1] = size
            masks[depth + 1] = mask
        for k in range(j + 1, width):
            take_out(row, length, left[depth, k], left[depth + 1, k])
        depth += 1
        candidates[depth] = j + 1
