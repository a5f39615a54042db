"""What a learner believes of one thing it has learned about, as a curve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_bayes.engine.credible import MASS
from stream_bayes.errors import StreamBayesError
from stream_bayes.features.visible import visible
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.posteriors import Beta, Gamma, Normal, StudentT
from stream_bayes.web.bodies import Density

Posterior = Beta | Gamma | Normal | StudentT
"""Of one number."""

# A curve of a probability goes so near to 0 and 1, or as far as there is more than so little beyond.
_CLOSEST, _BEYOND = 1e-4, 0.05
# Points of a curve at equal distances, and at equal steps of probability: a narrow peak is drawn as well as its tails.
_EVEN, _QUANTILES, _TAIL = 81, 110, 1e-3
_FAR_TAILS = (1e-6, 1e-5, 1e-4, 1.0 - 1e-4, 1.0 - 1e-5, 1.0 - 1e-6)
_QUARTILES = (0.25, 0.5, 0.75)


class NoPosterior(StreamBayesError):
    """A learner has no belief about what was asked for; the message says about what it has."""

    code = "no-posterior"


class Belief(NamedTuple):
    """A posterior, and what it is of."""

    posterior: Posterior
    meaning: str
    note: str | None = None
    seen: int | None = None
    """Labelled events that had it."""
    seen_towards: int | None = None
    """Those of them with the label that the meaning names."""


def density(kind: str, text: str, belief: Belief) -> Density:
    """A belief as a curve, with its mean and its interval."""
    posterior = belief.posterior
    x = _points(posterior)
    y, cut = _heights(posterior, x)
    notes = [belief.note, "the density has no upper bound: the curve is cut off" if cut else None]
    return Density(
        kind=visible(kind),
        text=visible(text),
        meaning=belief.meaning,
        family=_family(posterior),
        mean=posterior.mean,
        interval=posterior.interval(MASS),
        seen=belief.seen,
        seen_towards=belief.seen_towards,
        x=tuple(x.tolist()),
        y=tuple(y.tolist()),
        note="; ".join(filter(None, notes)) or None,
    )


def _points(posterior: Posterior) -> FloatArray:
    probabilities = np.linspace(_TAIL, 1.0 - _TAIL, _QUANTILES).tolist()
    quantiles = [posterior.quantile(probability) for probability in probabilities]
    if not isinstance(posterior, Beta):
        return np.unique([*quantiles, *np.linspace(quantiles[0], quantiles[-1], _EVEN).tolist()])
    even = np.linspace(_CLOSEST, 1.0 - _CLOSEST, _EVEN).tolist()
    far = [posterior.quantile(probability) for probability in _FAR_TAILS]
    ends = posterior.quantile(_BEYOND), posterior.quantile(1.0 - _BEYOND)
    low, high = min(_CLOSEST, ends[0]), max(1.0 - _CLOSEST, ends[1])
    return np.unique(np.clip([*quantiles, *even, *far], low, high))


def _heights(posterior: Posterior, x: FloatArray) -> tuple[FloatArray, bool]:
    """The density at each point, and whether it had to be cut off."""
    y = posterior.density(x)
    unbounded = (isinstance(posterior, Beta) and min(posterior) < 1.0) or (
        isinstance(posterior, Gamma) and posterior.shape < 1.0
    )
    if not unbounded:
        return y, False
    # As high as where a quarter of the probability is still beyond: what is cut off is seen to go on.
    quartiles = [posterior.quantile(probability) for probability in _QUARTILES]
    within = np.clip(quartiles, x[0], x[-1])
    return np.minimum(y, posterior.density(within).max()), True


def _family(posterior: Posterior) -> str:
    fields = {name: value for name, value in posterior._asdict().items() if name != "noise_variance"}
    if isinstance(posterior, Beta):
        return f"Beta({', '.join(f'{value:.6g}' for value in fields.values())})"
    return f"{type(posterior).__name__}({', '.join(f'{name} {value:.6g}' for name, value in fields.items())})"
