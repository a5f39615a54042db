"""The few weights of a logistic model with their full covariance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_bayes.errors import ParameterError, shown
from stream_bayes.kernels.fusion.logistic_step import solve_mean
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import Normal
from stream_bayes.typing import FloatArray
from stream_bayes.validation import positive

# Learners that always agree leave the difference of their weights to the prior, which must be more than the rounding of
# what the data say of their sum. Measured over 1e5 events, the weights of equals part by 0.9 at 1e-12, by 3e-6 at 1e-6.
SMALLEST_PRECISION = 1e-6
LARGEST_PRECISION = 1e12
# No stream of events of the largest weight comes near it, and what is below it can be learned on without overflow.
LARGEST_SUM = 1e100
_ROUNDING = 1e-9


class LogisticWeights:
    """A normal posterior, kept as `stream_bayes.kernels.fusion.logistic_step` updates it."""

    def __init__(self, mean: Sequence[float] | FloatArray, precision: float | FloatArray) -> None:
        root = np.sqrt(precision)
        self.factor = root * np.eye(len(mean))
        """L, lower triangular, with precision L L'."""
        self.target = root * np.array(mean, dtype=np.float64)
        """L' mean."""

    def mean(self) -> FloatArray:
        """The mean of each weight."""
        mean = np.empty_like(self.target)
        solve_mean(self.factor, self.target, mean)
        return mean

    def marginals(self) -> list[Normal]:
        """Each weight by itself."""
        inverse = np.linalg.inv(self.factor)
        variances = (inverse * inverse).sum(axis=0)
        return [Normal(mean, variance) for mean, variance in zip(self.mean(), variances, strict=True)]

    def copy_into(self, other: LogisticWeights) -> None:
        """Overwrite as many other weights, in the memory they have."""
        np.copyto(other.factor, self.factor)
        np.copyto(other.target, self.target)

    def arrays(self, name: str) -> Arrays:
        """Copies for a snapshot."""
        return {f"{name}_factor": self.factor.copy(), f"{name}_target": self.target.copy()}

    def restore(self, arrays: Arrays, name: str, rising: int = 0) -> None:
        """Take over what `arrays` gave; the first `rising` weights are never below 0."""
        factor = arrays[f"{name}_factor"]
        target = arrays[f"{name}_target"]
        right = all(
            new.dtype == np.float64 and new.shape == old.shape and (np.abs(new) < LARGEST_SUM).all()
            for new, old in ((factor, self.factor), (target, self.target))
        )
        # Learning only ever adds to the diagonal, which starts as the prior's.
        least = (1.0 - _ROUNDING) * self.factor.diagonal()
        if not right or np.triu(factor, 1).any() or (factor.diagonal() < least).any():
            message = f"the {name} weights need a lower triangular factor, no less precise than the prior, and a target"
            raise ValueError(message)
        self.factor = np.ascontiguousarray(factor)
        self.target = np.ascontiguousarray(target)
        mean = self.mean()
        if not (np.abs(mean) < LARGEST_SUM).all() or (mean[:rising] < -_ROUNDING).any():
            message = (
                f"the {name} weights must be numbers of a size that can be learned, and {rising} of them 0 or more"
            )
            raise ValueError(message)


def check_precision(name: str, precision: float) -> float:
    """The prior precision of such weights, if sums with it keep their digits."""
    number = positive(name, precision)
    if SMALLEST_PRECISION <= number <= LARGEST_PRECISION:
        return number
    message = f"{name} must lie between {SMALLEST_PRECISION:g} and {LARGEST_PRECISION:g}; got {shown(precision)}"
    raise ParameterError(message)
