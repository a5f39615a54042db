"""How much is to be gained from a label: scores of predictions, the larger the better worth a question.

A strategy is a pure function from the doubts of a batch to a score a row, 0 or more and finite. Where a predictive does
not state what a strategy measures, the nearest thing that it does state stands in; each strategy says which. While
fewer than two labels are known a probability of 1 means nothing, and the score is that of a coin of which nothing is
known, so that a stream that begins with one label still asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from difflib import get_close_matches

import numpy as np
from scipy.special import digamma, entr, expit

from stream_bayes.active.uncertainty import LARGEST, Uncertainties
from stream_bayes.errors import ParameterError, shown
from stream_bayes.kernels.common.label_information import label_information
from stream_bayes.learners.base.label_predictions import CERTAIN, CLUELESS
from stream_bayes.typing import FloatArray

__all__ = ["STRATEGIES", "check_strategy", "scores"]

_UNIT_ENTROPY_POWER = 2.0 * math.pi * math.e
# The largest number below 1.
_NEARLY_ALL = 1.0 - 2.0**-53


def variance(doubts: Uncertainties) -> FloatArray:
    """The variance of the answer: p (1 - p) of the most probable label, noise and ignorance of a number together.

    For numbers with equal noise its largest value is the largest fall of the entropy of the weights. For labels it
    measures all doubt: it fails where labels are noise, and asks for coin tosses again and again.
    """
    return _with_coins(doubts, np.minimum(doubts.variance, LARGEST), 0.25)


def epistemic(doubts: Uncertainties) -> FloatArray:
    """The part of the variance that more data would remove: Var[q] of the latent probability, x'S x of a line.

    Noise does not attract it. It is as good as the learner's own idea of what it does not know: one that is sure and
    wrong is not asked, and a diagonal covariance sees ignorance in features that only ever come together. Where no
    ignorance is stated, as by river's classifiers and by learners that keep a point, the whole variance stands in.
    """
    return _with_coins(doubts, _or(doubts.epistemic_variance, doubts.variance), 1.0 / 12.0)


def latent(doubts: Uncertainties) -> FloatArray:
    """The variance of the latent log-odds; of a number, of its expectation.

    It ignores whether the label is in doubt: it asks for odd messages whose label is certain all the same, and their
    answers change no decision. Without log-odds it is `epistemic`.
    """
    ignorance = _or(doubts.epistemic_variance, doubts.variance)
    return _with_coins(doubts, _or(doubts.latent_variance, ignorance), math.pi**2 / 3.0)


def information(doubts: Uncertainties) -> FloatArray:
    """How far the answer is expected to make entropy fall, in nats: H(E q) - E H(q), 1/2 ln(variance / noise).

    Of more than two labels, what is told of the most probable against all others. It counts what is learned of this
    event's own log-odds, not what that is worth to other events. Where no ignorance is stated, all that an answer could
    tell stands in: the entropy of the label, of a number 1/2 ln(1 + variance).
    """
    if not doubts.probabilities.shape[1]:
        total = np.minimum(doubts.variance, LARGEST)
        ignorance = np.minimum(doubts.epistemic_variance / np.maximum(total, 1.0 / LARGEST), _NEARLY_ALL)
        return _or(-0.5 * np.log1p(-ignorance), 0.5 * np.log1p(total))
    told = _beta_information(doubts.counts) if doubts.counts.shape[1] else _logit_normal_information(doubts)
    return _with_coins(doubts, _or(told, entropy(doubts)), math.log(2.0) - 0.5)


def margin(doubts: Uncertainties) -> FloatArray:
    """1 - (p1 - p2): how close the second most probable label is to the first.

    Of two labels it ranks as `variance` does, and fails as that does. Of more it ignores all but two. Numbers have no
    margin, and their variance stands in.
    """
    if not doubts.probabilities.shape[1]:
        return variance(doubts)
    table = np.sort(np.nan_to_num(doubts.probabilities), axis=1)
    second = table[:, -2] if table.shape[1] > 1 else 0.0
    return _with_coins(doubts, np.clip(1.0 - (table[:, -1] - second), 0.0, 1.0), 1.0)


def entropy(doubts: Uncertainties) -> FloatArray:
    """The entropy of the label in nats; of a number 1/2 ln(1 + 2 pi e variance), that of a normal kept above 0.

    Of many labels it prefers rows where several are possible, even where the first of them is clear. It is drawn to
    noise as `variance` is.
    """
    if not doubts.probabilities.shape[1]:
        return 0.5 * np.log1p(_UNIT_ENTROPY_POWER * np.minimum(doubts.variance, LARGEST))
    summed = entr(np.nan_to_num(doubts.probabilities)).sum(axis=1)
    return _with_coins(doubts, np.maximum(summed, 0.0), math.log(2.0))


def disagreement(doubts: Uncertainties) -> FloatArray:
    """The variance of the probability over the members of a fusion.

    It fails where members are always apart, as a blunt and a sharp one are, and where all of them are wrong together.
    Without two members it is `epistemic`.
    """
    if doubts.members.shape[1] < 2:
        return epistemic(doubts)
    return _with_coins(doubts, expit(doubts.members).var(axis=1), 1.0 / 12.0)


def random(doubts: Uncertainties) -> FloatArray:
    """The same for every row, so that chance decides: what the others have to beat."""
    return np.ones(len(doubts.variance))


STRATEGIES: dict[str, Callable[[Uncertainties], FloatArray]] = {
    strategy.__name__: strategy
    for strategy in (variance, epistemic, latent, information, margin, entropy, disagreement, random)
}
"""The strategies by their names."""


def check_strategy(name: str, known: Collection[str] = STRATEGIES) -> str:
    """The name of a strategy, if there is one called so."""
    if name in known:
        return name
    near = get_close_matches(str(name), known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    message = f"there is no strategy {shown(name)}; {meant}known are {', '.join(known)}"
    raise ParameterError(message)


def scores(strategy: str, doubts: Uncertainties) -> FloatArray:
    """The score of each row by the strategy of this name: 0 or more, finite."""
    return STRATEGIES[check_strategy(strategy)](doubts)


def _or(stated: FloatArray, other: FloatArray) -> FloatArray:
    """What is stated, the other number where nothing is; a copy, and finite."""
    silent = np.isnan(stated)
    return np.minimum(np.where(silent, other, stated) if silent.any() else stated, LARGEST)


def _with_coins(doubts: Uncertainties, values: FloatArray, coin: float) -> FloatArray:
    """The values, but that of a coin of which nothing is known where fewer than two labels are."""
    table = doubts.probabilities
    if not table.shape[1] or (table.shape[1] > 1 and not math.isnan(table.sum())):
        return values
    return np.where((~np.isnan(table)).sum(axis=1) < 2, coin, values)


def _beta_information(counts: FloatArray) -> FloatArray:
    """H(E q) - E H(q) of Beta posteriors: E[q ln q] = p (digamma(a + 1) - digamma(a + b + 1))."""
    total = counts.sum(axis=1, keepdims=True)
    share = counts / total
    expected = (share * (digamma(total + 1.0) - digamma(counts + 1.0))).sum(axis=1)
    told: FloatArray = np.maximum(entr(share).sum(axis=1) - expected, 0.0)
    return told


def _logit_normal_information(doubts: Uncertainties) -> FloatArray:
    """H(E q) - E H(q) of normal log-odds, NaN where there are none."""
    told = np.empty(len(doubts.variance))
    mean = np.clip(doubts.latent_mean, -CERTAIN, CERTAIN)
    label_information(mean, np.minimum(doubts.latent_variance, CLUELESS), told)
    return told
