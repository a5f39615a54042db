"""The service behind the routes: it leases label requests, writes labels, and reports status and charts."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from stream_bayes import __version__
from stream_bayes.background import BackgroundThread
from stream_bayes.config import Settings, redact_url
from stream_bayes.engine.model_adapter import learner_kind
from stream_bayes.errors import BackgroundError, InputError, StreamBayesError
from stream_bayes.eventlog.factory import open_existing_log
from stream_bayes.events import Label, Observation
from stream_bayes.learners.base.regressor import Regressor, check_target
from stream_bayes.records import Source
from stream_bayes.units import milliseconds
from stream_bayes.web import schemas
from stream_bayes.web.readmodel.charts import charts_of
from stream_bayes.web.readmodel.log_follower import LogFollower
from stream_bayes.web.readmodel.request_queue import (
    LeaseOwner,
    PartitionOffset,
    QueuedRequest,
    RequestRefused,
    SubmittedLabel,
)
from stream_bayes.web.readmodel.state_store import StateStore, predicted_label
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.services.log_writer import LogWriter
from stream_bayes.web.services.model_cache import ModelCache
from stream_bayes.web.services.observation_view import ObservationView, choices_of, label_of
from stream_bayes.web.services.rescoring import Rescorer

logger = logging.getLogger("stream_bayes.web")

_LOCK_SECONDS = 4.0
"""The longest wait for another process's lock on the log. A labeller waits longer."""
_SILENT_INTERVALS = 3.0
_GRACE = 5.0
"""A worker is silent after this many intervals of its status events and this many seconds."""


