"""Linear algebra without rounding, for few rows: floats are ratios of integers, and stay so."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.typing import FloatArray

DIGITS = 120


class Solution(NamedTuple):
    """Posterior mean and covariance, right to the last bit."""

    mean: FloatArray
    covariance: FloatArray


def posterior(rows: FloatArray, targets: FloatArray, repeats: int, precision: float, noise: float) -> Solution:
    """Bayesian linear regression on each row with its count, in decimals of 120 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        design = [[Decimal(value) for value in row] for row in rows.tolist()]
        answers = [Decimal(value) for value in targets.tolist()]
        width = len(design[0])
        scale = Decimal(repeats) / Decimal(noise)
        matrix = [
            [scale * sum((row[i] * row[j] for row in design), Decimal(0)) for j in range(width)] for i in range(width)
        ]
        for i in range(width):
            matrix[i][i] += Decimal(precision)
        right = [scale * sum((row[i] * y for row, y in zip(design, answers, strict=True))) for i in range(width)]
        inverse, mean = _solve(matrix, right)
    return Solution(np.array(mean, dtype=np.float64), np.array(inverse, dtype=np.float64))


def _solve(matrix: list[list[Any]], right: list[Any]) -> tuple[list[list[Any]], list[Any]]:
    """The inverse, and the solution, by Gauss and Jordan; a positive definite matrix needs no pivoting."""
    width = len(matrix)
    table = [
        [*row, *(Decimal(int(i == j)) for j in range(width)), b]
        for i, (row, b) in enumerate(zip(matrix, right, strict=True))
    ]
    for k in range(width):
        pivot = table[k][k]
        table[k] = [value / pivot for value in table[k]]
        for i in range(width):
            factor = table[i][k]
            if i != k and factor:
                table[i] = [value - factor * own for value, own in zip(table[i], table[k], strict=True)]
    return [row[width:-1] for row in table], [row[-1] for row in table]
