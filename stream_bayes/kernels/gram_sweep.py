"""Least squares on a growing or shrinking set of columns: the sweep operator, O(d^2) a column."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.compiled import BoolArray, FloatArray, IntArray, kernel


@kernel
def sweep(k: int, table: FloatArray) -> None:
    """Regress everything on column k as well; a second time takes it out again."""
    pivot = table[k, k]
    row = table[k] / pivot
    for i in range(len(table)):
        if i != k:
            own, factor = table[i], table[i, k]
            for j in range(len(row)):
                own[j] -= factor * row[j]
            own[k] = -factor / pivot
    table[k] = row
    table[k, k] = 1.0 / pivot


@kernel
def best_in(table: FloatArray, inside: BoolArray, smallest: float) -> int:
    """The column whose joining lowers the squares most, -1 when what is left depends on those inside."""
    best, most = -1, -1.0
    last = len(table) - 1
    for k in range(last):
        if not inside[k] and table[k, k] > smallest:
            gain = table[k, last] * table[k, last] / table[k, k]
            if gain > most:
                best, most = k, gain
    return best


@kernel
def cheapest_out(table: FloatArray, inside: BoolArray) -> int:
    """The column whose leaving raises the squares least."""
    best, least = -1, np.inf
    last = len(table) - 1
    for k in range(last):
        if inside[k]:
            cost = table[k, last] * table[k, last] / table[k, k]
            if cost < least:
                best, least = k, cost
    return best


@kernel
def forward(table: FloatArray, smallest: float, order: IntArray, squares: FloatArray) -> None:
    """Write the order in which columns join, and the squares left after each; dependent ones come last."""
    last, inside = len(table) - 1, np.zeros(len(table), np.bool_)
    for step in range(len(order)):
        k = best_in(table, inside, smallest)
        if k >= 0:
            sweep(k, table)
        else:
            k = np.flatnonzero(~inside)[0]
        inside[k] = True
        order[step], squares[step] = k, max(table[last, last], 0.0)


@kernel
def backward(table: FloatArray, smallest: float, order: IntArray, squares: FloatArray) -> None:
    """Write the order in which columns leave, and the squares left after each; dependent ones go first."""
    last, inside = len(table) - 1, np.zeros(len(table), np.bool_)
    while True:
        k = best_pivot(table, inside, smallest)
        if k < 0:
            break
        sweep(k, table)
        inside[k] = True
    spare = np.flatnonzero(~inside[:last])
    for step in range(len(order)):
        k = spare[step] if step < len(spare) else cheapest_out(table, inside)
        if step >= len(spare):
            sweep(k, table)
            inside[k] = False
        order[step], squares[step] = k, max(table[last, last], 0.0)


@kernel
def best_pivot(table: FloatArray, inside: BoolArray, smallest: float) -> int:
    """The column the least explained by those inside, -1 when all depend on them."""
    best, most = -1, smallest
    for k in range(len(table) - 1):
        if not inside[k] and table[k, k] > most:
            best, most = k, table[k, k]
    return best
