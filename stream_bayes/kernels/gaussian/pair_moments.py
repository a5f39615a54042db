"""Moments of every pair of features, moved by one event at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.csr import added, residue
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.naive_bayes.gaussian import SCATTER_RESIDUE
from stream_bayes.typing import FloatArray, IntArray


class PairMoments(NamedTuple):
    """Evidence in centred form, for each class and pair of features over the events that had both.

    When no value is ever missing, all weights of a class are equal, mean[c, i, j] is the mean of feature i whatever j
    is, and scatter[c] is the ordinary scatter matrix.
    """

    class_weight: FloatArray
    """Events of each class."""
    weight: FloatArray
    """weight[class, i, j]: events that had both features."""
    mean: FloatArray
    """mean[class, i, j]: mean of feature i over them."""
    scatter: FloatArray
    """Sum of (x_i - mean_ij) (x_j - mean_ji)."""


@kernel
def seen_places(columns: IntArray, weight: FloatArray) -> IntArray:
    """Places of the columns that have evidence in any class: one never seen says nothing."""
    seen = np.zeros(len(columns), np.bool_)
    for place, i in enumerate(columns):
        for c in range(len(weight) if i >= 0 else 0):
            seen[place] |= weight[c, i, i] > 0.0
    return np.flatnonzero(seen)


@kernel
def learn_row(columns: IntArray, values: FloatArray, label: int, weight: float, evidence: PairMoments) -> None:
    """Move the moments of every pair by one event (Welford); a negative weight takes it back."""
    total = evidence.weight[label]
    mean = evidence.mean[label]
    scatter = evidence.scatter[label]
    for a, i in enumerate(columns):
        for b, j in enumerate(columns[: a + 1]):
            n = added(total[i, j], weight)
            total[i, j] = total[j, i] = n
            if n == 0.0:
                mean[i, j] = mean[j, i] = scatter[i, j] = scatter[j, i] = 0.0
                continue
            before_i = values[a] - mean[i, j]
            before_j = values[b] - mean[j, i]
            mean[i, j] += weight * before_i / n
            if i != j:
                mean[j, i] += weight * before_j / n
            moved = scatter[i, j] + weight * before_i * (values[b] - mean[j, i])
            if i == j and (moved < 0.0 or (weight < 0.0 and moved < SCATTER_RESIDUE * scatter[i, i])):
                moved = 0.0
            scatter[i, j] = scatter[j, i] = moved
    evidence.class_weight[label] = added(evidence.class_weight[label], weight)


@kernel
def scatter_without(
    a: int, b: int, columns: IntArray, values: FloatArray, label: int, weight: float, evidence: PairMoments
) -> float:
    """Co-scatter of two features of an event when it is taken back: Welford backwards; of no events there is none."""
    i = columns[a]
    j = columns[b]
    n = float(evidence.weight[label, i, j])
    share = n / (n - weight) if n - weight > residue(n) else 1.0
    offsets = (values[a] - evidence.mean[label, i, j]) * (values[b] - evidence.mean[label, j, i])
    return float(evidence.scatter[label, i, j] - weight * offsets * share)


@kernel
def first_misfit(
    columns: IntArray,
    values: FloatArray,
    label: int,
    weight: float,
    slack: float,
    smallest: float,
    evidence: PairMoments,
) -> int:
    """Place of the first feature that no learned event had so beside those before it; -1 when all may have come.

    A co-scatter is at most what the two scatters allow, but for `slack` times the squares, or times `smallest`.
    """
    bound = np.empty(len(columns))
    for a, i in enumerate(columns):
        if i < 0:
            return a
        squares = values[a] ** 2 + evidence.mean[label, i, i] ** 2
        rounding = slack * (smallest + evidence.scatter[label, i, i] + weight * (smallest + squares))
        bound[a] = math.sqrt(max(scatter_without(a, a, columns, values, label, weight, evidence), 0.0) + rounding)
        for b in range(a + 1):
            rest = scatter_without(a, b, columns, values, label, weight, evidence)
            if evidence.weight[label, i, columns[b]] < weight - residue(weight) or abs(rest) > bound[a] * bound[b]:
                return a
    return -1


@kernel
def lacks_what_all_had(columns: IntArray, label: int, weight: float, evidence: PairMoments) -> bool:
    """Whether an event lacks a feature of all events, or of all that had one of its own: it is none of them."""
    absent = np.ones(evidence.weight.shape[1], np.bool_)
    for i in columns:
        absent[i] = False
    events = evidence.class_weight[label]
    total = evidence.weight[label]
    others = np.flatnonzero(absent)
    for j in others:
        if total[j, j] > events - weight + residue(events):
            return True
        for i in columns:
            if total[i, j] > total[i, i] - weight + residue(total[i, i]):
                return True
    return False
