"""Gaussian naive Bayes: numbers, each normal given the class with unknown mean and variance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stream_bayes.errors import UnlearnError
from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.naive_bayes.gaussian import Moments, NormalPrior, fold_gaussian
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.base.numeric_features import SLACK, SampleMoments, check_numbers, check_prior, merged
from stream_bayes.learners.naive_bayes.base import NaiveBayes, slack
from stream_bayes.posteriors import NormalInverseGamma
from stream_bayes.validation import one_of


class GaussianNB(NaiveBayes):
    """Naive Bayes on numbers: in each class every feature is normal with unknown mean and variance.

    Parameters
    ----------
    prior
        Normal-inverse-gamma prior of each feature's mean and variance in each class. The default expects features of
        about unit scale: put a scaler in front of others, or give a prior of their scale.
    variance
        "class": each class has its own variance of a feature; "shared": all classes have the same, so that the log-odds
        are linear in the features.
    class_prior_count
        Pseudo-count of each class; 0 gives class frequencies.
    classes
        Labels known beforehand; others join when they are first learned.
    predictive
        "posterior": Student's t, wide while there is little data; "plug-in": the normal with maximum-likelihood mean
        and variance (the prior only where a class has no value yet), as other libraries have it.
    buckets
        Hash names into this many columns (a power of two) instead of keeping them.

    Notes
    -----
    With n values of mean m and scatter s: strength + n, (strength mean + n m) / (strength + n), shape + n / 2, and
    scale + (s + strength n / (strength + n) (m - mean)^2) / 2. A missing feature is marginalised out; booleans count
    as 0 and 1. Corrections are exact up to rounding.

    Examples
    --------
    >>> model = GaussianNB(prior=NormalInverseGamma(mean=0, strength=0.1, shape=1, scale=1))
    >>> for height, label in ((1.82, "a"), (1.75, "a"), (1.62, "b"), (1.58, "b")):
    ...     model.learn_one({"height": height}, label)
    >>> model.predict_one({"height": 1.6})
    'b'
    >>> model.posterior("height", "a")
    NormalInverseGamma(mean=1.7, strength=2.1, shape=2, scale=1.15)
    """

    _evidence: Moments
    _evidence_kind = Moments
    _takes_counts = False

    def __init__(
        self,
        prior: NormalInverseGamma = NormalInverseGamma(0.0, 0.01, 1.0, 1.0),
        variance: str = "class",
        class_prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        predictive: str = "posterior",
        buckets: int | None = None,
    ) -> None:
        super().__init__(class_prior_count, classes, buckets)
        self.prior = check_prior(prior)
        self.variance = one_of(variance, "variance", ("class", "shared"))
        self.predictive = one_of(predictive, "predictive", ("posterior", "plug-in"))

    def posterior(self, feature: FeatureName, label: Any) -> NormalInverseGamma:
        """Mean and variance of a feature in a class; a shared variance has the evidence of all classes."""
        count = self._cell(self._evidence.weight, feature, label)
        mean = self._cell(self._evidence.mean, feature, label)
        scatter = self._cell(self._evidence.scatter, feature, label)
        own = self.prior.update_moments(count, mean, scatter)
        if self.variance == "class":
            return own
        shape = self.prior.shape
        scale = self.prior.scale
        column = self._column(feature)
        if column >= 0:
            moments = zip(*(array[column].tolist() for array in self._evidence[1:]), strict=True)
            each = [self.prior.update_moments(*three) for three in moments]
            shape += sum(one.shape - self.prior.shape for one in each)
            scale += sum(one.scale - self.prior.scale for one in each)
        return NormalInverseGamma(own.mean, own.strength, shape, scale)

    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        fold_gaussian(
            rows,
            score,
            self.predictive == "plug-in",
            self.variance == "shared",
            self.class_prior_count,
            self._labels.declared,
            NormalPrior(*self.prior),
            self._evidence,
            joint,
        )

    def _check_values(self, batch: Batch) -> None:
        check_numbers(batch)

    def _check_unlearn(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        count, mean, scatter = (self._held(array, rows, label) for array in self._evidence[1:])
        left = count - weight
        least = slack(count)
        offset = rows.values - mean
        # Welford backwards: scatter - w (x - mean)^2 n / (n - w); with nothing left there must be no scatter either.
        some = left > least
        taken = weight * offset * offset * np.where(some, count / np.where(some, left, 1.0), 1.0)
        size = self.prior.scale + scatter + weight * (self.prior.scale + rows.values**2 + mean**2)
        bad = (rows.columns < 0) | (left < -least) | (scatter - taken < -SLACK * size)
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            name = self._name_at(batch, rows, place)
            message = f"feature {name!r} = {rows.values[place]:g} cannot be taken back: no such event was learned"
            raise UnlearnError(message)
        weights = self._evidence.weight[:, label]
        self._check_coverage(weights, ~np.isin(np.arange(len(weights)), rows.columns), label, weight)

    def _absorb(self, other: Self) -> None:
        classes, columns = self._adopt(other)
        self._evidence.class_weight[classes] += other._evidence.class_weight
        places = np.ix_(columns, classes)
        mine = SampleMoments(*(array[places] for array in self._evidence[1:]))
        theirs = SampleMoments(*(array[: len(columns)] for array in other._evidence[1:]))
        for array, total in zip(self._evidence[1:], merged(mine, theirs), strict=True):
            array[places] = total

    def _more_tags(self) -> set[str]:
        return set()
