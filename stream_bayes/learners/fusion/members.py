"""Members of a fusion: the classifiers inside it, which predict and learn together or not at all."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from stream_bayes.errors import InputError, ParameterError, StreamBayesError, shown
from stream_bayes.features import Batch
from stream_bayes.features.values import Features
from stream_bayes.kernels.fusion.combination import sign_log_odds
from stream_bayes.learners.base.classifier import Classifier, Prepared
from stream_bayes.learners.base.columns import ColumnLearner
from stream_bayes.learners.base.input_checks import Events, check_events, frame_table
from stream_bayes.learners.base.label_predictions import CERTAIN, LabelPredictions
from stream_bayes.learners.base.labels import Label
from stream_bayes.typing import FloatArray

MAX_LEARNERS = 256
MAX_NESTED = 4
# The labels of a binary learner by default.
UNDECLARED = (None, (False, True))


class MemberPredictions(NamedTuple):
    """Predictions of the members for the second label, a row for each event and a column for each member."""

    log_odds: FloatArray
    """0 where it does not know both labels."""
    variance: FloatArray
    """Variance of the member's latent log-odds."""


@dataclass(frozen=True, eq=False)
class MemberBatch(Batch):
    """A batch for each member of the same events; to others it is the batch of the first member."""

    parts: tuple[Batch, ...] = ()
    """A batch for each member."""


class Members:
    """Copies of the prototypes, with whatever they have learned."""

    def __init__(self, prototypes: Sequence[Classifier], classes: tuple[Label, Label]) -> None:
        self.classes = classes
        self.learners = tuple(_with_classes(learner, classes) for learner in prototypes)
        self._makers = [_maker(place, self.learners) for place in range(len(self.learners))]
        # Classes from elsewhere may do anything, so they come first and are always put back from a copy. The last of
        # ours needs none: it learns nothing that it refuses, and no member after it refuses.
        self._unsure = sorted(
            (place for place, learner in enumerate(self.learners) if learner._may_fail),
            key=lambda place: self.learners[place]._is_ours(),
        )
        last_is_ours = bool(self._unsure) and self.learners[self._unsure[-1]]._is_ours()
        self._copied = self._unsure[:-1] if last_is_ours else self._unsure

    @property
    def may_fail(self) -> bool:
        """Whether there are members that may fail at learning what was prepared."""
        return bool(self._unsure)

    def batch(self, events: Events) -> MemberBatch:
        """A batch for each member, one and the same for all that make theirs in the same way."""
        listed = events if frame_table(events) is not None else list(check_events(events))
        made = {place: self.learners[place].batch(listed) for place in set(self._makers)}
        first = made[self._makers[0]]
        shape = (first.row_starts, first.columns, first.values, first.names, first.texts, first.categorical)
        return MemberBatch(*shape, parts=tuple(made[place] for place in self._makers))

    def one(self, x: Features) -> tuple[Batch, ...]:
        """One event as each member takes it."""
        # Measured: a row takes a third of the time of a batch of one, and none when it was predicted just before.
        made = {
            place: learner._one(x) if _is_plain(learner := self.learners[place]) else learner.batch([x])
            for place in set(self._makers)
        }
        return tuple(made[place] for place in self._makers)

    def parts(self, events: Batch | Events) -> tuple[Batch, ...]:
        """The events as each member takes them."""
        if not isinstance(events, Batch):
            return self.batch(events).parts
        if not isinstance(events, MemberBatch):
            return (events,) * len(self.learners)
        if len(events.parts) != len(self.learners):
            message = f"this batch was made for {len(events.parts)} learners, and here are {len(self.learners)}"
            raise InputError(message)
        return events.parts

    def predict(self, parts: Sequence[Batch]) -> MemberPredictions:
        """Predict every row with every member; nothing is learned."""
        predictions = [learner.predictive_many(part) for learner, part in zip(self.learners, parts, strict=True)]
        return self._collect(predictions)

    def check(self, parts: Sequence[Batch], labels: Sequence[Label | None]) -> None:
        """Refuse events that a member could not learn, as far as is known without a change."""
        for learner, part in zip(self.learners, parts, strict=True):
            learner._check_learnable(part, labels)

    def prepare(
        self, parts: Sequence[Batch], labels: Sequence[Label | None], weights: FloatArray
    ) -> Prepared[MemberPredictions]:
        """Make room for checked events in all members or in none. `learn` predicts each row, then learns it."""
        learned = any(label is not None for label in labels)
        kept = {place: copy.deepcopy(self.learners[place].__dict__) for place in self._copied if learned}
        steps: list[Prepared[LabelPredictions]] = []
        try:
            for learner, part in zip(self.learners, parts, strict=True):
                # A class from elsewhere may have a way of its own to learn.
                prepare = learner._prepare if learner._is_ours() else partial(Classifier._prepare, learner)
                steps.append(prepare(part, labels, weights))
        except BaseException:
            _take_back(steps)
            raise
        return Prepared(partial(self._learn, steps, kept), partial(_take_back, steps))

    def _learn(self, steps: Sequence[Prepared[LabelPredictions]], kept: dict[int, dict[str, Any]]) -> MemberPredictions:
        """First those that may still refuse; when one does, those before it are put back as they were kept."""
        predictions: dict[int, LabelPredictions] = {}
        under_way = -1
        try:
            for under_way in self._unsure:
                predictions[under_way] = steps[under_way].learn()
        except BaseException as problem:
            for place, before in kept.items():
                self.learners[place].__dict__ = before
            # One without a copy that did not refuse but was interrupted may have learned what it has registered.
            lost = not isinstance(problem, StreamBayesError) and under_way not in kept
            _take_back([step for place, step in enumerate(steps) if place != under_way or not lost])
            raise
        predictions |= {place: step.learn() for place, step in enumerate(steps) if place not in predictions}
        return self._collect([predictions[place] for place in range(len(steps))])

    def _collect(self, predictions: Sequence[LabelPredictions]) -> MemberPredictions:
        shape = (len(predictions[0]), len(predictions))
        collected = MemberPredictions(np.zeros(shape), np.zeros(shape))
        for place, own in enumerate(predictions):
            write_prediction(own, self.classes, collected, place)
        return collected


