"""Batch-mode active learning: the rows of a window whose labels together teach most.

Rows with high scores may all teach the same. If a learner has a joint posterior of its weights, each row is chosen
given the labels of the rows before it (greedy selection). Otherwise near-duplicates are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from river import base

from stream_bayes.active.near_duplicates import NearDuplicates
from stream_bayes.active.strategies import Strategy, check_strategy, scores
from stream_bayes.active.uncertainty import uncertainty_of
from stream_bayes.errors import ParameterError
from stream_bayes.features import Batch
from stream_bayes.learners import BayesianLinearRegression, BayesianLogisticRegression, LabelPredictions
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.label_predictions import both_probabilities
from stream_bayes.learners.base.regressor import Regressor
from stream_bayes.learners.base.weight_names import INTERCEPT
from stream_bayes.typing import FloatArray
from stream_bayes.validation import whole

# A variance of 0 would mean that the learner states no uncertainty.
_LEAST_VARIANCE = 1e-300


def select_batch(
    learner: Any,
    xs: Sequence[Any],
    count: int,
    score: str | Strategy = "epistemic",
    *,
    similarity: float = 0.8,
    seed: int = 1,
) -> list[int]:
    """Select at most `count` rows of a window whose labels to request, best first; nothing is learned.

    `BayesianLinearRegression`: exact. A covariance does not depend on targets, so each row has the largest variance
    given the labels of the rows before it. The noise is the same for all rows, so this holds for every strategy of this
    package but "random".

    `BayesianLogisticRegression` with a full covariance and without hashing: any label takes S x x'S k^2 p (1 - p) from
    the covariance S of the weights, k^2 = 1 / (1 + pi v / 8), and is not expected to move their mean. The strategy
    scores each row by the remaining variance v of its log-odds. Forgetting between the rows is neglected.

    Any other learner, also of river: the highest scores, without rows whose estimated similarity to a better row is
    `similarity` or more (`active.near_duplicates`), so that there may be fewer than `count`. Of equal scores the first
    row is taken; "random" shuffles.

    >>> model = BayesianLinearRegression(prior_precision=0.5)
    >>> select_batch(model, [{"a": 3.0}, {"a": 3.1}, {"b": 2.0}], 2)
    [1, 2]
    """
    strategy = score if callable(score) else check_strategy(score)
    limit = min(int(whole("count", count, ParameterError)), len(xs))
    if limit and strategy != "random":
        if isinstance(learner, BayesianLinearRegression) and not callable(strategy):
            return [int(row) for row in learner.rank_by_information(xs, limit)]
        if isinstance(learner, BayesianLogisticRegression) and _has_joint_posterior(learner, xs):
            return _select_greedily(learner, xs, limit, strategy)
    return _select_highest(learner, xs, limit, strategy, similarity, seed) if limit else []


def _has_joint_posterior(learner: BayesianLogisticRegression, xs: Sequence[Any]) -> bool:
    """Whether there is a joint posterior of the weights by name."""
    return learner.covariance == "full" and learner.buckets is None and (learner.intercept or any(xs))


def _select_greedily(
    learner: BayesianLogisticRegression, xs: Sequence[Any], count: int, strategy: str | Strategy
) -> list[int]:
    """In units in which the covariance of the weights is I, it becomes I - sum of t t' over the rows t of `updates`."""
    mean, whitened = _whitened(learner, xs)
    variance = np.einsum("ij,ij->i", whitened, whitened)
    chosen: list[int] = []
    updates = np.empty((count, whitened.shape[1]))
    for turn in range(count):
        variance = np.maximum(variance, _LEAST_VARIANCE)
        k = 1.0 / np.sqrt(1.0 + math.pi * variance / 8.0)
        table = both_probabilities(k * mean)
        predictions = LabelPredictions((False, True), table, np.abs(k * mean), np.abs(mean), variance)
        row_scores = scores(strategy, predictions.uncertainties())
        row_scores[chosen] = -1.0
        best = int(row_scores.argmax())
        row = whitened[best]
        direction = row - (updates[:turn] @ row) @ updates[:turn]
        updates[turn] = direction * (k[best] * math.sqrt(predictions.variance[best]))
        variance = variance - (whitened @ updates[turn]) ** 2
        chosen.append(best)
    return chosen


def _whitened(learner: BayesianLogisticRegression, xs: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    """The mean of the log-odds of each event, and the events as rows u with u'u their variance."""
    batch = learner.batch(xs)
    learner.predictive_many(batch)  # refuses invalid events
    names, design = _dense(batch)
    if learner.intercept:
        names = [*names, INTERCEPT]
        design = np.column_stack((design, np.ones(len(batch))))
    posterior = learner.joint(*names)
    return design @ posterior.mean, design @ np.linalg.cholesky(posterior.covariance)


def _dense(batch: Batch) -> tuple[list[Any], FloatArray]:
    """The feature names of a batch, and its events as the rows of a matrix."""
    assert batch.names is not None
    used, places = np.unique(batch.columns, return_inverse=True)
    design = np.zeros((len(batch), len(used)))
    design[np.repeat(np.arange(len(batch)), np.diff(batch.row_starts)), places] = batch.values
    return [batch.names[number] for number in used.tolist()], design


def _select_highest(
    learner: Any, xs: Sequence[Any], count: int, strategy: str | Strategy, similarity: float, seed: int
) -> list[int]:
    order = np.random.default_rng(seed).permutation(len(xs))
    if strategy != "random":
        order = np.argsort(-_scores_of(learner, xs, strategy), kind="stable")
    rows: list[int] = []
    chosen = NearDuplicates(capacity=count)
    for row in order.tolist():
        if not chosen.find(xs[row], similarity):
            chosen.add(row, xs[row])
            rows.append(row)
        if len(rows) == count:
            break
    return rows


def _scores_of(learner: Any, xs: Sequence[Any], strategy: str | Strategy) -> FloatArray:
    if isinstance(learner, (Classifier, Regressor)):
        return scores(strategy, learner.predictive_many(xs).uncertainties())
    return np.concatenate([scores(strategy, uncertainty_of(_predictive_of(learner, x))) for x in xs])


def _predictive_of(learner: Any, x: Any) -> Any:
    """The predictive of one event, by our learners, classifiers of river, or its regressors with a distribution."""
    if hasattr(learner, "predictive_one"):
        return learner.predictive_one(x)
    if isinstance(learner, base.Classifier):
        return learner.predict_proba_one(x)
    try:
        return learner.predict_one(x, with_dist=True)
    except (AttributeError, TypeError) as problem:
        message = f"a {type(learner).__name__} gives no predictive: neither probabilities nor a distribution of numbers"
        raise ParameterError(message) from problem
