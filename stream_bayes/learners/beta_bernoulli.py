"""Beta-Bernoulli model: the probability of a label, for all events or per value of a feature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np

from stream_bayes.errors import EvidenceError, InputError, ParameterError, UnlearnError
from stream_bayes.features import Batch
from stream_bayes.features.values import (
    Category,
    FeatureName,
    Features,
    IntArray,
    category_row,
    check_on,
    require_mapping,
)
from stream_bayes.features.vocabulary import pack_json, refuse_change, unpack_json
from stream_bayes.kernels.common.csr import added, residue
from stream_bayes.kernels.common.special import log_gamma_slopes
from stream_bayes.kernels.naive_bayes.beta_bernoulli import KeyRows, fold_keys
from stream_bayes.learners.base.arrays import with_room
from stream_bayes.learners.base.classifier import Classifier, Prepared
from stream_bayes.learners.base.input_checks import Events, check_events, frame_table
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.labels import LARGEST_WEIGHT, Label, Many, check_batch, check_label, check_weight
from stream_bayes.learners.base.learner import Additive
from stream_bayes.learners.base.two_labels import declared_labels
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import Beta, LabelPredictive
from stream_bayes.typing import BoolArray, FloatArray
from stream_bayes.validation import check_scale, of_kind, whole


class BetaBernoulli(Classifier, Additive):
    """How often the second of two labels comes: for all events, or for each value of one feature by itself.

    Parameters
    ----------
    on
        The feature whose values are the keys (a sender, a domain): each key has a posterior of its own. None for one
        posterior of all events. Events without the feature share one key.
    prior
        The prior of the probability of the second label, for each key.
    classes
        The two labels; the second is the success.
    capacity
        How many keys are kept. When one more is needed, the key that has gone longest without learning is dropped
        with its evidence, and starts from the prior should its value come back.

    Notes
    -----
    p | data ~ Beta(successes + s, failures + f). Corrections are exact while the key is kept; unlearning from one
    that was dropped is refused. Which key is dropped goes by their last learning, taken back since or not.

    Examples
    --------
    >>> model = BetaBernoulli(on="sender", prior=Beta(2, 2), classes=("ham", "spam"))
    >>> model.learn_one({"sender": "bob"}, "ham")
    >>> model.learn_one({"sender": "eve"}, "spam")
    >>> model.predict_proba_one({"sender": "eve"})
    {'ham': 0.4, 'spam': 0.6}
    >>> model.posterior("bob"), model.posterior("unknown")
    (Beta(2, 3), Beta(2, 2))
    """

    posterior_kinds: ClassVar[tuple[str, ...]] = ("feature", "word")

    def __init__(
        self,
        on: FeatureName = None,
        prior: Beta = Beta(1.0, 1.0),
        classes: tuple[Label, Label] = (False, True),
        capacity: int = 100_000,
    ) -> None:
        self._labels = declared_labels(classes)
        if whole("capacity", capacity, ParameterError) < 1:
            message = f"capacity must be at least 1; got {capacity}"
            raise ParameterError(message)
        self.on = check_on(on)
        self.prior = of_kind(prior, "prior", Beta)
        check_scale("prior", *prior)
        self.classes = self._labels.pair.labels
        self.capacity = capacity
        # The slot of each key, in the order they last learned: the first is the next to be dropped. Slots that
        # unlearning has emptied wait in `_free`.
        self._slots: dict[Key, int] = {}
        self._free: list[int] = []
        self._counts = np.zeros((1, 2))
        self._kind: str | None = None

    def posterior(self, value: Any = None) -> Beta:
        """The posterior for one value of the feature, or the only posterior."""
        slot = self._slots.get(None if value is None else self._key({self.on: value}), -1)
        failures, successes = self._counts[slot] if slot >= 0 else (0.0, 0.0)
        return self.prior.update_counts(float(successes), float(failures))

    def _estimates(self) -> dict[str, Beta]:
        if self.on is None:
            return {f"probability of {self.classes[1]}": self.posterior()}
        named = {f"{self.on} = {key[1]}": slot for key, slot in self._slots.items() if key is not None}
        counts = {name: self._counts[slot].tolist() for name, slot in named.items()}
        return {name: self.prior.update_counts(won, lost) for name, (lost, won) in counts.items()}

    def _evidence_summary(self) -> dict[str, Any]:
        counts = self._counts.sum(axis=0).tolist()
        events = dict(zip(self.classes, counts, strict=True))
        return {"events": sum(counts), "events of each class": events, "keys": len(self._slots)}

    def predict_proba_one(self, x: Features, **_: Any) -> dict[Label, float]:
        """The probability of both labels."""
        return self._labels.probabilities(self._score_one(x))

    def predict_one(self, x: Features, **_: Any) -> Label | None:
        """The more probable label."""
        return self._labels.most_probable(self._score_one(x))

    def _score_one(self, x: Features) -> tuple[float, float]:
        """The probability of both labels: the bits of a batch of one, but no batch."""
        slot = self._slots.get(self._checked_key(x), -1)
        failures, successes = self._counts[slot].tolist() if slot >= 0 else (0.0, 0.0)
        failures += self.prior.failures
        successes += self.prior.successes
        total = failures + successes
        return failures / total, successes / total

    def predictive_one(self, x: Features) -> LabelPredictive:
        """The probabilities with their variance, exact from the Beta posterior."""
        return self._predict([self._key(x)]).predictive(0)

    def predictive_many(self, events: Batch | Events) -> LabelPredictions:
        """Predictions for many events; nothing is learned."""
        return self._predict(self._keys(events))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Add one event to the counts of its key."""
        code = self._labels.learned_code(y)
        if code >= 0 and type(w) is float and 0.0 < w <= LARGEST_WEIGHT:
            known = self._checked_key(x)
            if known in self._slots:
                slot = self._slots.pop(known)
                self._slots[known] = slot  # now the last to be dropped
                self._counts[slot, code] += w
                return
        # What is new, or to be refused, takes the way that batches take.
        key = self._key(x)
        outcome = self._outcome(y)
        weight = check_weight(w)
        self._run([key], np.array((outcome if weight else -1,)), np.array((weight,)))

    def batch(self, events: Events) -> Batch:
        """Events as a batch of categories, of the one feature that is looked at."""
        table = frame_table(events)
        if table is not None:
            return table.category_batch([] if self.on is None else [self.on])
        return Batch.from_categories(self._own(x) for x in check_events(events))

    def test_then_train(self, events: Batch | Events, y: Many, w: Many | None = None) -> LabelPredictions:
        """Predict each row, then learn it, in one compiled pass."""
        keys = self._keys(events)
        labels, weights = check_batch(len(keys), y, w)
        return self._run(keys, self._labels.codes(labels)[0], weights)

    def unlearn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Take one event back; refused when its key has less evidence than that."""
        key = self._key(x)
        outcome = self._outcome(y)
        weight = check_weight(w)
        self._check_kinds([key], [-1])
        if weight == 0.0:
            return
        slot = self._slots.get(key, -1)
        if slot < 0 or self._counts[slot, outcome] < weight - residue(weight):
            message = (
                f"{key and key[1]!r} has less than {weight:g} of label {y!r} to take back: was this event learned?"
            )
            raise UnlearnError(message)
        self._counts[slot, outcome] = added(float(self._counts[slot, outcome]), -weight)
        if not self._counts[slot].any():
            del self._slots[key]
            self._free.append(slot)

    def _predict(self, keys: Sequence[Key]) -> LabelPredictions:
        return self._run(keys, np.full(len(keys), -1), np.zeros(len(keys)))

    def _run(self, keys: Sequence[Key], outcomes: IntArray, weights: FloatArray) -> LabelPredictions:
        listed = outcomes.tolist()
        self._check_kinds(keys, listed)
        self._reserve(keys, listed)
        rows = KeyRows(*self._assign(keys, listed), outcomes, weights)
        posteriors = np.empty((len(keys), 2))
        fold_keys(rows, self.prior.successes, self.prior.failures, self._counts, posteriors)
        return _predictions(self.classes, posteriors)

    def _check_learnable(self, events: Batch, y: Sequence[Label | None]) -> None:
        self._check_kinds(self._keys(events), self._labels.codes(y)[0].tolist())

    def _prepare(self, events: Batch, y: Sequence[Label | None], weights: FloatArray) -> Prepared[LabelPredictions]:
        keys = self._keys(events)
        (outcomes, _) = self._labels.codes(y)
        self._reserve(keys, outcomes.tolist())
        return super()._prepare(events, y, weights)._replace(learn=partial(self._run, keys, outcomes, weights))

    def _reserve(self, keys: Sequence[Key], outcomes: Sequence[int]) -> None:
        """Reserve space for every key that these rows may need. Unused space is not visible."""
        slots = len(self._slots) + len(self._free)
        new = {key for key, outcome in zip(keys, outcomes, strict=True) if outcome >= 0} - self._slots.keys()
        needed = max(slots, min(slots + len(new), self.capacity))
        try:
            self._counts = with_room(self._counts, (needed, 2))
        except MemoryError as problem:
            message = f"no memory for {needed} keys: set a smaller capacity, which drops the oldest"
            raise EvidenceError(message) from problem

    def _assign(self, keys: Sequence[Key], outcomes: Sequence[int]) -> tuple[IntArray, IntArray, BoolArray]:
        """Slots to read and write, keys moved to the end of the queue or dropped as a loop would do it."""
        slots = self._slots
        read = np.full(len(keys), -1, dtype=np.int64)
        write = np.full(len(keys), -1, dtype=np.int64)
        emptied = np.zeros(len(keys), dtype=np.bool_)
        for row, key in enumerate(keys):
            slot = read[row] = slots.get(key, -1)
            if outcomes[row] < 0:
                continue
            if slot >= 0:
                del slots[key]
            elif len(slots) < self.capacity:
                slot = self._free.pop() if self._free else len(slots)
            else:
                slot = slots.pop(next(iter(slots)))
                emptied[row] = True
            slots[key] = write[row] = slot
            self._kind = key[0] if key is not None else self._kind
        return read, write, emptied

    def _checked_key(self, x: Features) -> Key:
        """The key of an event, its value of the type that the feature has."""
        if type(x) is dict:
            value = x.get(self.on)
            if value is None:
                return None
            if type(value) is str and self.on is not None and self._kind == "text":
                return "text", value
        key = self._key(x)
        self._check_kinds([key], [-1])
        return key

    def _key(self, x: Features) -> Key:
        return self._keys(Batch.of_row(category_row(self._own(x)), categorical=True))[0]

    def _own(self, x: Features) -> Features:
        return {self.on: x[self.on]} if self.on in require_mapping(x) else {}

    def _keys(self, events: Batch | Events) -> list[Key]:
        return keys_of(events if isinstance(events, Batch) else self.batch(events), self.on)

    def _check_kinds(self, keys: Iterable[Key], outcomes: Iterable[int]) -> None:
        kind = self._kind
        for key, outcome in zip(keys, outcomes, strict=True):
            if key is not None and kind is not None and key[0] != kind:
                refuse_change(self.on, f"a {kind}", f"a {key[0]}")
            if key is not None and outcome >= 0:
                kind = key[0]

    def _outcome(self, y: Any) -> int:
        return int(self._labels.codes([check_label(y)])[0][0])

    def _evidence_weight(self) -> float:
        return float(self._counts.max(initial=0.0))

    def _absorb(self, other: Self) -> None:
        self._check_kinds(other._slots, [-1] * len(other._slots))
        for key, slot in other._slots.items():
            for outcome, count in enumerate(other._counts[slot]):
                self._run([key], np.array((outcome if count else -1,)), np.array((count,)))

    def _scale(self, factor: float) -> None:
        self._counts *= factor

    def _arrays(self) -> Arrays:
        order = list(self._slots.values())
        keys = pack_json(list(self._slots))
        kind = pack_json([self._kind])
        return {"keys": keys, "kind": kind, "counts": self._counts[order]}

    def _restore(self, arrays: Arrays) -> None:
        self._slots = {key: slot for slot, key in enumerate(unpack_json(arrays["keys"]))}
        counts = arrays["counts"]
        right = counts.dtype == np.float64 and counts.shape == (len(self._slots), 2)
        if not right or not ((counts >= 0.0) & (counts < np.inf)).all():
            message = "counts must be one pair of numbers for each key, 0 or more"
            raise ValueError(message)
        self._counts = np.concatenate([counts, np.zeros((1, 2))])
        (self._kind,) = unpack_json(arrays["kind"])


def _predictions(classes: tuple[Label, Label], posteriors: FloatArray) -> LabelPredictions:
    probabilities = posteriors / posteriors.sum(axis=1, keepdims=True)
    slopes = np.array([log_gamma_slopes(count) for count in posteriors.ravel().tolist()]).reshape(-1, 2, 3)
    mean = np.abs(slopes[:, 1, 1] - slopes[:, 0, 1])
    log_odds = np.abs(slopes[:, 1, 0] - slopes[:, 0, 0])
    return LabelPredictions(classes, probabilities, log_odds, mean, slopes[:, :, 2].sum(axis=1), posteriors)


Key = tuple[Any, ...] | None
"""(kind, value) of the feature, or None where an event does not have it."""


def keys_of(batch: Batch, feature: FeatureName) -> list[Key]:
    """The key of each row of a batch of categories; None everywhere where the feature is None."""
    if not batch.categorical or batch.names is None:
        message = "this batch is not of categories: make it with this learner's batch(events)"
        raise InputError(message)
    keys: list[Key] = [None] * len(batch)
    if feature is None:
        return keys
    cells = cast(Sequence[Category], batch.names)
    wanted = np.array([cell[0] == feature for cell in cells], dtype=np.bool_)
    rows = np.repeat(np.arange(len(batch)), np.diff(batch.row_starts))
    for place in np.flatnonzero(wanted[batch.columns]) if len(cells) else ():
        keys[rows[place]] = tuple(cells[batch.columns[place]][1:])
    return keys
