"""The fold over a stream: (state, events) -> (state, outputs). No clock, no sockets, no threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from stream_bayes.active import LabelSelector
from stream_bayes.config import Settings
from stream_bayes.engine.batch_plan import BatchPlan, EngineMemory, PlannedAction
from stream_bayes.engine.forwarding import Forward, Routing
from stream_bayes.engine.history import UNLABELLED, DedupWindow, Known, LabelHistory, ObservationCache, Unlabelled
from stream_bayes.engine.label_requests import LabelRequests
from stream_bayes.engine.metrics import RunningMetrics
from stream_bayes.engine.model_adapter import ModelAdapter, PredictionColumns, PredictionRow, open_learner
from stream_bayes.engine.output_events import AUDIT, RequestDetails, dead_letter, label_request, prediction
from stream_bayes.engine.types import (
    BatchProgress,
    BatchResult,
    InputEvent,
    RejectedRecord,
    ReplayDecisions,
    RequestPolicy,
    ends_by,
    nothing,
)
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import Label, Observation
from stream_bayes.records import Record
from stream_bayes.units import milliseconds


class Engine:
    """One partition's learner, with all that must be remembered between events.

    Each observation is predicted first and learned second, with the label that came with it or when its label comes.
    The same label again changes nothing; another one is a correction. What cannot be used becomes a dead letter. What
    happens to an event depends on the events before it and on nothing else: neither on how the stream was cut into
    batches nor on whether an observation was still in memory or had to be read again.

    Parameters
    ----------
    settings
        The learner, the topics, the sizes of what is remembered, the label budget.
    partition, partitions
        Which partition this engine is for, of how many: it owns that share of the label budget.
    """

    def __init__(self, settings: Settings, partition: int = 0, partitions: int = 1) -> None:
        self.settings = settings
        self.partition = partition
        self.model = ModelAdapter(open_learner(settings.learner))
        sizes = settings.engine
        ring = LabelHistory(sizes.label_history, numbers=self.model.predicts_numbers)
        self.memory = EngineMemory(
            ring, DedupWindow(sizes.dedup_window), ObservationCache(sizes.observation_cache_bytes)
        )
        self.metrics = RunningMetrics(sizes.label_history)
        self.terms = RequestPolicy(
            milliseconds("labels.request_ttl", settings.labels.request_ttl), ring.capacity, partitions
        )
        """By which it closes questions, and owns its share of the budget."""
        self.input_partitions = partitions
        """How many partitions the observations topic has: more than share the budget where it has grown since."""
        self._questions = LabelRequests(settings, self.model, partition, partitions)
        self.model_version = 0
        """How many labels were learned."""
        self.clock = 0
        """The greatest timestamp that the log gave to an event so far."""
        self.counts: Counter[str] = Counter()
        """Of what happened to the events: "predict", "learn", "correct", "repeat", "unsure", "duplicate", "refuse",
        "forward", "ignore"."""
        self.refused: Counter[str] = Counter()
        """Dead letters by code."""
        self.unknown_fields = 0
        """Fields of JSON events that were ignored."""

    @property
    def selector(self) -> LabelSelector:
        """Who asks for labels: with the partition's share of the budget, the open questions, and what became of all."""
        return self._questions.selector

    def wanted(self, arrivals: Sequence[InputEvent]) -> set[int]:
        """The offsets of observations that labels among these are for, and that are not in memory any more.

        A label is one if it comes alone, or with an observation whose id was seen before.
        """
        offsets: set[int] = set()
        plan = self._plan(None)
        for arrival in arrivals:
            event = arrival.event
            if not isinstance(event, EventError) and event.label is not None:
                offset = plan.target_of(event)
                if offset is not None and self._is_missing(offset, event.label):
                    offsets.add(offset)
            plan.leave_behind(arrival.record)
        return offsets

    def _is_missing(self, offset: int, label: object) -> bool:
        """Whether a label is new for an observation, and the observation is not in memory."""
        known = self.memory.labels.label_of(offset)
        return known is not None and known != label and self.memory.contents.get(offset) is None

    def process(
        self,
        arrivals: Sequence[InputEvent],
        found: Mapping[int, Observation | None] | None = None,
        decided: ReplayDecisions | None = None,
    ) -> BatchResult:
        """Take events in order; `found` are the observations that `wanted` named, None where the log has lost one.

        With `decided` they are learned silently: this was decided when the events first came, and nothing is decided
        again; of the outputs only the dead letters are made, and nothing is forwarded.
        """
        outcome = nothing()
        topic = self.settings.topics.observations
        known = dict(found or {})
        known |= {
            arrival.record.offset: arrival.event
            for arrival in arrivals
            if isinstance(arrival.event, Observation) and arrival.record.topic == topic
        }
        self._run(arrivals, known, BatchProgress(decided, outcome, ends_by(self.terms, decided)))
        self.memory.contents.shrink()
        return outcome

    def _run(
        self, arrivals: Sequence[InputEvent], known: Mapping[int, Observation | None], progress: BatchProgress
    ) -> None:
        done = 0
        while done < len(arrivals):
            plan = self._plan(progress.decided)
            count = plan.take(arrivals[done:], known)
            try:
                said = self._fold(plan)
            except StreamBayesError as problem:
                if count > 1:
                    half = done + count // 2
                    self._run(arrivals[done:half], known, progress)
                    self._run(arrivals[half : done + count], known, progress)
                else:
                    self._carry_out(plan.refused(problem), None, progress)
            else:
                self._carry_out(plan, said, progress)
            done += count

    def _plan(self, decided: ReplayDecisions | None) -> BatchPlan:
        def is_unsure(record: Record, event: Label) -> bool:
            if decided is None:
                return self._questions.abstain_label is not None and event.label == self._questions.abstain_label
            return (record.topic, record.offset) in decided.unsure

        topic = self.settings.topics.observations
        routing = Routing(topic, self.partition, self.input_partitions, self.settings.group.encode())
        return BatchPlan(self.memory, self.model, routing, is_unsure)

    def _fold(self, plan: BatchPlan) -> PredictionColumns | None:
        """The only place where the learner changes; a refusal leaves everything as it was."""
        first = plan.steps[0]
        if first.action == "correct":
            assert first.label is not None
            assert not isinstance(first.before, Unlabelled)
            self.model.correct(plan.contents[0], first.before, first.label)
            return None
        if not plan.contents:
            return None
        return self.model.said(self.model.fold(plan.contents, plan.labels), self.selector.strategy)

    def _carry_out(self, plan: BatchPlan, said: PredictionColumns | None, progress: BatchProgress) -> None:
        """Remember what was done, and put out what there is to say; nothing here can be refused."""
        topic = self.settings.topics.observations
        ring = self.memory.labels
        questions = self._questions
        row = 0
        (remembered, lead) = progress.ends
        for step in plan.steps:
            record = step.arrival.record
            action = step.action
            self.clock = record.timestamp if record.timestamp > self.clock else self.clock
            self.counts[action] += 1
            if action != "refuse":
                self.unknown_fields += step.arrival.unknown_fields
            if record.topic == topic:
                ring.advance(record.offset + 1, is_duplicate=step.is_duplicate)
            if questions.are_over(ring.end - remembered, self.clock + lead):
                progress.say(*questions.closed(ring.end - remembered, self.clock, lead))
            if action == "predict" and said is not None:
                self._predicted(step, said, row, progress)
                if step.problem is not None:
                    self._refuse(step, step.problem, progress)
                if step.label is None:
                    self._ask(step, PredictionRow(said, row, plan.contents[row]), progress)
                row += 1
            elif action in ("learn", "correct"):
                self._learned(step, said)
                progress.outcome.late.append(step.offset)
                row += 1
            elif action == "unsure":
                progress.outcome.unsure.append((record.topic, record.offset))
            elif action == "forward" and not progress.silent:
                progress.outcome.forwards.append(Forward(record, step.target))
            elif step.problem is not None:
                self._refuse(step, step.problem, progress)
            if action in ("learn", "correct", "repeat", "unsure"):
                progress.say(questions.answered(step, self.clock, lead))

    def _predicted(self, step: PlannedAction, said: PredictionColumns, row: int, progress: BatchProgress) -> None:
        event = step.arrival.event
        offset = step.offset
        label = step.label
        assert isinstance(event, Observation)
        labels, ids, contents = self.memory
        ids.put(step.digest, offset, step.content)
        contents.put(offset, event, len(step.arrival.record.value))
        self.metrics.remember(offset, said.scores[row], said.guesses[row])
        labels.put(offset, UNLABELLED if label is None else label)
        if not progress.silent:
            progress.outcome.outputs.append(prediction(step.arrival, said, row, self.model_version))
        if label is not None:
            self.model_version += 1
            self._count(offset, label, said)

    def _ask(self, step: PlannedAction, row: PredictionRow, progress: BatchProgress) -> None:
        """The question, if there is one: decided now, or when the event first came."""
        question = self._questions.question(step, row, self.clock, progress.decided)
        if question is not None and not progress.silent:
            progress.outcome.asked[step.offset] = question
            left = self.selector.budget.left(self.clock)
            request_ttl = self.terms.request_ttl
            strategy = self.selector.strategy if question.audited is None else AUDIT
            known = self.model.declared_labels, self._questions.abstain_label
            asking = RequestDetails(strategy, left, self.clock, request_ttl, *known)
            progress.outcome.outputs.append(label_request(step.arrival, row, asking))

    def _learned(self, step: PlannedAction, said: PredictionColumns | None) -> None:
        assert step.label is not None
        self.memory.labels.put(step.offset, step.label)
        self.model_version += 1
        if isinstance(step.before, Unlabelled) and said is not None:
            self._count(step.offset, step.label, said)

    def _count(self, offset: int, label: Known, said: PredictionColumns) -> None:
        if self.model.predicts_numbers:
            self.metrics.count_target(offset, float(label))
        else:
            self.metrics.count_label(offset, said.names.index(label) if label in said.names else -1)

    def _refuse(self, step: PlannedAction, problem: EventError, progress: BatchProgress) -> None:
        record = step.arrival.record
        event = step.arrival.event
        self.refused[problem.code] += 1
        progress.say(self._questions.refused(event, problem, self.clock))
        progress.outcome.refused.append(RejectedRecord(record.topic, record.offset, problem.code, problem.observation))
        progress.outcome.outputs.append(dead_letter(record, problem, self.clock))
