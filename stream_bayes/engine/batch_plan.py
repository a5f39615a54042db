"""Planning: what is to be done with each event of a batch, found out before anything changes.

A planner reads what the engine remembers and keeps its own changes apart, so that a batch that the learner rejects
leaves no trace. Each event is judged as if those before it had been carried out: the cut into batches cannot matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

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
from stream_bayes.engine.types import ReplayDecisions
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import InputEvent, Label, Observation

Action = Literal["predict", "learn", "correct", "repeat", "unsure", "duplicate", "refuse", "forward", "ignore"]
GONE = "observation-gone"
"""The code of a label whose observation is no longer in the log."""


class PlannedAction(NamedTuple):
    """The action that is planned for one event."""

    input: InputEvent
    action: Action
    offset: int = -1
    """The offset of the observation that the event is, or is a label for."""
    label: Known | None = None
    before: Known | Unlabelled = UNLABELLED
    """The label that the observation had."""
    content: Any = None
    """The observation as the learner takes it; None where it must first be read from the log."""
    id_digest: int = 0
    content_digest: int = 0
    problem: EventError | None = None
    """Why the event is rejected; of an observation that is predicted, why its label is rejected."""
    target: int = -1
    """The partition that a forwarded label belongs to."""
    is_duplicate: bool = False
    """Whether it is an observation that had come before, and nothing of it was rejected."""

    def rejected(self, problem: StreamBayesError) -> PlannedAction:
        """The rejection of an event that could not be carried out."""
        if not isinstance(problem, EventError):
            observation = self.offset if self.action in ("learn", "correct") else None
            problem = EventError(problem.code, str(problem), observation)
        # Its traceback would hold this action, which holds it: a whole batch, until Python looks for garbage.
        return PlannedAction(self.input, "refuse", problem=problem.with_traceback(None))


class BatchPlan(NamedTuple):
    """The actions for a batch of events, and the observations that they need from the log."""

    events: Sequence[InputEvent]
    actions: list[PlannedAction]
    missing: set[int]
    """The offsets of observations that late labels are for, and that are not in memory."""
    observations: Mapping[int, Observation]
    """The observations of the batch itself, by offset."""
    decisions: ReplayDecisions | None
    """The decisions made when the events were first processed; None if this is the first time."""


class PlanningState(Protocol):
    """The part of an engine that a planner reads."""

    model: ModelAdapter
    label_history: LabelHistory
    dedup_window: DedupWindow
    observation_cache: ObservationCache
    abstain_label: str | None
    routing: Routing


class BatchPlanner:
    """Plans events one after the other, up from the state of an engine.

    Parameters
    ----------
    engine
        The engine, which does not change.
    observations
        The observations of the whole batch, by offset.
    decisions
        What was decided when the events were first processed.
    """

    def __init__(
        self, engine: PlanningState, observations: Mapping[int, Observation], decisions: ReplayDecisions | None
    ) -> None:
        self.actions: list[PlannedAction] = []
        self.missing: set[int] = set()
        self._model = engine.model
        self._history = engine.label_history
        self._ids = engine.dedup_window
        self._cache = engine.observation_cache
        self._abstain_label = engine.abstain_label
        self._observations = observations
        self._decisions = decisions
        self._routing = engine.routing
        self._topic = self._routing.topic
        self._partition = self._routing.partition
        self._topic_prefix = f"{self._topic}-"
        self._id_prefix = f"{self._topic_prefix}{self._partition}-"
        self._label_target: int | None = None
        self._end = self._history.end
        self._new_labels: set[Known] = set()
        self._new_ids: dict[int, tuple[int, int]] = {}
        self._labels_by_offset: dict[int, Known | Unlabelled] = {}
        self._new_duplicates: set[int] = set()

    def plan(self, events: Sequence[InputEvent], *, up_to_correction: bool = False) -> None:
        """Plan all events in order, or those up to the first correction and that one with them."""
        for event in events:
            action = self._plan_or_reject(event)
            self.actions.append(action)
            if action.label is not None:
                self._new_labels.add(action.label)
            if action.is_duplicate:
                self._new_duplicates.add(event.record.offset)
            if event.record.topic == self._topic:
                self._end = event.record.offset + 1
            if up_to_correction and action.action == "correct":
                return

    def _plan_or_reject(self, event: InputEvent) -> PlannedAction:
        content = event.event
        try:
            if isinstance(content, Observation):
                return self._plan_observation(event, content)
            if isinstance(content, Label):
                return self._route_label(event, content) or self._plan_label(event, content)
        except StreamBayesError as problem:
            rejection = problem if isinstance(problem, EventError) else EventError(problem.code, str(problem))
            if rejection.observation is None:
                rejection.observation = self._label_target
                self._label_target = None
            # Its traceback would hold this planner, which holds it: a whole batch, until Python looks for garbage.
            return PlannedAction(event, "refuse", problem=rejection.with_traceback(None))
        return PlannedAction(event, "refuse", problem=content)

    # Observations

    def _plan_observation(self, event: InputEvent, observation: Observation) -> PlannedAction:
        offset = event.record.offset
        if event.record.topic != self._topic:
            message = f"an observation belongs into the topic {self._topic!r}, not into {event.record.topic!r}"
            raise EventError("wrong-topic", message)
        named_offset = self._offset_in(observation.id)
        if named_offset is not None and named_offset != offset:
            message = (
                f"the id {observation.id!r} names another record, the one at offset {named_offset}: send the "
                "observation with an id of its own"
            )
            raise EventError("bad-id", message)
        id_digest = digest_of(observation.id)
        # No other observation can have an id that is a place: its content is not compared with any.
        digest = content_digest(observation) if named_offset is None else 0
        first = self._find(id_digest)
        if first is not None:
            return self._plan_duplicate(event, observation, first, digest)
        label = None
        problem = None
        if observation.label is not None or event.label_problem is not None:
            label, problem = self._own_label(event, observation)
        content = self._model.prepare(observation)
        self._new_ids[id_digest] = offset, digest
        self._labels_by_offset[offset] = UNLABELLED if label is None else label
        return PlannedAction(event, "predict", offset, label, UNLABELLED, content, id_digest, digest, problem)

    def _own_label(self, event: InputEvent, observation: Observation) -> tuple[Known | None, EventError | None]:
        """The label that an observation came with; or why it is rejected, which does not stop the prediction."""
        problem: StreamBayesError | None = event.label_problem
        if problem is None:
            try:
                return self._valid_label(observation.label), None
            except StreamBayesError as rejection:
                # Its traceback would hold this frame, which holds it.
                problem = rejection.with_traceback(None)
        message = f"{problem} (the observation was predicted, without this label)"
        return None, EventError(problem.code, message, event.record.offset)

    def _plan_duplicate(self, event: InputEvent, observation: Observation, first: int, digest: int) -> PlannedAction:
        """Plan an observation whose id was seen before; if it has another label, that is a label for the first one."""
        known = self._new_ids.get(digest_of(observation.id))
        if digest != (self._ids.content_of(first) if known is None else known[1]):
            message = (
                f"the id {observation.id!r} was given to another content before, at "
                f"{self._topic}-{self._partition}-{first}: an id is for one observation"
            )
            raise EventError("id-reused", message)
        if event.label_problem is not None:
            raise event.label_problem
        if observation.label is None:
            return PlannedAction(event, "duplicate", is_duplicate=True)
        return self._plan_late_label(event, first, observation.label, "duplicate")._replace(is_duplicate=True)

    # Labels

    def _route_label(self, event: InputEvent, label: Label) -> PlannedAction | None:
        """The action for a label that belongs to another partition or another group; None for any other label."""
        group = forwarded_by(event.record) if event.record.headers else None
        if group is not None and group != self._routing.group:
            return PlannedAction(event, "ignore")
        if label.source is None and not label.id.startswith(self._topic_prefix):
            return None
        target = self._routing.target_of(label)
        if target is None or (label.source is None and self._find(digest_of(label.id)) is not None):
            return None
        if group is not None:
            message = f"it was forwarded already, and its observation is in partition {target} of {self._topic!r}"
            raise EventError("wrong-partition", message)
        return PlannedAction(event, "forward", target=target)

    def _plan_label(self, event: InputEvent, label: Label) -> PlannedAction:
        offset = self._offset_of(label)
        if self._decisions is None:
            is_abstention = self._abstain_label is not None and label.label == self._abstain_label
        else:
            is_abstention = (event.record.topic, event.record.offset) in self._decisions.abstentions
        if is_abstention:
            return PlannedAction(event, "unsure", offset, before=self._label_of(offset))
        return self._plan_late_label(event, offset, label.label, "repeat")

    def _plan_late_label(
        self, event: InputEvent, offset: int, value: Any, if_same: Literal["duplicate", "repeat"]
    ) -> PlannedAction:
        """Plan a label for an earlier observation, which is learned from that observation itself."""
        observation = self._observations.get(offset) or self._cache.get(offset)
        if observation is None and self._history.label_of(offset) not in (None, value):
            self.missing.add(offset)
        before = self._label_of(offset)
        # A label that is not valid is an answer about this observation all the same.
        self._label_target = offset
        label = self._valid_label(value)
        self._label_target = None
        if label == before:
            return PlannedAction(event, if_same, offset, label, before)
        action: Action = "learn" if isinstance(before, Unlabelled) or not self._model.corrects else "correct"
        planned = PlannedAction(event, action, offset, label, before)
        if observation is not None:
            planned = with_observation(planned, observation, self._model, self._routing)
        self._labels_by_offset[offset] = label
        return planned

    def _offset_of(self, label: Label) -> int:
        """The offset of the observation that a label is for: by its source, by its id, or by an id that is a place.

        A source may be that of a duplicate: then the first observation with that id is meant.
        """
        if label.source is not None:
            if label.source[:2] != (self._topic, self._partition):
                message = f"its observation is not in partition {self._partition} of {self._topic!r}"
                raise EventError("wrong-partition", message)
            if not self._was_duplicate(label.source.offset):
                return label.source.offset
            found = self._find(digest_of(label.id))
            return label.source.offset if found is None else found
        found = self._find(digest_of(label.id))
        if found is None:
            found = self._offset_in(label.id)
        if found is None:
            message = (
                "no observation in the dedup window has this id: give the label its source (topic, partition and "
                "offset of the observation), or send it after its observation"
            )
            raise EventError("unknown-observation", message)
        return found

    # The state of the engine, with the changes that are planned

    def _was_duplicate(self, offset: int) -> bool:
        if offset in self._new_duplicates:
            return offset >= self._end - self._history.capacity
        return self._history.is_duplicate(offset, self._end)

    def _offset_in(self, name: str) -> int | None:
        """The offset in an id that is the place of a record of this partition: topic-partition-offset."""
        if not name.startswith(self._id_prefix):
            return None
        text = name[len(self._id_prefix) :]
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None

    def _find(self, id_digest: int) -> int | None:
        found = self._new_ids.get(id_digest)
        if found is None:
            return self._ids.find(id_digest, self._end)
        return found[0] if found[0] >= self._end - self._ids.capacity else None

    def _label_of(self, offset: int) -> Known | Unlabelled:
        if offset < self._end - self._history.capacity:
            message = f"its observation is older than the last {self._history.capacity:,}, whose labels are remembered"
            raise EventError("label-too-old", message)
        before = self._labels_by_offset.get(offset)
        if before is None:
            before = self._history.label_of(offset)
        if before is None:
            message = f"there is no observation at {self._topic}-{self._partition}-{offset}"
            raise EventError("unknown-observation", message)
        return before

    def _valid_label(self, value: Any) -> Known:
        label = self._model.validate_label(value)
        if not self._history.has_room(label, self._new_labels):
            message = "there are too many different labels: for numbers use a learner of targets"
            raise EventError("too-many-labels", message)
        return label


def with_observation(
    planned: PlannedAction, observation: Observation | None, model: ModelAdapter, routing: Routing
) -> PlannedAction:
    """The action for a late label with its observation; raises `EventError` if that is gone or is another one."""
    event = planned.input.event
    assert isinstance(event, Observation | Label)
    if observation is None:
        message = f"its observation, {routing.topic}-{routing.partition}-{planned.offset}, is no longer in the log"
        raise EventError(GONE, message, planned.offset)
    if observation.id != event.id:
        place = f"{routing.topic}-{routing.partition}-{planned.offset}"
        message = f"the observation at {place} has another id than the label"
        raise EventError("wrong-id", message)
    return planned._replace(content=model.prepare(observation))
