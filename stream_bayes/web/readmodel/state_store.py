"""What the page knows: questions, answers, the state of the worker, the newest predictions. For several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from threading import Lock
from typing import NamedTuple

from stream_bayes.engine.intervals import as_key
from stream_bayes.events import Label, LabelOutcome, LabelRequest, Prediction, Status
from stream_bayes.records import Source
from stream_bayes.web.readmodel.daily_stats import DailyStats, DailyTotals, LabelerTotals
from stream_bayes.web.readmodel.request_queue import Place, QueuedRequest, RequestQueue, SubmittedLabel
from stream_bayes.web.readmodel.status_history import StatusHistory

NEWEST_PREDICTIONS = 2000
_LEARNED = ("answered", "late", "corrected")


class PredictionErrors(NamedTuple):
    """Wrong guesses among labelled mails."""

    share: float | None = None
    """None where there are none."""
    labelled: int = 0
    """How many mails the share is of."""

    @classmethod
    def of(cls, accuracy: float | None, labelled: int) -> PredictionErrors:
        """Those that an accuracy leaves."""
        return cls() if accuracy is None else cls(1.0 - accuracy, labelled)


class StateStore:
    """One state, fed by who watches the log and by the answers given here.

    Parameters
    ----------
    lease
        For how many seconds a question is a labeller's own.
    abstain_label
        The answer that is no label, where a question does not say it itself.
    """

    def __init__(self, lease: float, abstain_label: str | None) -> None:
        self._lock = Lock()
        self._abstain_label = abstain_label
        self.questions = RequestQueue(lease)
        self.answers = DailyStats()
        self.history = StatusHistory()
        self.predictions: deque[Prediction] = deque(maxlen=NEWEST_PREDICTIONS)
        self.version = 0
        """Changes with everything that somebody could see."""
        self.ready = False
        """Whether the log was read to its end once."""
        self.problem: str | None = None
        """Why the log cannot be read now."""
        self.counts = {"labels_sent": 0, "corrections_sent": 0, "leases": 0}
        """What was done here since the page was started."""

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Alone with the state; it is another one afterwards."""
        with self._lock:
            yield
            self.version += 1

    @contextmanager
    def read_lock(self) -> Iterator[None]:
        """Alone with the state."""
        with self._lock:
            yield

    def asked(self, event: LabelRequest | LabelOutcome, at: datetime | None = None) -> None:
        """An event of the topic of the questions, which came to the log at this time."""
        if isinstance(event, LabelRequest):
            self.questions.ask(event, at)
            return
        place = event.source.partition, event.source.offset
        if event.outcome == "refused":
            counts = self.questions.refuse(place, event.label, still_open=event.open)
            if counts is None:
                self.answers.take_back(place)
            else:
                self._note(place, counts)
            return
        given = None
        if event.outcome in (*_LEARNED, "unsure") and event.label is not None:
            given = SubmittedLabel(event.label, event.labeller, event.at, learned=True)
        self.questions.end(place, given)
        if given is not None:
            entry = self.questions.known(place)
            newest = given if entry is None or entry.given is None else entry.given
            self._note(place, newest, corrected=event.outcome == "corrected")

    def labelled(self, label: Label, at: datetime) -> None:
        """A label is in the log, by whomever; what becomes of it the worker will say."""
        source: Source | None = label.source
        entry = None if source is None else self.questions.known((source.partition, source.offset))
        if entry is None or entry.request.id != label.id:
            return
        if entry.given is not None and (entry.given.label == label.label or entry.given.at >= at):
            return
        given = SubmittedLabel(label.label, label.labeller, at)
        corrected = entry.given is not None
        self.questions.give(entry.place, given)
        self._note(entry.place, given, corrected=corrected)

    def sent(self, entry: QueuedRequest, given: SubmittedLabel, *, correction: bool) -> None:
        """A labeller here has answered; the log may have told of it already."""
        self.counts["corrections_sent" if correction else "labels_sent"] += 1
        if entry.given is None or entry.given.label != given.label:
            self.questions.give(entry.place, given)
        self._note(entry.place, given, corrected=correction)

    def _note(self, place: Place, given: SubmittedLabel, *, corrected: bool = False) -> None:
        entry = self.questions.known(place)
        guess = None if entry is None else guess_of(entry.request)
        unsure = given.label == self.abstain_label_of(entry)
        differs = None if unsure or guess is None else as_key(given.label) != guess
        self.answers.note(place, given.at, LabelerTotals(given.labeller, differs, unsure, corrected))

    def abstain_label_of(self, entry: QueuedRequest | None) -> str | None:
        """The answer to a question that is no label."""
        return (
            self._abstain_label if entry is None or entry.request.abstain_label is None else entry.request.abstain_label
        )

    def told(self, status: Status) -> None:
        """The worker has said how it is doing."""
        self.history.add(status)

    def tally(self, today: date, labeller: str | None) -> tuple[DailyTotals, PredictionErrors, PredictionErrors]:
        """The answers of a day, and the errors of the guesses before the first of them and since."""
        tally = self.answers.tally(today, labeller)
        last = self.history.last
        if tally.first_at is None or last is None:
            return tally, PredictionErrors(), PredictionErrors()
        before = self.history.before(tally.first_at.astimezone(UTC))
        labelled_before = 0 if before is None else int(before.labelled)
        early = PredictionErrors.of(before and before.accuracy_since(None), labelled_before)
        return tally, early, PredictionErrors.of(last.accuracy_since(before), int(last.labelled) - labelled_before)


def guess_of(request: LabelRequest) -> str | None:
    """The most probable label when a question was asked, as `probabilities` names it."""
    table = request.probabilities
    return max(table, key=table.__getitem__) if table else None
