"""State of the page: label requests, submitted labels, worker status and newest predictions. Thread-safe by a lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from threading import Lock
from typing import NamedTuple

from stream_bayes.events import Label, LabelOutcome, LabelRequest, Prediction, Status
from stream_bayes.learners.base.labels import as_key
from stream_bayes.records import Source
from stream_bayes.web.readmodel.request_queue import PartitionOffset, QueuedRequest, RequestQueue, SubmittedLabel
from stream_bayes.web.readmodel.statistics import DailyLabel, DailyStats, DailyTotals, StatusHistory

NEWEST_PREDICTIONS = 2000
_LEARNED = ("answered", "late", "corrected")


class PredictionErrors(NamedTuple):
    """The error rate over labelled observations."""

    share: float | None = None
    """The share of errors; None without labels."""
    labelled: int = 0
    """The number of labelled observations."""

    @classmethod
    def of(cls, accuracy: float | None, labelled: int) -> PredictionErrors:
        """Return the errors for an accuracy."""
        return cls() if accuracy is None else cls(1.0 - accuracy, labelled)


class StateStore:
    """The state that the log follower and the labellers' submissions update.

    Methods do not lock: call them within `read_lock` or `write_lock`.

    Parameters
    ----------
    lease
        Seconds of a lease.
    abstain_label
        The abstain label, for requests that do not name one.
    """

    def __init__(self, lease: float, abstain_label: str | None) -> None:
        self._lock = Lock()
        self._abstain_label = abstain_label
        self.queue = RequestQueue(lease)
        self.daily_stats = DailyStats()
        self.history = StatusHistory()
        self.predictions: deque[Prediction] = deque(maxlen=NEWEST_PREDICTIONS)
        self.version = 0
        """Incremented with every visible change."""
        self.ready = False
        """Whether the log has been read to its end once."""
        self.problem: str | None = None
        """Why the log cannot be read now, or None."""
        self.counts = {"labels_sent": 0, "corrections_sent": 0, "leases": 0}
        """Counters since the start of the page."""

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Lock the state for a change, and increment its version."""
        with self._lock:
            yield
            self.version += 1

    @contextmanager
    def read_lock(self) -> Iterator[None]:
        """Lock the state for reading."""
        with self._lock:
            yield

    def add_request_event(self, event: LabelRequest | LabelOutcome, at: datetime | None = None) -> None:
        """Add a request or an outcome from the topic of label requests."""
        if isinstance(event, LabelRequest):
            self.queue.add(event, at)
            return
        place = event.source.partition, event.source.offset
        if event.outcome == "refused":
            remaining = self.queue.refuse(place, event.label, still_open=event.open)
            if remaining is None:
                self.daily_stats.remove(place)
            else:
                self._count_label(place, remaining)
            return
        submitted = None
        if event.outcome in (*_LEARNED, "unsure") and event.label is not None:
            submitted = SubmittedLabel(event.label, event.labeller, event.at, learned=True)
        self.queue.close(place, submitted)
        if submitted is not None:
            queued = self.queue.find(place)
            newest = submitted if queued is None or queued.submitted is None else queued.submitted
            self._count_label(place, newest, corrected=event.outcome == "corrected")

    def add_label(self, label: Label, at: datetime) -> None:
        """Add a label from the log, by any producer. Its outcome follows from the worker."""
        source: Source | None = label.source
        queued = None if source is None else self.queue.find((source.partition, source.offset))
        if queued is None or queued.request.id != label.id:
            return
        if queued.submitted is not None and (queued.submitted.label == label.label or queued.submitted.at >= at):
            return
        submitted = SubmittedLabel(label.label, label.labeller, at)
        corrected = queued.submitted is not None
        self.queue.set_label(queued.place, submitted)
        self._count_label(queued.place, submitted, corrected=corrected)

    def add_submission(self, queued: QueuedRequest, submitted: SubmittedLabel, *, correction: bool) -> None:
        """Add a label submitted on this page. It may have been read from the log already."""
        self.counts["corrections_sent" if correction else "labels_sent"] += 1
        if queued.submitted is None or queued.submitted.label != submitted.label:
            self.queue.set_label(queued.place, submitted)
        self._count_label(queued.place, submitted, corrected=correction)

    def _count_label(self, place: PartitionOffset, submitted: SubmittedLabel, *, corrected: bool = False) -> None:
        queued = self.queue.find(place)
        predicted = None if queued is None else predicted_label(queued.request)
        abstained = submitted.label == self.abstain_label(queued)
        differs = None if abstained or predicted is None else as_key(submitted.label) != predicted
        self.daily_stats.add(place, submitted.at, DailyLabel(submitted.labeller, differs, abstained, corrected))

    def abstain_label(self, queued: QueuedRequest | None) -> str | None:
        """Return the answer to a request that is no label."""
        return (
            self._abstain_label
            if queued is None or queued.request.abstain_label is None
            else queued.request.abstain_label
        )

    def add_status(self, status: Status) -> None:
        """Add a status event of the worker."""
        self.history.add(status)

    def daily_totals(self, today: date, labeller: str | None) -> tuple[DailyTotals, PredictionErrors, PredictionErrors]:
        """Return the totals of a day, and the errors before its first label and since."""
        totals = self.daily_stats.totals(today, labeller)
        last = self.history.last
        if totals.first_at is None or last is None:
            return totals, PredictionErrors(), PredictionErrors()
        before = self.history.before(totals.first_at.astimezone(UTC))
        labelled_before = 0 if before is None else int(before.labelled)
        errors_before = PredictionErrors.of(before and before.accuracy_since(None), labelled_before)
        return (
            totals,
            errors_before,
            PredictionErrors.of(last.accuracy_since(before), int(last.labelled) - labelled_before),
        )


def predicted_label(request: LabelRequest) -> str | None:
    """Return the most probable label at the time of the request, as `probabilities` names it."""
    table = request.probabilities
    return max(table, key=table.__getitem__) if table else None
