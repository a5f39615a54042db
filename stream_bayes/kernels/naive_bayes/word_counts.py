"""Multinomial and Poisson naive Bayes: score each row, then learn it, in one pass.

The same function serves one event and a million, so the two give the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.csr import Joint, Rows, added, row_total, start_row
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_gamma_slopes, log_rising, slopes_of
from stream_bayes.typing import FloatArray


class WordCounts(NamedTuple):
    """Evidence: sums over the messages of each class."""

    class_weight: FloatArray
    """Messages of each class."""
    class_total: FloatArray
    """Words in the messages of each class."""
    cells: FloatArray
    """cells[column, class]: uses of the word in the class."""


@kernel
def learn_row(rows: Rows, row: int, evidence: WordCounts) -> int:
    """Add one row to its class; returns by how many words the vocabulary grew."""
    label = rows.labels[row]
    weight = rows.weights[row]
    cells = evidence.cells
    amount = 0.0
    growth = 0
    for place in range(rows.row_starts[row], rows.row_starts[row + 1]):
        change = weight * rows.values[place]
        if change == 0.0:
            continue
        column = rows.columns[place]
        if row_total(cells, column) == 0.0:
            growth += 1
        cells[column, label] = added(cells[column, label], change)
        if change < 0.0 and row_total(cells, column) == 0.0:
            growth -= 1
        amount += change
    evidence.class_total[label] = added(evidence.class_total[label], amount)
    evidence.class_weight[label] = added(evidence.class_weight[label], weight)
    return growth


@kernel
def score_words(
    rows: Rows,
    row: int,
    plug_in: bool,
    prior: float,
    table: FloatArray,
    evidence: WordCounts,
    joint: Joint,
) -> float:
    """Add what the known words of a row say, but for the class totals; returns how many words they are.

    With counts x and pseudo-counts a, for each word: log of a^x (plug-in) or of the rising factorial of a with x
    steps, x digamma(a), and x^2 trigamma(a).
    """
    cells = evidence.cells
    length = 0.0
    for place in range(rows.row_starts[row], rows.row_starts[row + 1]):
        count = rows.values[place]
        column = rows.columns[place]
        if column >= 0 and count != 0.0 and row_total(cells, column) > 0.0:
            length += count
            for c in range(cells.shape[1]):
                log, mean, variance = slopes_of(cells[column, c], prior, table)
                if not plug_in and count != 1.0:
                    joint.log[row, c] += log_rising(prior + cells[column, c], count)
                else:
                    joint.log[row, c] += count * log
                joint.mean[row, c] += count * mean
                joint.variance[row, c] += count * count * variance
    return length


@kernel
def fold_multinomial(
    rows: Rows,
    score: bool,
    plug_in: bool,
    class_prior_count: float,
    declared: int,
    prior_count: float,
    table: FloatArray,
    vocabulary_size: int,
    evidence: WordCounts,
    joint: Joint,
) -> int:
    """Dirichlet-multinomial: theta_cj has mean (prior + n_cj) / (prior V + T_c). Returns the vocabulary size.

    Posterior predictive of counts x: rising factorials of prior + n_cj, x_j steps each, over that of the class
    total; plug-in: the posterior mean to the power x_j. They agree for a single word. With L words in all, the
    logarithm of the likelihood has variance sum of x_j^2 trigamma(a_j) - L^2 trigamma(A).
    """
    for row in range(len(rows.labels)):
        if score:
            start_row(class_prior_count, declared, evidence.class_weight, joint, row)
            length = score_words(rows, row, plug_in, prior_count, table, evidence, joint)
            for c in range(len(evidence.class_weight)):
                mass = prior_count * vocabulary_size + evidence.class_total[c]
                if length > 0.0 and mass > 0.0:
                    log, mean, variance = log_gamma_slopes(mass)
                    joint.log[row, c] -= length * log if plug_in else log_rising(mass, length)
                    joint.mean[row, c] -= length * mean
                    joint.variance[row, c] = max(joint.variance[row, c] - length * length * variance, 0.0)
        if rows.labels[row] >= 0:
            vocabulary_size += learn_row(rows, row, evidence)
    return vocabulary_size


@kernel
def fold_poisson(
    rows: Rows,
    score: bool,
    plug_in: bool,
    class_prior_count: float,
    declared: int,
    shape: float,
    rate: float,
    table: FloatArray,
    vocabulary_size: int,
    evidence: WordCounts,
    joint: Joint,
) -> int:
    """Gamma-Poisson: the rate of word j in class c is Gamma(shape + n_cj, rate + N_c). Returns the vocabulary size.

    Posterior predictive: negative binomial; plug-in: Poisson with the posterior mean. The absent words enter
    exactly and at no cost, because the sum over the vocabulary of (shape + n_cj) is shape V + T_c.
    """
    for row in range(len(rows.labels)):
        if score:
            start_row(class_prior_count, declared, evidence.class_weight, joint, row)
            length = score_words(rows, row, plug_in, shape, table, evidence, joint)
            for c in range(len(evidence.class_weight)):
                mass = shape * vocabulary_size + evidence.class_total[c]
                exposure = rate + evidence.class_weight[c]
                if exposure == 0.0:  # neither prior nor message: no rate
                    joint.log[row, c] += -np.inf if vocabulary_size > 0 else 0.0
                    joint.mean[row, c] += -np.inf if vocabulary_size > 0 else 0.0
                    continue
                if plug_in:
                    joint.log[row, c] -= mass / exposure + length * math.log(exposure)
                else:
                    joint.log[row, c] -= mass * math.log1p(1.0 / exposure) + length * math.log(exposure + 1.0)
                joint.mean[row, c] -= mass / exposure + length * math.log(exposure)
                # The rate of a word has variance a / b^2, and covariance 1 / b with its logarithm.
                spread = (mass / exposure - 2.0 * length) / exposure
                joint.variance[row, c] = max(joint.variance[row, c] + spread, 0.0)
        if rows.labels[row] >= 0:
            vocabulary_size += learn_row(rows, row, evidence)
    return vocabulary_size
