"""Predictive distribution of a classifier: probabilities of labels, and the posterior of the probability."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.special import entr, expit, logit, ndtr, ndtri

from stream_bayes import notebook_html, plots
from stream_bayes.errors import InputError, shown
from stream_bayes.notebook_html import Html
from stream_bayes.posteriors.base import LatentProbability, ScalarPosterior, Value
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_draws, finite, non_negative, probability_table, refuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Trapezoidal sums of functions analytic in a strip converge exponentially: with these steps the error is
# below 1e-14 at every mean and variance, where 64 Gauss-Hermite nodes err by 0.07 at a variance of 1e6.
_NORMAL_NODES = np.arange(-48, 49) / 4.0
_NORMAL_WEIGHTS = np.exp(-(_NORMAL_NODES**2) / 2.0) / np.exp(-(_NORMAL_NODES**2) / 2.0).sum()
_LOGISTIC_NODES = np.arange(-200, 121) * 0.4
_LOGISTIC_VALUES = expit(_LOGISTIC_NODES)
_SMALLEST = 1e-300
_ROUNDING = 2.0**-53
_NEWTON_STEPS = 100
_LOGISTIC_WEIGHTS = 0.4 * _LOGISTIC_VALUES * expit(-_LOGISTIC_NODES)


def _moments(log_odds: float, deviation: float) -> tuple[float, float]:
    """Return E[q] and Var[q] of q = sigmoid(N(log_odds, deviation^2)) for log_odds <= 0.

    Narrow: average sigmoid over the normal. Wide, by parts: E[g(q)] = integral of g(sigmoid)'(t) P(Z > t) dt.
    """
    if deviation <= 1.0:
        q = expit(log_odds + deviation * _NORMAL_NODES)
        mean = float(_NORMAL_WEIGHTS @ q)
        return mean, float(_NORMAL_WEIGHTS @ (q - mean) ** 2)
    weights = _LOGISTIC_WEIGHTS * ndtr((log_odds - _LOGISTIC_NODES) / deviation)
    mean = float(weights.sum())
    return mean, 2.0 * float(weights @ _LOGISTIC_VALUES) - mean * mean


class _LogitNormalFields(NamedTuple):
    log_odds: float
    """Mean, and median, of the log-odds."""
    log_odds_variance: float
    """Variance of the log-odds; 0 when the probability is known."""


class LogitNormal(ScalarPosterior, LatentProbability, _LogitNormalFields):
    """Logit-normal distribution of a probability q with normal log-odds: q = sigmoid(N(log_odds, log_odds_variance)).

    >>> posterior = LogitNormal(1.0, 4.0)
    >>> round(posterior.mean, 4), round(posterior.variance, 4), round(posterior.median, 4)
    (0.6477, 0.0877, 0.7311)
    """

    __slots__ = ()

    def __new__(cls, log_odds: float, log_odds_variance: float) -> Self:
        """Check the parameters."""
        variance = non_negative("log_odds_variance", log_odds_variance)
        return super().__new__(cls, finite("log_odds", log_odds), variance)

    @classmethod
    def moderated(cls, log_odds: float, variance: float) -> Self:
        """Return that with moderated probability sigmoid(m / sqrt(1 + pi v / 8)) = sigmoid(log_odds)."""
        variance = non_negative("variance", variance)
        return cls(finite("log_odds", log_odds) * math.sqrt(1.0 + math.pi * variance / 8.0), variance)

    @property
    def mean(self) -> float:
        """The expected probability, by quadrature."""
        small, _ = _moments(-abs(self.log_odds), math.sqrt(self.log_odds_variance))
        return small if self.log_odds <= 0.0 else 1.0 - small

    @property
    def variance(self) -> float:
        """The variance of the probability, by quadrature; never above mean (1 - mean), and 0 if it is known."""
        if self.log_odds_variance == 0.0:
            return 0.0
        small, variance = _moments(-abs(self.log_odds), math.sqrt(self.log_odds_variance))
        mean = small if self.log_odds <= 0.0 else 1.0 - small
        return min(max(variance, 0.0), mean * (1.0 - mean))

    @property
    def mode(self) -> float:
        """The most probable probability; refused where two are.

        The log-odds t of a peak solve t = log_odds + log_odds_variance tanh(t / 2). On the side of the higher peak the
        right side is concave, so Newton's steps from beyond fall upon it.
        """
        centre = abs(self.log_odds)
        variance = self.log_odds_variance
        if centre == 0.0 and variance > 2.0:
            message = f"the mode of {self!r} is not unique: the density has two equal peaks"
            raise InputError(message)
        if centre == 0.0:
            return 0.5
        t = centre + variance
        for _ in range(_NEWTON_STEPS):
            slope = 1.0 - 0.5 * variance * (1.0 - math.tanh(0.5 * t) ** 2)
            excess = t - centre - variance * math.tanh(0.5 * t)
            if excess <= 0.0 or slope <= 0.0:
                break
            t -= excess / slope
        return float(expit(math.copysign(t, self.log_odds)))

    def _log_density(self, x: FloatArray) -> FloatArray:
        """The logarithm of N(logit x) / (x (1 - x)); no density at 0 and at 1."""
        inside = np.clip(x, _SMALLEST, 1.0 - _ROUNDING)
        exponent = -0.5 * (logit(inside) - self.log_odds) ** 2 / self.log_odds_variance
        value = exponent - 0.5 * np.log(2.0 * np.pi * self.log_odds_variance) - np.log(inside) - np.log1p(-inside)
        return np.where(x == inside, value, -np.inf)

    def _cdf(self, x: FloatArray) -> FloatArray:
        deviation = math.sqrt(self.log_odds_variance)
        if deviation == 0.0:
            return np.where(x >= expit(self.log_odds), 1.0, 0.0)
        return np.asarray(ndtr((logit(np.clip(x, 0.0, 1.0)) - self.log_odds) / deviation))

    def _lower(self, tail: FloatArray) -> FloatArray:
        return np.asarray(expit(self.log_odds + math.sqrt(self.log_odds_variance) * ndtri(tail)))

    def _upper(self, tail: FloatArray) -> FloatArray:
        return np.asarray(expit(self.log_odds - math.sqrt(self.log_odds_variance) * ndtri(tail)))

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws of the probability."""
        size, generator = check_draws(size, generator)
        return np.asarray(expit(generator.normal(self.log_odds, math.sqrt(self.log_odds_variance), size)))


