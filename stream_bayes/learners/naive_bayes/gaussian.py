"""Gaussian naive Bayes: numbers, each normal given the class with unknown mean and variance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stream_bayes.errors import InputError, UnlearnError
from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName
from stream_bayes.kernels.gaussian import Moments, NormalPrior, fold_gaussian
from stream_bayes.kernels.rows import RESIDUE, Joint, Rows
from stream_bayes.learners.base import of_kind, one_of
from stream_bayes.learners.labels import Label
from stream_bayes.learners.naive_bayes.base import NaiveBayes
from stream_bayes.posteriors import NormalInverseGamma

# Squares of values, summed over any stream, stay finite.
LARGEST_VALUE = 1e120
# Unlearning may leave this share of the scatter below zero by rounding; more is no evidence of any events.
SLACK = 1e-9


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
        self.prior = of_kind(prior, "prior", NormalInverseGamma)
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
        shape, scale = self.prior.shape, self.prior.scale
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
        known = rows.columns >= 0
        columns = np.where(known, rows.columns, 0)
        count, mean, scatter = (
            np.where(known, array[columns, label], 0.0) if len(array) else np.zeros(len(known))
            for array in self._evidence[1:]
        )
        left = count - weight
        offset = rows.values - mean
        # Welford backwards: scatter - w (x - mean)^2 n / (n - w); with nothing left there must be no scatter either.
        taken = weight * offset * offset * np.where(left > RESIDUE, count / np.where(left > RESIDUE, left, 1.0), 1.0)
        size = self.prior.scale + scatter + weight * (rows.values**2 + mean**2)
        bad = ~known | (left < -RESIDUE) | (scatter - taken < -SLACK * size)
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            name = self._name_at(batch, rows, place)
            message = f"feature {name!r} = {rows.values[place]:g} cannot be taken back: no such event was learned"
            raise UnlearnError(message)
        self._check_coverage(self._evidence.weight, rows.columns, label, weight)

    def _absorb(self, other: Self) -> None:
        classes, columns = self._adopt(other)
        mine, theirs = self._evidence, other._evidence
        height = len(columns)
        mine.class_weight[classes] += theirs.class_weight
        places = np.ix_(columns, classes)
        n, m = mine.weight[places], theirs.weight[:height]
        total = n + m
        share = np.divide(m, total, out=np.zeros_like(total), where=total > 0.0)
        offset = theirs.mean[:height] - mine.mean[places]
        # Chan, Golub and LeVeque: the scatter of two samples is theirs plus that between their means.
        mine.scatter[places] += theirs.scatter[:height] + offset * offset * n * share
        mine.mean[places] += offset * share
        mine.weight[places] = total

    def _more_tags(self) -> set[str]:
        return set()


def check_numbers(batch: Batch) -> None:
    """Refuse texts, and numbers whose squares would not be finite."""
    if batch.texts:
        message = f"feature {min(batch.texts, key=repr)!r} is a text: Gaussian features are numbers"
        raise InputError(message)
    if len(batch.values) and np.abs(batch.values).max() > LARGEST_VALUE:
        message = f"values must lie between -{LARGEST_VALUE:g} and {LARGEST_VALUE:g}, so that their squares are finite"
        raise InputError(message)
