"""Relative error of a posterior covariance after 60 updates: the table of docs/explanation/exact-updates.md.

Four features; two of them are copies of the others with noise of 0.001, so that the condition of X is about 2,000. The
reference is the inverse of the precision in rational arithmetic. Compared are the update of the covariance itself
(Sherman-Morrison), and `BayesianLinearRegression`, which rotates each event into the factor of the precision.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from stream_bayes import BayesianLinearRegression

EVENTS = 60
FEATURES = "abcd"


def exact_inverse(matrix: list[list[Fraction]]) -> np.ndarray:
    """Return the inverse of a matrix of fractions, by Gauss-Jordan elimination."""
    size = len(matrix)
    rows = [row + [Fraction(int(i == j)) for j in range(size)] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for other in range(size):
            if other != column:
                factor = rows[other][column]
                rows[other] = [value - factor * own for value, own in zip(rows[other], rows[column], strict=True)]
    return np.array([[float(value) for value in row[size:]] for row in rows])


def exact_covariance(design: np.ndarray, prior_precision: float) -> np.ndarray:
    """Return the posterior covariance in rational arithmetic."""
    rows = [[Fraction(float(value)) for value in row] for row in design]
    size = range(design.shape[1])
    return exact_inverse(
        [[Fraction(prior_precision) * (i == j) + sum(row[i] * row[j] for row in rows) for j in size] for i in size]
    )


def updated_covariance(design: np.ndarray, prior_precision: float) -> np.ndarray:
    """Return the covariance by the update of Sherman and Morrison for each event."""
    covariance = np.eye(design.shape[1]) / prior_precision
    for x in design:
        direction = covariance @ x
        covariance = covariance - np.outer(direction, direction) / (1.0 + x @ direction)
    return covariance


def learned_covariance(design: np.ndarray, prior_precision: float) -> np.ndarray:
    """Return the covariance of `BayesianLinearRegression`."""
    model = BayesianLinearRegression(prior_precision, noise_variance=1.0, intercept=False)
    for x in design:
        model.learn_one(dict(zip(FEATURES, x.tolist(), strict=True)), 0.0)
    return np.asarray(model.joint(*FEATURES).covariance)


def main() -> None:
    """Print the errors for four prior precisions."""
    generator = np.random.default_rng(1)
    base = generator.normal(size=(EVENTS, 2))
    design = np.column_stack((base, base + 1e-3 * generator.normal(size=(EVENTS, 2))))
    print(f"condition of X: {np.linalg.cond(design):.0f}")
    for prior_precision in (1.0, 1e-6, 1e-10, 1e-14):
        exact = exact_covariance(design, prior_precision)
        errors = [
            np.abs(update(design, prior_precision) - exact).max() / np.abs(exact).max()
            for update in (updated_covariance, learned_covariance)
        ]
        print(f"{prior_precision:5g}  Sherman-Morrison {errors[0]:.0e}  factored {errors[1]:.0e}")


if __name__ == "__main__":
    main()
