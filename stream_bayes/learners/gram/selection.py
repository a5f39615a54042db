"""Stepwise selection by the residual sum of squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_bayes.errors import ParameterError
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.gram_sweep import backward, forward
from stream_bayes.learners.base import one_of
from stream_bayes.learners.gram.design import SMALLEST_SHARE, Design


def stepwise(design: Design, direction: str, count: Any) -> tuple[IntArray, FloatArray]:
    """Places of the columns in the order they join or leave, and the squares after each step."""
    run = {"forward": forward, "backward": backward}[one_of(direction, "direction", ("forward", "backward"))]
    width = len(design.columns)
    wanted = width if count is None else count
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not 0 <= wanted <= width:
        message = f"count must be between 0 and the {width} features; got {count!r}"
        raise ParameterError(message)
    # Correlations, the target last.
    lengths = np.sqrt(np.roll(design.gram.diagonal(), -1))
    scales = np.where(lengths > 0.0, lengths, 1.0)
    table = np.ascontiguousarray(np.roll(design.gram, (-1, -1), axis=(0, 1)) / scales / scales[:, None])
    order, squares = np.empty(wanted, dtype=np.int64), np.empty(wanted)
    run(table, SMALLEST_SHARE, order, squares)
    return order, squares * lengths[-1] ** 2
