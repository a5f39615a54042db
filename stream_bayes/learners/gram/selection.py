"""Stepwise selection by the residual sum of squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from stream_bayes.errors import ParameterError, shown
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.gram_turns import backward, forward, independent
from stream_bayes.learners.gram.design import Design
from stream_bayes.learners.parameters import one_of
from stream_bayes.posteriors.checked import whole


def stepwise(design: Design, direction: str, count: Any) -> tuple[IntArray, FloatArray]:
    """Places of the columns in the order they join or leave, and the squares after each step."""
    run = {"forward": _joined, "backward": _left}[one_of(direction, "direction", ("forward", "backward"))]
    width = len(design.columns)
    wanted = width if count is None else int(whole("count", count, ParameterError))
    if wanted > width:
        message = f"count must be between 0 and the {width} features; got {shown(count)}"
        raise ParameterError(message)
    rows = np.ascontiguousarray(design.factor.columns / design.factor.lengths[:, None])
    order, squares = run(rows, design.factor.target.copy(), design.limits, wanted)
    return order, np.maximum(design.factor.residual + squares, 0.0)


def _joined(rows: FloatArray, target: FloatArray, limits: FloatArray, wanted: int) -> tuple[IntArray, FloatArray]:
    order, squares = np.empty(wanted, dtype=np.int64), np.empty(wanted)
    forward(rows, target, limits, order, squares)
    return order, squares


def _left(rows: FloatArray, target: FloatArray, limits: FloatArray, wanted: int) -> tuple[IntArray, FloatArray]:
    """Columns that depend on others leave first, and change nothing."""
    inside = np.empty(len(rows), dtype=np.int64)
    rank = independent(rows, target, limits, inside)
    inside = inside[:rank]
    spare = np.setdiff1d(np.arange(len(rows)), inside)[:wanted]
    inverse = solve_triangular(rows[inside, :rank], np.eye(rank), lower=True) if rank else np.zeros((0, 0))
    order, squares = np.empty(wanted - len(spare), dtype=np.int64), np.empty(wanted - len(spare))
    backward(np.ascontiguousarray(inverse.T), target[:rank].copy(), order, squares)
    unexplained = float(target[rank:] @ target[rank:])
    return np.concatenate((spare, inside[order])), unexplained + np.concatenate((np.zeros(len(spare)), squares))
