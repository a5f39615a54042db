"""Posterior densities of words, features and weights that a learner has learned, as curves with a description."""

from __future__ import annotations

import numpy as np

from stream_bayes.engine.intervals import MASS
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.learners.base.named_posterior import NamedPosterior, ScalarPosterior
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.posteriors import Beta, Gamma
from stream_bayes.typing import FloatArray
from stream_bayes.web.schemas import DensityBody

# The curve of a probability ends this close to 0 and 1, or where this much probability lies beyond.
_CLOSEST = 1e-4
_BEYOND = 0.05
# Points at equal distances and at equal steps of probability, so that a narrow peak and its tails are drawn well.
_EVEN = 81
_QUANTILES = 110
_TAIL = 1e-3
_FAR_TAILS = (1e-6, 1e-5, 1e-4, 1.0 - 1e-4, 1.0 - 1e-5, 1.0 - 1e-6)
_QUARTILES = (0.25, 0.5, 0.75)


def density_of(model: ModelAdapter, kind: str, text: str) -> DensityBody:
    """Return the posterior density of a word, feature or weight. Raise `NoPosterior` if the learner has none."""
    return density(kind, text, model.posterior_of(kind, text))


def density(kind: str, text: str, named: NamedPosterior) -> DensityBody:
    """Return a posterior as a curve, with its mean and its interval."""
    posterior = named.posterior
    x = _points(posterior)
    y, cut = _heights(posterior, x)
    notes = [named.note, "the density is unbounded: the curve is cut off" if cut else None]
    return DensityBody(
        kind=visible(kind),
        text=visible(text),
        meaning=named.meaning,
        family=_family(posterior),
        mean=posterior.mean,
        interval=posterior.interval(MASS),
        seen=named.seen,
        seen_towards=named.seen_towards,
        x=tuple(x.tolist()),
        y=tuple(y.tolist()),
        note="; ".join(filter(None, notes)) or None,
    )


def _points(posterior: ScalarPosterior) -> FloatArray:
    probabilities = np.linspace(_TAIL, 1.0 - _TAIL, _QUANTILES).tolist()
    quantiles = [posterior.quantile(probability) for probability in probabilities]
    if not isinstance(posterior, Beta):
        return np.unique([*quantiles, *np.linspace(quantiles[0], quantiles[-1], _EVEN).tolist()])
    even = np.linspace(_CLOSEST, 1.0 - _CLOSEST, _EVEN).tolist()
    far = [posterior.quantile(probability) for probability in _FAR_TAILS]
    ends = posterior.quantile(_BEYOND), posterior.quantile(1.0 - _BEYOND)
    low = min(_CLOSEST, ends[0])
    high = max(1.0 - _CLOSEST, ends[1])
    return np.unique(np.clip([*quantiles, *even, *far], low, high))


def _heights(posterior: ScalarPosterior, x: FloatArray) -> tuple[FloatArray, bool]:
    """Return the density at each point, and whether it was cut off."""
    y = posterior.density(x)
    unbounded = (isinstance(posterior, Beta) and min(posterior) < 1.0) or (
        isinstance(posterior, Gamma) and posterior.shape < 1.0
    )
    if not unbounded:
        return y, False
    # Cut at the density of a quartile: enough of the peak is shown to see that it goes on.
    quartiles = [posterior.quantile(probability) for probability in _QUARTILES]
    within = np.clip(quartiles, x[0], x[-1])
    return np.minimum(y, posterior.density(within).max()), True


def _family(posterior: ScalarPosterior) -> str:
    fields = {name: value for name, value in posterior._asdict().items() if name != "noise_variance"}
    if isinstance(posterior, Beta):
        return f"Beta({', '.join(f'{value:.6g}' for value in fields.values())})"
    return f"{type(posterior).__name__}({', '.join(f'{name} {value:.6g}' for name, value in fields.items())})"