class _LabelPredictiveFields(NamedTuple):
    probabilities: Mapping[Any, float]
    """Probability of each label; empty while no label is known."""
    latent: LatentProbability
    """Distribution of the probability of the most probable label."""


class LabelPredictive(Value, _LabelPredictiveFields):
    """Distribution of the next label, its variance split into noise and ignorance.

    With p the probability of the most probable label and q the unknown probability behind it,
    p (1 - p) = E[q (1 - q)] + Var[q]: total = noise (aleatoric) + ignorance (epistemic).

    Examples
    --------
    >>> from stream_bayes.posteriors import Beta
    >>> guess = LabelPredictive({"spam": 0.75, "ham": 0.25}, Beta(6, 2))
    >>> guess.label, guess.mean, guess.variance, round(guess.epistemic_variance, 4)
    ('spam', 0.75, 0.1875, 0.0208)
    """

    __slots__ = ()
    _positional = True

    def __new__(cls, probabilities: Mapping[Any, float], latent: LatentProbability) -> Self:
        """Check that the probabilities sum to 1, or that there are none."""
        if not isinstance(latent, LatentProbability):
            raise refuse("latent", "a Beta or a LogitNormal", latent)
        return super().__new__(cls, probability_table(probabilities), latent)

    @property
    def label(self) -> Hashable | None:
        """The most probable label, the first of equals; None while no label is known."""
        return max(self.probabilities, key=self.probabilities.__getitem__, default=None)

    @property
    def mean(self) -> float:
        """The probability of `label`; that of the latent posterior while no label is known."""
        return max(self.probabilities.values()) if self.probabilities else self.latent.mean

    @property
    def variance(self) -> float:
        """The variance p (1 - p) of the indicator of `label`."""
        p = min(self.mean, 1.0)  # the table may exceed 1 by its slack
        return p * (1.0 - p)

    @property
    def std(self) -> float:
        """The standard deviation of the label, the square root of its variance."""
        return math.sqrt(self.variance)

    @property
    def epistemic_variance(self) -> float:
        """The part of `variance` that more data would remove: Var[q]."""
        return min(self.latent.variance, self.variance)

    @property
    def aleatoric_variance(self) -> float:
        """The part of `variance` that would stay if q were known: E[q (1 - q)]."""
        return self.variance - self.epistemic_variance

    @property
    def entropy(self) -> float:
        """The entropy of the label in nats, 0 while no label is known."""
        return float(entr(list(self.probabilities.values())).sum())

    def interval(self, mass: float = 0.95, label: Hashable | None = None) -> tuple[float, float]:
        """Return the equal-tailed credible interval of the latent probability of a label, by default `self.label`.

        Of two labels either can be named; of three or more only the most probable has a latent posterior.
        """
        low, high = self.latent.interval(mass)
        if label is None or label == self.label:
            return low, high
        if label not in self.probabilities or len(self.probabilities) != 2:
            message = (
                f"there is no latent posterior for the label {shown(label)}: name {self.label!r}, or the other label "
                "if there are two"
            )
            raise InputError(message)
        return 1.0 - high, 1.0 - low

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> list[Any]:
        """Return `size` labels drawn by their probabilities; refused while no label is known."""
        size, generator = check_draws(size, generator)
        if not self.probabilities:
            message = "no label is known yet, so none can be drawn"
            raise InputError(message)
        labels = list(self.probabilities)
        shares = np.array(list(self.probabilities.values()))
        return [labels[place] for place in generator.choice(len(labels), size, p=shares / shares.sum()).tolist()]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the probability of each label, and the 90 % interval of that of the most probable.

        It is drawn into `ax`, or without one into the current axes. Needs matplotlib, the extra `plots`.
        """
        return plots.draw_labels(self.probabilities, self.label, self.latent.interval(notebook_html.MASS), ax)

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the probability of each label, and the split of the variance."""
        rows: dict[str, object] = {
            "90 % interval": notebook_html.interval_text(self.latent.interval(notebook_html.MASS)),
            "variance": self.variance,
            "epistemic variance": self.epistemic_variance,
            "aleatoric variance": self.aleatoric_variance,
        }
        title = "No label is known" if self.label is None else f"Prediction: {self.label}"
        return notebook_html.card(title, rows, notebook_html.bars_figure(self.probabilities))
