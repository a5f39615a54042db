"""Input and output of every fold: rows of a batch in, a joint log-likelihood for each class out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_gamma_slopes
from stream_bayes.typing import FloatArray, IntArray

# What rounding leaves of a sum of weights that unlearning has taken away: (0.1 + 0.2) - 0.2 - 0.1 is not zero.
RESIDUE = 1e-9
RELATIVE_RESIDUE = 1e-12


class Rows(NamedTuple):
    """Events for one learner, in its own columns."""

    row_starts: IntArray
    columns: IntArray
    """-1 for a feature the learner has never seen."""
    values: FloatArray
    labels: IntArray
    """The class of each row, -1 when it is not known: then nothing is learned from it."""
    weights: FloatArray
    """How often each row counts; below zero it is unlearned."""


class TargetRows(NamedTuple):
    """Events whose targets are numbers, for one learner, in its own columns."""

    row_starts: IntArray
    columns: IntArray
    """-1 for a feature the learner has never seen."""
    values: FloatArray
    targets: FloatArray
    """NaN where the target is not known: then nothing is learned from the row."""
    weights: FloatArray
    """How often each row counts."""


class Joint(NamedTuple):
    """The score of each row and class; NaN where the class was not known yet."""

    log: FloatArray
    """Logarithm of p(row, class), up to a constant that all classes share."""
    mean: FloatArray
    """Mean, under the posterior of the parameters, of the logarithm of p(row, class | parameters)."""
    variance: FloatArray
    """Its variance: how much of the doubt is ignorance of the parameters."""
    known: IntArray
    """How many classes were known at each row."""


@kernel
def residue(size: float) -> float:
    """How far from the truth rounding may have moved a sum that is, or was, of this size."""
    return max(RESIDUE, RELATIVE_RESIDUE * size)


@kernel
def added(value: float, change: float) -> float:
    """value + change, where unlearning the last of it gives zero and not what rounding left."""
    total = value + change
    return 0.0 if change < 0.0 and total < residue(value) else total


@kernel
def all_between(values: FloatArray, least: float, most: float) -> bool:
    """Whether no value lies outside."""
    inside = True
    for value in values:
        inside = inside and least <= value <= most
    return inside


@kernel
def are_known(columns: IntArray) -> bool:
    """Whether the learner has a column for each feature."""
    known = True
    for column in columns:
        known = known and column >= 0
    return known


@kernel
def row_total(cells: FloatArray, column: int) -> float:
    """Evidence of a column over all classes; zero means the column is not in the vocabulary."""
    total = 0.0
    for c in range(cells.shape[1]):
        total += cells[column, c]
    return total


@kernel
def start_row(class_prior_count: float, declared: int, class_weight: FloatArray, joint: Joint, row: int) -> None:
    """Write the log prior of each class, and mean and variance of the logarithm of its share.

    Dirichlet, the same pseudo-count for each known class: those declared to the constructor and those with evidence.
    The others get NaN. A share is a Gamma variable over the sum of all of them, which cancels between classes.
    """
    known = 0
    mass = 0.0
    for c in range(len(class_weight)):
        if c < declared or class_weight[c] > 0.0:
            known += 1
            mass += class_weight[c] + class_prior_count
    joint.known[row] = known
    for c in range(len(class_weight)):
        own = class_weight[c] + class_prior_count
        joint.log[row, c] = np.nan
        joint.mean[row, c] = np.nan
        joint.variance[row, c] = 0.0
        if c < declared or class_weight[c] > 0.0:
            log, mean, variance = log_gamma_slopes(own) if own > 0.0 else (-np.inf, -np.inf, 0.0)
            joint.log[row, c] = log - math.log(mass) if mass > 0.0 else -math.log(known)
            joint.mean[row, c] = mean if mass > 0.0 else -math.log(known)
            joint.variance[row, c] = variance


@kernel
def merge_duplicates(
    row_starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    merged_starts: IntArray,
    merged_columns: IntArray,
    merged_values: FloatArray,
) -> int:
    """Sum the values of equal columns within each row; rows come out sorted by column.

    Returns the number of pairs left. Hashing may send two names of one event to the same bucket.
    """
    filled = 0
    for row in range(len(row_starts) - 1):
        merged_starts[row] = filled
        begin = row_starts[row]
        end = row_starts[row + 1]
        for place in np.argsort(columns[begin:end]):
            column = columns[begin + place]
            if filled > merged_starts[row] and merged_columns[filled - 1] == column:
                merged_values[filled - 1] += values[begin + place]
            else:
                merged_columns[filled] = column
                merged_values[filled] = values[begin + place]
                filled += 1
    merged_starts[len(row_starts) - 1] = filled
    return filled
