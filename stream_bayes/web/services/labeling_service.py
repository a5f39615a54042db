"""The parts of the page that routes use, together: the desk, its threads, the models, the letters."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from stream_bayes import __version__
from stream_bayes.background import BackgroundThread
from stream_bayes.config import Settings, redact_url
from stream_bayes.engine.model_adapter import learner_kind
from stream_bayes.errors import BackgroundError, InputError, LogError, StreamBayesError
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.factory import SQLITE, open_log
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.events import Label, Observation
from stream_bayes.learners.base.regressor import Regressor, check_target
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.records import Source
from stream_bayes.units import milliseconds
from stream_bayes.web.api import chart_schemas, schemas
from stream_bayes.web.readmodel.charts import charts_of
from stream_bayes.web.readmodel.log_follower import LogFollower
from stream_bayes.web.readmodel.request_queue import LeaseOwner, Place, QueuedRequest, RequestRefused, SubmittedLabel
from stream_bayes.web.readmodel.state_store import StateStore, guess_of
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.services.log_writer import LogWriter
from stream_bayes.web.services.model_cache import ModelCache
from stream_bayes.web.services.observation_view import ObservationView, choices_of, label_of
from stream_bayes.web.services.posteriors import kinds_of
from stream_bayes.web.services.rescoring import Rescorer

logger = logging.getLogger("stream_bayes.web")

_LOCK_SECONDS = 4.0
"""For a lock of another process: less than a labeller waits."""
_SILENT = 3.0
_GRACE = 5.0
"""After so many times the interval of its status events, and so many seconds, a worker is silent."""


class LabelingService:
    """Everything behind the routes; within its context the threads run.

    Parameters
    ----------
    settings
        Those of the worker: which log, which group, where its checkpoints are; and those of the page.
    failures
        Gets the error of each background thread that fails: the page must end then.
    """

    def __init__(self, settings: Settings, failures: list[BackgroundError] | None = None) -> None:
        self.settings = settings
        self._failures = [] if failures is None else failures
        lease = milliseconds("web.lease", settings.web.lease) / 1000.0
        opener = partial(open_existing, settings)
        self.desk = StateStore(lease, settings.labels.abstain_label or None)
        self.models = ModelCache(settings)
        self.clerk = LogWriter(settings.topics.labels, opener, self._failures.append)
        self.letters = ObservationView(settings, self.desk, self.clerk, self.models)
        self._watch = LogFollower(settings, self.desk, opener, self._failures.append)
        self._rescorer = Rescorer(
            self.desk, self.models, self.letters.observation, settings.labels.strategy, self._failures.append
        )

    def __enter__(self) -> Self:
        folder = self.settings.checkpoint_folder
        if not folder.exists():
            logger.warning("there are no checkpoints here yet: no explanations", extra={"fields": {"folder": folder}})
        self.clerk.start()
        self._watch.start()
        BackgroundThread(self._warm_up, "web-warm-up", self._failures.append).start()
        self._rescorer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.stop()
        self._rescorer.stop()
        self.clerk.stop()

    def _warm_up(self) -> None:
        """Open the newest checkpoint and load its kernels, so that the first labeller need not wait for it: 2 s."""
        with suppress(StreamBayesError, OSError):
            self.models.opinion(Observation(id="warm-up", text="hello"))

    def next(self, holder: LeaseOwner, skip: frozenset[Place]) -> schemas.NextRequest:
        """The next question of a labeller, theirs for a while."""
        desk = self.desk
        now = time.monotonic()
        with desk.write_lock():
            entry = desk.questions.take(holder, skip, now)
            waiting, taken = desk.questions.count(now)
            desk.counts["leases"] += entry is not None
        question = None if entry is None else self.letters.question(entry, desk.questions.lease)
        return schemas.NextRequest(question=question, open=waiting, taken=taken)

    def answer(self, place: Place, said: schemas.LabelSubmission) -> schemas.LabelReceipt:
        """Write an answer to the log; a `RequestRefused` where this labeller may not give it."""
        desk = self.desk
        with desk.write_lock():
            # Nobody else can have it while it is being written.
            desk.questions.hold(place, LeaseOwner(said.labeller, said.seat), time.monotonic())
            entry = desk.questions.get(place)
            before = entry.given
        self._check(entry, said.label, before)
        given = SubmittedLabel(said.label, said.labeller, datetime.now(UTC))
        if before is None or before.label != said.label:
            self.clerk.write(self._label(entry, given), place[0])
            with desk.write_lock():
                desk.sent(entry, given, correction=before is not None)
        guess = guess_of(entry.request)
        unsure = said.label == desk.abstain_label_of(entry)
        known = None if guess is None else label_of(guess)
        return schemas.LabelReceipt(
            place=schemas.RequestPlace(partition=place[0], offset=place[1]),
            correction=before is not None,
            guess=known,
            differs=None if known is None or unsure else known != said.label,
        )

    def _label(self, entry: QueuedRequest, given: SubmittedLabel) -> Label:
        source = Source(self.settings.topics.observations, *entry.place)
        try:
            return Label(id=entry.request.id, label=given.label, labeller=given.labeller, at=given.at, source=source)
        except ValidationError as problem:
            code = "bad-label"
            message = f"this cannot be a label: {problem.errors()[0]['msg']}"
            raise RequestRefused(code, message) from problem

    def _check(self, entry: QueuedRequest, label: schemas.Answer, before: SubmittedLabel | None) -> None:
        """Refuse what the worker would refuse, or could not do."""
        abstain_label = self.desk.abstain_label_of(entry)
        choices = choices_of(entry)
        if label == abstain_label and type(label) is str:
            if before is not None and before.label != abstain_label:
                code = "cannot-unsay"
                message = f"the filter has been told {before.label!r}: that can be corrected, but not unsaid"
                raise RequestRefused(code, message)
            return
        if entry.request.mean is not None:
            try:
                check_target(label)
            except InputError as problem:
                code = "bad-label"
                message = f"the answer to this question is a number: {problem}"
                raise RequestRefused(code, message) from problem
        elif entry.request.labels is not None and not any(_same(label, choice) for choice in choices):
            code = "bad-label"
            message = f"the answers to this question are {', '.join(map(repr, choices))}, not {label!r:.100}"
            raise RequestRefused(code, message)

    def session(self, access: Authenticator) -> chart_schemas.SessionBody:
        """What a page needs to know first; of the learner what the checkpoint says, else the settings."""
        settings = self.settings
        learner = self.models.learner()
        kind = learner or learner_kind(settings.learner)
        return chart_schemas.SessionBody(
            csrf=access.csrf,
            secured=access.secured,
            version=__version__,
            group=settings.group,
            log=redact_url(settings.log),
            lease_seconds=self.desk.questions.lease,
            mail=issubclass(kind, SpamFilter),
            numbers=issubclass(kind, Regressor),
            kinds=() if learner is None else kinds_of(learner),
        )

    @property
    def silent_after(self) -> float:
        """Seconds without a status event after which a worker counts as silent."""
        return _SILENT * self.settings.status.seconds + _GRACE

    def changes(self, labeller: str | None) -> chart_schemas.Changes:
        """What the answers of today changed."""
        with self.desk.read_lock():
            tally, before, after = self.desk.tally(datetime.now(UTC).date(), labeller)
        counts = {name: value for name, value in tally._asdict().items() if name != "first_at"}
        return chart_schemas.Changes(
            **counts,
            error_before=before.share,
            error_before_of=before.labelled,
            error_after=after.share,
            error_after_of=after.labelled,
        )

    def charts(self) -> chart_schemas.Charts:
        """Everything that is drawn."""
        with self.desk.read_lock():
            return charts_of(self.desk)

    def state(self) -> chart_schemas.StatusBody:
        """How the worker is doing."""
        desk = self.desk
        now = datetime.now(UTC)
        with desk.read_lock():
            waiting, taken = desk.questions.count(time.monotonic())
            statuses = sorted(desk.history.newest.items())
            problem = desk.problem
        silent = self.silent_after
        partitions = tuple(
            chart_schemas.PartitionBody(
                partition=number,
                at=status.at,
                stopped=bool(status.stopped),
                age_seconds=max((now - status.at).total_seconds(), 0.0),
                events=status.events_in,
                lag=status.lag if (now - status.at).total_seconds() <= silent else None,
                accuracy=status.metrics.get("accuracy"),
                log_loss=status.metrics.get("log_loss"),
                roca=status.metrics.get("one_minus_roca_percent"),
                audit=None if status.audit is None else chart_schemas.AuditBody(**status.audit.model_dump()),
                **{name: getattr(status, name) for name in _FROM_STATUS},
            )
            for number, status in statuses
        )
        healthy, summary = self._judged(partitions, waiting, problem)
        stopped = bool(partitions) and all(one.stopped for one in partitions)
        return chart_schemas.StatusBody(
            stopped_at=max(one.at for one in partitions) if stopped else None,
            healthy=healthy,
            summary=summary,
            partitions=partitions,
            open=waiting,
            taken=taken,
            log_problem=problem,
        )

    def _judged(
        self, partitions: tuple[chart_schemas.PartitionBody, ...], waiting: int, problem: str | None
    ) -> tuple[bool, str]:
        """Whether all is well, and a sentence."""
        if problem is not None:
            return False, f"The page cannot read the log: {problem}"
        if not partitions:
            hint = f"start one with: stream-bayes run --log {redact_url(self.settings.log)}"
            return False, f"No worker of the group {self.settings.group!r} has said anything yet; {hint}"
        stopped = [one for one in partitions if one.stopped]
        if stopped:
            at = max(one.at for one in stopped).astimezone(UTC)
            which = "" if len(stopped) == len(partitions) else f" of {len(stopped)} of {len(partitions)} partitions"
            return False, f"The worker{which} was stopped at {at:%H:%M} UTC. Answers wait in the log for the next one."
        silent = [one for one in partitions if one.age_seconds > self.silent_after]
        if silent:
            age = min(one.age_seconds for one in silent)
            return False, f"The worker has been silent for {_ago(age)}: is it running? Answers wait in the log for it."
        left = [one.labels_remaining for one in partitions if one.labels_remaining is not None]
        if not waiting and left and not sum(left):
            return True, "The worker is running. The label budget is spent: nothing more will be asked."
        return True, "The worker is running."


_FROM_STATUS = (
    "predictions",
    "labels_learned",
    "labels_requested",
    "labels_remaining",
    "open_requests",
    "dead_letters",
    "checkpoint_age_seconds",
)


def open_existing(settings: Settings) -> Log:
    """The log, for single records and for writing; where there is no file, none is made."""
    path = settings.log.removeprefix(SQLITE)
    if settings.log.startswith(SQLITE) and not Path(path).exists():
        message = f"{path}: there is no such log"
        raise LogError(message)
    if settings.log.startswith(SQLITE):
        return SqliteLog(path, wait=_LOCK_SECONDS, record_bytes=settings.sqlite.record_bytes)
    return open_log(settings.log, kafka=settings.kafka)


def _same(label: schemas.Answer, other: schemas.Answer) -> bool:
    """Equal, and of one kind: true is not 1."""
    return label == other and isinstance(label, bool) == isinstance(other, bool)


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
