"""The mail filter as a fold: each mail is scored by every member and by their fusion, then learned where it is known.

Members look at views of the mail (`mail_features`). Of grams, words and structure, "counts" is naive Bayes by expected
log-odds, "steps" is logistic regression on what that leaves; grams have a diagonal Bayesian linear member too; senders
and hosts are reputations, one Beta posterior each. The fusion is logistic with the full covariance of its weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import moderated, sigmoid
from stream_bayes.kernels.fusion.logistic_step import clipped, dot, logistic_step, whiten
from stream_bayes.kernels.mail.evidence import (
    BIAS_INPUT,
    MARGIN,
    RATE,
    STABILITY,
    Table,
    condition,
    count,
    descend,
    sum_evidence,
    sum_weights,
)
from stream_bayes.kernels.mail.features import VIEWS
from stream_bayes.kernels.mail.novelty import note_novelty, relative_variance, usual_novelty
from stream_bayes.kernels.mail.tokens import Buckets
from stream_bayes.typing import FloatArray, IntArray

# Of the views with steps, the first three: how much of the counts' log-odds the steps take as given.
TAKEN = (0.35, 0.2, 0.2)
STEPPED = len(TAKEN)
# Columns of the scores: counts of all views, then steps, the Bayesian weights, and the margin (`kernels.mail.margin`).
STEPS = VIEWS
POSTERIOR = VIEWS + STEPPED
MEMORY = POSTERIOR + 1
MEMBERS = MEMORY + 1
LARGEST_INPUT = 10.0


class Evidence(NamedTuple):
    """What is known, but for the fusion: a table a view, the biases of the steps, the mails of both kinds, and a moving
    average of their novelty."""

    grams: Table
    words: Table
    structure: Table
    senders: Table
    hosts: Table
    biases: FloatArray
    totals: FloatArray
    novelties: FloatArray


@kernel
def table_of(evidence: Evidence, view: int) -> Table:
    """The table of a view."""
    if view == 0:
        return evidence.grams
    if view == 1:
        return evidence.words
    if view == 2:
        return evidence.structure
    return evidence.senders if view == 3 else evidence.hosts


@kernel
def part_of(features: Buckets, view_starts: IntArray, row: int, view: int) -> Buckets:
    """The features of one mail in one view."""
    place = row * VIEWS + view
    return features[view_starts[place] : view_starts[place + 1]]


@kernel
def value_of(features: Buckets) -> float:
    """The value that each of a mail's features has."""
    return 1.0 / math.sqrt(len(features) + 1.0)


@kernel
def is_used(used: IntArray, view: int) -> bool:
    """Whether a member looks at a view."""
    stepped = view < STEPPED and used[STEPS + view] >= 0
    remembered = view < STEPPED and used[MEMORY] >= 0
    return bool(used[view] >= 0 or stepped or remembered or (view == 0 and used[POSTERIOR] >= 0))


@kernel
def score(
    evidence: Evidence,
    features: Buckets,
    view_starts: IntArray,
    row: int,
    used: IntArray,
    logs: Table,
    scores: FloatArray,
) -> tuple[float, float, int]:
    """Write the score of a mail by each member in use.

    Returns the variance of its Bayesian score, its novelty, and the number of features that have it.
    """
    prior_odds = np.float32(math.log((evidence.totals[0] + 1.0) / (evidence.totals[1] + 1.0)))
    novelty = 0.0
    views = 0
    features_of_views = 0
    variance = 0.0
    for view in range(VIEWS):
        if not is_used(used, view):
            continue
        part = part_of(features, view_starts, row, view)
        table = table_of(evidence, view)
        weights, means, variances = sum_weights(table, part)
        found, new = sum_evidence(table, part, logs, prior_odds)
        value = value_of(part)
        scores[view] = value * found
        if view < STEPPED:
            taken = TAKEN[view] * scores[view]
            scores[STEPS + view] = value * weights + BIAS_INPUT * evidence.biases[view, 0] + taken
            if len(part):
                novelty += new / len(part)
                views += 1
                features_of_views += len(part)
        if view == 0:
            scores[POSTERIOR] = value * means
            variance = value * value * variances
    return variance, novelty / max(views, 1), features_of_views


@kernel
def step(evidence: Evidence, view: int, part: Buckets, log_odds: float, outcome: int) -> None:
    """Move the weights of a view, and its bias, unless they were right enough."""
    error = sigmoid(-log_odds) if outcome == 1 else -sigmoid(log_odds)
    if abs(error) <= MARGIN:
        return
    descend(table_of(evidence, view), part, error * value_of(part))
    bias = evidence.biases[view]
    gradient = error * BIAS_INPUT
    bias[1] += gradient * gradient
    bias[0] += RATE * gradient / math.sqrt(STABILITY + bias[1])


@kernel
def learn(
    evidence: Evidence,
    features: Buckets,
    view_starts: IntArray,
    row: int,
    outcome: int,
    used: IntArray,
    scores: FloatArray,
    variance: float,
) -> None:
    """Teach a mail to every member in use; the scores are those from before."""
    for view in range(VIEWS):
        if not is_used(used, view):
            continue
        part = part_of(features, view_starts, row, view)
        if view < STEPPED and used[STEPS + view] >= 0:
            step(evidence, view, part, scores[STEPS + view], outcome)
        count(table_of(evidence, view), part, outcome)
    if used[POSTERIOR] >= 0:
        part = part_of(features, view_starts, row, 0)
        sign = 1.0 if outcome == 1 else -1.0
        missing = 1.0 - sign * scores[POSTERIOR]
        if missing > 0.0:
            condition(evidence.grams, part, value_of(part), sign * missing, variance)
    evidence.totals[outcome] += 1.0


@kernel
def fold_mails(
    view_starts: IntArray,
    features: Buckets,
    rows: IntArray,
    outcomes: IntArray,
    others: FloatArray,
    evidence: Evidence,
    used: IntArray,
    scales: FloatArray,
    logs: Table,
    factor: FloatArray,
    target: FloatArray,
    scores: FloatArray,
    combined: FloatArray,
    spread: FloatArray,
) -> None:
    """Score each mail, then learn it where its outcome is known; `rows` are the mails in their order.

    `used` is the place of each member among the weights of the fusion, -1 for one that is left out; `others` are the
    log-odds of members that are not compiled. The last column of `scores` is given, the rest is written. `spread` is
    the variance of the fused log-odds, and the novelty.
    """
    width = len(target)
    vector = np.ones(width)
    whitened = np.empty(width)
    for at in range(len(rows)):
        variance, novelty, size = score(evidence, features, view_starts, rows[at], used, logs, scores[at])
        for member in range(MEMBERS):
            if used[member] >= 0:
                vector[used[member]] = clipped(scales[member] * scores[at, member], LARGEST_INPUT)
        for other in range(others.shape[1]):
            vector[width - 1 - others.shape[1] + other] = clipped(others[at, other], LARGEST_INPUT)
        vector[width - 1] = 1.0
        whiten(factor, vector, whitened)
        mean = dot(whitened, target)
        own = dot(whitened, whitened)
        unusual = relative_variance(novelty, usual_novelty(evidence.novelties), size) * mean * mean
        combined[at] = moderated(mean, own + unusual)
        spread[at] = own + unusual + novelty
        if outcomes[at] >= 0:
            note_novelty(evidence.novelties, novelty)
            logistic_step(factor, target, vector, mean, own, outcomes[at], 1.0)
            learn(evidence, features, view_starts, rows[at], outcomes[at], used, scores[at], variance)
