"""Conjugate posteriors of probabilities: Beta for two outcomes, Dirichlet for more."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from scipy.special import betainc, betainccinv, betaincinv, betaln, digamma, gammaln, xlog1py, xlogy

from stream_bayes.errors import InputError
from stream_bayes.posteriors.base import LatentProbability, ScalarPosterior, VectorPosterior
from stream_bayes.posteriors.label import LabelPredictive
from stream_bayes.posteriors.rates import unit_gamma_entropy
from stream_bayes.typing import FloatArray
from stream_bayes.validation import (
    PROBABILITY_SLACK,
    check_draws,
    each,
    non_negative,
    positive,
    refuse,
    tail_beyond,
    truth,
    whole,
)


class _BetaFields(NamedTuple):
    successes: float = 1.0
    """Successes seen, those the prior pretends to have seen included."""
    failures: float = 1.0
    """Failures seen, those the prior pretends to have seen included."""


class Beta(ScalarPosterior, LatentProbability, _BetaFields):
    """Beta distribution: the posterior of the probability of success of a yes-no event.

    Beta(a, b) with s successes and f failures becomes Beta(a + s, b + f).

    Examples
    --------
    >>> posterior = Beta(2, 2).update_counts(75, 60)
    >>> posterior
    Beta(77, 62)
    >>> round(posterior.mean, 4), round(posterior.mode, 4), [round(end, 3) for end in posterior.interval(0.9)]
    (0.554, 0.5547, [0.484, 0.623])
    """

    __slots__ = ()
    _positional = True

    def __new__(cls, successes: float = 1.0, failures: float = 1.0) -> Self:
        """Check that both counts are above 0."""
        won = positive("successes", successes)
        lost = positive("failures", failures)
        positive("the sum of the counts", won + lost)
        return super().__new__(cls, won, lost)

    def update(self, outcome: bool | int) -> Self:
        """Return the posterior after one more event, True (or 1) for success, False (or 0) for failure."""
        success = truth("outcome", outcome)
        return self.update_counts(success + 0.0, 1.0 - success)

    def update_counts(self, successes: float, failures: float) -> Self:
        """Return the posterior after these further successes and failures. Fractions are allowed."""
        won = non_negative("successes", successes, InputError)
        lost = non_negative("failures", failures, InputError)
        return type(self)(self.successes + won, self.failures + lost)

    @property
    def mean(self) -> float:
        """The expected probability, which is the predictive probability of a success."""
        return self.successes / (self.successes + self.failures)

    @property
    def mode(self) -> float:
        """The most probable probability; refused where the density has no single peak."""
        a, b = self
        if max(a, b) < 1.0 or a == b == 1.0:
            message = f"the mode of {self!r} is not unique: one of the counts must be above 1"
            raise InputError(message)
        if b <= 1.0 <= a:
            return 1.0
        return 0.0 if a <= 1.0 else (a - 1.0) / (a + b - 2.0)

    @property
    def variance(self) -> float:
        """The variance of the probability, m (1 - m) / (a + b + 1)."""
        total = self.successes + self.failures
        return (self.successes / total) * (self.failures / total) / (total + 1.0)

    @property
    def entropy(self) -> float:
        """The differential entropy in nats: h(a) + h(b) - h(a + b) - psi(a + b), h as in Gamma."""
        return Dirichlet(tuple(self)).entropy

    def _cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(betainc(self.successes, self.failures, np.clip(x, 0.0, 1.0)))

    def _lower(self, tail: FloatArray) -> FloatArray:
        return np.asarray(betaincinv(self.successes, self.failures, tail))

    def _upper(self, tail: FloatArray) -> FloatArray:
        return np.asarray(betainccinv(self.successes, self.failures, tail))

    def _log_density(self, x: FloatArray) -> FloatArray:
        a, b = self
        inside = np.clip(x, 0.0, 1.0)
        value = xlogy(a - 1.0, inside) + xlog1py(b - 1.0, -inside) - betaln(a, b)
        return np.where((x < 0.0) | (x > 1.0), -np.inf, value)

    def hdi(self, mass: float = 0.95) -> tuple[float, float]:
        """Return the shortest interval that holds the mass: the highest-density interval.

        Where the density is highest at a border the interval touches it; where it is highest at both (counts
        below 1), the shorter of two is taken; of Beta(1, 1), where all are equally short, the central one.
        """
        outside = tail_beyond(mass)
        a, b = self
        if a > 1.0 and b > 1.0:
            return self._shortest(outside)
        if a == b == 1.0:
            return self.interval(mass)
        below, above = self._between(outside, outside)
        left = (0.0, above)
        right = (below, 1.0)
        if max(a, b) < 1.0:
            return min(left, right, key=lambda ends: ends[1] - ends[0])
        return left if a <= 1.0 <= b else right

    def predictive(self) -> LabelPredictive:
        """Return the distribution of the next event over True and False."""
        table = {True: self.mean, False: self.failures / (self.successes + self.failures)}
        top = self if table[True] >= table[False] else Beta(self.failures, self.successes)
        return LabelPredictive(table, top)

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws of the probability."""
        size, generator = check_draws(size, generator)
        return generator.beta(self.successes, self.failures, size)


