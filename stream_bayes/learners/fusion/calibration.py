"""A map from log-odds to calibrated log-odds, learned online from the identity."""

from __future__ import annotations

import numpy as np

from stream_bayes.features.values import IntArray
from stream_bayes.kernels.fusion.calibration import fold_calibration
from stream_bayes.learners.fusion.weights import LogisticWeights
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import Normal
from stream_bayes.typing import FloatArray

MAPS = ("platt", "beta", "none")
_NAMES = {"platt": ("slope", "intercept"), "beta": ("towards second", "towards first", "intercept"), "none": ()}


class Calibration:
    """Platt's map, the beta map, or none.

    platt: logit p = a s + b, from a = 1, b = 0. beta: logit p = a ln q - c ln(1 - q) + d with q = sigmoid(s), from
    a = c = 1, d = 0, both slopes kept at 0 or more: each side of 1/2 can be stretched by itself.
    """

    def __init__(self, kind: str, precision: float, bound: float) -> None:
        self._kind = kind
        self._bound = bound
        self._weights = LogisticWeights([0.0 if name == "intercept" else 1.0 for name in _NAMES[kind]], precision)

    def weights(self) -> dict[str, Normal]:
        """The weights of the map."""
        return dict(zip(_NAMES[self._kind], self._weights.marginals(), strict=True))

    def fold(
        self, scores: FloatArray, spread: FloatArray, outcomes: IntArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Map each row's log-odds and their variance, then learn the row where its outcome is known."""
        if self._kind == "none":
            return scores, spread
        calibrated = np.empty_like(scores)
        calibrated_spread = np.empty_like(spread)
        state = self._weights.factor, self._weights.target
        fold_calibration(scores, spread, outcomes, weights, self._bound, *state, calibrated, calibrated_spread)
        return calibrated, calibrated_spread

    def arrays(self) -> Arrays:
        """Copies for a snapshot."""
        return {} if self._kind == "none" else self._weights.arrays("calibration")

    def restore(self, arrays: Arrays) -> None:
        """Take over what `arrays` gave."""
        if self._kind != "none":
            self._weights.restore(arrays, "calibration", rising=2 if self._kind == "beta" else 0)
