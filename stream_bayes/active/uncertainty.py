"""The uncertainty of one prediction, of ours or of river's, as the strategies use it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import digamma, polygamma

from stream_bayes.active.requests import Expected
from stream_bayes.errors import InputError, shown
from stream_bayes.features.values import plain
from stream_bayes.learners.base.uncertainties import Uncertainties
from stream_bayes.posteriors import Beta, LabelPredictive, LogitNormal, Poisson, StudentT
from stream_bayes.typing import FloatArray
from stream_bayes.validation import PROBABILITY_SLACK, non_negative

# Larger variances are clipped to this, so that no score overflows.
LARGEST = 1e300


def uncertainty_of(predictive: Any) -> Uncertainties:
    """The uncertainty of a single prediction, as one row.

    A prediction is the result of `predictive_one` (anything with `variance`, and with `epistemic_variance` if known), a
    dict of probabilities from river's `predict_proba_one`, or a distribution of river's with `mu` and `sigma`.
    """
    if isinstance(predictive, LabelPredictive):
        return _of_label(predictive)
    if isinstance(predictive, Mapping):
        return _of_probabilities(predictive)
    variance = getattr(predictive, "variance", None)
    if variance is not None and not callable(variance):
        epistemic = None if isinstance(predictive, Poisson) else getattr(predictive, "epistemic_variance", None)
        if isinstance(predictive, StudentT) and variance == math.inf:
            return _of_number(predictive.scale**2, None)
        return _of_number(variance, epistemic)
    if hasattr(predictive, "mu") and hasattr(predictive, "sigma"):
        return _of_number(non_negative("sigma", predictive.sigma, InputError) ** 2, None)
    message = (
        "an uncertainty needs a predictive: pass the result of predictive_one(x), predict_proba_one(x) or river's "
        f"predict_one(x, with_dist=True); got {shown(predictive)}"
    )
    raise InputError(message)


def _row(*numbers: float) -> FloatArray:
    return np.array((numbers,), dtype=np.float64)


def _of_label(predictive: LabelPredictive) -> Uncertainties:
    latent = predictive.latent
    none = np.empty((1, 0))
    counts = np.empty((1, 0))
    mean = math.nan
    spread = math.nan
    epistemic = predictive.epistemic_variance
    if isinstance(latent, LogitNormal):
        mean, spread = latent
        if not spread:
            spread = epistemic = math.nan
    elif isinstance(latent, Beta):
        counts = _row(*latent)
        mean = float(digamma(latent[0]) - digamma(latent[1]))
        spread = float(polygamma(1, latent).sum())
    table = _row(*(predictive.probabilities.values() or (math.nan,)))
    parts = _row(predictive.variance, epistemic, spread, mean)[0]
    return Uncertainties(table, parts[:1], parts[1:2], parts[2:3], none, parts[3:], counts)


def _of_probabilities(probabilities: Mapping[Any, float]) -> Uncertainties:
    """From a dict of probabilities that sum to 1, or an empty one while no label is known."""
    stated = [non_negative(f"probability of {shown(label)}", p, InputError) for label, p in probabilities.items()]
    total = math.fsum(stated)
    if stated and abs(total - 1.0) > PROBABILITY_SLACK:
        message = f"probabilities must sum to 1; got {shown(dict(probabilities))}, which sum to {total:g}"
        raise InputError(message)
    table = _row(*(p / total for p in stated)) if stated else _row(math.nan)
    most = table.max(axis=1)
    none = np.empty((1, 0))
    unknown = np.full(1, np.nan)
    return Uncertainties(table, most * (1.0 - most), unknown, unknown, none, unknown, none)


def _of_number(variance: Any, epistemic: Any) -> Uncertainties:
    total = LARGEST if variance == math.inf else non_negative("variance", variance, InputError)
    ignorance = math.nan if epistemic is None else float(np.clip(epistemic, 0.0, total))
    none = np.empty((1, 0))
    unknown = np.full(1, np.nan)
    return Uncertainties(none, np.array((total,)), np.array((ignorance,)), unknown, none, unknown, none)


def expected_of(predictive: Any) -> Expected | None:
    """The most probable label of a predictive; None if numbers are predicted or no label is known."""
    table = predictive if isinstance(predictive, Mapping) else getattr(predictive, "probabilities", None)
    if not table:
        return None
    label = max(table, key=table.__getitem__)
    return Expected(plain(label), float(table[label]))