class _DirichletFields(NamedTuple):
    concentration: tuple[float, ...]
    """Count of each outcome 0, 1, ..., those the prior pretends to have seen included."""


class Dirichlet(VectorPosterior[tuple[float, ...]], _DirichletFields):
    """Dirichlet distribution: the posterior of the probabilities of two or more outcomes, numbered from 0.

    Dirichlet(a) with counts n becomes Dirichlet(a + n); that of one outcome alone is Beta(a_i, sum a - a_i).

    Examples
    --------
    >>> posterior = Dirichlet((1, 1, 2)).update_counts((2, 4, 3))
    >>> posterior
    Dirichlet((3, 5, 5))
    >>> posterior.mode, posterior.marginal(0)
    ((0.2, 0.4, 0.4), Beta(3, 10))
    """

    __slots__ = ()
    _positional = True

    def __new__(cls, concentration: Iterable[float]) -> Self:
        """Check that there are two or more counts, all above 0."""
        counts = each(positive, "concentration", concentration)
        if len(counts) < 2:
            raise refuse("concentration", "two or more counts", counts)
        positive("the sum of the counts", sum(counts))
        return super().__new__(cls, counts)

    def _place(self, index: int) -> int:
        place = int(whole("index", index))
        if place >= len(self.concentration):
            raise refuse("index", f"an outcome from 0 to {len(self.concentration) - 1}", index, InputError)
        return place

    def update(self, index: int) -> Self:
        """Return the posterior after outcome number `index` came once more."""
        place = self._place(index)
        return self.update_counts(float(i == place) for i in range(len(self.concentration)))

    def update_counts(self, counts: Iterable[float]) -> Self:
        """Return the posterior after each outcome came so often more; fractions are allowed."""
        new = each(non_negative, "counts", counts, InputError)
        if len(new) != len(self.concentration):
            raise refuse("counts", f"{len(self.concentration)} numbers", new, InputError)
        return type(self)(old + n for old, n in zip(self.concentration, new, strict=True))

    def marginal(self, index: int) -> Beta:
        """Return the distribution of the probability of one outcome."""
        place = self._place(index)
        rest = math.fsum(self.concentration[:place] + self.concentration[place + 1 :])
        return Beta(self.concentration[place], rest)

    def _marginals(self) -> list[Beta]:
        return [self.marginal(index) for index in range(len(self.concentration))]

    @property
    def mean(self) -> tuple[float, ...]:
        """The expected probabilities, which are the predictive ones."""
        return tuple(marginal.mean for marginal in self._marginals())

    @property
    def median(self) -> tuple[float, ...]:
        """The median of each probability on its own (least summed absolute loss); they need not sum to 1."""
        return tuple(marginal.median for marginal in self._marginals())

    @property
    def mode(self) -> tuple[float, ...]:
        """The most probable probabilities; refused where a count is below 1 or all are 1.

        Of two outcomes it is that of the Beta distribution: where one count alone is below 1, that outcome has 0.
        """
        if len(self.concentration) == 2 and min(self.concentration) < 1.0 <= max(self.concentration):
            return tuple(float(count >= 1.0) for count in self.concentration)
        excess = [count - 1.0 for count in self.concentration]
        total = math.fsum(excess)
        if min(excess) < 0.0 or total == 0.0:
            message = f"the mode of {self!r} is not unique: counts must be 1 or more, and one of them above 1"
            raise InputError(message)
        return tuple(part / total for part in excess)

    @property
    def variance(self) -> tuple[float, ...]:
        """The variance of each probability on its own."""
        return tuple(marginal.variance for marginal in self._marginals())

    @property
    def std(self) -> tuple[float, ...]:
        """The standard deviation of each probability."""
        return tuple(map(math.sqrt, self.variance))

    @property
    def entropy(self) -> float:
        """The differential entropy in nats: sum h(a_i) - h(s) - (k - 1) psi(s), with s = sum a_i."""
        total = math.fsum(self.concentration)
        parts = math.fsum(map(unit_gamma_entropy, self.concentration))
        return parts - unit_gamma_entropy(total) - (len(self.concentration) - 1) * float(digamma(total))

    def interval(self, mass: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return the equal-tailed credible interval of each probability on its own."""
        return tuple(marginal.interval(mass) for marginal in self._marginals())

    def _log_density(self, rows: FloatArray) -> FloatArray:
        counts = np.array(self.concentration)
        constant = gammaln(counts.sum()) - gammaln(counts).sum()
        value = constant + xlogy(counts - 1.0, np.maximum(rows, 0.0)).sum(axis=-1)
        inside = (rows >= 0.0).all(axis=-1) & (np.abs(rows.sum(axis=-1) - 1.0) <= PROBABILITY_SLACK)
        return np.where(inside, value, -np.inf)

    def predictive(self) -> LabelPredictive:
        """Return the distribution of the next outcome over 0, 1, ..."""
        top = max(range(len(self.concentration)), key=self.concentration.__getitem__)
        return LabelPredictive(dict(enumerate(self.mean)), self.marginal(top))

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws of the probabilities, one per row."""
        size, generator = check_draws(size, generator)
        return generator.dirichlet(self.concentration, size)