class LabellingService:
    """Store, models and threads of the page. The threads run within its context.

    Parameters
    ----------
    settings
        Settings of the worker (log, group, checkpoints) and of the page.
    failures
        Receives the error of each background thread that fails. The page must end then.
    """

    def __init__(self, settings: Settings, failures: list[BackgroundError] | None = None) -> None:
        self.settings = settings
        self._failures = [] if failures is None else failures
        lease = milliseconds("web.lease", settings.web.lease) / 1000.0
        open_log_of = partial(open_existing_log, settings, lock_seconds=_LOCK_SECONDS)
        self.store = StateStore(lease, settings.labels.abstain_label or None)
        self.models = ModelCache(settings)
        self.log_writer = LogWriter(settings.topics.labels, open_log_of, self._failures.append)
        self.observation_view = ObservationView(settings, self.store, self.log_writer, self.models)
        self._log_follower = LogFollower(settings, self.store, open_log_of, self._failures.append)
        self._rescorer = Rescorer(
            self.store, self.models, self.observation_view.observation, settings.labels.strategy, self._failures.append
        )

    def __enter__(self) -> Self:
        folder = self.settings.checkpoint_folder
        if not folder.exists():
            logger.warning("no checkpoints yet: predictions are not explained", extra={"fields": {"folder": folder}})
        self.log_writer.start()
        self._log_follower.start()
        BackgroundThread(self._warm_up, "web-warm-up", self._failures.append).start()
        self._rescorer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log_follower.stop()
        self._rescorer.stop()
        self.log_writer.stop()

    def _warm_up(self) -> None:
        """Open the newest checkpoint and load its kernels, which takes 2 s, before the first labeller needs them."""
        with suppress(StreamBayesError, OSError):
            self.models.predict(Observation(id="warm-up", text="hello"))

    def next(self, owner: LeaseOwner, skip: frozenset[PartitionOffset]) -> schemas.NextRequest:
        """Lease the next label request to a labeller."""
        store = self.store
        now = time.monotonic()
        with store.write_lock():
            queued = store.queue.take(owner, skip, now)
            waiting, leased = store.queue.count(now)
            store.counts["leases"] += queued is not None
        request = None if queued is None else self.observation_view.request_body(queued, store.queue.lease)
        return schemas.NextRequest(request=request, open=waiting, leased=leased)

    def submit(self, place: PartitionOffset, submission: schemas.LabelSubmission) -> schemas.LabelReceipt:
        """Write a label to the log. Raise `RequestRefused` if this labeller may not submit it."""
        store = self.store
        with store.write_lock():
            # No other labeller can lease it while the label is written.
            store.queue.renew(place, LeaseOwner(submission.labeller, submission.session_id), time.monotonic())
            queued = store.queue.get(place)
            before = queued.submitted
        self._check(queued, submission.label, before)
        submitted = SubmittedLabel(submission.label, submission.labeller, datetime.now(UTC))
        if before is None or before.label != submission.label:
            self.log_writer.write(self._label(queued, submitted), place[0])
            with store.write_lock():
                store.add_submission(queued, submitted, correction=before is not None)
        key = predicted_label(queued.request)
        predicted = None if key is None else label_of(key)
        abstained = submission.label == store.abstain_label(queued)
        return schemas.LabelReceipt(
            place=schemas.RequestPlace(partition=place[0], offset=place[1]),
            correction=before is not None,
            predicted_label=predicted,
            differs=None if predicted is None or abstained else predicted != submission.label,
        )

    def _label(self, queued: QueuedRequest, submitted: SubmittedLabel) -> Label:
        source = Source(self.settings.topics.observations, *queued.place)
        try:
            return Label(
                id=queued.request.id, label=submitted.label, labeller=submitted.labeller, at=submitted.at, source=source
            )
        except ValidationError as problem:
            code = "bad-label"
            message = f"this cannot be a label: {problem.errors()[0]['msg']}"
            raise RequestRefused(code, message) from problem

    def _check(self, queued: QueuedRequest, label: schemas.Answer, before: SubmittedLabel | None) -> None:
        """Raise `RequestRefused` for a label that the worker would refuse."""
        abstain_label = self.store.abstain_label(queued)
        choices = choices_of(queued)
        if label == abstain_label and type(label) is str:
            if before is not None and before.label != abstain_label:
                code = "cannot-withdraw"
                message = f"the filter has learned {before.label!r}: it can be corrected, but not withdrawn"
                raise RequestRefused(code, message)
            return
        if queued.request.mean is not None:
            try:
                check_target(label)
            except InputError as problem:
                code = "bad-label"
                message = f"the label must be a number: {problem}"
                raise RequestRefused(code, message) from problem
        elif queued.request.labels is not None and not any(_same(label, choice) for choice in choices):
            code = "bad-label"
            message = f"the possible labels are {', '.join(map(repr, choices))}, not {label!r:.100}"
            raise RequestRefused(code, message)

    def session(self, authenticator: Authenticator) -> schemas.SessionBody:
        """Return what the page needs at its start. The learner is that of the checkpoint, else of the settings."""
        settings = self.settings
        learner = self.models.learner()
        kind = learner or learner_kind(settings.learner)
        return schemas.SessionBody(
            csrf=authenticator.csrf,
            secured=authenticator.secured,
            version=__version__,
            group=settings.group,
            log=redact_url(settings.log),
            lease_seconds=self.store.queue.lease,
            mail=kind.reads_mail,
            numbers=issubclass(kind, Regressor),
            kinds=() if learner is None else learner.posterior_kinds,
        )

    @property
    def silent_after(self) -> float:
        """Seconds without a status event after which a worker counts as silent."""
        return _SILENT_INTERVALS * self.settings.status.seconds + _GRACE

    def daily_stats(self, labeller: str | None) -> schemas.DailyStatsBody:
        """Return the labels of today, and the error rates before and after them."""
        with self.store.read_lock():
            totals, before, after = self.store.daily_totals(datetime.now(UTC).date(), labeller)
        counts = {name: value for name, value in totals._asdict().items() if name != "first_at"}
        return schemas.DailyStatsBody(
            **counts,
            error_before=before.share,
            error_before_of=before.labelled,
            error_after=after.share,
            error_after_of=after.labelled,
        )

    def charts(self) -> schemas.Charts:
        """Return the data of all charts."""
        with self.store.read_lock():
            return charts_of(self.store)

    def status(self) -> schemas.StatusBody:
        """Return the state of the worker and of the page."""
        store = self.store
        now = datetime.now(UTC)
        with store.read_lock():
            waiting, leased = store.queue.count(time.monotonic())
            statuses = sorted(store.history.newest.items())
            problem = store.problem
        silent = self.silent_after
        partitions = tuple(
            schemas.PartitionBody(
                partition=number,
                at=status.at,
                stopped=bool(status.stopped),
                age_seconds=max((now - status.at).total_seconds(), 0.0),
                events=status.events_in,
                lag=status.lag if (now - status.at).total_seconds() <= silent else None,
                accuracy=status.metrics.get("accuracy"),
                log_loss=status.metrics.get("log_loss"),
                roca=status.metrics.get("one_minus_roca_percent"),
                audit=None if status.audit is None else schemas.AuditBody(**status.audit.model_dump()),
                **{name: getattr(status, name) for name in _FROM_STATUS},
            )
            for number, status in statuses
        )
        healthy, summary = self._summary(partitions, waiting, problem)
        stopped = bool(partitions) and all(one.stopped for one in partitions)
        return schemas.StatusBody(
            stopped_at=max(one.at for one in partitions) if stopped else None,
            healthy=healthy,
            summary=summary,
            partitions=partitions,
            open=waiting,
            leased=leased,
            log_problem=problem,
        )

    def _summary(
        self, partitions: tuple[schemas.PartitionBody, ...], waiting: int, problem: str | None
    ) -> tuple[bool, str]:
        """Return whether all is well, and one sentence about it."""
        if problem is not None:
            return False, f"The page cannot read the log: {problem}"
        if not partitions:
            hint = f"start one with: stream-bayes run --log {redact_url(self.settings.log)}"
            return False, f"No worker of the group {self.settings.group!r} has reported yet; {hint}"
        stopped = [one for one in partitions if one.stopped]
        if stopped:
            at = max(one.at for one in stopped).astimezone(UTC)
            which = "" if len(stopped) == len(partitions) else f" of {len(stopped)} of {len(partitions)} partitions"
            return False, f"The worker{which} was stopped at {at:%H:%M} UTC. Answers wait in the log for the next one."
        silent = [one for one in partitions if one.age_seconds > self.silent_after]
        if silent:
            age = min(one.age_seconds for one in silent)
            return (
                False,
                f"The worker has been silent for {_duration(age)}: is it running? Answers wait in the log for it.",
            )
        left = [one.labels_remaining for one in partitions if one.labels_remaining is not None]
        if not waiting and left and not sum(left):
            return True, "The worker is running. The label budget is spent: no more labels will be requested."
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


def _same(label: schemas.Answer, other: schemas.Answer) -> bool:
    """Whether two labels are equal and of one type: true is not 1."""
    return label == other and isinstance(label, bool) == isinstance(other, bool)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