def write_prediction(
    predictions: LabelPredictions, classes: tuple[Label, Label], collected: MemberPredictions, place: int
) -> None:
    """Write the prediction of one member into its column."""
    labels = predictions.labels
    (first, second) = classes
    if first in labels and second in labels:
        probabilities = np.ascontiguousarray(predictions.probabilities)
        sizes, variances = map(np.ascontiguousarray, (predictions.log_odds, predictions.latent_variance))
        columns = labels.index(first), labels.index(second)
        sign_log_odds(probabilities, sizes, variances, *columns, CERTAIN, place, *collected)


def check_learners(learners: Any, classes: tuple[Label, Label]) -> tuple[Classifier, ...]:
    """Check the parameter `learners`; the result holds untrained clones."""
    if not isinstance(learners, (tuple, list)) or not 1 <= len(learners) <= MAX_LEARNERS:
        message = f"learners must be a tuple of 1 to {MAX_LEARNERS} classifiers; got {shown(learners)}"
        raise ParameterError(message)
    for learner in learners:
        if not isinstance(learner, Classifier):
            message = f"learners must be classifiers of this package or made like them; got {shown(learner)}"
            raise ParameterError(message)
        declared = getattr(learner, "classes", None)
        if declared not in UNDECLARED and set(declared) != set(classes):
            message = f"a {type(learner).__name__} has the classes {shown(declared)}, and the fusion {shown(classes)}"
            raise ParameterError(message)
        if nesting(learner) >= MAX_NESTED:
            message = f"fusions of fusions go {MAX_NESTED} deep at most"
            raise ParameterError(message)
    return tuple(learner.clone() for learner in learners)


def _take_back(steps: Iterable[Prepared[Any]]) -> None:
    for step in steps:
        step.take_back()


def nesting(learner: Any) -> int:
    """The nesting depth of fusions, this one included."""
    inner = getattr(learner, "learners", None)
    return 1 + max(map(nesting, inner), default=0) if isinstance(inner, tuple) else 0


def _with_classes(learner: Classifier, classes: tuple[Label, Label]) -> Classifier:
    parameters = learner._get_params()
    undeclared = "classes" in parameters and parameters["classes"] in UNDECLARED
    return learner.clone({"classes": classes}) if undeclared else learner.clone()


def _maker(place: int, learners: Sequence[Classifier]) -> int:
    """Whose batch this member takes: its own, or that of another that makes the same."""
    learner = learners[place]
    if not _is_plain(learner):
        return place
    same = [at for at, other in enumerate(learners) if _is_plain(other) and other._categorical == learner._categorical]
    # Hashing learners keep no names from batch to batch: one that does saves the others from looking them up again.
    return min(same, key=lambda at: (learners[at]._get_params().get("buckets") is not None, at))


def _is_plain(learner: Any) -> TypeGuard[ColumnLearner]:
    """Whether its batch is the one that all such learners make."""
    return isinstance(learner, ColumnLearner) and type(learner).batch is ColumnLearner.batch
