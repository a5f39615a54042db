"""Cross-validation from the Gram statistics of folds: no event is looked at a second time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stream_bayes.errors import EvidenceError, ParameterError, shown
from stream_bayes.learners.gram.regression import GramRegression
from stream_bayes.learners.gram.results import CrossValidation


def cross_validate(
    strengths: Sequence[float] | int | None,
    folds: Sequence[GramRegression],
    penalty: str = "ridge",
    share: float = 0.5,
    standardise: bool = False,
    power: float = 1.5,
) -> CrossValidation:
    """Squared errors of events held out, for many strengths, from one learner for each fold.

    Each learner has learned the events of its fold alone. For every fold the sums of the others are merged, fitted
    with every strength, and the squared errors follow from the fold's own sums: the same numbers as predicting every
    event, up to rounding. O(K^2 d^2) for K folds and the fits of K paths, whatever the number of events.

    Parameters
    ----------
    strengths
        The strengths, or how many of them to spread over all that happens, as `GramRegression.path` takes them. They
        are those of fits of all folds but one.
    folds
        Learners of the same parameters, at least two.
    penalty, share, standardise, power
        As in `GramRegression.path`. To standardise is to use the standard deviations of the fitted events alone.

    Notes
    -----
    The error of a strength is the mean over all events, of fold k that is e_k; its standard error is the root of
    sum of n_k (e_k - error)^2 / n / (K - 1), the standard deviation of the e_k over sqrt(K) where folds are alike.

    Examples
    --------
    >>> folds = [GramRegression() for _ in range(3)]
    >>> for row, (x, y) in enumerate([(0, 1.0), (1, 2.9), (2, 5.1), (3, 7.0), (4, 9.2), (5, 10.9)]):
    ...     folds[row % 3].learn_one({"x": x}, y)
    >>> result = cross_validate([0.0, 1.0, 10.0], folds)
    >>> result.errors.round(3).tolist(), result.best
    ([3.543, 0.117, 0.026], 0.0)
    """
    learners = _checked(folds)
    sizes = _merged(learners).strengths(penalty, strengths, share, standardise, power)
    counts = np.array([fold.count for fold in learners])
    errors = np.empty((len(sizes), len(learners)))
    for place, fold in enumerate(learners):
        rest = _merged([other for other in learners if other is not fold])
        path = rest.path(penalty, sizes.tolist(), share, standardise, power)
        errors[:, place] = fold.squared_errors(path) / counts[place]
    shares = counts / counts.sum()
    means = errors @ shares
    spread = np.sqrt((errors - means[:, None]) ** 2 @ shares / (len(learners) - 1))
    return CrossValidation(sizes, means, spread, errors)


def _checked(folds: Any) -> list[GramRegression]:
    learners = list(folds) if isinstance(folds, Iterable) else []
    if len(learners) < 2 or not all(isinstance(fold, GramRegression) for fold in learners):
        message = f"folds are two or more GramRegression learners, one for each fold; got {shown(folds)}"
        raise ParameterError(message)
    empty = [place for place, fold in enumerate(learners) if fold.count == 0.0]
    if empty:
        message = f"fold {empty[0]} has learned nothing"
        raise EvidenceError(message)
    if len({id(fold) for fold in learners}) < len(learners):
        message = "one learner is there twice: each fold needs its own"
        raise ParameterError(message)
    return learners


def _merged(learners: Sequence[GramRegression]) -> GramRegression:
    merged = learners[0].snapshot_copy()
    for other in learners[1:]:
        merged.merge(other)
    return merged
