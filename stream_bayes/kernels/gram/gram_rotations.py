"""Least squares on a growing or shrinking set of columns: axes turned towards one column after another, O(d^2) each.

Columns are rows here, of coordinates in an orthonormal basis, so that no square of theirs is ever a difference.
"""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import BoolArray, FloatArray, IntArray


@kernel
def dot(one: FloatArray, two: FloatArray) -> float:
    """The sum of products; in four parts, as one waits for every addition."""
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    whole = len(one) - len(one) % 4
    for i in range(0, whole, 4):
        a += one[i] * two[i]
        b += one[i + 1] * two[i + 1]
        c += one[i + 2] * two[i + 2]
        d += one[i + 3] * two[i + 3]
    for i in range(whole, len(one)):
        a += one[i] * two[i]
    return (a + b) + (c + d)


@kernel
def reflect(normal: FloatArray, factor: float, row: FloatArray) -> None:
    """Subtract factor (normal'row) normal."""
    step = factor * dot(normal, row)
    for i in range(len(row)):
        row[i] -= step * normal[i]


@kernel
def turn(k: int, first: int, rows: FloatArray, target: FloatArray) -> None:
    """Turn the axes from `first` on (Householder), so that of them row k has a coordinate on `first` only."""
    normal = rows[k, first:].copy()
    length = math.copysign(math.sqrt(dot(normal, normal)), normal[0])
    normal[0] += length
    factor = 2.0 / dot(normal, normal)
    for i in range(len(rows)):
        reflect(normal, factor, rows[i, first:])
    reflect(normal, factor, target[first:])
    rows[k, first:] = 0.0
    rows[k, first] = -length


@kernel
def longest(rows: FloatArray, limits: FloatArray, inside: BoolArray, first: int) -> int:
    """The row the least explained by those inside, -1 when all depend on them."""
    best = -1
    most = 0.0
    for k in range(len(rows)):
        if not inside[k]:
            squares = dot(rows[k, first:], rows[k, first:])
            if squares > max(limits[k], most):
                best = k
                most = squares
    return best


@kernel
def nearest(rows: FloatArray, target: FloatArray, limits: FloatArray, inside: BoolArray, first: int) -> int:
    """The row whose joining explains most of the target, -1 when what is left depends on those inside."""
    best = -1
    most = -1.0
    for k in range(len(rows)):
        squares = 0.0 if inside[k] else dot(rows[k, first:], rows[k, first:])
        if squares > limits[k]:
            gain = dot(rows[k, first:], target[first:]) ** 2 / squares
            if gain > most:
                best = k
                most = gain
    return best


@kernel
def cheapest(rows: FloatArray, target: FloatArray, gone: BoolArray, first: int) -> int:
    """The row along which there is least of the target."""
    best = -1
    least = np.inf
    for k in range(len(rows)):
        if not gone[k]:
            cost = dot(rows[k, first:], target[first:]) ** 2 / dot(rows[k, first:], rows[k, first:])
            if best < 0 or cost < least:
                best = k
                least = cost
    return best


@kernel
def independent(rows: FloatArray, target: FloatArray, limits: FloatArray, order: IntArray) -> int:
    """Turn the axes until the i-th of the rows in `order` ends at axis i; returns how many there are, the rank.

    A row counts as dependent when no more of its squares than its limit is left.
    """
    inside = np.zeros(len(rows), np.bool_)
    most = min(len(rows), len(target))
    for first in range(most):
        k = longest(rows, limits, inside, first)
        if k < 0:
            return first
        turn(k, first, rows, target)
        inside[k] = True
        order[first] = k
    return most


@kernel
def forward(rows: FloatArray, target: FloatArray, limits: FloatArray, order: IntArray, squares: FloatArray) -> None:
    """Write the order in which rows join, and the squares of the target left after each; dependent ones come last."""
    inside = np.zeros(len(rows), np.bool_)
    first = 0
    for step in range(len(order)):
        k = nearest(rows, target, limits, inside, first)
        if k >= 0:
            turn(k, first, rows, target)
            first += 1
        else:
            k = np.flatnonzero(~inside)[0]
        inside[k] = True
        order[step] = k
        squares[step] = dot(target[first:], target[first:])


@kernel
def backward(dual: FloatArray, target: FloatArray, order: IntArray, squares: FloatArray) -> None:
    """Write the order in which columns leave, and the squares of the target no longer explained after each.

    Rows g of the dual basis have g_i'f_j = 1 where i = j, else 0. Without f_k the fit loses what lies along g_k, and
    what is left of the other g at right angles to g_k is the dual basis of the other f.
    """
    gone = np.zeros(len(dual), np.bool_)
    for step in range(len(order)):
        k = cheapest(dual, target, gone, step)
        turn(k, step, dual, target)
        gone[k] = True
        order[step] = k
        squares[step] = dot(target[: step + 1], target[: step + 1])
