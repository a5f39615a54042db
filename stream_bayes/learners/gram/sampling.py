"""What ridge predictions do on average over the noise, were the truth known."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.learners.gram.design import Design


def bias_variance(
    design: Design, event: FloatArray, weights: FloatArray, intercept: float, strength: float
) -> tuple[float, float]:
    """Bias of the prediction of an event, and its variance where that of the noise is 1.

    In the directions of U, a share s^2 / (s^2 + k) of the true weights is found, and noise moves them by s / (s^2 + k).
    Centred targets have no level; otherwise X'1 intercept is taken for an effect of the features.
    """
    spectrum = design.spectrum
    away = event - design.means if design.intercept else event
    z, true = spectrum.vectors.T @ away, spectrum.vectors.T @ weights
    gain = spectrum.gain(strength)
    bias = -float((z * spectrum.lost(strength)) @ true)
    if not spectrum.full:
        # Of what is at right angles to all events, nothing is found.
        bias -= float((away - spectrum.vectors @ z) @ (weights - spectrum.vectors @ true))
    variance = float(np.sum((z * gain) ** 2))
    if design.intercept:
        return bias, variance + 1.0 / design.count
    level = intercept * design.count * (spectrum.vectors.T @ design.means)
    return bias + float((z * gain) @ (level / spectrum.singular)) - intercept, variance
