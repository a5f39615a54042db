"""A question as a labeller reads it: the observation as harmless text, why it was asked, what the filter thinks now."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from threading import Lock
from typing import Any, NamedTuple

from stream_bayes.config import Settings
from stream_bayes.engine.intervals import as_key
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import Observation, decode
from stream_bayes.mail.render.reader import render_mail, render_text
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.mail.render.spans import TextSpan as Run
from stream_bayes.runtime.decoding import NO_LIMITS
from stream_bayes.web.api import schemas
from stream_bayes.web.readmodel.request_queue import Place, QueuedRequest
from stream_bayes.web.readmodel.state_store import StateStore
from stream_bayes.web.services.log_writer import LogWriter
from stream_bayes.web.services.model_cache import ModelCache, NoModel

_NO_MODEL = "An explanation comes with the next checkpoint of the worker."
_KEPT_BYTES = 32 << 20
_SHEET_BYTES = 64 << 10
_MAX_FEATURES = 500


class RenderedObservation(NamedTuple):
    """What is shown of an observation, and the observation for who wants to predict it."""

    observation: Observation | None
    shown: dict[str, Any]
    """Fields of a `bodies.Question`."""
    bytes: int
    """Of the record, and some for what is shown."""


class ObservationView:
    """Reads observations from the log and lays them out; the newest ones are kept."""

    def __init__(self, settings: Settings, desk: StateStore, clerk: LogWriter, models: ModelCache) -> None:
        self._topic = settings.topics.observations
        self._desk = desk
        self._clerk = clerk
        self._models = models
        self._sheets: OrderedDict[Place, RenderedObservation] = OrderedDict()
        self._lock = Lock()

    def question(self, entry: QueuedRequest, lease: float | None = None) -> schemas.RequestBody:
        """All that a labeller wants to see."""
        sheet = self._sheet(entry.place)
        opinion, why_none = self._opinion(sheet.observation, entry.place[0])
        return self.question_of(entry, sheet, opinion, why_none, lease)

    def question_of(
        self,
        entry: QueuedRequest,
        sheet: RenderedObservation,
        opinion: schemas.PredictionBody | None,
        why_none: str | None = None,
        lease: float | None = None,
    ) -> schemas.RequestBody:
        """A question with what is shown of its observation, and what the filter thinks of it or why it does not."""
        request = entry.request
        given = entry.given
        return schemas.RequestBody(
            place=schemas.RequestPlace(partition=entry.place[0], offset=entry.place[1]),
            id=visible(request.id),
            **sheet.shown,
            choices=choices_of(entry),
            numbers=request.mean is not None,
            abstain_label=self._desk.abstain_label_of(entry),
            asked=self._asked(entry),
            opinion=opinion,
            no_opinion=why_none,
            lease_seconds=lease,
            answer=None if given is None else schemas.AnswerBody(**given._asdict()),
        )

    def _asked(self, entry: QueuedRequest) -> schemas.RequestScore:
        request = entry.request
        with self._desk.read_lock():
            rank = self._desk.questions.rank(entry)
            score_now = None if entry.scored_at is None or math.isnan(entry.score) else entry.score
        names = ("expires_at", "strategy", "score", "probabilities", "mean", "variance", "epistemic_variance")
        kept = {name: getattr(request, name) for name in (*names, "interval", "interval_of", "budget_left")}
        return schemas.RequestScore(at=entry.asked_at, rank=rank, score_now=score_now, **kept)

    def _opinion(
        self, observation: Observation | None, partition: int
    ) -> tuple[schemas.PredictionBody | None, str | None]:
        if observation is None:
            return None, None
        try:
            return self._models.opinion(observation, partition), None
        except NoModel:
            return None, _NO_MODEL
        except StreamBayesError as problem:
            # It refuses what it took once.
            return None, str(problem)

    def _sheet(self, place: Place) -> RenderedObservation:
        with self._lock:
            known = self._sheets.get(place)
            if known is not None:
                self._sheets.move_to_end(place)
                return known
        sheet = self._read(place)
        with self._lock:
            self._sheets[place] = sheet
            while sum(sheet.bytes for sheet in self._sheets.values()) > _KEPT_BYTES:
                self._sheets.popitem(last=False)
        return sheet

    def observation(self, place: Place) -> Observation | None:
        """The observation at a place, which need not be shown; None where it cannot be read."""
        with self._lock:
            known = self._sheets.get(place)
        if known is not None:
            return known.observation
        record = self._clerk.read(self._topic, *place)
        try:
            found = None if record is None else decode(record, Observation, NO_LIMITS)
        except EventError:
            return None
        return found if isinstance(found, Observation) else None

    def _read(self, place: Place) -> RenderedObservation:
        record = self._clerk.read(self._topic, *place)
        if record is None:
            return _nothing("the log has this observation no more: retention has removed it")
        try:
            observation = decode(record, Observation, NO_LIMITS)
        except EventError as problem:
            return _nothing(f"the record of this observation cannot be read: {problem}")
        if not isinstance(observation, Observation):
            return _nothing("the record at this place is no observation")
        return RenderedObservation(observation, shown_of(observation), len(record.value) + _SHEET_BYTES)


def shown_of(observation: Observation) -> dict[str, Any]:
    """What is shown of an observation: a mail, a text or a table of features."""
    content = observation.content
    sender = None if observation.sender is None else visible(observation.sender)
    subject = None if observation.subject is None else visible(observation.subject)
    if isinstance(content, bytes):
        letter = render_mail(content)
        return {
            "content": "mail",
            "sender": sender or letter.sender or None,
            "subject": subject or letter.subject or None,
            "pieces": _pieces(letter.spans),
            "attachments": letter.attachments,
            "size": letter.size,
            "cut": letter.cut,
        }
    if isinstance(content, str):
        pieces, cut = render_text(content)
        size = len(content.encode("utf-8", "surrogatepass"))
        shown = {"pieces": _pieces(pieces), "size": size, "cut": cut}
        return {"content": "text", "sender": sender, "subject": subject, **shown}
    rows = sorted(content.items())[:_MAX_FEATURES]
    table = {visible(name): visible(str(value)) for name, value in rows}
    cut = len(content) > _MAX_FEATURES
    shown = {"pieces": (), "features": table, "size": len(content), "cut": cut}
    return {"content": "features", "sender": sender, "subject": subject, **shown}


def choices_of(entry: QueuedRequest) -> tuple[schemas.Answer, ...]:
    """The possible answers: those that the question names, else the labels that had a probability."""
    request = entry.request
    if request.labels is not None:
        return tuple(request.labels)
    return tuple(label_of(key) for key in request.probabilities or ())


def label_of(key: str) -> schemas.Answer:
    """The label that stands among probabilities under this name: the other way round as `as_key`.

    >>> label_of("spam"), label_of("true"), label_of('"true"'), label_of("3"), label_of("null")
    ('spam', True, 'true', 3, 'null')
    """
    try:
        label = json.loads(key)
    except ValueError:
        return key
    known = isinstance(label, (str, bool, int, float)) and as_key(label) == key
    return label if known else key


def _pieces(runs: tuple[Run, ...]) -> tuple[schemas.SpanBody, ...]:
    return tuple(schemas.SpanBody(**run._asdict()) for run in runs)


def _nothing(why: str) -> RenderedObservation:
    empty = {"sender": None, "subject": None, "pieces": (), "size": 0, "cut": False}
    return RenderedObservation(None, {"content": "nothing", **empty, "missing": why}, _SHEET_BYTES)
