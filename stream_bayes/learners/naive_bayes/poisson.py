"""Poisson naive Bayes: how often each word comes in a message, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.naive_bayes.word_counts import fold_poisson
from stream_bayes.learners.base.generative_classifier import by_name, without_prior
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.naive_bayes.word_counts import WordCountNB
from stream_bayes.posteriors import Gamma
from stream_bayes.typing import FloatArray, IntArray
from stream_bayes.validation import of_kind, one_of


class PoissonNB(WordCountNB):
    """Naive Bayes on counts of words: each word comes at its own rate per message of a class, Gamma a priori.

    Parameters
    ----------
    prior
        Prior of the rate of each word in each class: `Gamma(shape, rate)` stands for `shape` uses in `rate` messages.
        None: maximum likelihood, and the plug-in predictive. A class then makes a message with a word that it never had
        impossible; where a message is impossible in all classes, their probabilities are all the same.
    class_prior_count
        Pseudo-count of each class, also without a prior; 0 gives class frequencies: maximum likelihood.
    classes
        Labels known beforehand; others join when they are first learned.
    predictive
        "posterior": negative binomial; "plug-in": Poisson with the posterior mean of the rate.
    buckets
        Hash names into this many columns (a power of two) instead of keeping them.

    Notes
    -----
    rate_cj | data ~ Gamma(shape + n_cj, rate + N_c); the maximum-likelihood rate is n_cj / N_c. The words of the
    vocabulary that a message does not use count too, exactly and at no cost: unlike the multinomial, this model
    knows how long messages are. Corrections are exact.

    Examples
    --------
    >>> model = PoissonNB(prior=Gamma(0.5, 2.0))
    >>> model.learn_one({"cheap": 2, "pills": 1}, "spam")
    >>> model.learn_one({"lunch": 1}, "ham")
    >>> model.predict_proba_one({"cheap": 1})
    {'spam': 0.738, 'ham': 0.262}
    >>> model.posterior("cheap", "spam")
    Gamma(shape=2.5, rate=3)
    """

    def __init__(
        self,
        prior: Gamma | None = Gamma(1.0, 1.0),
        class_prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        predictive: str = "posterior",
        buckets: int | None = None,
    ) -> None:
        self.prior = None if prior is None else of_kind(prior, "prior", Gamma)
        self._pseudo_counts = self.prior or (0.0, 0.0)
        super().__init__(self._pseudo_counts[0], class_prior_count, classes, buckets)
        self.predictive = one_of(predictive, "predictive", ("posterior", "plug-in"))

    def posterior(self, word: FeatureName, label: Any) -> Gamma:
        """The rate of a word per message of a class."""
        if self.prior is None:
            raise without_prior()
        uses = self._cell(self._evidence.cells, word, label)
        messages = self._class_entry(self._evidence.class_weight, label)
        return self.prior.update_counts(uses, messages)

    @property
    def _has_prior(self) -> bool:
        return self.prior is not None

    @property
    def _plugs_in(self) -> bool:
        return self.predictive == "plug-in" or self.prior is None

    def _ml_parameters(self, code: int) -> dict[FeatureName, float]:
        names = self._kept_names()
        rates = self._evidence.cells[: len(names), code] / self._evidence.class_weight[code]
        return by_name(names, rates, self._used())

    def _posterior_parameters(self, label: Label, *, mode: bool) -> dict[FeatureName, float]:
        posteriors = {word: self.posterior(word, label) for word in self._counts_of(self._labels.code(label))}
        return {word: posterior.mode if mode else posterior.mean for word, posterior in posteriors.items()}

    def _draw_uses(self, code: int, uses: FloatArray, random: np.random.Generator) -> IntArray:
        shape, rate = self._pseudo_counts
        shapes = shape + uses
        exposure = rate + float(self._evidence.class_weight[code])
        drawn: IntArray = random.poisson((shapes if self._plugs_in else random.standard_gamma(shapes)) / exposure)
        return drawn

    def _fold_events(self, batch: Batch, rows: Rows, joint: Joint, class_prior_count: float, *, score: bool) -> None:
        self._vocabulary_size = fold_poisson(
            rows,
            score,
            self._plugs_in,
            class_prior_count,
            self._labels.declared,
            *self._pseudo_counts,
            self._table,
            self._vocabulary_size,
            self._evidence,
            joint,
        )
