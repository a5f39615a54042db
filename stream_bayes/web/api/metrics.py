"""Prometheus metrics of the worker and of the page, in the text exposition format."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from prometheus_client import Metric, generate_latest
from prometheus_client.registry import Collector

from stream_bayes.events import Status
from stream_bayes.web.readmodel.state_store import StateStore

_PREFIX = "stream_bayes_"
Sample = tuple[Mapping[str, str], float | None]

# Name, type, field of a status event, and help.
_STATUS_METRICS = (
    ("events_total", "counter", "events_in", "Events processed since the beginning of the stream."),
    ("predictions_total", "counter", "predictions", "Predictions made."),
    ("labels_learned_total", "counter", "labels_learned", "Labels learned."),
    ("labels_requested_total", "counter", "labels_requested", "Labels requested."),
    ("labels_remaining", "gauge", "labels_remaining", "Labels that may still be requested."),
    ("open_requests", "gauge", "open_requests", "Label requests without an answer."),
    ("duplicates_total", "counter", "duplicates", "Observations ignored since their id had been seen."),
    ("forwarded_total", "counter", "forwarded", "Labels sent on to the partition of their observation."),
    ("lag", "gauge", "lag", "Records that wait to be read."),
    ("checkpoint_age_seconds", "gauge", "checkpoint_age_seconds", "Age of the newest checkpoint at the last status."),
)
# Name, field of a status event, the label of its keys, and help.
_MAPPED_COUNTERS = (
    ("dead_letters_total", "dead_letters_by_code", "code", "Records that could not be used, by code."),
    (
        "label_outcomes_total",
        "label_outcomes",
        "outcome",
        "Label requests, outcomes, other labels, near-duplicates.",
    ),
    ("stage_seconds_total", "stage_seconds", "stage", "Time spent since the worker started."),
)
_AUDIT = {
    "accuracy": "Unbiased accuracy, by label requests drawn at random.",
    "low": "Lower bound of its 95 % interval.",
    "high": "Upper bound of its 95 % interval.",
    "answers": "Labels that it is computed from.",
}
PAGE_COUNTERS = {
    "labels_sent": "Labels that were sent from this page.",
    "corrections_sent": "Corrections that were sent from this page.",
    "leases": "Label requests leased to labellers.",
    "login_failures": "Wrong tokens.",
}


def exposition(store: StateStore, silent_after: float, login_failures: int) -> str:
    """Return all metrics as text. A worker is up if it has reported within `silent_after` seconds."""
    with store.read_lock():
        statuses = [status for _, status in sorted(store.history.newest.items())]
        waiting, leased = store.queue.count(time.monotonic())
        counts = {**store.counts, "login_failures": login_failures}
        is_log_up = store.ready and store.problem is None
    page = PageMetrics(counts, waiting, leased, is_log_up)
    return generate_latest(StateCollector(statuses, silent_after, page)).decode()


class PageMetrics(NamedTuple):
    """Counters and gauges of the page."""

    counts: Mapping[str, int]
    waiting: int
    leased: int
    is_log_up: bool


class StateCollector(Collector):
    """Collects the metrics of one state of the page: nothing is registered or kept."""

    def __init__(self, statuses: list[Status], silent_after: float, page: PageMetrics) -> None:
        self._now = datetime.now(UTC)
        self._statuses = [({"group": status.group, "partition": str(status.partition)}, status) for status in statuses]
        self._silent_after = silent_after
        self._page = page

    def collect(self) -> Iterable[Metric]:
        """Yield every metric with its samples."""
        up_help = "1 if a worker has reported recently and was not stopped."
        yield _metric("worker_up", "gauge", up_help, [({}, float(self._is_worker_up()))])
        yield from self._status_metrics()
        yield from self._audit_metrics()
        yield from self._learner_metrics()
        yield from self._page_metrics()

    def _is_worker_up(self) -> bool:
        if all(status.stopped for _, status in self._statuses):
            return False
        newest = max(status.at for _, status in self._statuses)
        return (self._now - newest).total_seconds() <= self._silent_after

    def _status_metrics(self) -> Iterator[Metric]:
        for name, kind, field, text in _STATUS_METRICS:
            yield _metric(name, kind, text, [(labels, getattr(status, field)) for labels, status in self._statuses])
        ages = [(labels, (self._now - status.at).total_seconds()) for labels, status in self._statuses]
        yield _metric("status_age_seconds", "gauge", "Age of the newest status event.", ages)
        for name, field, key_label, text in _MAPPED_COUNTERS:
            samples = [
                ({**labels, key_label: key}, value)
                for labels, status in self._statuses
                for key, value in getattr(status, field).items()
            ]
            yield _metric(name, "counter", text, samples)

    def _audit_metrics(self) -> Iterator[Metric]:
        for name, text in _AUDIT.items():
            samples = [
                (labels, getattr(status.audit, name)) for labels, status in self._statuses if status.audit is not None
            ]
            yield _metric(f"audit_{name}", "gauge", text, samples)

    def _learner_metrics(self) -> Iterator[Metric]:
        for name in sorted({name for _, status in self._statuses for name in status.metrics}):
            text = f"{name}, over the predictions whose label is known."
            samples = [(labels, status.metrics.get(name)) for labels, status in self._statuses]
            yield _metric(f"metric_{name}", "gauge", text, samples)

    def _page_metrics(self) -> Iterator[Metric]:
        page = self._page
        for name, text in PAGE_COUNTERS.items():
            yield _metric(f"web_{name}_total", "counter", text, [({}, page.counts[name])])
        yield _metric("web_requests_open", "gauge", "Open label requests.", [({}, page.waiting)])
        yield _metric("web_requests_leased", "gauge", "Open label requests that are leased.", [({}, page.leased)])
        yield _metric("web_log_up", "gauge", "1 if the log can be read.", [({}, float(page.is_log_up))])


def _metric(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Metric:
    """Return a metric without the samples whose value is unknown."""
    full_name = f"{_PREFIX}{name}"
    # The library writes the suffix of a counter itself.
    metric = Metric(full_name.removesuffix("_total") if kind == "counter" else full_name, text, kind)
    for labels, value in samples:
        if value is not None and not math.isnan(value):
            metric.add_sample(full_name, dict(labels), float(value))
    return metric
