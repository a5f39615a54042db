"""Selection of features by squares left: stepwise, by univariate R^2, and by all subsets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from stream_bayes.errors import ParameterError, shown
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.gram.gram_rotations import backward, forward, independent
from stream_bayes.kernels.gram.subset_search import search_subsets
from stream_bayes.learners.gram.design import Design
from stream_bayes.typing import FloatArray
from stream_bayes.validation import one_of, whole

# Two to the power of it is how many subsets are looked at.
MAX_SEARCHED = 20


def select(design: Design, direction: str, count: Any) -> tuple[IntArray, FloatArray]:
    """Places of the columns in the order they join or leave, and the squares after each step."""
    runs = {"forward": _joined, "backward": _left, "filter": _filtered}
    run = runs[one_of(direction, "direction", tuple(runs))]
    width = len(design.columns)
    wanted = width if count is None else int(whole("count", count, ParameterError))
    if wanted > width:
        message = f"count must be between 0 and the {width} features; got {shown(count)}"
        raise ParameterError(message)
    rows = np.ascontiguousarray(design.factor.columns / design.factor.lengths[:, None])
    order, squares = run(rows, design.factor.target.copy(), design.limits, wanted)
    return order, np.maximum(design.factor.residual + squares, 0.0)


def univariate_r_squared(design: Design) -> FloatArray:
    """The share of the squares of the target that each column explains alone; 0 where column or target is constant."""
    target = design.factor.target
    whole_squares = float(target @ target) + design.factor.residual
    if whole_squares <= 0.0:
        return np.zeros(len(design.columns))
    shares = (design.factor.columns / design.factor.lengths[:, None]) @ target
    return np.minimum(shares**2 / whole_squares, 1.0)


def best_subsets(design: Design) -> tuple[IntArray, FloatArray]:
    """For every size the best columns, as bits of a number, and the squares left; infinite where all are dependent."""
    width = len(design.columns)
    if width > MAX_SEARCHED:
        message = f"of {width} features there are 2^{width} subsets: restrict the learner to {MAX_SEARCHED} of them"
        raise ParameterError(message)
    rows = np.ascontiguousarray(design.factor.columns / design.factor.lengths[:, None])
    masks = np.empty(width + 1, dtype=np.int64)
    squares = np.empty(width + 1)
    search_subsets(rows, design.factor.target, design.limits, masks, squares)
    return masks, np.maximum(design.factor.residual + squares, 0.0)


def _joined(rows: FloatArray, target: FloatArray, limits: FloatArray, wanted: int) -> tuple[IntArray, FloatArray]:
    order = np.empty(wanted, dtype=np.int64)
    squares = np.empty(wanted)
    forward(rows, target, limits, order, squares)
    return order, squares


def _left(rows: FloatArray, target: FloatArray, limits: FloatArray, wanted: int) -> tuple[IntArray, FloatArray]:
    """Columns that depend on others leave first, and change nothing."""
    inside = np.empty(len(rows), dtype=np.int64)
    rank = independent(rows, target, limits, inside)
    inside = inside[:rank]
    spare = np.setdiff1d(np.arange(len(rows)), inside)[:wanted]
    inverse = solve_triangular(rows[inside, :rank], np.eye(rank), lower=True) if rank else np.zeros((0, 0))
    order = np.empty(wanted - len(spare), dtype=np.int64)
    squares = np.empty(wanted - len(spare))
    backward(np.ascontiguousarray(inverse.T), target[:rank].copy(), order, squares)
    unexplained = float(target[rank:] @ target[rank:])
    return np.concatenate((spare, inside[order])), unexplained + np.concatenate((np.zeros(len(spare)), squares))


def _filtered(rows: FloatArray, target: FloatArray, limits: FloatArray, wanted: int) -> tuple[IntArray, FloatArray]:
    """Those that explain most alone join first, whatever the others explain."""
    order = np.argsort(-np.abs(rows @ target), kind="stable")[:wanted]
    squares = np.empty(wanted)
    for step, place in enumerate(order.tolist()):
        length = float(rows[place] @ rows[place])
        if length > limits[place]:
            axis = rows[place] / np.sqrt(length)
            target = target - (axis @ target) * axis
            rows = rows - np.outer(rows @ axis, axis)
        squares[step] = target @ target
    return order, squares
