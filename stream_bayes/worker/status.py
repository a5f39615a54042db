"""How the worker is doing, as events that a page or a monitor draws from."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, NamedTuple

from stream_bayes.active import LabelSelector
from stream_bayes.engine import Engine
from stream_bayes.events import AuditFigures, LabellerFigures, Status
from stream_bayes.log.base import Log
from stream_bayes.worker.keeping import Keeper
from stream_bayes.worker.shard import Shard

logger = logging.getLogger("stream_bayes.worker")
FIRST_LINE, NEXT_LINE = 5.0, 60.0
"""Seconds until the worker says how it is doing, and says it again."""
MOST_LABELLERS = 50
"""In a status event; `stream-bayes inspect` has all of them."""


def lag_of(shard: Shard, log: Log) -> int:
    """Records that the shard has still to read."""
    ends = {
        place: end for topic in {place.topic for place in shard.positions} for place, end in log.ends(topic).items()
    }
    return sum(max(ends.get(place, 0) - position, 0) for place, position in shard.positions.items())


def status_of(shard: Shard, keeper: Keeper, log: Log, started_at: datetime) -> Status:
    """The state of one partition; counts are since the beginning of the stream, seconds since the worker started."""
    engine = shard.engine
    return Status(
        at=datetime.now(UTC),
        group=shard.settings.group,
        partition=shard.number,
        started_at=started_at,
        events_in=engine.counts.total(),
        predictions=engine.counts["predict"],
        labels_learned=engine.model_version,
        **_questions_of(engine),
        duplicates=engine.counts["duplicate"],
        dead=engine.counts["refuse"],
        dead_by_code=dict(engine.refused),
        lag=lag_of(shard, log),
        stage_seconds=shard.stages.seconds.copy(),
        metrics=engine.metrics.figures(numbers=engine.model.predicts_numbers),
        calibration=tuple(engine.metrics.calibration()),
        checkpoint_age_seconds=keeper.age_seconds,
        checkpoint_offset=keeper.number,
        model_version=engine.model_version,
    )


def _questions_of(engine: Engine) -> dict[str, Any]:
    selector = engine.selector
    return {
        "labels_used": selector.budget.used,
        "labels_left": selector.budget.left(engine.clock),
        "open_requests": len(selector.requests),
        "label_outcomes": dict(sorted(selector.counts.items())),
        "audit": audit_of(selector),
        "labellers": labellers_of(selector, MOST_LABELLERS),
    }


def audit_of(selector: LabelSelector) -> AuditFigures | None:
    """The accuracy by the questions that were drawn by chance; None before the first answer."""
    found = selector.audit.estimate()
    return None if found is None else AuditFigures(accuracy=found[0], low=found[1], high=found[2], answers=found[3])


def labellers_of(selector: LabelSelector, most: int) -> dict[str, LabellerFigures]:
    """How far those are borne out who gave the most labels."""
    figures = {name: LabellerFigures.model_validate(found) for name, found in selector.labellers.figures().items()}
    return dict(sorted(figures.items(), key=lambda each: -each[1].labels)[:most])


class Totals(NamedTuple):
    """What was done, in all partitions."""

    events: int
    predictions: int
    labels_learned: int
    dead_letters: int

    def since(self, before: Totals) -> Totals:
        """What came to it."""
        return Totals(*(now - then for now, then in zip(self, before, strict=True)))


def totals_of(shards: Collection[Shard]) -> Totals:
    """Since the beginning of the stream."""
    engines = [shard.engine for shard in shards]
    counts = [
        (engine.counts.total(), engine.counts["predict"], engine.model_version, engine.counts["refuse"])
        for engine in engines
    ]
    return Totals(*map(sum, zip(*counts, strict=True)))


class Narrator:
    """Says in a line how a worker is doing: soon after its start, then once a minute while there is something new."""

    def __init__(self, shards: Collection[Shard], log: Log) -> None:
        self._shards, self._log = shards, log
        self._start = self._last = totals_of(shards)
        self._said = time.monotonic()
        self._due = self._said + FIRST_LINE

    @property
    def totals(self) -> Totals:
        """What was done since the worker started."""
        return totals_of(self._shards).since(self._start)

    def say_if_due(self) -> None:
        """The line, if it is time."""
        now, totals = time.monotonic(), totals_of(self._shards)
        if now < self._due or totals == self._last:
            return
        engines = [shard.engine for shard in self._shards]
        fields = {
            "events": totals.events - self._start.events,
            "per_second": round((totals.events - self._last.events) / max(now - self._said, 1e-9), 1),
            "lag": sum(lag_of(shard, self._log) for shard in self._shards),
            "dead": totals.dead_letters - self._start.dead_letters,
            "labels_used": sum(engine.selector.budget.used for engine in engines),
            "labels_left": sum(engine.selector.budget.left(engine.clock) for engine in engines),
            "open": sum(len(engine.selector.requests) for engine in engines),
            **_accuracy(engines),
        }
        logger.info("status", extra={"fields": fields})
        self._last, self._said, self._due = totals, now, now + NEXT_LINE


def _accuracy(engines: list[Engine]) -> dict[str, str]:
    """That of the audit, where there is one partition: estimates of several do not add up."""
    audit = audit_of(engines[0].selector) if len(engines) == 1 else None
    return {} if audit is None else {"accuracy": f"{audit.accuracy:.3f} ({audit.low:.3f} to {audit.high:.3f})"}
