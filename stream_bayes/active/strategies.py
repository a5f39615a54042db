"""Query strategies of active learning: scores of predictions; the larger, the more a label is expected to teach.

A strategy is a pure function from the uncertainties of a batch to one score for each row, finite and not negative. If a
predictive does not state what a strategy measures, the nearest quantity that it states is used; each strategy says
which. While fewer than two labels are known, a probability of 1 means nothing. The score is then that of a Bernoulli
variable with a uniform prior, so that labels are requested also if a stream begins with a single label.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from difflib import get_close_matches

import numpy as np
from scipy.special import digamma, entr, expit

from stream_bayes.active.uncertainty import LARGEST
from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.kernels.common.label_information import label_information
from stream_bayes.learners.base.label_predictions import CERTAIN, CLUELESS
from stream_bayes.learners.base.uncertainties import Uncertainties
from stream_bayes.typing import FloatArray

__all__ = ["STRATEGIES", "Strategy", "check_strategy", "needs", "needs_only_probabilities", "scores"]

Strategy = Callable[[Uncertainties], FloatArray]
"""A score for each row of the uncertainties, finite and not negative."""

_UNIT_ENTROPY_POWER = 2.0 * math.pi * math.e
# The largest number below 1.
_NEARLY_ALL = 1.0 - 2.0**-53


# What each strategy measures besides the probabilities and the variance.
_NEEDS: dict[Strategy, frozenset[str]] = {}


def needs(*fields: str) -> Callable[[Strategy], Strategy]:
    """Declare the fields of `Uncertainties` that a strategy measures besides the probabilities and the variance."""

    def declare(strategy: Strategy) -> Strategy:
        _NEEDS[strategy] = frozenset(fields)
        return strategy

    return declare


def variance(uncertainties: Uncertainties) -> FloatArray:
    """The variance of the answer: p (1 - p) of the most probable label, of a number noise and epistemic part together.

    For numbers with equal noise its maximum is the largest reduction of the entropy of the weights. For labels it
    measures all uncertainty: it fails if labels are noise, and requests coin tosses again and again.
    """
    return _with_prior(uncertainties, np.minimum(uncertainties.variance, LARGEST), 0.25)


@needs("epistemic_variance")
def epistemic(uncertainties: Uncertainties) -> FloatArray:
    """The part of the variance that more data would remove: Var[q] of the latent probability, x'S x of a line.

    Noise does not attract it. It is as good as the learner's own estimate of its uncertainty: a learner that is sure
    and wrong gets no labels, and a diagonal covariance overestimates the uncertainty of features that come together.
    If it is not stated, as by river's classifiers and by learners with point estimates, the whole variance is used.
    """
    return _with_prior(uncertainties, _or_else(uncertainties.epistemic_variance, uncertainties.variance), 1.0 / 12.0)


@needs("latent_variance", "epistemic_variance")
def latent(uncertainties: Uncertainties) -> FloatArray:
    """The variance of the latent log-odds; of a number, of its expectation.

    It ignores whether the label is uncertain: it requests labels of unusual messages that are certain all the same, and
    their answers change no decision. Without log-odds it is `epistemic`.
    """
    epistemic_part = _or_else(uncertainties.epistemic_variance, uncertainties.variance)
    return _with_prior(uncertainties, _or_else(uncertainties.latent_variance, epistemic_part), math.pi**2 / 3.0)


@needs("epistemic_variance", "latent_mean", "latent_variance", "counts")
def information(uncertainties: Uncertainties) -> FloatArray:
    """The expected information gain (BALD), in nats: H(E q) - E H(q), 1/2 ln(variance / noise).

    Of more than two labels, that of the most probable one against all others. It measures what is learned about this
    event's own log-odds, not its value for other events. If no epistemic uncertainty is stated, an upper bound is used:
    the entropy of the label, of a number 1/2 ln(1 + variance).
    """
    if not uncertainties.probabilities.shape[1]:
        total = np.minimum(uncertainties.variance, LARGEST)
        epistemic_part = np.minimum(uncertainties.epistemic_variance / np.maximum(total, 1.0 / LARGEST), _NEARLY_ALL)
        return _or_else(-0.5 * np.log1p(-epistemic_part), 0.5 * np.log1p(total))
    counts = uncertainties.counts
    gain = _beta_information(counts) if counts.shape[1] else _logit_normal_information(uncertainties)
    return _with_prior(uncertainties, _or_else(gain, entropy(uncertainties)), math.log(2.0) - 0.5)


def margin(uncertainties: Uncertainties) -> FloatArray:
    """1 - (p1 - p2): how close the second most probable label is to the first.

    Of two labels it ranks as `variance` does, and fails as that does. Of more it ignores all but two. Numbers have no
    margin; their variance is used.
    """
    if not uncertainties.probabilities.shape[1]:
        return variance(uncertainties)
    table = np.sort(np.nan_to_num(uncertainties.probabilities), axis=1)
    second = table[:, -2] if table.shape[1] > 1 else 0.0
    return _with_prior(uncertainties, np.clip(1.0 - (table[:, -1] - second), 0.0, 1.0), 1.0)


def entropy(uncertainties: Uncertainties) -> FloatArray:
    """The entropy of the label in nats; of a number 1/2 ln(1 + 2 pi e variance), that of a normal kept above 0.

    Of many labels it prefers rows with several possible ones, even if the first is clear. Noise attracts it as it
    attracts `variance`.
    """
    if not uncertainties.probabilities.shape[1]:
        return 0.5 * np.log1p(_UNIT_ENTROPY_POWER * np.minimum(uncertainties.variance, LARGEST))
    summed = entr(np.nan_to_num(uncertainties.probabilities)).sum(axis=1)
    return _with_prior(uncertainties, np.maximum(summed, 0.0), math.log(2.0))


@needs("members", "epistemic_variance")
def disagreement(uncertainties: Uncertainties) -> FloatArray:
    """The variance of the probability over the members of a fusion.

    It fails if members always differ, as a blunt and a sharp one do, and if all of them are wrong together.
    Without two members it is `epistemic`.
    """
    if uncertainties.members.shape[1] < 2:
        return epistemic(uncertainties)
    return _with_prior(uncertainties, expit(uncertainties.members).var(axis=1), 1.0 / 12.0)


def random(uncertainties: Uncertainties) -> FloatArray:
    """Score every row equally, so that chance decides: the baseline of the other strategies."""
    return np.ones(len(uncertainties.variance))


STRATEGIES: dict[str, Strategy] = {
    strategy.__name__: strategy
    for strategy in (variance, epistemic, latent, information, margin, entropy, disagreement, random)
}
"""The strategies by their names."""


def check_strategy(name: str, known: Collection[str] = STRATEGIES) -> str:
    """Check the name of a strategy."""
    if name in known:
        return name
    if callable(name):
        message = "a strategy goes by name; give a function of your own as score=..."
        raise ParameterError(message)
    near = get_close_matches(str(name), known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    message = f"there is no strategy {shown(name)}; {meant}known are {', '.join(known)}"
    raise ParameterError(message)


def needs_only_probabilities(strategy: str) -> bool:
    """Whether a strategy measures nothing but probabilities and the variance, which every classifier states.

    >>> needs_only_probabilities("margin"), needs_only_probabilities("epistemic")
    (True, False)
    """
    return not _NEEDS.get(STRATEGIES[check_strategy(strategy)], frozenset())


def scores(strategy: str | Strategy, uncertainties: Uncertainties) -> FloatArray:
    """The score of each row by a strategy or the strategy of this name: finite and not negative."""
    if callable(strategy):
        return _checked(strategy, uncertainties)
    if strategy not in STRATEGIES:
        check_strategy(strategy)
    return STRATEGIES[strategy](uncertainties)


def _checked(strategy: Strategy, uncertainties: Uncertainties) -> FloatArray:
    """The scores by a function of a user."""
    found = np.asarray(strategy(uncertainties), dtype=np.float64)
    rows = len(uncertainties.variance)
    if found.shape != (rows,) or not ((found >= 0.0) & (found < np.inf)).all():
        name = getattr(strategy, "__qualname__", type(strategy).__name__)
        message = f"score {name} must return {rows} finite numbers from 0 on, one for each row; got {shown(found)}"
        raise InputError(message)
    return found


def _or_else(stated: FloatArray, other: FloatArray) -> FloatArray:
    """The stated numbers, and the other ones where they are NaN; clipped to finite values."""
    unknown = np.isnan(stated)
    return np.minimum(np.where(unknown, other, stated) if unknown.any() else stated, LARGEST)


def _with_prior(uncertainties: Uncertainties, values: FloatArray, prior: float) -> FloatArray:
    """The values, and the score of a uniform prior in rows with fewer than two known labels."""
    table = uncertainties.probabilities
    if not table.shape[1] or (table.shape[1] > 1 and not math.isnan(table.sum())):
        return values
    return np.where((~np.isnan(table)).sum(axis=1) < 2, prior, values)


def _beta_information(counts: FloatArray) -> FloatArray:
    """H(E q) - E H(q) of Beta posteriors: E[q ln q] = p (digamma(a + 1) - digamma(a + b + 1))."""
    total = counts.sum(axis=1, keepdims=True)
    share = counts / total
    expected = (share * (digamma(total + 1.0) - digamma(counts + 1.0))).sum(axis=1)
    gain: FloatArray = np.maximum(entr(share).sum(axis=1) - expected, 0.0)
    return gain


def _logit_normal_information(uncertainties: Uncertainties) -> FloatArray:
    """H(E q) - E H(q) of normal log-odds, NaN where there are none."""
    gain = np.empty(len(uncertainties.variance))
    mean = np.clip(uncertainties.latent_mean, -CERTAIN, CERTAIN)
    label_information(mean, np.minimum(uncertainties.latent_variance, CLUELESS), gain)
    return gain
