"""Weights under a penalty: ridge from the singular values; LASSO, elastic net and lp by coordinate descent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.errors import ParameterError, shown
from stream_bayes.learners.gram.descent import minimise
from stream_bayes.learners.gram.design import Design
from stream_bayes.learners.gram.factor import reduced
from stream_bayes.learners.gram.powers import minimise_power, power_degrees
from stream_bayes.learners.gram.spectrum import Spectrum, spectrum
from stream_bayes.typing import BoolArray, FloatArray
from stream_bayes.validation import check_scale, each, finite, non_negative, one_of, refuse, whole

PENALTIES = ("ridge", "lasso", "elastic-net", "lp", "none")
MANY = 50
# How far below the strength that leaves no weight a path of the LASSO goes.
LOWEST_SHARE = 1e-3


class Penalty(NamedTuple):
    """strength (share |w|_1 + (1 - share) |w|^2 / 2), on the weights of columns over `scales`.

    With a power between 1 and 2 it is strength sum |w|^power / power.
    """

    share: float
    scales: FloatArray
    spectrum: Spectrum
    """The spectrum of the columns divided by their scales."""
    power: float | None = None
    """Between 1 and 2, both excluded; None for the other penalties."""

    @classmethod
    def on(cls, design: Design, penalty: str, share: float, *, standardise: bool, power: float) -> Penalty:
        """The penalty of that name; "none" is ridge of strength 0."""
        kind = one_of(penalty, "penalty", PENALTIES)
        own = non_negative("share", share)
        if own > 1.0:
            raise refuse("share", "between 0 and 1", share)
        exponent = finite("power", power)
        if not 1.0 <= exponent <= 2.0:
            raise refuse("power", "between 1 and 2", power)
        own = {"lasso": 1.0, "elastic-net": own, "lp": float(exponent == 1.0)}.get(kind, 0.0)
        between = exponent if kind == "lp" and 1.0 < exponent < 2.0 else None
        if standardise:
            return cls(own, design.deviations, design.standardised, between)
        return cls(own, np.ones(len(design.columns)), design.spectrum, between)

    def sampling_root(self, strength: float) -> FloatArray | None:
        """The root of the covariance of ridge weights for unit noise; None where there is no closed form."""
        if self.share > 0.0 or self.power is not None:
            return None
        return self.spectrum.vectors * self.spectrum.gain(strength) / self.scales[:, None]


def weights_of(design: Design, penalty: Penalty, strength: float, start: FloatArray) -> tuple[FloatArray, float]:
    """Weights on the scale of the data, and the degrees of freedom."""
    if penalty.power is not None and strength > 0.0:
        return _under_power(design, strength * penalty.scales**penalty.power, penalty.power, start)
    lasso = strength * penalty.share
    ridge = strength * (1.0 - penalty.share)
    if lasso == 0.0:
        return penalty.spectrum.ridge(ridge) / penalty.scales, float(penalty.spectrum.kept(ridge).sum())
    weights = _descended(design, lasso * penalty.scales, ridge * penalty.scales**2, start)
    if ridge == 0.0 and penalty.spectrum.full:
        return weights, float(np.count_nonzero(weights))
    return weights, _active_degrees(design, penalty.scales, weights != 0.0, ridge)


def _descended(design: Design, lasso: FloatArray, ridge: FloatArray, start: FloatArray) -> FloatArray:
    """Penalties of the scales in; coordinate descent works on columns and a target of unit length."""
    lengths = design.full.lengths
    size = math.sqrt(design.squares(np.zeros(len(lasso))))
    if size == 0.0:
        return np.zeros(len(lengths))
    columns = np.ascontiguousarray(design.full.columns / lengths[:, None])
    lasso = lasso / lengths / size
    ridge = ridge / lengths / lengths
    weights = np.ascontiguousarray(start * lengths / size)
    return minimise(columns, design.full.target / size, lasso, ridge, weights) / lengths * size


def _under_power(design: Design, strengths: FloatArray, power: float, start: FloatArray) -> tuple[FloatArray, float]:
    """An lp fit on columns and a target of unit length, and its degrees of freedom."""
    lengths = design.full.lengths
    size = math.sqrt(design.squares(np.zeros(len(strengths))))
    if size == 0.0:
        return np.zeros(len(lengths)), 0.0
    columns = np.ascontiguousarray(design.full.columns / lengths[:, None])
    own = strengths * size ** (power - 2.0) / lengths**power
    weights = np.ascontiguousarray(start * lengths / size)
    minimise_power(columns, design.full.target / size, own, power, weights)
    return weights / lengths * size, power_degrees(columns, own, power, weights)


def _active_degrees(design: Design, scales: FloatArray, active: BoolArray, ridge: float) -> float:
    """The trace of the fit on the weights that are not 0; without a ridge part, the rank of their columns."""
    columns = (design.full.columns / scales[:, None])[active]
    own = reduced(design.full._replace(columns=columns), design.limits[active])
    return float(spectrum(own).kept(ridge).sum())


def strengths_for(design: Design, penalty: Penalty, strengths: Any) -> FloatArray:
    """The strengths, the largest first; a number of them, or None, is spread over all that happens.

    With a LASSO part from where the first weight joins; for ridge from where almost nothing is left of the weights to
    where almost nothing is missing; for lp as for ridge, where the penalty bends alike at the largest weight of least
    squares.
    """
    if isinstance(strengths, Iterable):
        checked = each(non_negative, "strength", strengths)
        check_scale("strength", *checked)
        return np.array(sorted(checked, reverse=True))
    count = MANY if strengths is None else int(whole("strengths", strengths, ParameterError))
    if count < 2:
        message = f"strengths must be numbers, or how many of them, at least 2; got {shown(strengths)}"
        raise ParameterError(message)
    if penalty.share > 0.0:
        slopes = design.factor.columns @ design.factor.target
        largest = float(np.abs(slopes / penalty.scales).max(initial=0.0)) / penalty.share
        smallest = LOWEST_SHARE * largest
    else:
        squares = penalty.spectrum.singular**2
        largest, smallest = (100.0 * squares.max(), 0.01 * squares.min()) if len(squares) else (0.0, 0.0)
        if penalty.power is not None:
            scale = float(np.abs(penalty.spectrum.ridge(0.0)).max(initial=0.0)) ** (2.0 - penalty.power)
            largest *= scale
            smallest *= scale
    return np.geomspace(largest, smallest, count) if largest > 0.0 else np.ones(count)
