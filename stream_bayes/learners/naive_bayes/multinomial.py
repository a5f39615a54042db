"""Multinomial naive Bayes: how often each word is used, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from stream_bayes.errors import EvidenceError, InputError
from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.naive_bayes.word_counts import fold_multinomial
from stream_bayes.learners.base.generative_classifier import by_name, without_prior
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.naive_bayes.word_counts import WordCountNB
from stream_bayes.posteriors import Beta, Dirichlet
from stream_bayes.typing import FloatArray, IntArray
from stream_bayes.validation import non_negative, one_of


class MultinomialNB(WordCountNB):
    """Naive Bayes on counts of words: in each class the words are drawn from one distribution, Dirichlet a priori.

    Parameters
    ----------
    prior_count
        Pseudo-count of each word of the vocabulary in each class; 0 gives maximum likelihood, and the plug-in
        predictive. A class then makes a message with a word that it never had impossible; where a message is
        impossible in all classes, their probabilities are all the same.
    class_prior_count
        Pseudo-count of each class, also without a prior; 0 gives class frequencies: maximum likelihood.
    classes
        Labels known beforehand; others join when they are first learned.
    predictive
        "posterior": the Dirichlet-multinomial, which knows that a word just seen is likely to come again;
        "plug-in": the posterior mean to the power of the count, as other libraries have it.
    buckets
        Hash names into this many columns (a power of two) instead of keeping them.

    Notes
    -----
    theta_cj | data has mean (prior_count + n_cj) / (prior_count V + T_c), V the vocabulary: the words learned so far.
    Words outside it say nothing. A text value {"sender": "bob"} counts as one use of the word ("sender", "bob").
    Corrections are exact: `unlearn_one` with the old label, `learn_one` with the new one.

    A likelihood is that of the counts, given how many words there are: with the multinomial coefficient, which
    scikit-learn leaves out. The length of a message is no part of the model: `sample` draws it from a Poisson
    distribution with the mean of the class.

    Examples
    --------
    >>> model = MultinomialNB(prior_count=1.0)
    >>> model.learn_one({"cheap": 2, "pills": 1}, "spam")
    >>> model.learn_one({"lunch": 1, "today": 1}, "ham")
    >>> model.predict_proba_one({"cheap": 1, "lunch": 1})
    {'spam': 0.529, 'ham': 0.471}
    >>> model.posterior("cheap", "spam")
    Beta(3, 4)
    """

    def __init__(
        self,
        prior_count: float = 1.0,
        class_prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        predictive: str = "posterior",
        buckets: int | None = None,
    ) -> None:
        self.prior_count = non_negative("prior_count", prior_count)
        super().__init__(self.prior_count, class_prior_count, classes, buckets)
        self.predictive = one_of(predictive, "predictive", ("posterior", "plug-in"))

    def posterior(self, word: FeatureName, label: Any) -> Beta:
        """The share of a word among the words of a class: the Dirichlet's marginal, a Beta."""
        if not self._has_prior:
            raise without_prior()
        own = self.prior_count + self._cell(self._evidence.cells, word, label)
        words = self._vocabulary_size + (0 if self._in_vocabulary(word) else 1)
        if words < 2:
            message = f"there is no second word yet that {word!r} could share with: its share is 1, whatever comes"
            raise InputError(message)
        total = self._class_entry(self._evidence.class_total, label)
        return Beta(own, self.prior_count * words + total - own)

    @property
    def _has_prior(self) -> bool:
        return self.prior_count > 0.0

    @property
    def _plugs_in(self) -> bool:
        return self.predictive == "plug-in" or not self._has_prior

    def _log_base(self, rows: Rows) -> float:
        return float(gammaln(self._known_amounts(rows).sum() + 1.0)) + super()._log_base(rows)

    def _ml_parameters(self, code: int) -> dict[FeatureName, float]:
        if self._evidence.class_total[code] == 0.0:
            message = "no message of this label had a word: the shares of words have no maximum-likelihood estimate"
            raise EvidenceError(message)
        return self._shares(code, 0.0)

    def _posterior_parameters(self, label: Label, *, mode: bool) -> dict[FeatureName, float]:
        code = self._labels.code(label)
        least = self.prior_count + min(self._counts_of(code).values(), default=0.0)
        total = self.prior_count * self._vocabulary_size + self._evidence.class_total[code]
        if mode and self._vocabulary_size == 2:
            uses = self._counts_of(code)
            shares = Dirichlet(self.prior_count + count for count in uses.values()).mode
            return dict(zip(uses, shares, strict=True))
        if mode and (least < 1.0 or total <= self._vocabulary_size):
            message = "the posterior of the shares has no single mode: it needs pseudo-counts of 1 or more, and a word"
            raise InputError(message)
        return self._shares(code, self.prior_count - 1.0 if mode else self.prior_count)

    def _shares(self, code: int, pseudo_count: float) -> dict[FeatureName, float]:
        names = self._kept_names()
        uses = self._evidence.cells[: len(names), code] + pseudo_count
        return by_name(names, uses / uses[self._used()].sum(), self._used())

    def _draw_uses(self, code: int, uses: FloatArray, random: np.random.Generator) -> IntArray:
        own = self._evidence.class_weight[code] > 0.0
        total = self._evidence.class_total[code] if own else self._evidence.class_total.sum()
        messages = self._evidence.class_weight[code] if own else self._evidence.class_weight.sum()
        length = random.poisson(total / messages) if total > 0.0 else 0
        if length == 0:
            return np.zeros(len(uses), dtype=np.int64)
        shares = uses + self.prior_count
        if not self._plugs_in:
            shares = random.standard_gamma(shares)
        drawn: IntArray = random.multinomial(length, shares / shares.sum())
        return drawn

    def _fold_events(self, batch: Batch, rows: Rows, joint: Joint, class_prior_count: float, *, score: bool) -> None:
        self._vocabulary_size = fold_multinomial(
            rows,
            score,
            self._plugs_in,
            class_prior_count,
            self._labels.declared,
            self.prior_count,
            self._table,
            self._vocabulary_size,
            self._evidence,
            joint,
        )
