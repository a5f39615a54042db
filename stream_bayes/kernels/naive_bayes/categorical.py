"""Categorical naive Bayes: score each row, then learn it, in one pass."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.csr import Joint, Rows, added, row_total, start_row
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_gamma_slopes
from stream_bayes.typing import FloatArray, IntArray


class CategoryCounts(NamedTuple):
    """Evidence: sums over the events of each class."""

    class_weight: FloatArray
    """Events of each class."""
    feature_weight: FloatArray
    """feature_weight[feature, class]: events of the class that had the feature at all."""
    cells: FloatArray
    """cells[column, class]: events of the class with this value of its feature."""


@kernel
def score_row(
    rows: Rows,
    features: IntArray,
    row: int,
    prior_count: float,
    feature_sizes: IntArray,
    evidence: CategoryCounts,
    joint: Joint,
) -> None:
    """Add the log-likelihood of the row, and its mean and variance under the posterior, to each class."""
    for place in range(rows.row_starts[row], rows.row_starts[row + 1]):
        feature = features[place]
        column = rows.columns[place]
        if feature < 0 or feature_sizes[feature] == 0:
            continue
        fresh = column < 0 or row_total(evidence.cells, column) == 0.0
        size = feature_sizes[feature] + (1 if fresh else 0)
        for c in range(len(evidence.class_weight)):
            own = prior_count + (0.0 if fresh else evidence.cells[column, c])
            mass = prior_count * size + evidence.feature_weight[feature, c]
            if mass == 0.0:
                joint.log[row, c] -= math.log(size)
                joint.mean[row, c] -= math.log(size)
            elif own == 0.0:
                joint.log[row, c] += -np.inf
                joint.mean[row, c] += -np.inf
            else:
                log, mean, variance = log_gamma_slopes(own)
                log_mass, mean_mass, variance_mass = log_gamma_slopes(mass)
                joint.log[row, c] += log - log_mass
                joint.mean[row, c] += mean - mean_mass
                joint.variance[row, c] += max(variance - variance_mass, 0.0)


@kernel
def learn_row(
    rows: Rows,
    features: IntArray,
    row: int,
    feature_sizes: IntArray,
    feature_of: IntArray,
    evidence: CategoryCounts,
) -> None:
    """Add one row to its class, or take it back."""
    label = rows.labels[row]
    weight = rows.weights[row]
    for place in range(rows.row_starts[row], rows.row_starts[row + 1]):
        feature = features[place]
        column = rows.columns[place]
        owned = row_total(evidence.cells, column) > 0.0
        if weight > 0.0 and not (owned and feature_of[column] <= feature):
            feature_sizes[feature] += 1
            if owned:
                feature_sizes[feature_of[column]] -= 1
            feature_of[column] = feature
        evidence.cells[column, label] = added(evidence.cells[column, label], weight)
        if weight < 0.0 and owned and row_total(evidence.cells, column) == 0.0:
            feature_sizes[feature_of[column]] -= 1
        evidence.feature_weight[feature, label] = added(evidence.feature_weight[feature, label], weight)
    evidence.class_weight[label] = added(evidence.class_weight[label], weight)


@kernel
def fold_categorical(
    rows: Rows,
    features: IntArray,
    score: bool,
    class_prior_count: float,
    declared: int,
    prior_count: float,
    feature_sizes: IntArray,
    feature_of: IntArray,
    evidence: CategoryCounts,
    joint: Joint,
) -> None:
    """Dirichlet-categorical per feature: P(v | c) = (prior + n_cv) / (prior K + n_c), K the values seen so far.

    `features[place]` is the feature of each pair, -1 when never seen: it says nothing. A value never seen counts
    as one more. A missing feature is marginalised out. A column with evidence is one of the `feature_sizes[f]` values
    of its feature f = `feature_of[column]`; where hashing sent two features to one column it belongs to the lower of
    them, whichever came first.
    """
    for row in range(len(rows.labels)):
        if score:
            start_row(class_prior_count, declared, evidence.class_weight, joint, row)
            score_row(rows, features, row, prior_count, feature_sizes, evidence, joint)
        if rows.labels[row] >= 0 and rows.weights[row] != 0.0:
            learn_row(rows, features, row, feature_sizes, feature_of, evidence)
