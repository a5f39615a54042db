"""A label request as a labeller reads it: the observation as safe text, its score and the current prediction."""

from __future__ import annotations

import json
import math
from threading import Lock
from typing import Any, NamedTuple

from cachetools import LRUCache

from stream_bayes.config import Settings
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import NO_LIMITS, Observation, decode
from stream_bayes.learners.base.labels import as_key
from stream_bayes.mail.render.reader import render_mail, render_text
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.mail.render.spans import TextSpan
from stream_bayes.web import schemas
from stream_bayes.web.readmodel.request_queue import PartitionOffset, QueuedRequest
from stream_bayes.web.readmodel.state_store import StateStore
from stream_bayes.web.services.log_writer import LogWriter
from stream_bayes.web.services.model_cache import ModelCache, NoModel

_NO_MODEL = "An explanation comes with the next checkpoint of the worker."
_CACHE_BYTES = 32 << 20
_RENDERED_BYTES = 64 << 10
_MAX_FEATURES = 500


class RenderedObservation(NamedTuple):
    """An observation and the fields that show it."""

    observation: Observation | None
    shown: dict[str, Any]
    """Fields of a `RequestBody`."""
    bytes: int
    """Bytes of the record and, roughly, of the shown fields."""


class ObservationView:
    """Reads observations from the log and renders them, with an LRU cache."""

    def __init__(self, settings: Settings, store: StateStore, log_writer: LogWriter, models: ModelCache) -> None:
        self._topic = settings.topics.observations
        self._store = store
        self._log_writer = log_writer
        self._models = models
        self._rendered: LRUCache[PartitionOffset, RenderedObservation] = LRUCache(
            _CACHE_BYTES, lambda rendered: rendered.bytes
        )
        self._lock = Lock()

    def request_body(self, queued: QueuedRequest, lease: float | None = None) -> schemas.RequestBody:
        """Return a request with its observation and the current prediction."""
        rendered = self._render(queued.place)
        prediction, why_none = self._predict(rendered.observation, queued.place[0])
        return self.body_of(queued, rendered, prediction, why_none, lease)

    def body_of(
        self,
        queued: QueuedRequest,
        rendered: RenderedObservation,
        prediction: schemas.PredictionBody | None,
        why_none: str | None = None,
        lease: float | None = None,
    ) -> schemas.RequestBody:
        """Return the body for a rendered observation and its prediction, or why there is no prediction."""
        request = queued.request
        submitted = queued.submitted
        return schemas.RequestBody(
            place=schemas.RequestPlace(partition=queued.place[0], offset=queued.place[1]),
            id=visible(request.id),
            **rendered.shown,
            choices=choices_of(queued),
            numbers=request.mean is not None,
            abstain_label=self._store.abstain_label(queued),
            selection=self._selection(queued),
            prediction=prediction,
            no_prediction=why_none,
            lease_seconds=lease,
            answer=None if submitted is None else schemas.AnswerBody(**submitted._asdict()),
        )

    def _selection(self, queued: QueuedRequest) -> schemas.SelectionBody:
        request = queued.request
        with self._store.read_lock():
            rank = self._store.queue.rank(queued)
            score_now = None if queued.scored_at is None or math.isnan(queued.score) else queued.score
        names = ("expires_at", "strategy", "score", "probabilities", "mean", "variance", "epistemic_variance")
        copied = {name: getattr(request, name) for name in (*names, "interval", "interval_of", "budget_left")}
        return schemas.SelectionBody(at=queued.requested_at, rank=rank, score_now=score_now, **copied)

    def _predict(
        self, observation: Observation | None, partition: int
    ) -> tuple[schemas.PredictionBody | None, str | None]:
        if observation is None:
            return None, None
        try:
            return self._models.predict(observation, partition), None
        except NoModel:
            return None, _NO_MODEL
        except StreamBayesError as problem:
            # A newer model may refuse an observation that an older one accepted.
            return None, str(problem)

    def _render(self, place: PartitionOffset) -> RenderedObservation:
        with self._lock:
            cached = self._rendered.get(place)
        if cached is not None:
            return cached
        rendered = self._read(place)
        if rendered.bytes <= _CACHE_BYTES:
            with self._lock:
                self._rendered[place] = rendered
        return rendered

    def observation(self, place: PartitionOffset) -> Observation | None:
        """Return the observation at a place without rendering it. None if it cannot be read."""
        with self._lock:
            cached = self._rendered.get(place)
        if cached is not None:
            return cached.observation
        record = self._log_writer.read(self._topic, *place)
        try:
            found = None if record is None else decode(record, Observation, NO_LIMITS)
        except EventError:
            return None
        return found if isinstance(found, Observation) else None

    def _read(self, place: PartitionOffset) -> RenderedObservation:
        record = self._log_writer.read(self._topic, *place)
        if record is None:
            return _missing("the log no longer has this observation: retention has removed it")
        try:
            observation = decode(record, Observation, NO_LIMITS)
        except EventError as problem:
            return _missing(f"the record of this observation cannot be read: {problem}")
        if not isinstance(observation, Observation):
            return _missing("the record at this offset is no observation")
        return RenderedObservation(observation, shown_of(observation), len(record.value) + _RENDERED_BYTES)


def shown_of(observation: Observation) -> dict[str, Any]:
    """Return the fields that show an observation: a mail, a text or a table of features."""
    content = observation.content
    sender = None if observation.sender is None else visible(observation.sender)
    subject = None if observation.subject is None else visible(observation.subject)
    if isinstance(content, bytes):
        mail = render_mail(content)
        return {
            "content": "mail",
            "sender": sender or mail.sender or None,
            "subject": subject or mail.subject or None,
            "spans": _spans(mail.spans),
            "attachments": mail.attachments,
            "size": mail.size,
            "cut": mail.cut,
        }
    if isinstance(content, str):
        spans, cut = render_text(content)
        size = len(content.encode("utf-8", "surrogatepass"))
        shown = {"spans": _spans(spans), "size": size, "cut": cut}
        return {"content": "text", "sender": sender, "subject": subject, **shown}
    rows = sorted(content.items())[:_MAX_FEATURES]
    table = {visible(name): visible(str(value)) for name, value in rows}
    cut = len(content) > _MAX_FEATURES
    shown = {"spans": (), "features": table, "size": len(content), "cut": cut}
    return {"content": "features", "sender": sender, "subject": subject, **shown}


def choices_of(queued: QueuedRequest) -> tuple[schemas.Answer, ...]:
    """Return the possible labels: those that the request names, else those with a probability."""
    request = queued.request
    if request.labels is not None:
        return tuple(request.labels)
    return tuple(label_of(key) for key in request.probabilities or ())


def label_of(key: str) -> schemas.Answer:
    """Return the label of a key of `probabilities`: the inverse of `as_key`.

    >>> label_of("spam"), label_of("true"), label_of('"true"'), label_of("3"), label_of("null")
    ('spam', True, 'true', 3, 'null')
    """
    try:
        label = json.loads(key)
    except ValueError:
        return key
    known = isinstance(label, (str, bool, int, float)) and as_key(label) == key
    return label if known else key


def _spans(spans: tuple[TextSpan, ...]) -> tuple[schemas.SpanBody, ...]:
    return tuple(schemas.SpanBody(**span._asdict()) for span in spans)


def _missing(why: str) -> RenderedObservation:
    empty = {"sender": None, "subject": None, "spans": (), "size": 0, "cut": False}
    return RenderedObservation(None, {"content": "nothing", **empty, "missing": why}, _RENDERED_BYTES)
