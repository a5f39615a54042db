"""What is to be done with the events of a batch, found out before anything changes.

A plan reads what the engine remembers and keeps its own changes apart, so that a batch whose fold is refused leaves
no trace. Each event is judged as if those before it had been carried out: the cut into batches cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from stream_bayes.engine.forwarding import Routing, forwarded_by
from stream_bayes.engine.history import (
    UNLABELLED,
    DedupWindow,
    Known,
    LabelHistory,
    ObservationCache,
    Unlabelled,
    content_digest,
    digest_of,
)
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.engine.types import InputEvent
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import Label, Observation
from stream_bayes.records import Record

Action = Literal["predict", "learn", "correct", "repeat", "unsure", "duplicate", "refuse", "forward", "ignore"]
GONE = "observation-gone"
"""The code of a label whose observation will never get one."""


class PlannedAction(NamedTuple):
    """What happens to one event."""

    arrival: InputEvent
    action: Action
    offset: int = -1
    """Of the observation that is meant."""
    label: Known | None = None
    before: Known | Unlabelled = UNLABELLED
    """The label that the observation had."""
    digest: int = 0
    """Of the id."""
    content: int = 0
    """Digest of the content."""
    problem: EventError | None = None
    """Why it is refused; of an observation that is predicted, why its label is."""
    target: int = -1
    """The partition that a forwarded label belongs to."""

    @property
    def is_duplicate(self) -> bool:
        """Whether it is an observation that had come before, and nothing of it was refused."""
        return self.action not in ("predict", "refuse") and isinstance(self.arrival.event, Observation)


class EngineMemory(NamedTuple):
    """All that is remembered of past observations."""

    labels: LabelHistory
    ids: DedupWindow
    contents: ObservationCache


class BatchPlan:
    """The steps of a run of events, and the rows of the fold that carries them out.

    `is_unsure` says which labels are the answer that nobody knows.
    """

    def __init__(
        self, memory: EngineMemory, model: ModelAdapter, routing: Routing, is_unsure: Callable[[Record, Label], bool]
    ) -> None:
        self.steps: list[PlannedAction] = []
        self.contents: list[Any] = []
        self.labels: list[Known | None] = []
        self._memory = memory
        self._model = model
        self._routing = routing
        self._topic = routing.topic
        self._partition = routing.partition
        # How ids begin that are places.
        self._places = f"{routing.topic}-{routing.partition}-"
        self._is_unsure = is_unsure
        self._meant: int | None = None
        self._end = memory.labels.end
        self._fresh: set[Known] = set()
        self._new_ids: dict[int, tuple[int, int]] = {}
        self._new_labels: dict[int, Known | Unlabelled] = {}
        self._new_duplicates: set[int] = set()

    def take(self, arrivals: Sequence[InputEvent], known: Mapping[int, Observation | None]) -> int:
        """Plan events in order, up to a correction that must be carried out by itself; returns how many."""
        for place, arrival in enumerate(arrivals):
            try:
                step = self._step(arrival, known)
            except StreamBayesError as problem:
                refusal = problem if isinstance(problem, EventError) else EventError(problem.code, str(problem))
                if refusal.observation is None:
                    refusal.observation = self._meant
                    self._meant = None
                # Its traceback would hold this plan, which holds it: a whole batch, until Python looks for garbage.
                step = PlannedAction(arrival, "refuse", problem=refusal.with_traceback(None))
            if step.action == "correct" and self.steps:
                return place
            self.steps.append(step)
            if step.label is not None:
                self._fresh.add(step.label)
            if step.is_duplicate:
                self._new_duplicates.add(arrival.record.offset)
            self.leave_behind(arrival.record)
            if step.action == "correct":
                return place + 1
        return len(arrivals)

    def refused(self, problem: StreamBayesError) -> BatchPlan:
        """The plan of an only step once its fold was refused."""
        (step,) = self.steps
        meant = step.offset if step.action in ("learn", "correct") else None
        self.steps = [PlannedAction(step.arrival, "refuse", problem=EventError(problem.code, str(problem), meant))]
        return self

    def leave_behind(self, record: Record) -> None:
        """From here on the record is one of the past: what is remembered ends with it."""
        if record.topic == self._topic:
            self._end = record.offset + 1

    def _step(self, arrival: InputEvent, known: Mapping[int, Observation | None]) -> PlannedAction:
        event = arrival.event
        if isinstance(event, Observation):
            return self._observe(arrival, event, known)
        if isinstance(event, Label):
            return self._route_label(arrival, event) or self._learn(arrival, event, known)
        return PlannedAction(arrival, "refuse", problem=event)

    def _observe(
        self, arrival: InputEvent, observation: Observation, known: Mapping[int, Observation | None]
    ) -> PlannedAction:
        record = arrival.record
        if record.topic != self._topic:
            message = f"an observation belongs into the topic {self._topic!r}, not into {record.topic!r}"
            raise EventError("wrong-topic", message)
        place = self._place_of(observation.id)
        if place is not None and place != record.offset:
            message = f"the id {observation.id!r} is that of the record at offset {place}, by its place"
            raise EventError("bad-id", message)
        digest = digest_of(observation.id)
        # No other observation can have the id that is a place: its content is not compared with any.
        content = content_digest(observation) if place is None else 0
        first = self._find(digest)
        if first is not None:
            return self._repeat_observation(arrival, observation, first, content, known)
        label, problem = self._own_label(arrival, observation)
        self.contents.append(self._model.content(observation))
        self.labels.append(label)
        self._new_ids[digest] = record.offset, content
        self._new_labels[record.offset] = UNLABELLED if label is None else label
        return PlannedAction(arrival, "predict", record.offset, label, digest=digest, content=content, problem=problem)

    def _own_label(self, arrival: InputEvent, observation: Observation) -> tuple[Known | None, EventError | None]:
        """The label that an observation came with; or why it is refused, which does not stop the prediction."""
        problem: StreamBayesError | None = arrival.label_problem
        if problem is None:
            if observation.label is None:
                return None, None
            try:
                return self._known(observation.label), None
            except StreamBayesError as refusal:
                # Its traceback would hold this frame, which holds it.
                problem = refusal.with_traceback(None)
        message = f"{problem} (the observation was predicted, without this label)"
        return None, EventError(problem.code, message, arrival.record.offset)

    def _repeat_observation(
        self,
        arrival: InputEvent,
        observation: Observation,
        first: int,
        content: int,
        known: Mapping[int, Observation | None],
    ) -> PlannedAction:
        """An observation whose id was seen: a duplicate; with another label it is a label for the first one."""
        if self._content_of(observation.id, first) != content:
            message = (
                f"the id {observation.id!r} was given to another content before, at "
                f"{self._topic}-{self._partition}-{first}: an id is for one observation"
            )
            raise EventError("id-reused", message)
        if arrival.label_problem is not None:
            raise arrival.label_problem
        if observation.label is None:
            return PlannedAction(arrival, "duplicate")
        before = self._label_of(first)
        label = self._check_label(first, observation.label)
        if label == before:
            return PlannedAction(arrival, "duplicate")
        return self._learn_late(arrival, first, label, before, known)

    def _route_label(self, arrival: InputEvent, event: Label) -> PlannedAction | None:
        """The step of a label that is not for this partition or not for this group; None of any other label."""
        group = forwarded_by(arrival.record)
        if group is not None and group != self._routing.group:
            return PlannedAction(arrival, "ignore")
        target = self._routing.target_of(event)
        if target is None or (event.source is None and self._find(digest_of(event.id)) is not None):
            return None
        if group is not None:
            message = f"it was forwarded already, and its observation is in partition {target} of {self._topic!r}"
            raise EventError("wrong-partition", message)
        return PlannedAction(arrival, "forward", target=target)

    def _learn(self, arrival: InputEvent, event: Label, known: Mapping[int, Observation | None]) -> PlannedAction:
        offset = self.offset_of(event)
        before = self._label_of(offset)
        if self._is_unsure(arrival.record, event):
            return PlannedAction(arrival, "unsure", offset, before=before)
        label = self._check_label(offset, event.label)
        if label == before:
            return PlannedAction(arrival, "repeat", offset, label, before)
        return self._learn_late(arrival, offset, label, before, known)

    def _check_label(self, offset: int, value: Any) -> Known:
        """The label that came for an observation of before; what is refused here is an answer about it."""
        self._meant = offset
        label = self._known(value)
        self._meant = None
        return label

    def _learn_late(
        self,
        arrival: InputEvent,
        offset: int,
        label: Known,
        before: Known | Unlabelled,
        known: Mapping[int, Observation | None],
    ) -> PlannedAction:
        """Learn the label of an observation of before, from that observation itself, so that a correction is exact."""
        observation = known.get(offset) or self._memory.contents.get(offset)
        if observation is None:
            message = f"its observation, {self._topic}-{self._partition}-{offset}, is no longer in the log"
            raise EventError(GONE, message, offset)
        event = arrival.event
        assert isinstance(event, Observation | Label)
        if observation.id != event.id:
            message = f"the observation at {self._topic}-{self._partition}-{offset} has another id than the label"
            raise EventError("wrong-id", message)
        content = self._model.content(observation)
        action: Action = "learn" if isinstance(before, Unlabelled) or not self._model.corrects else "correct"
        if action == "learn" or not self.steps:
            self.contents.append(content)
            self.labels.append(label)
            self._new_labels[offset] = label
        return PlannedAction(arrival, action, offset, label, before)

    def target_of(self, event: Observation | Label) -> int | None:
        """The offset of the observation of before that gets the label of an event; None if there is none."""
        if isinstance(event, Observation):
            return None if event.label is None else self._find(digest_of(event.id))
        if event.source is not None and event.source.offset >= self._memory.labels.end:
            # It is not known yet whether that is a duplicate.
            return self._find(digest_of(event.id))
        try:
            return self.offset_of(event)
        except EventError:
            return None

    def offset_of(self, event: Label) -> int:
        """The offset of the observation that a label is for: by its source, by its id, or by an id that is a place.

        A source may be that of an observation that came twice: then the first of that id is meant.
        """
        if event.source is not None:
            if event.source[:2] != (self._topic, self._partition):
                message = f"its observation is not in partition {self._partition} of {self._topic!r}"
                raise EventError("wrong-partition", message)
            if not self._was_duplicate(event.source.offset):
                return event.source.offset
            found = self._find(digest_of(event.id))
            return event.source.offset if found is None else found
        found = self._find(digest_of(event.id))
        if found is not None:
            return found
        place = self._place_of(event.id)
        if place is not None:
            return place
        message = (
            "no observation of the last ones has this id: give the label its source, or send it after its observation"
        )
        raise EventError("unknown-observation", message)

    def _was_duplicate(self, offset: int) -> bool:
        """Whether an offset held an observation that had come before."""
        if offset in self._new_duplicates:
            return offset >= self._end - self._memory.labels.capacity
        return self._memory.labels.is_duplicate(offset, self._end)

    def _place_of(self, name: str) -> int | None:
        """The offset in an id that is the place of a record of this partition."""
        if not name.startswith(self._places):
            return None
        text = name[len(self._places) :]
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None

    def _find(self, digest: int) -> int | None:
        found = self._new_ids.get(digest)
        if found is None:
            return self._memory.ids.find(digest, self._end)
        return found[0] if found[0] >= self._end - self._memory.ids.capacity else None

    def _content_of(self, name: str, offset: int) -> int:
        """The digest of the content of an observation that was found by its id."""
        found = self._new_ids.get(digest_of(name))
        return self._memory.ids.content_of(offset) if found is None else found[1]

    def _label_of(self, offset: int) -> Known | Unlabelled:
        if offset < self._end - self._memory.labels.capacity:
            message = (
                f"its observation is older than the last {self._memory.labels.capacity:,}, whose labels are remembered"
            )
            raise EventError("label-too-old", message)
        before = self._new_labels.get(offset)
        if before is None:
            before = self._memory.labels.label_of(offset)
        if before is None:
            message = f"there is no observation at {self._topic}-{self._partition}-{offset}"
            raise EventError("unknown-observation", message)
        return before

    def _known(self, value: Any) -> Known:
        label = self._model.label(value)
        if not self._memory.labels.has_room(label, self._fresh):
            message = "there are too many different labels: for numbers use a learner of targets"
            raise EventError("too-many-labels", message)
        return label
