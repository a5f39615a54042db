"""Bernoulli naive Bayes with the absent words counted exactly, at a cost that the vocabulary does not enter.

With prior Beta(a, b), N_c messages of class c and n_cj of them holding word j,

    log p(x | c) = sum over present j of log(a + n_cj) + sum over absent j of log(b + N_c - n_cj) - V log(a + b + N_c).

The sum over absent words is the sum over all words less the present ones. For the words the class has never used it
is (V - used) log(b + N_c); for the others it comes from the counts, and is kept until the class learns again.

Without a prior, a = b = 0, a class gives no probability to a message with a word it never had, nor to one without a
word that all its messages have: such words are counted, and have no term in the sums.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.csr import Joint, Rows, added, row_total, start_row
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_gamma_slopes, slopes_of
from stream_bayes.kernels.naive_bayes.count_levels import Levels, absences, change_level, knows_nothing, sum_levels
from stream_bayes.kernels.naive_bayes.count_powers import Powers, change_power, settle_powers, sum_powers
from stream_bayes.typing import BoolArray, FloatArray, IntArray


class Presences(NamedTuple):
    """Evidence: sums over the messages of each class."""

    class_weight: FloatArray
    """Messages of each class."""
    class_total: FloatArray
    """Distinct words summed over the messages of each class."""
    cells: FloatArray
    """cells[column, class]: messages of the class that hold the word."""


class Derived(NamedTuple):
    """Arrays that follow from the evidence and are kept up to date beside it."""

    used: IntArray
    """Words each class has used."""
    log_sum: FloatArray
    """Sum of log(b + N_c - n_cj) over the words the class has used."""
    mean_sum: FloatArray
    """Sum of the digamma function at the same places."""
    variance_sum: FloatArray
    """Sum of the trigamma function at the same places."""
    certain: IntArray
    """Words that all messages of the class have, where there is no prior; they are left out of the sums."""
    fresh: BoolArray
    """Whether the sums stand for the present evidence."""


@kernel
def learn_row(
    rows: Rows,
    row: int,
    prior_b: float,
    whole: bool,
    evidence: Presences,
    derived: Derived,
    levels: Levels,
    powers: Powers,
) -> int:
    """Add one row to its class; returns by how many words the vocabulary grew."""
    label = rows.labels[row]
    weight = rows.weights[row]
    cells = evidence.cells
    evidence.class_weight[label] = added(evidence.class_weight[label], weight)
    mass = prior_b + evidence.class_weight[label]
    growth = 0
    for place in range(rows.row_starts[row], rows.row_starts[row + 1]):
        if rows.values[place] == 0.0:
            continue
        column = rows.columns[place]
        if row_total(cells, column) == 0.0:
            growth += 1
        before = cells[column, label]
        after = added(before, weight)
        cells[column, label] = after
        if weight < 0.0 and row_total(cells, column) == 0.0:
            growth -= 1
        evidence.class_total[label] = added(evidence.class_total[label], weight)
        derived.used[label] += (1 if after > 0.0 else 0) - (1 if before > 0.0 else 0)
        if whole:
            change_level(levels, label, before, after)
        else:
            change_power(powers, label, column, before, after, mass)
    derived.fresh[label] = False
    return growth


@kernel
def slopes_without_prior(
    weight: float, count: float, table: FloatArray
) -> tuple[tuple[float, float, float], tuple[float, float, float], int]:
    """Terms of a word that is present, in place of its absence, and what it adds to the number of misfits.

    One that the class never had is a misfit; one that all messages have is no longer counted as missing.
    """
    rest = absences(weight, count, 0.0)
    present = (0.0, 0.0, 0.0) if count == 0.0 else slopes_of(count, 0.0, table)
    absent = (0.0, 0.0, 0.0) if rest == 0.0 else slopes_of(rest, 0.0, table)
    return present, absent, (1 if count == 0.0 else 0) - (1 if rest == 0.0 else 0)


@kernel
def score_row(
    rows: Rows,
    row: int,
    prior_a: float,
    prior_b: float,
    vocabulary_size: int,
    table_a: FloatArray,
    table_b: FloatArray,
    evidence: Presences,
    derived: Derived,
    joint: Joint,
) -> None:
    """Add the log-likelihood of the row, and its mean and variance under the posterior, to each class.

    The logarithm of a Beta(a, b) variable has mean digamma(a) - digamma(a + b), variance trigamma(a) - trigamma(a + b).
    """
    cells = evidence.cells
    for c in range(cells.shape[1]):
        weight = evidence.class_weight[c]
        if knows_nothing(weight, prior_b):  # each word is as likely to come as not
            joint.log[row, c] -= vocabulary_size * math.log(2.0)
            joint.mean[row, c] -= vocabulary_size * math.log(2.0)
            continue
        misfits = derived.certain[c]
        unused = vocabulary_size - derived.used[c]
        log, mean, variance = slopes_of(weight, prior_b, table_b)
        log_mass, mean_mass, variance_mass = log_gamma_slopes(prior_a + prior_b + weight)
        log = derived.log_sum[c] + unused * log - vocabulary_size * log_mass
        mean = derived.mean_sum[c] + unused * mean - vocabulary_size * mean_mass
        variance = derived.variance_sum[c] + unused * variance - vocabulary_size * variance_mass
        for place in range(rows.row_starts[row], rows.row_starts[row + 1]):
            column = rows.columns[place]
            if column >= 0 and rows.values[place] != 0.0 and row_total(cells, column) > 0.0:
                if prior_b > 0.0:
                    present = slopes_of(cells[column, c], prior_a, table_a)
                    absent = slopes_of(max(weight - cells[column, c], 0.0), prior_b, table_b)
                else:
                    present, absent, misfit = slopes_without_prior(weight, cells[column, c], table_a)
                    misfits += misfit
                log += present[0] - absent[0]
                mean += present[1] - absent[1]
                variance += present[2] - absent[2]
        joint.log[row, c] += log if misfits == 0 else -np.inf
        joint.mean[row, c] += mean if misfits == 0 else -np.inf
        joint.variance[row, c] += max(variance, 0.0)


@kernel
def freshen(
    prior_b: float,
    table_b: FloatArray,
    whole: bool,
    evidence: Presences,
    derived: Derived,
    levels: Levels,
    powers: Powers,
) -> None:
    """Recompute the sums over words for the classes that have learned since."""
    for c in range(len(derived.fresh)):
        if not derived.fresh[c]:
            weight = evidence.class_weight[c]
            if knows_nothing(weight, prior_b):
                sums = (0.0, 0.0, 0.0, 0)
            elif whole:
                sums = sum_levels(levels, c, prior_b, weight, table_b)
            else:
                sums = sum_powers(powers, c, evidence.cells, prior_b, weight)
            derived.log_sum[c] = sums[0]
            derived.mean_sum[c] = sums[1]
            derived.variance_sum[c] = sums[2]
            derived.certain[c] = sums[3]
            derived.fresh[c] = True


@kernel
def fold_bernoulli(
    rows: Rows,
    score: bool,
    class_prior_count: float,
    declared: int,
    prior_a: float,
    prior_b: float,
    table_a: FloatArray,
    table_b: FloatArray,
    vocabulary_size: int,
    whole: bool,
    evidence: Presences,
    derived: Derived,
    levels: Levels,
    powers: Powers,
    joint: Joint,
) -> int:
    """Score each row, then learn it. Returns the vocabulary size.

    `whole` says that every count so far is a whole number: then `levels` holds, else `powers`.
    """
    for row in range(len(rows.labels)):
        if score:
            start_row(class_prior_count, declared, evidence.class_weight, joint, row)
            freshen(prior_b, table_b, whole, evidence, derived, levels, powers)
            score_row(rows, row, prior_a, prior_b, vocabulary_size, table_a, table_b, evidence, derived, joint)
        label = rows.labels[row]
        if label >= 0 and rows.weights[row] != 0.0:
            vocabulary_size += learn_row(rows, row, prior_b, whole, evidence, derived, levels, powers)
            if not whole:
                settle_powers(powers, label, evidence.cells, prior_b + evidence.class_weight[label])
    return vocabulary_size
