"""WeightPrior: a normal prior of some weights of a linear model, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from stream_bayes.errors import ParameterError, shown
from stream_bayes.features.values import FeatureName, check_name
from stream_bayes.posteriors.multivariate import covariance_matrix
from stream_bayes.typing import FloatArray
from stream_bayes.validation import array, refuse

Matrix = tuple[tuple[float, ...], ...]


class _WeightPriorFields(NamedTuple):
    names: tuple[FeatureName, ...]
    """The weights; that of the constant is called "intercept"."""
    mean: tuple[float, ...]
    """What each weight is expected to be, in the order of the names."""
    covariance: Matrix | None
    """Their covariance matrix, where that was given."""
    precision: Matrix | None
    """Its inverse, where that was given."""


class WeightPrior(_WeightPriorFields):
    """Normal prior of the named weights: a mean vector, and a covariance or a precision matrix.

    Rows and columns of the matrix are in the order of the names.

    Examples
    --------
    >>> prior = WeightPrior(["intercept", "x"], [1.0, -2.0], covariance=[[0.5, 0.1], [0.1, 0.2]])
    >>> prior.precision_matrix().round(4).tolist()
    [[2.2222, -1.1111], [-1.1111, 5.5556]]
    """

    __slots__ = ()

    def __new__(
        cls,
        names: Sequence[FeatureName],
        mean: ArrayLike,
        covariance: ArrayLike | None = None,
        precision: ArrayLike | None = None,
    ) -> Self:
        """Check that names differ, and that one symmetric, positive definite matrix of their number is given."""
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise refuse("names", "a list of the names of weights", names)
        known = tuple(check_name(_as_tuple(name)) for name in names)
        if len(set(known)) < len(known):
            message = f"names must differ; got {shown(list(known))}"
            raise ParameterError(message)
        centre = array("mean", mean, 1)
        if len(centre) != len(known):
            message = f"mean must have a number for each of the {len(known)} names; got {len(centre)}"
            raise ParameterError(message)
        if (covariance is None) == (precision is None):
            message = "a prior of weights takes either covariance=... or precision=..., one of them"
            raise ParameterError(message)
        matrices = [
            None if matrix is None else _as_tuple(covariance_matrix(what, matrix, len(centre)).tolist())
            for what, matrix in (("covariance", covariance), ("precision", precision))
        ]
        return super().__new__(cls, known, tuple(centre.tolist()), *matrices)

    def precision_matrix(self) -> FloatArray:
        """The precision matrix, in the order of the names."""
        if self.precision is not None:
            return np.array(self.precision)
        half = np.linalg.inv(np.linalg.cholesky(np.array(self.covariance)))
        matrix: FloatArray = half.T @ half
        return matrix


def _as_tuple(value: Any) -> Any:
    """Lists of lists as tuples, which is what JSON makes of tuples the other way round."""
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value
