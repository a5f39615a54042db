"""k nearest neighbours among the last events: score each row by the votes of the nearest, then remember it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.class_scores import best, normalise
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_gamma_slopes
from stream_bayes.typing import FloatArray, IntArray

EUCLIDEAN = 0
MANHATTAN = 1
CHEBYSHEV = 2
COSINE = 3


class Window(NamedTuple):
    """The last events, in a ring: once it is full a new event takes the place of the oldest."""

    values: FloatArray
    """values[column, slot]: a row for each feature, so that all distances are summed side by side."""
    labels: IntArray
    weights: FloatArray
    ring: IntArray
    """The slot of the next event, and how many are filled."""
    seen: FloatArray
    """The weight of all events of each class, those that have left the window too."""
    evidence: FloatArray
    """For each number of neighbours to choose from, the sum of log p(label) before each event was learned."""


class Votes(NamedTuple):
    """How labels are predicted from the nearest events."""

    metric: int
    neighbours: IntArray
    """The numbers of neighbours to choose from, ascending."""
    prior_count: float
    """The pseudo-count of each class."""
    probabilistic: bool
    """Whether the pseudo-counts are added to the votes; else only the evidence is by them."""
    declared: int
    """How many classes were declared to the constructor."""


class Size(NamedTuple):
    """How many names and classes there are; there may be room for more."""

    names: int
    classes: int


class Nearest(NamedTuple):
    """Buffers for one event."""

    x: FloatArray
    distances: FloatArray
    slots: IntArray
    """The slots of the nearest events, the nearest first."""
    nearest: FloatArray
    """Their distances."""
    votes: FloatArray
    """votes[choice, class]."""


@kernel
def add_distances(metric: int, x: FloatArray, beyond: float, values: FloatArray, filled: int, out: FloatArray) -> None:
    """Write the distance of each event from x, or a number that rises with it.

    Euclidean: its square; cosine: minus the cosine times |x|. `beyond` is the largest value of x that no event has.
    """
    norms = np.zeros(filled if metric == COSINE else 0)
    for j in range(filled):
        out[j] = beyond if metric == CHEBYSHEV else 0.0
    for c in range(len(x)):
        value = x[c]
        row = values[c]
        if metric == EUCLIDEAN:
            for j in range(filled):
                difference = row[j] - value
                out[j] += difference * difference
        elif metric == MANHATTAN:
            for j in range(filled):
                out[j] += abs(row[j] - value)
        elif metric == CHEBYSHEV:
            for j in range(filled):
                out[j] = max(out[j], abs(row[j] - value))
        else:
            for j in range(filled):
                out[j] -= row[j] * value
                norms[j] += row[j] * row[j]
    for j in range(len(norms)):
        out[j] = out[j] / math.sqrt(norms[j]) if norms[j] > 0.0 else 0.0


@kernel
def is_farther(distance: float, age: int, other: float, other_age: int) -> bool:
    """Whether an event is farther than another; of equals the older is."""
    return distance > other or (distance == other and age > other_age)


@kernel
def sift_down(size: int, distance: float, age: int, place: int, distances: FloatArray, ages: IntArray) -> None:
    """Put an event into a heap, the farthest at the root, at this place or below it."""
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and is_farther(distances[child + 1], ages[child + 1], distances[child], ages[child]):
            child += 1
        if not is_farther(distances[child], ages[child], distance, age):
            break
        distances[place] = distances[child]
        ages[place] = ages[child]
        place = child
    distances[place] = distance
    ages[place] = age


@kernel
def find_nearest(most: int, ring: IntArray, distances: FloatArray, slots: IntArray, nearest: FloatArray) -> int:
    """Write the slots of the nearest events and their distances, sorted; of equals the newest. Returns how many.

    A heap holds the nearest so far, so that a window in any order costs O(window log most). It holds ages in the place
    of slots: the newest event has age 0.
    """
    filled = int(ring[1])
    room = len(distances)
    found = min(filled, most)
    slot = ring[0]
    for age in range(found):
        slot = slot - 1 if slot > 0 else room - 1
        nearest[age] = distances[slot]
        slots[age] = age
    for place in range(found // 2 - 1, -1, -1):
        sift_down(found, nearest[place], slots[place], place, nearest, slots)
    farthest = nearest[0] if found > 0 else 0.0
    for age in range(found, filled):
        slot = slot - 1 if slot > 0 else room - 1
        distance = distances[slot]
        if distance < farthest:
            sift_down(found, distance, age, 0, nearest, slots)
            farthest = nearest[0]
    for end in range(found - 1, 0, -1):
        distance = nearest[end]
        age = slots[end]
        nearest[end] = nearest[0]
        slots[end] = slots[0]
        sift_down(end, distance, age, 0, nearest, slots)
    for place in range(found):
        slot = ring[0] - 1 - slots[place]
        slots[place] = slot if slot >= 0 else slot + room
    return found


@kernel
def spread_row(columns: IntArray, values: FloatArray, metric: int, x: FloatArray) -> float:
    """Write the features of a row to their columns; returns the largest of those that no event has had."""
    beyond = 0.0
    for c in range(len(x)):
        x[c] = 0.0
    for i in range(len(columns)):
        if columns[i] >= 0:
            x[columns[i]] = values[i]
        elif metric == CHEBYSHEV:
            beyond = max(beyond, abs(values[i]))
    return beyond


@kernel
def count_votes(rules: Votes, window: Window, buffers: Nearest, beyond: float) -> int:
    """Count the votes of the nearest events for each number of neighbours; returns how many events there were."""
    add_distances(rules.metric, buffers.x, beyond, window.values, window.ring[1], buffers.distances)
    most = rules.neighbours[-1]
    found = find_nearest(most, window.ring, buffers.distances, buffers.slots, buffers.nearest)
    buffers.votes[:] = 0.0
    for choice in range(len(rules.neighbours)):
        begin = 0
        if choice > 0:
            buffers.votes[choice] = buffers.votes[choice - 1]
            begin = rules.neighbours[choice - 1]
        for place in range(begin, min(rules.neighbours[choice], found)):
            slot = buffers.slots[place]
            buffers.votes[choice, window.labels[slot]] += window.weights[slot]
    return found


@kernel
def best_choice(evidence: FloatArray) -> int:
    """The place of the number of neighbours with the greatest evidence, the smallest of equals."""
    found = 0
    for choice in range(1, len(evidence)):
        if evidence[choice] > evidence[found]:
            found = choice
    return found


@kernel
def score_row(row: int, rules: Votes, seen: FloatArray, votes: FloatArray, joint: Joint) -> None:
    """Write for each known class the logarithm of its share of the votes, with mean and variance of a Dirichlet."""
    joint.known[row] = 0
    for c in range(len(votes)):
        joint.log[row, c] = joint.mean[row, c] = np.nan
        joint.variance[row, c] = 0.0
        if c < rules.declared or seen[c] > 0.0:
            joint.known[row] += 1
            if rules.probabilistic:
                log, mean, variance = log_gamma_slopes(rules.prior_count + votes[c])
                joint.log[row, c] = log
                joint.mean[row, c] = mean
                joint.variance[row, c] = variance
            else:
                joint.log[row, c] = joint.mean[row, c] = math.log(votes[c]) if votes[c] > 0.0 else -np.inf


@kernel
def add_evidence(
    label: int, weight: float, rules: Votes, seen: FloatArray, votes: FloatArray, evidence: FloatArray
) -> None:
    """Add log p(label) for each number of neighbours; a class that is not known yet has no probability by any."""
    if label >= rules.declared and seen[label] == 0.0:
        return
    for choice in range(len(rules.neighbours)):
        total = 0.0
        for c in range(votes.shape[1]):
            if c < rules.declared or seen[c] > 0.0:
                total += rules.prior_count + votes[choice, c]
        evidence[choice] += weight * math.log((rules.prior_count + votes[choice, label]) / total)


@kernel
def remember(label: int, weight: float, x: FloatArray, window: Window) -> None:
    """Put an event into the next slot of the ring."""
    slot = window.ring[0]
    for c in range(len(x)):
        window.values[c, slot] = x[c]
    window.labels[slot] = label
    window.weights[slot] = weight
    window.seen[label] += weight
    window.ring[0] = slot + 1 if slot + 1 < len(window.labels) else 0
    window.ring[1] = min(window.ring[1] + 1, len(window.labels))


@kernel
def new_buffers(rules: Votes, window: Window, size: Size) -> Nearest:
    """Room for one event at a time."""
    most = rules.neighbours[-1]
    return Nearest(
        np.empty(size.names),
        np.empty(len(window.labels)),
        np.empty(most, dtype=np.int64),
        np.empty(most),
        np.empty((len(rules.neighbours), size.classes)),
    )


@kernel
def fold_neighbours(rows: Rows, score: bool, rules: Votes, window: Window, size: Size, joint: Joint) -> None:
    """Score each row by the nearest events, then remember it where its label is known."""
    buffers = new_buffers(rules, window, size)
    for row in range(len(rows.labels)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        label = rows.labels[row]
        beyond = spread_row(rows.columns[begin:end], rows.values[begin:end], rules.metric, buffers.x)
        if score or label >= 0:
            count_votes(rules, window, buffers, beyond)
        if score:
            score_row(row, rules, window.seen, buffers.votes[best_choice(window.evidence)], joint)
        if label >= 0:
            add_evidence(label, rows.weights[row], rules, window.seen, buffers.votes, window.evidence)
            remember(label, rows.weights[row], buffers.x, window)


@kernel
def predict_event(
    columns: IntArray, values: FloatArray, most: float, rules: Votes, window: Window, size: Size, out: FloatArray
) -> bool:
    """Write the probability of each class for one event; False, and nothing, where a value is larger than `most`."""
    for i in range(len(values)):
        if not abs(values[i]) <= most:
            return False
    buffers = new_buffers(rules, window, size)
    count_votes(rules, window, buffers, spread_row(columns, values, rules.metric, buffers.x))
    shape = (1, size.classes)
    joint = Joint(np.empty(shape), np.empty(shape), np.empty(shape), np.empty(1, dtype=np.int64))
    score_row(0, rules, window.seen, buffers.votes[best_choice(window.evidence)], joint)
    out[:] = np.nan
    top = best(joint.log[0], -1)
    if top >= 0:
        normalise(joint.log[0], joint.log[0, top], out)
    return True


@kernel
def learn_event(
    columns: IntArray,
    values: FloatArray,
    label: int,
    weight: float,
    most: float,
    rules: Votes,
    window: Window,
    size: Size,
) -> bool:
    """Remember one event; False, and nothing, where a value is larger than `most`, or of a feature that is new."""
    for i in range(len(values)):
        if columns[i] < 0 or not abs(values[i]) <= most:
            return False
    buffers = new_buffers(rules, window, size)
    beyond = spread_row(columns, values, rules.metric, buffers.x)
    count_votes(rules, window, buffers, beyond)
    add_evidence(label, weight, rules, window.seen, buffers.votes, window.evidence)
    remember(label, weight, buffers.x, window)
    return True


@kernel
def nearest_events(
    columns: IntArray,
    values: FloatArray,
    rules: Votes,
    window: Window,
    size: Size,
    slots: IntArray,
    distances: FloatArray,
) -> int:
    """Write the slots of the events nearest to a row and their distances; returns how many there are."""
    buffers = new_buffers(rules, window, size)
    beyond = spread_row(columns, values, rules.metric, buffers.x)
    add_distances(rules.metric, buffers.x, beyond, window.values, window.ring[1], buffers.distances)
    return find_nearest(len(slots), window.ring, buffers.distances, slots, distances)
