"""k nearest neighbours over a sliding window, with a Beta or Dirichlet posterior of the votes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.errors import ParameterError, shown
from stream_bayes.features import Batch
from stream_bayes.features.values import Features
from stream_bayes.features.vocabulary import pack_json, unpack_json
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.neighbours.window import (
    Size,
    Votes,
    Window,
    fold_neighbours,
    learn_event,
    nearest_events,
    predict_event,
)
from stream_bayes.learners.base.arrays import padded
from stream_bayes.learners.base.column_classifier import ColumnClassifier
from stream_bayes.learners.base.input_checks import LARGEST_NUMBER, check_size
from stream_bayes.learners.base.labels import LARGEST_WEIGHT, Label, check_label
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.plots import UncertainNumber
from stream_bayes.posteriors import Beta
from stream_bayes.typing import FloatArray, IntArray
from stream_bayes.validation import check_scale, one_of, positive, truth, whole

# By place the kernel's EUCLIDEAN, MANHATTAN, CHEBYSHEV, COSINE.
METRICS = ("euclidean", "manhattan", "chebyshev", "cosine")
LARGEST_WINDOW = 2**32
# How far sums of the same weights in another order may differ, as a share.
ROUNDING = 1e-6


class Neighbour(NamedTuple):
    """An event of the window, seen from another event."""

    label: Label
    distance: float
    weight: float
    """How much its vote counts."""


class NearestNeighbours(ColumnClassifier):
    """k nearest neighbours: the labels of the most similar of the last events vote, and the votes have a posterior.

    Parameters
    ----------
    k
        How many neighbours vote. Given several numbers, such as (1, 3, 9, 27), the one with the greatest evidence so
        far is used, and that may change with each event.
    window
        How many events are kept. An event that comes when it is full takes the place of the oldest.
    metric
        "euclidean", "manhattan", "chebyshev" (the largest difference of a feature) or "cosine". A feature that is
        missing is 0. Bring features to one scale first, such as by river's `StandardScaler`.
    probabilistic
        Whether probabilities are the means of a Dirichlet posterior of the votes. If not they are the shares of the
        votes, as in scikit-learn, which may be 0 and state no ignorance.
    prior_count
        Pseudo-count of each class in that posterior.
    classes
        Labels known beforehand; others join when they are first learned.
    buckets
        Hash names into this many columns (a power of two) instead of keeping them.

    Notes
    -----
    With v_c votes of the k nearest for class c and K known classes, p(c) = (prior_count + v_c) / (K prior_count + sum
    v), the mean of Dirichlet(prior_count + v), that of two classes Beta. An event of weight w is one neighbour, whose
    vote counts w. Of events at the same distance the newest are taken. The evidence of k is the sum of w log p(label),
    each label predicted by the posterior before it is learned; a label that no event had before is left out.

    An event costs O(window x (features + log k)), with the largest k, and memory is for window x features, whether
    features are missing or not. It is not additive: a correction adds the event with its new label, and the old one
    votes until it leaves the window.

    Examples
    --------
    >>> model = NearestNeighbours(k=2, window=100)
    >>> for x, label in ((0.0, "a"), (1.0, "a"), (4.0, "b"), (5.0, "b")):
    ...     model.learn_one({"x": x}, label)
    >>> model.predict_proba_one({"x": 0.8})
    {'a': 0.75, 'b': 0.25}
    >>> model.neighbours_one({"x": 2.6})
    [Neighbour(label='b', distance=1.4, weight=1.0), Neighbour(label='a', distance=1.6, weight=1.0)]
    """

    def __init__(
        self,
        k: int | list[int] | tuple[int, ...] = 5,
        window: int = 1000,
        metric: str = "euclidean",
        probabilistic: bool = True,
        prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        buckets: int | None = None,
    ) -> None:
        super().__init__(classes, buckets)
        self.window = _check_window(window)
        choices = _check_neighbours(k, self.window)
        self.k = tuple(choices) if isinstance(k, (list, tuple)) else choices[0]
        self.metric = one_of(metric, "metric", METRICS)
        self.probabilistic = truth("probabilistic", probabilistic, ParameterError)
        self.prior_count = positive("prior_count", prior_count)
        check_scale("prior_count", self.prior_count)
        place = METRICS.index(self.metric)
        numbers = np.array(choices, dtype=np.int64)
        self._rules = Votes(place, numbers, self.prior_count, self.probabilistic, self._labels.declared)
        size = len(self._labels)
        try:
            tables = np.zeros((len(self._vocabulary), self.window)), np.zeros(self.window, dtype=np.int64)
            self._window = Window(
                *tables, np.zeros(self.window), np.zeros(2, dtype=np.int64), np.zeros(size), np.zeros(len(choices))
            )
        except MemoryError as problem:
            message = f"no memory for a window of {self.window} events with {len(self._vocabulary)} buckets: take fewer"
            raise ParameterError(message) from problem

    @property
    def best_k(self) -> int:
        """The number of neighbours that predicts: that of the greatest evidence, the smallest of equals."""
        return int(self._rules.neighbours[self._window.evidence.argmax()])

    def log_evidence(self) -> dict[int, float]:
        """By number of neighbours: the sum of log p(label) over the events, each predicted before it was learned."""
        return dict(zip(self._rules.neighbours.tolist(), self._window.evidence.tolist(), strict=True))

    def neighbours_one(self, x: Features) -> list[Neighbour]:
        """The events that vote on the label of an event, the nearest first."""
        batch = self._one(x)
        _, columns, values = self._cells(batch, self._find(batch))
        slots = np.empty(self.best_k, dtype=np.int64)
        nearest = np.empty(self.best_k)
        found = nearest_events(columns, values, self._rules, self._window, self._size(), slots, nearest)
        slots = slots[:found]
        distances = self._true(nearest[:found], columns, values).tolist()
        labels = list(self._labels)
        codes = self._window.labels[slots].tolist()
        weights = self._window.weights[slots].tolist()
        return [Neighbour(labels[code], *rest) for code, *rest in zip(codes, distances, weights, strict=True)]

    def _true(self, distances: FloatArray, columns: IntArray, values: FloatArray) -> FloatArray:
        """The distances that a kernel's numbers stand for; what no event has had adds the same to each."""
        unknown = values[columns < 0]
        if self.metric == "euclidean":
            return np.sqrt(distances + float(unknown @ unknown))
        if self.metric == "manhattan":
            return distances + float(np.abs(unknown).sum())
        if self.metric == "cosine":
            return 1.0 + distances / (math.sqrt(float(values @ values)) or 1.0)
        return distances

    def _evidence_summary(self) -> dict[str, Any]:
        events = dict(zip(self._labels, self._window.seen.tolist(), strict=False))
        summary = {"events": sum(events.values()), "events in the window": int(self._window.ring[1])}
        chosen = {"neighbours chosen": self.best_k} if isinstance(self.k, tuple) else {}
        return {**summary, "events of each class": events, **chosen, **super()._evidence_summary()}

    def _estimates(self) -> dict[str, UncertainNumber | float]:
        labels = self._window.labels[: self._window.ring[1]]
        counts = np.bincount(labels, self._window.weights[: len(labels)], len(self._labels)) + self.prior_count
        rest = counts.sum() - counts
        if len(counts) < 2:
            return {f"probability of {label} in the window": 1.0 for label in self._labels}
        pairs = zip(self._labels, counts.tolist(), rest.tolist(), strict=True)
        return {f"probability of {label} in the window": Beta(own, other) for label, own, other in pairs}

    def _reserve(self) -> None:
        values, labels, weights, ring, seen, evidence = self._window
        names = len(self._vocabulary)
        if names > len(values):
            # Twice as many as there were, so that a stream of new names copies each event a few times only.
            values = padded(values, (max(names, 2 * len(values)), self.window))
        if len(self._labels) > len(seen):
            seen = padded(seen, (max(len(self._labels), 2 * len(seen)),))
        self._window = Window(values, labels, weights, ring, seen, evidence)

    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        fold_neighbours(rows, score, self._rules, self._window, self._size(), joint)

    def _score_one(self, x: Features) -> Sequence[float]:
        columns, values = self._pairs(x)
        probabilities = np.empty(len(self._labels))
        if not predict_event(columns, values, LARGEST_NUMBER, self._rules, self._window, self._size(), probabilities):
            check_size(values)
        return probabilities.tolist()

    def _learn_known(self, x: Features, label: int, weight: float) -> bool:
        columns, values = self._pairs(x)
        event = (columns, values, label, weight, LARGEST_NUMBER)
        return learn_event(*event, self._rules, self._window, self._size())

    def _size(self) -> Size:
        # There may be room for names and labels that were not registered after all.
        return Size(len(self._vocabulary), len(self._labels))

    def _check_values(self, batch: Batch) -> None:
        check_size(batch.values)

    def _arrays(self) -> Arrays:
        following, filled = self._window.ring.tolist()
        order = (np.arange(filled) + following - filled) % self.window
        return {
            **self._vocabulary.state(),
            "labels": pack_json(list(self._labels)),
            "values": np.ascontiguousarray(self._window.values[: len(self._vocabulary), order].T),
            "codes": self._window.labels[order],
            "weights": self._window.weights[order],
            "seen": self._window.seen[: len(self._labels)].copy(),
            "evidence": self._window.evidence.copy(),
        }

    def _restore(self, arrays: Arrays) -> None:
        self._labels.register(map(check_label, unpack_json(arrays["labels"])))
        self._restore_names(arrays)
        classes = len(self._labels)
        _check_window_arrays(arrays, self.window, len(self._vocabulary), classes, len(self._window.evidence))
        filled = len(arrays["codes"])
        self._reserve()
        self._window.values[: len(self._vocabulary), :filled] = arrays["values"].T
        self._window.labels[:filled] = arrays["codes"]
        self._window.weights[:filled] = arrays["weights"]
        self._window.ring[:] = (filled % self.window, filled)
        self._window.seen[:classes] = arrays["seen"]
        self._window.evidence[:] = arrays["evidence"]


