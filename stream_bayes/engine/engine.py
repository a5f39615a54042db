"""The fold over a stream: (state, events) -> (state, outputs). No clock, no sockets, no threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from stream_bayes.active import LabelBudget, LabelSelector
from stream_bayes.config import Settings
from stream_bayes.engine.arrivals import Arrival, Outcome, Refused
from stream_bayes.engine.metrics import Metrics
from stream_bayes.engine.model import Model, Said, open_learner
from stream_bayes.engine.outputs import dead_letter, label_request, prediction
from stream_bayes.engine.plan import Memory, Plan, Step
from stream_bayes.engine.remembered import UNLABELLED, Contents, IdWindow, Known, LabelRing, Unlabelled
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import Label, Observation
from stream_bayes.records import Record


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
        self.settings, self.partition = settings, partition
        self.model = Model(open_learner(settings.learner))
        sizes, labels = settings.engine, settings.labels
        ring = LabelRing(sizes.remembered_labels, numbers=self.model.predicts_numbers)
        self.memory = Memory(ring, IdWindow(sizes.remembered_ids), Contents(sizes.remembered_bytes))
        self.metrics = Metrics(sizes.remembered_labels)
        self.selector = LabelSelector(labels.least_variance)
        self.budget = LabelBudget.share(labels.budget, labels.open_requests, partition, partitions)
        self.open_requests: set[int] = set()
        self.model_version = 0
        """How many labels were learned."""
        self.clock = 0
        """The greatest timestamp that the log gave to an event so far."""
        self.counts: Counter[str] = Counter()
        """Of what happened to the events: "predict", "learn", "correct", "repeat", "duplicate", "refuse"."""
        self.refused: Counter[str] = Counter()
        """Dead letters by code."""

    def wanted(self, arrivals: Sequence[Arrival]) -> set[int]:
        """The offsets of observations that labels among these are for, and that are not in memory any more."""
        offsets: set[int] = set()
        if not _any_label(arrivals):
            return offsets
        plan = self._plan()
        for arrival in arrivals:
            if isinstance(arrival.event, Label) and (offset := self._missing(plan, arrival.event)) is not None:
                offsets.add(offset)
            plan.leave_behind(arrival.record)
        return offsets

    def _missing(self, plan: Plan, event: Label) -> int | None:
        try:
            offset = plan.offset_of(event)
        except EventError:
            return None
        known = self.memory.labels.label_of(offset)
        needed = known is not None and known != event.label and self.memory.contents.get(offset) is None
        return offset if needed else None

    def process(
        self,
        arrivals: Sequence[Arrival],
        found: Mapping[int, Observation | None] | None = None,
        asked: set[int] | None = None,
    ) -> Outcome:
        """Take events in order; `found` are the observations that `wanted` named, None where the log has lost one.

        With `asked` they are learned silently: these observations were asked about when the events first came, and
        nothing is decided again; of the outputs only the dead letters are made.
        """
        outcome = Outcome([], [], [], [])
        topic = self.settings.topics.observations
        known = dict(found or {})
        if _any_label(arrivals):
            known |= {
                record.offset: event
                for record, event in arrivals
                if record.topic == topic and isinstance(event, Observation)
            }
        self._run(arrivals, known, asked, outcome)
        self.memory.contents.shrink()
        return outcome

    def _run(
        self,
        arrivals: Sequence[Arrival],
        known: Mapping[int, Observation | None],
        asked: set[int] | None,
        outcome: Outcome,
    ) -> None:
        done = 0
        while done < len(arrivals):
            plan = self._plan()
            count = plan.take(arrivals[done:], known)
            try:
                said = self._fold(plan)
            except StreamBayesError as problem:
                if count > 1:
                    half = done + count // 2
                    self._run(arrivals[done:half], known, asked, outcome)
                    self._run(arrivals[half : done + count], known, asked, outcome)
                else:
                    refusal = EventError(problem.code, str(problem))
                    self._carry_out([Step(arrivals[done], "refuse", problem=refusal)], None, asked, outcome)
            else:
                self._carry_out(plan.steps, said, asked, outcome)
            done += count

    def _plan(self) -> Plan:
        return Plan(self.memory, self.model, self.settings.topics.observations, self.partition)

    def _fold(self, plan: Plan) -> Said | None:
        """The only place where the learner changes; a refusal leaves everything as it was."""
        first = plan.steps[0]
        if first.action == "correct":
            assert first.label is not None
            assert not isinstance(first.before, Unlabelled)
            self.model.correct(plan.contents[0], first.before, first.label)
            return None
        return self.model.said(self.model.fold(plan.contents, plan.labels)) if plan.contents else None

    def _carry_out(self, steps: list[Step], said: Said | None, asked: set[int] | None, outcome: Outcome) -> None:
        """Remember what was done, and put out what there is to say; nothing here can be refused."""
        topic, row = self.settings.topics.observations, 0
        for step in steps:
            record, action = step.arrival.record, step.action
            self.clock = record.timestamp if record.timestamp > self.clock else self.clock
            self.counts[action] += 1
            if record.topic == topic:
                self._advance(record.offset + 1)
            if action == "predict" and said is not None:
                self._predicted(step, said, row)
                if asked is None:
                    self._put_out(step, said, row, outcome)
                elif step.offset in asked:
                    self._ask(step.offset)
                self.model_version += step.label is not None
                row += 1
            elif action in ("learn", "correct"):
                self._learned(step, said)
                outcome.late.append(step.offset)
                row += 1
            elif step.problem is not None:
                self._refuse(record, step.problem, outcome)

    def _advance(self, end: int) -> None:
        """Let the oldest observations go, and with them their questions: an answer would be too old."""
        ring, before = self.memory.labels, self.memory.labels.end
        ring.advance(end)
        if self.open_requests and end > ring.capacity:
            self.open_requests.difference_update(range(before - ring.capacity, min(end - ring.capacity, before)))

    def _predicted(self, step: Step, said: Said, row: int) -> None:
        (record, event), _, offset, label, _, digest, _ = step
        assert isinstance(event, Observation)
        labels, ids, contents = self.memory
        ids.put(digest, offset)
        contents.put(offset, event, len(record.value))
        self.metrics.remember(offset, said.scores[row], said.guesses[row])
        labels.put(offset, UNLABELLED if label is None else label)
        if label is not None:
            self._count(offset, label, said)

    def _put_out(self, step: Step, said: Said, row: int, outcome: Outcome) -> None:
        outcome.outputs.append(prediction(step.arrival, said, row, self.model_version))
        wanted = step.label is None and self.selector.wants(said.worth[row])
        if wanted and self.budget.may_ask(len(self.open_requests)):
            self._ask(step.offset)
            outcome.asked.append(step.offset)
            outcome.outputs.append(label_request(step.arrival, said, row, self.selector.strategy, self.budget.left))

    def _ask(self, offset: int) -> None:
        self.budget.spend()
        self.open_requests.add(offset)

    def _learned(self, step: Step, said: Said | None) -> None:
        assert step.label is not None
        self.memory.labels.put(step.offset, step.label)
        self.open_requests.discard(step.offset)
        self.model_version += 1
        if isinstance(step.before, Unlabelled) and said is not None:
            self._count(step.offset, step.label, said)

    def _count(self, offset: int, label: Known, said: Said) -> None:
        if self.model.predicts_numbers:
            self.metrics.count_target(offset, float(label))
        else:
            self.metrics.count_label(offset, said.names.index(label) if label in said.names else -1)

    def _refuse(self, record: Record, problem: EventError, outcome: Outcome) -> None:
        self.refused[problem.code] += 1
        if problem.observation is not None:
            self.open_requests.discard(problem.observation)
        outcome.refused.append(Refused(record.topic, record.offset, problem.code, problem.observation))
        outcome.outputs.append(dead_letter(record, problem, self.clock))


def _any_label(arrivals: Sequence[Arrival]) -> bool:
    """Whether an observation may have to be found; not where labels come with their observations or not at all."""
    return any(isinstance(event, Label) for _, event in arrivals)
