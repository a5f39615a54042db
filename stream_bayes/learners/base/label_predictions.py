"""Predictions of a classifier for a batch: arrays, and the objects they stand for row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from stream_bayes.errors import NumericalError
from stream_bayes.kernels.common.class_scores import to_probabilities
from stream_bayes.kernels.common.csr import Joint
from stream_bayes.kernels.common.label_variance import split_variances
from stream_bayes.learners.base.arrays import is_selection, row_at, select_rows
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.base.uncertainties import Uncertainties
from stream_bayes.posteriors import Beta, LabelPredictive, LogitNormal
from stream_bayes.typing import FloatArray

# Log-odds of a label whose rivals are impossible, and a variance that says nothing is known: beyond both, a probability
# in floating point shows no difference.
CERTAIN = 1e4
CLUELESS = 1e8


@dataclass(frozen=True, eq=False)
class LabelPredictions(Sequence[LabelPredictive]):
    """Predictions for the rows of a batch, each made before its row was learned."""

    labels: tuple[Label, ...]
    """The label of each column of `probabilities`."""
    probabilities: FloatArray
    """NaN where a label was not known yet."""
    log_odds: FloatArray
    """Log-odds of each row's most probable label against all others, by the probabilities."""
    latent_mean: FloatArray
    """Posterior mean of the latent log-odds, those that one would state if one knew the parameters."""
    latent_variance: FloatArray
    """Their posterior variance: how much of the doubt is ignorance."""
    counts: FloatArray | None = None
    """Pseudo-counts of the exact Beta posterior of two labels, a pair for each row; None if there is none."""
    member_log_odds: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    """Log-odds by each member of a fusion, a column for each; 0 before it has learned. Empty without members."""

    def __len__(self) -> int:
        return len(self.latent_mean)

    @overload
    def __getitem__(self, row: int) -> LabelPredictive: ...

    @overload
    def __getitem__(self, row: slice | list[int] | NDArray[Any]) -> Self: ...

    def __getitem__(self, row: Any) -> LabelPredictive | Self:
        """Return the posterior predictive of a row (-1 is the last), or the predictions of several rows."""
        if is_selection(row):
            return select_rows(self, len(self), row)
        return self.predictive(row_at(row, len(self)))

    def __iter__(self) -> Iterator[LabelPredictive]:
        return map(self.predictive, range(len(self)))

    @classmethod
    def from_joint(cls, labels: tuple[Label, ...], joint: Joint) -> LabelPredictions:
        """Normalise the joint log-likelihoods of a fold."""
        probabilities = np.empty_like(joint.log)
        log_odds, latent_mean, latent_variance = np.empty((3, len(joint.log)))
        failures = to_probabilities(joint, probabilities, log_odds, latent_mean, latent_variance)
        check_answered(failures, len(latent_mean))
        return cls(labels, probabilities, log_odds, latent_mean, latent_variance)

    @property
    def variance(self) -> FloatArray:
        """The variance p (1 - p) of the indicator of each row's most probable label: that of its `predictive`."""
        return self._variances[0]

    @property
    def epistemic_variance(self) -> FloatArray:
        """The part of it that more data would remove."""
        return self._variances[1]

    @property
    def aleatoric_variance(self) -> FloatArray:
        """The part of it that would stay if the latent probability were known."""
        return self.variance - self.epistemic_variance

    @cached_property
    def _variances(self) -> tuple[FloatArray, FloatArray]:
        total, epistemic = np.empty((2, len(self.latent_mean)))
        counts = np.empty((0, 2)) if self.counts is None else np.ascontiguousarray(self.counts)
        mean = np.clip(self.latent_mean, -CERTAIN, CERTAIN)
        variance = np.minimum(self.latent_variance, CLUELESS)
        split_variances(np.ascontiguousarray(self.probabilities), mean, variance, counts, total, epistemic)
        return total, epistemic

    def uncertainties(self) -> Uncertainties:
        """The uncertainty of each row, for a selection strategy."""
        variance, epistemic = self._variances
        rows = len(variance)
        none = np.empty((rows, 0))
        unknown = np.full(rows, np.nan)
        spread = self.latent_variance
        if not spread.all():
            # A point estimate states no uncertainty of its own.
            spread, epistemic = np.where(spread == 0.0, np.nan, (spread, epistemic))
        # Where labels are predicted and none is known yet, there is one column of unknown probabilities.
        table = self.probabilities if self.probabilities.shape[1] else unknown[:, None]
        members = self.member_log_odds if len(self.member_log_odds) == rows else none
        counts = none if self.counts is None else self.counts
        return Uncertainties(table, variance, epistemic, spread, members, self.latent_mean, counts)

    def probabilities_of(self, row: int) -> dict[Label, float]:
        """The probability of each label known at that row; they sum to one."""
        numbers = self.probabilities[row].tolist()
        return {label: p for label, p in zip(self.labels, numbers, strict=True) if not math.isnan(p)}

    def most_probable(self) -> NDArray[Any]:
        """The most probable label of each row, the first of equals; None where none is known."""
        table = np.where(np.isnan(self.probabilities), -1.0, self.probabilities)
        table = np.column_stack((table, np.full(len(table), -0.5)))
        labels = np.empty(len(self.labels) + 1, dtype=object)
        labels[:-1] = self.labels
        found = labels[table.argmax(axis=1)]
        # Labels of one type are an array of that type, as those who compare them expect. An array of texts drops the
        # zeros at their ends, so that texts with one stay objects.
        same = len(set(map(type, self.labels))) == 1 and bool((table.max(axis=1, initial=-1.0) >= 0.0).all())
        keeps = not any(isinstance(label, str) and label.endswith("\0") for label in self.labels)
        return np.array(found.tolist()) if same and keeps and len(found) else found

    def predictive(self, row: int) -> LabelPredictive:
        """The posterior predictive of the row's label, with its variance split into noise and ignorance."""
        probabilities = self.probabilities_of(row)
        if len(probabilities) < 2:
            # A label without a rival has probability 1 by default, and nothing is known of what else may come.
            return LabelPredictive(probabilities, Beta(1.0, 1.0))
        if self.counts is not None:
            top = int(np.argmax(list(probabilities.values())))
            return LabelPredictive(probabilities, Beta(self.counts[row, top], self.counts[row, 1 - top]))
        mean = max(min(float(self.latent_mean[row]), CERTAIN), -CERTAIN)
        variance = min(float(self.latent_variance[row]), CLUELESS)
        return LabelPredictive(probabilities, LogitNormal(mean, variance))


def check_answered(failures: int, events: int) -> None:
    """Raise when some of the events have no probability."""
    if failures:
        message = f"{failures} of {events} events have no probability: the arithmetic left the finite numbers"
        raise NumericalError(message)


def both_probabilities(log_odds: FloatArray) -> FloatArray:
    """The probabilities of two labels by the log-odds of the second, each precise when it is small."""
    return np.stack((expit(-log_odds), expit(log_odds)), axis=1)
