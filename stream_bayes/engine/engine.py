"""The engine: a fold over a stream, (state, events) -> (state, outputs). No clock, no sockets, no threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.active import LabelSelector
from stream_bayes.config import Settings
from stream_bayes.engine.batch_plan import BatchPlan, BatchPlanner, PlannedAction, with_observation
from stream_bayes.engine.forwarding import Routing
from stream_bayes.engine.history import UNLABELLED, DedupWindow, Known, LabelHistory, ObservationCache, Unlabelled
from stream_bayes.engine.label_requests import LabelRequests, label_request
from stream_bayes.engine.metrics import RunningMetrics
from stream_bayes.engine.model_adapter import LearningRow, ModelAdapter, Predictions, open_learner
from stream_bayes.engine.types import BatchResult, RejectedRecord, ReplayDecisions, RequestPolicy, dead_letter
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import InputEvent, Observation, Prediction
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
        self.label_history = LabelHistory(sizes.label_history, numbers=self.model.predicts_numbers)
        self.dedup_window = DedupWindow(sizes.dedup_window)
        self.observation_cache = ObservationCache(sizes.observation_cache_bytes)
        self.metrics = RunningMetrics(sizes.label_history)
        expires = milliseconds("labels.request_ttl", settings.labels.request_ttl)
        self.request_policy = RequestPolicy(expires, self.label_history.capacity, partitions)
        self._topic = settings.topics.observations
        self.routing = Routing(self._topic, partition, partitions, settings.group.encode())
        """The partition of this engine among those of the observations topic; more than share the budget if it grew."""
        self._requests = LabelRequests(settings, self.model, partition, partitions)
        self.selector: LabelSelector = self._requests.selector
        """The selector, with the partition's share of the budget and the open label requests."""
        self.abstain_label = self._requests.abstain_label
        """The text by which a labeller abstains; None if there is none."""
        self.model_version = 0
        """How many labels were learned."""
        self.clock = 0
        """The greatest timestamp that the log has given to an event so far, in milliseconds."""
        self.counts: Counter[str] = Counter()
        """Counts of the actions: "predict", "learn", "correct", "repeat", "unsure", "duplicate", "refuse",
        "forward", "ignore"."""
        self.refused: Counter[str] = Counter()
        """Counts of dead letters by code."""
        self.unknown_fields = 0
        """Fields of JSON events that were ignored."""

    @property
    def compatibility_key(self) -> dict[str, Any]:
        """The settings that shape the state: a checkpoint is good for an engine with the same ones.

        Budgets, costs, limits and intervals may change from run to run; not between how many a budget is shared.
        """
        sizes = self.settings.engine
        topics = self.settings.topics
        return {
            "learner": self.model.compatibility_key,
            "engine": {"label_history": sizes.label_history, "dedup_window": sizes.dedup_window},
            "topics": {"observations": topics.observations, "labels": topics.labels, "journal": self.settings.journal},
            "partition": self.partition,
            "partitions": self.request_policy.partitions,
        }

    def plan(self, events: Sequence[InputEvent], decisions: ReplayDecisions | None = None) -> BatchPlan:
        """Plan what is to be done with events; changes nothing.

        With `decisions`, which were made when the events were first processed, the plan is for a silent replay:
        nothing is decided again, of the outputs only the dead letters are made, and nothing is forwarded.
        """
        observations: dict[int, Observation] = {}
        for event in events:
            if isinstance(event.event, Observation) and event.record.topic == self._topic:
                observations[event.record.offset] = event.event
        planner = BatchPlanner(self, observations, decisions)
        planner.plan(events)
        return BatchPlan(events, planner.actions, planner.missing, observations, decisions)

    def apply(self, plan: BatchPlan, observations: Mapping[int, Observation | None] | None = None) -> BatchResult:
        """Carry out a plan, before any other change of the engine.

        `observations` are those that `plan.missing` names; None where the log has lost one.
        """
        result = BatchResult()
        self._apply(plan, plan.events, plan.actions, observations or {}, result)
        self.observation_cache.shrink()
        return result

    def process(
        self,
        events: Sequence[InputEvent],
        observations: Mapping[int, Observation | None] | None = None,
        decisions: ReplayDecisions | None = None,
    ) -> BatchResult:
        """Plan and apply at once, for callers who know which observations late labels need."""
        return self.apply(self.plan(events, decisions), observations)

    def _apply(
        self,
        plan: BatchPlan,
        events: Sequence[InputEvent],
        actions: Sequence[PlannedAction],
        observations: Mapping[int, Observation | None],
        result: BatchResult,
    ) -> None:
        """Carry out the actions for events; those for which there is no valid action are planned on the way.

        Actions are learned in one call up to a correction, which is a call of its own. If the learner rejects one of
        them, it is found by halves, and what was planned behind it is planned again.
        """
        while events:
            if not actions:
                planner = BatchPlanner(self, plan.observations, plan.decisions)
                planner.plan(events, up_to_correction=True)
                actions = planner.actions
            count = _count_before_correction(actions) or 1
            segment = actions[:count]
            try:
                if plan.missing:
                    segment = [self._complete(planned, observations) for planned in segment]
                predictions = self._learn(segment)
            except StreamBayesError as problem:
                if count == 1:
                    self._record([segment[0].rejected(problem)], None, plan, result)
                else:
                    half = count // 2
                    self._apply(plan, events[:half], segment[:half], observations, result)
                    self._apply(plan, events[half:count], [], observations, result)
                actions = []
            else:
                self._record(segment, predictions, plan, result)
                actions = actions[count:]
            events = events[count:]

    def _complete(self, planned: PlannedAction, observations: Mapping[int, Observation | None]) -> PlannedAction:
        """The action with its observation, where that had to be read from the log."""
        if planned.content is not None or planned.action not in ("learn", "correct"):
            return planned
        return with_observation(planned, observations.get(planned.offset), self.model, self.routing)

    def _learn(self, segment: Sequence[PlannedAction]) -> Predictions | None:
        """Predict and learn. This is the only place where the learner changes; an error leaves it as it was."""
        first = segment[0]
        if first.action == "correct":
            assert first.label is not None
            assert not isinstance(first.before, Unlabelled)
            self.model.correct(first.content, first.before, first.label)
            return None
        rows = [
            LearningRow(planned.content, planned.label, is_late=planned.action == "learn")
            for planned in segment
            if planned.action in ("predict", "learn")
        ]
        if not all(row.is_late for row in rows):
            return self.model.test_then_train(rows, self.selector.scoring)
        if rows:
            self.model.learn(rows)
        return None

    def _record(
        self, segment: Sequence[PlannedAction], predictions: Predictions | None, plan: BatchPlan, result: BatchResult
    ) -> None:
        """Remember what was done, and collect the outputs; nothing here can be rejected."""
        history = self.label_history
        requests = self._requests
        policy = self.request_policy
        if plan.decisions is not None and plan.decisions.policy is not None:
            policy = plan.decisions.policy
        # By a clock with this lead, what is overdue by the current policy was overdue by the policy of the time.
        lead = self.request_policy.request_ttl - policy.request_ttl
        # In a replay none are made: they were put out when the events were first processed.
        outcomes = result.outputs if plan.decisions is None else None
        row = 0
        for planned in segment:
            record = planned.input.record
            action = planned.action
            self.clock = record.timestamp if record.timestamp > self.clock else self.clock
            self.counts[action] += 1
            if action != "refuse":
                self.unknown_fields += planned.input.unknown_fields
            if record.topic == self._topic:
                history.advance(record.offset + 1, is_duplicate=planned.is_duplicate)
            oldest = history.end - policy.remembered
            if requests.are_overdue(oldest, self.clock + lead):
                requests.expire(oldest, self.clock, lead, outcomes)
            if action == "predict" and predictions is not None:
                self._record_prediction(planned, predictions, row, plan, result)
                row += 1
            elif action in ("learn", "correct"):
                self._record_late_label(planned)
                result.late.append(planned.offset)
                row += 1
            elif action == "unsure":
                result.abstentions.append((record.topic, record.offset))
            elif action == "forward" and plan.decisions is None:
                result.forwards.append((record, planned.target))
            elif planned.problem is not None:
                self._reject(planned, planned.problem, plan, result)
            if action in ("learn", "correct", "repeat", "unsure"):
                requests.receive_label(planned, self.clock, lead, outcomes)

    def _record_prediction(
        self, planned: PlannedAction, predictions: Predictions, row: int, plan: BatchPlan, result: BatchResult
    ) -> None:
        observation = planned.input.event
        offset = planned.offset
        label = planned.label
        assert isinstance(observation, Observation)
        self.dedup_window.put(planned.id_digest, offset, planned.content_digest)
        self.observation_cache.put(offset, observation, len(planned.input.record.value))
        self.metrics.remember(offset, predictions.metric_scores[row], predictions.best[row])
        self.label_history.put(offset, UNLABELLED if label is None else label)
        if plan.decisions is None:
            result.outputs.append(_prediction(planned.input, predictions, row, self.model_version))
        if label is not None:
            self.model_version += 1
            self._count_label(offset, label)
        if planned.problem is not None:
            self._reject(planned, planned.problem, plan, result)
        if label is None:
            self._request_label(planned, predictions, row, plan, result)

    def _request_label(
        self, planned: PlannedAction, predictions: Predictions, row: int, plan: BatchPlan, result: BatchResult
    ) -> None:
        """Put out a label request, if the selector decides so; in a replay the decision is that of the first time."""
        reason = self._requests.decide(planned, predictions, row, self.clock, plan.decisions)
        if reason is None or plan.decisions is not None:
            return
        result.requests[planned.offset] = reason
        request = label_request(
            planned.input,
            predictions,
            row,
            strategy=self.selector.strategy,
            reason=reason,
            budget_left=self.selector.budget.left(self.clock),
            at=self.clock,
            expires_at=self.clock + self.request_policy.request_ttl,
            labels=self.model.declared_labels,
            abstain_label=self.abstain_label,
        )
        result.outputs.append(request)

    def _record_late_label(self, planned: PlannedAction) -> None:
        assert planned.label is not None
        self.label_history.put(planned.offset, planned.label)
        self.model_version += 1
        if isinstance(planned.before, Unlabelled):
            self._count_label(planned.offset, planned.label)

    def metric_figures(self) -> dict[str, float | None]:
        """The running metrics of the labels, or of the targets where the model predicts numbers."""
        return self.metrics.target_figures() if self.model.predicts_numbers else self.metrics.label_figures()

    def _count_label(self, offset: int, label: Known) -> None:
        if self.model.predicts_numbers:
            self.metrics.count_target(offset, float(label))
        else:
            names = self.model.label_names
            self.metrics.count_label(offset, names.index(label) if label in names else -1)

    def _reject(self, planned: PlannedAction, problem: EventError, plan: BatchPlan, result: BatchResult) -> None:
        record = planned.input.record
        self.refused[problem.code] += 1
        outcomes = result.outputs if plan.decisions is None else None
        self._requests.reject(planned.input.event, problem, self.clock, outcomes)
        result.rejected.append(RejectedRecord(record.topic, record.offset, problem.code, problem.observation))
        result.outputs.append(dead_letter(record, problem))


def _prediction(event: InputEvent, predictions: Predictions, row: int, model_version: int) -> Prediction:
    """The prediction of an observation, made before its label is learned."""
    observation = event.event
    assert isinstance(observation, Observation)
    return Prediction(
        id=observation.id,
        label=predictions.labels[row],
        mean=predictions.means[row],
        probabilities=predictions.probabilities[row],
        variance=predictions.variance[row],
        epistemic_variance=predictions.epistemic_variance[row],
        action=predictions.actions[row],
        source=event.source,
        model_version=model_version,
    )


def _count_before_correction(actions: Sequence[PlannedAction]) -> int:
    for count, planned in enumerate(actions):
        if planned.action == "correct":
            return count
    return len(actions)
