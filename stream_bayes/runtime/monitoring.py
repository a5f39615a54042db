"""Monitoring: status events with the figures of each partition, and progress lines in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, NamedTuple

from stream_bayes.active import LabelSelector
from stream_bayes.engine import Engine
from stream_bayes.eventlog.base import Log
from stream_bayes.events import AuditFigures, LabellerFigures, Status
from stream_bayes.runtime.checkpointing import Checkpointer
from stream_bayes.runtime.partition_processor import PartitionProcessor

logger = logging.getLogger("stream_bayes.runtime")
FIRST_LINE = 5.0
NEXT_LINE = 60.0
"""Seconds until the first progress line, and between two of them."""
MAX_LABELLERS = 50
"""The most labellers in a status event; `stream-bayes inspect` shows all of them."""


def lag_of(processors: Collection[PartitionProcessor], log: Log) -> int:
    """The number of records that the processors have still to read."""
    lag = log.lag()
    return sum(lag.get(place, 0) for processor in processors for place in processor.positions)


def status_of(
    processor: PartitionProcessor, checkpointer: Checkpointer, log: Log, started_at: datetime, *, stopped: bool = False
) -> Status:
    """The status of one partition; counts are since the beginning of the stream, seconds since the worker started."""
    engine = processor.engine
    return Status(
        at=datetime.now(UTC),
        group=processor.settings.group,
        partition=processor.number,
        started_at=started_at,
        events_in=engine.counts.total(),
        predictions=engine.counts["predict"],
        labels_learned=engine.model_version,
        **_label_figures(engine),
        duplicates=engine.counts["duplicate"],
        forwarded=engine.counts["forward"],
        unknown_fields=engine.unknown_fields,
        dead_letters=engine.refused.total(),
        dead_letters_by_code=dict(engine.refused),
        lag=lag_of([processor], log),
        stage_seconds=processor.stages.seconds.copy(),
        metrics=engine.metric_figures(),
        calibration=tuple(engine.metrics.calibration()),
        checkpoint_age_seconds=checkpointer.age_seconds,
        checkpoint_offset=checkpointer.number,
        model_version=engine.model_version,
        stopped=stopped or None,
    )


def _label_figures(engine: Engine) -> dict[str, Any]:
    selector = engine.selector
    return {
        "labels_requested": selector.budget.used,
        "labels_remaining": selector.budget.left(engine.clock),
        "labels_planned": selector.budget.planned(selector.budget.seen),
        "open_requests": len(selector.requests),
        "label_outcomes": dict(sorted(selector.counts.items())),
        "audit": audit_of(selector),
        "labellers": labellers_of(selector, MAX_LABELLERS),
    }


def audit_of(selector: LabelSelector) -> AuditFigures | None:
    """The accuracy by the requests that were drawn at random; None before the first of them is answered."""
    found = selector.audit.estimate()
    if found is None:
        return None
    return AuditFigures(accuracy=found.accuracy, low=found.low, high=found.high, answers=found.answers)


def labellers_of(selector: LabelSelector, most: int) -> dict[str, LabellerFigures]:
    """The reliability of the labellers who gave the most labels."""
    figures = {name: LabellerFigures.model_validate(found) for name, found in selector.labellers.figures().items()}
    return dict(sorted(figures.items(), key=lambda each: -each[1].labels)[:most])


class Totals(NamedTuple):
    """Counts of all partitions."""

    events: int = 0
    predictions: int = 0
    labels_learned: int = 0
    duplicates: int = 0
    dead_letters: int = 0

    def since(self, before: Totals) -> Totals:
        """The difference from earlier counts."""
        return Totals(*(now - then for now, then in zip(self, before, strict=True)))

    def plus(self, other: Totals) -> Totals:
        """The sum of both."""
        return Totals(*(one + another for one, another in zip(self, other, strict=True)))


def _totals_of(processor: PartitionProcessor) -> Totals:
    """The counts of a partition since the beginning of its stream."""
    engine = processor.engine
    return Totals(
        events=engine.counts.total(),
        predictions=engine.counts["predict"],
        labels_learned=engine.model_version,
        duplicates=engine.counts["duplicate"],
        dead_letters=engine.refused.total(),
    )


class ProgressLogger:
    """Logs the progress of a worker in a line: soon after its start, then once a minute while there is something new.

    Only what the assigned processors do in this worker is counted, not what was done in their partitions before.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self.totals = Totals()
        """The counts of what was committed since the worker started."""
        self._last = self.totals
        self._counted: dict[PartitionProcessor, Totals] = {}
        self._logged = time.monotonic()
        self._due = self._logged + FIRST_LINE

    def reset(self, processors: Collection[PartitionProcessor]) -> None:
        """Count the work of these processors from now on; each of them is at a commit."""
        self._counted = {processor: _totals_of(processor) for processor in processors}

    def committed(self, processors: Collection[PartitionProcessor]) -> None:
        """Add what the processors have done since the last commit."""
        for processor in processors:
            before = self._counted[processor]
            self._counted[processor] = _totals_of(processor)
            self.totals = self.totals.plus(self._counted[processor].since(before))

    def log_if_due(self) -> None:
        """Log a line, if it is time."""
        now = time.monotonic()
        totals = self.totals
        if now < self._due or totals == self._last:
            return
        engines = [processor.engine for processor in self._counted]
        fields = {
            "events": totals.events,
            "per_second": round((totals.events - self._last.events) / max(now - self._logged, 1e-9), 1),
            "lag": lag_of(self._counted, self._log),
            "duplicates": totals.duplicates,
            "dead_letters": totals.dead_letters,
            "labels_requested": sum(engine.selector.budget.used for engine in engines),
            "labels_remaining": sum(engine.selector.budget.left(engine.clock) for engine in engines),
            "open": sum(len(engine.selector.requests) for engine in engines),
            **_accuracy(engines),
        }
        logger.info("status", extra={"fields": fields})
        self._last = totals
        self._logged = now
        self._due = now + NEXT_LINE


def _accuracy(engines: list[Engine]) -> dict[str, str]:
    """The accuracy by the audit, where there is one partition: estimates of several do not add up."""
    audit = audit_of(engines[0].selector) if len(engines) == 1 else None
    return {} if audit is None else {"accuracy": f"{audit.accuracy:.3f} ({audit.low:.3f} to {audit.high:.3f})"}
