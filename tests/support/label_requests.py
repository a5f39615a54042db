"""Questions for the suites about them: what was asked and decided, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from stream_bayes.engine import BatchResult, Engine, RejectedRecord, ReplayDecisions, RequestPolicy
from stream_bayes.errors import EventError
from stream_bayes.eventlog.base import Log
from stream_bayes.events import InputEvent, LabelOutcome, Observation
from tests.support.workers import State, events


def replay_decisions(outcome: BatchResult, terms: RequestPolicy | None = None) -> ReplayDecisions:
    """What a journal says of it; without terms, what one of before they were written down says."""
    return ReplayDecisions(outcome.requests, set(outcome.abstentions), terms)


def replayed_events(arrivals: Sequence[InputEvent], outcome: BatchResult) -> list[InputEvent]:
    """What a journal gives back: events that were refused are refused again with the same code."""
    then = {(refused.topic, refused.offset): refused for refused in outcome.rejected}
    found = [(arrival, then.get((arrival.record.topic, arrival.record.offset))) for arrival in arrivals]
    return [arrival if one is None else _refused(arrival, one) for arrival, one in found]


def _refused(arrival: InputEvent, then: RejectedRecord) -> InputEvent:
    problem = EventError(then.code, "as it was", then.observation)
    if isinstance(arrival.event, Observation) and then.observation == arrival.record.offset:
        return arrival._replace(label_problem=problem)
    return InputEvent(arrival.record, problem)


def open_request_offsets(engine: Engine) -> list[int]:
    """The offsets of the observations whose label is asked for, as they were asked."""
    return [int(place) for place in engine.selector.requests]


def outcomes(outcome: BatchResult) -> list[tuple[int, str, bool]]:
    """What became of questions: the observation, how, and whether it is still open."""
    found = [event for event in outcome.outputs if isinstance(event, LabelOutcome)]
    return [(event.source.offset, event.outcome, event.open) for event in found]


def dissimilar_observations(count: int, first: int = 0) -> list[tuple[str, bytes]]:
    """Observations without labels of which no two look alike."""
    texts = [" ".join(f"w{number * step % 997}" for step in range(1, 30)) for number in range(first, first + count)]
    fields = [{"id": f"id-{first + place}", "text": text} for place, text in enumerate(texts)]
    return [("emails", json.dumps(one).encode()) for one in fields]


def requests(log: Log, partition: int = 0) -> list[dict[str, Any]]:
    """Everything that was asked, without what became of it."""
    return [event for event in events(log, "label-requests", partition) if event["type"] == "label-request"]


def without_threshold(found: State) -> State:
    """Without what follows the budget and the strategy of now, and not those of the time when the events came."""
    selector = dict(found.scalars["selector"])
    del selector["threshold"], selector["strategy"]
    selector["counts"] = {name: count for name, count in selector["counts"].items() if name != "suppressed"}
    arrays = {name: array for name, array in found.arrays.items() if name != "selector.recent_scores"}
    return State({**found.scalars, "selector": selector}, arrays)