def _check_window(window: Any) -> int:
    size = int(whole("window", window, ParameterError))
    if not 1 <= size <= LARGEST_WINDOW:
        message = f"window must lie between 1 and {LARGEST_WINDOW}; got {shown(window)}"
        raise ParameterError(message)
    return size


def _check_neighbours(k: Any, window: int) -> list[int]:
    choices = [int(whole("k", number, ParameterError)) for number in (k if isinstance(k, (list, tuple)) else (k,))]
    if not choices or min(choices) < 1 or max(choices) > window or sorted(set(choices)) != choices:
        message = (
            f"k must be a number of neighbours from 1 to the window of {window} events, or a tuple of different ones "
            f"in ascending order; got {shown(k)}"
        )
        raise ParameterError(message)
    return choices


def _check_window_arrays(arrays: Arrays, window: int, names: int, classes: int, choices: int) -> None:
    """Refuse arrays of a snapshot that no stream leaves."""
    codes = arrays["codes"]
    if codes.dtype != np.int64 or codes.ndim != 1 or len(codes) > window:
        message = f"array 'codes' has {codes.dtype} of shape {codes.shape}, expected up to {window} of int64"
        raise ValueError(message)
    filled = len(codes)
    shapes = {"values": (filled, names), "weights": (filled,), "seen": (classes,), "evidence": (choices,)}
    for name, shape in shapes.items():
        array = arrays[name]
        # Of what is summed over a stream too, any size beyond these limits is more than a stream can make.
        if array.dtype != np.float64 or array.shape != shape or not (np.abs(array) <= LARGEST_NUMBER).all():
            message = (
                f"array {name!r} has {array.dtype} of shape {array.shape}, expected float64 of {shape}, between "
                f"-{LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}"
            )
            raise ValueError(message)
    if ((codes < 0) | (codes >= classes)).any() or not _may_be_of_a_stream(arrays, classes):
        message = "the events of the window are not those of any stream"
        raise ValueError(message)


def _may_be_of_a_stream(arrays: Arrays, classes: int) -> bool:
    """Events have a weight, and are part of all that was seen of their class; the log of a probability is 0 or less."""
    weights = arrays["weights"]
    seen = arrays["seen"]
    in_window = np.bincount(arrays["codes"], weights, classes)
    has_weights = bool(((weights > 0.0) & (weights <= LARGEST_WEIGHT)).all())
    were_seen = bool((in_window <= (1.0 + ROUNDING) * seen).all())
    return has_weights and were_seen and arrays["evidence"].max() <= 0.0
