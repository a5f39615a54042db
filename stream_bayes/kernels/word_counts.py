"""Multinomial and Poisson naive Bayes: score each row, then learn it, in one pass.

The same function serves one event and a million, so the two give the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.compiled import FloatArray, kernel
from stream_bayes.kernels.rows import Joint, Rows, added, row_total, start_row
from stream_bayes.kernels.special import log_of, log_rising


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
    label, weight = rows.labels[row], rows.weights[row]
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
def log_uses(count: float, uses: float, prior: float, plug_in: bool, table: FloatArray) -> float:
    """Log of (prior + uses)^count, or of the rising factorial with `count` steps; for one use they are the same."""
    if plug_in or count == 1.0:
        return count * log_of(uses, prior, table)
    return log_rising(prior + uses, count)


@kernel
def score_multinomial(
    rows: Rows,
    row: int,
    plug_in: bool,
    prior_count: float,
    table: FloatArray,
    vocabulary_size: int,
    evidence: WordCounts,
    joint: Joint,
) -> None:
    """Add the log-likelihood of the row, and its variance [sum x_j^2 / a_j - L^2 / A] A / (A + 1), to each class."""
    log, cells, squares = joint.log[row], evidence.cells, np.zeros(joint.log.shape[1])
    length = 0.0
    for place in range(rows.row_starts[row], rows.row_starts[row + 1]):
        count, column = rows.values[place], rows.columns[place]
        if column >= 0 and count != 0.0 and row_total(cells, column) > 0.0:
            length += count
            for c in range(len(log)):
                uses = cells[column, c]
                log[c] += log_uses(count, uses, prior_count, plug_in, table)
                if prior_count + uses > 0.0:
                    squares[c] += count * count / (prior_count + uses)
    for c in range(len(log)):
        mass = prior_count * vocabulary_size + evidence.class_total[c]
        if length > 0.0 and mass > 0.0:
            log[c] -= length * math.log(mass) if plug_in else log_rising(mass, length)
            joint.variance[row, c] += max(squares[c] - length * length / mass, 0.0) * mass / (mass + 1.0)


@kernel
def score_poisson(
    rows: Rows,
    row: int,
    plug_in: bool,
    shape: float,
    rate: float,
    table: FloatArray,
    vocabulary_size: int,
    evidence: WordCounts,
    joint: Joint,
) -> None:
    """Add the log-likelihood of the row, and its variance, to each class.

    d log p / d rate is x / rate - 1, and the rate of a word with a uses in b messages has variance a / b^2. The -1
    that every word of the vocabulary has is added for all of them at once.
    """
    log, cells, squares = joint.log[row], evidence.cells, np.zeros(joint.log.shape[1])
    length = 0.0
    for place in range(rows.row_starts[row], rows.row_starts[row + 1]):
        count, column = rows.values[place], rows.columns[place]
        if column >= 0 and count != 0.0 and row_total(cells, column) > 0.0:
            length += count
            for c in range(len(log)):
                uses = cells[column, c]
                log[c] += log_uses(count, uses, shape, plug_in, table)
                slope = count * (rate + evidence.class_weight[c]) / (shape + uses) - 1.0
                squares[c] += (slope * slope - 1.0) * (shape + uses)
    for c in range(len(log)):
        mass = shape * vocabulary_size + evidence.class_total[c]
        exposure = rate + evidence.class_weight[c]
        if plug_in:
            log[c] -= mass / exposure + length * math.log(exposure)
        else:
            log[c] -= mass * math.log1p(1.0 / exposure) + length * math.log(exposure + 1.0)
        joint.variance[row, c] += max(squares[c] + mass, 0.0) / (exposure * exposure)


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
    total; plug-in: the posterior mean to the power x_j. They agree for a single word.
    """
    for row in range(len(rows.labels)):
        if score:
            start_row(class_prior_count, declared, evidence.class_weight, joint, row)
            score_multinomial(rows, row, plug_in, prior_count, table, vocabulary_size, evidence, joint)
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
            score_poisson(rows, row, plug_in, shape, rate, table, vocabulary_size, evidence, joint)
        if rows.labels[row] >= 0:
            vocabulary_size += learn_row(rows, row, evidence)
    return vocabulary_size
