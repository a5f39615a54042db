"""Engines for the suites about them: settings, streams of awkward events, and all that an engine is as bytes."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

from hypothesis import strategies as st

from stream_bayes.config import EngineSettings, LabelSettings, LearnerSettings, Settings
from stream_bayes.engine import BatchResult, Engine, ReplayDecisions
from stream_bayes.engine.state import bookkeeping_of, state_of
from stream_bayes.events import DeadLetter, InputEvent, Limits, Observation, Prediction, decode_records, encode
from stream_bayes.records import Record

OBSERVATIONS = "emails"
LABELS = "labels"
PLENTY = 1 << 20


class Kind(NamedTuple):
    """A learner, and what to feed it with: some of it is refused."""

    name: str
    parameters: dict[str, Any]
    contents: tuple[dict[str, Any], ...]
    labels: tuple[Any, ...]


_MAIL = b64encode(b"From: a@shop.example\nSubject: cheap\n\nbuy http://shop.example/pills now\n").decode()
_NUMBERS: tuple[dict[str, Any], ...] = (
    {"features": {"x": 1.0}},
    {"features": {"x": -2.5, "z": 3}},
    {"features": {"z": 0.5, "colour": "red"}},
    {"features": {"colour": "blue", "new": True}},
    {"features": {}},
    {"text": "two words, or three words"},
    # A number that was a text, a text that was a number, one too large: refused, some of them at times; and a mail.
    {"features": {"colour": 1.0}},
    {"features": {"x": "red"}},
    {"features": {"x": 1e60}},
    {"raw": _MAIL},
)
KINDS = {
    "SpamFilter": Kind(
        "SpamFilter",
        {"buckets": 2**10},
        (
            {"text": "cheap pills, buy now"},
            {"text": "lunch at noon?", "subject": "lunch", "sender": "ann@office.example"},
            {"text": ""},
            {"raw": _MAIL},
            {"features": {"subject": "minutes", "text": "of the meeting"}},
            {"features": {"x": 1.0}},
        ),
        ("ham", "spam", "eggs", True),
    ),
    "BayesianLinearRegression": Kind(
        "BayesianLinearRegression",
        {"prior_precision": 2.0, "noise_variance": 0.25},
        _NUMBERS,
        (1.0, -2.5, 3, 7.25, "ham", True, 1e60),
    ),
    "MultinomialNB": Kind(
        "MultinomialNB",
        {"prior_count": 0.5, "class_prior_count": 2.0},
        (*_NUMBERS, {"features": {"x": 2, "z": 1}}, {"features": {"z": 4}}),
        ("a", "b", True, 1, 7, 0.5),
    ),
    "SoftmaxRegression": Kind("SoftmaxRegression", {"rate": 0.3, "l2": 0.01}, _NUMBERS, ("a", "b", False, 2.0, 0.5)),
    "NearestNeighbours": Kind(
        "NearestNeighbours", {"k": (1, 3), "window": 6, "prior_count": 0.4}, _NUMBERS, ("a", "b", False, 2.0, 0.5)
    ),
}


SMALL = {
    "label_history": 8,
    "dedup_window": 4,
    "observation_cache_bytes": PLENTY,
    "budget": 5,
    "max_open_requests": 3,
    "audit_fraction": 0.4,
    "request_ttl": "6s",
}
"""Of an engine that forgets, and stops asking, soon."""


def settings_for(kind: Kind, **changes: Any) -> Settings:
    """Settings with the small sizes, but for these."""
    values: dict[str, Any] = {**SMALL, **changes}
    engine, labels = (
        {name: values[name] for name in section.model_fields if name in values}
        for section in (EngineSettings, LabelSettings)
    )
    return Settings(
        learner=LearnerSettings(name=kind.name, parameters=kind.parameters),
        engine=EngineSettings(**engine),
        labels=LabelSettings(**labels),
    )


class Stream:
    """Records of both topics, in the order in which a worker would take them."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.ends = {OBSERVATIONS: 0, LABELS: 0}
        self.names: dict[int, str] = {}
        """The ids of what was observed, by offset."""
        self.contents: dict[str, Mapping[str, Any]] = {}
        """The last contents of those with a name, the newest last."""

    def put(self, topic: str, value: bytes, lead: int = 0) -> int:
        """Any record; returns its offset. The clock goes on by a second a record, and the record may be ahead of it."""
        offset = self.ends[topic]
        self.records.append(Record(topic, 0, offset, 1000 * (len(self.records) + lead), None, value))
        self.ends[topic] += 1
        return offset

    def observe(self, content: Mapping[str, Any], label: Any = None, name: str | None = None, lead: int = 0) -> int:
        """An observation; without a name its place is its id."""
        offset = self.ends[OBSERVATIONS]
        self.names[offset] = name or f"{OBSERVATIONS}-0-{offset}"
        if name is not None:
            self.contents.pop(name, None)
            self.contents[name] = content
        return self.put(OBSERVATIONS, _json({"id": name, **content, "label": label}), lead)

    def answer(self, label: Any, name: str, offset: int | None = None, *, topic: str = LABELS, **other: Any) -> int:
        """A label for an observation by its id, and with an offset also by its place; maybe by a labeller."""
        place = {"topic": OBSERVATIONS, "partition": other.get("partition", 0), "offset": offset}
        fields = {"id": name, "label": label, "source": None if offset is None else place}
        return self.put(topic, _json({"type": "label", **fields, "labeller": other.get("labeller")}))

    @property
    def arrivals(self) -> list[InputEvent]:
        """The records with their events."""
        return decode_records(self.records, Settings().topics.observations, Limits())


def _json(fields: Mapping[str, Any]) -> bytes:
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


NAMES = ("n0", "n1", "n2", "n3", "n4", f"{OBSERVATIONS}-0-2", f"{OBSERVATIONS}-0-5")
_RUBBISH = (b"", b"{", b'{"id":"n1"}', b'{"type":"observation","id":"n0","text":"lost","label":"ham"}')


def random_stream(kind: Kind, seed: int, length: int) -> Stream:
    """Any of the things that come; a shorter one is the beginning of a longer one of the same seed."""
    rng = random.Random(seed)
    stream = Stream()
    while len(stream.records) < length:
        match rng.choices(("observation", "again", "label", "rubbish", "gap"), (40, 8, 42, 6, 4))[0]:
            case "again" if stream.contents:
                # The same id and the same content, maybe with another label.
                again = rng.choice(list(stream.contents)[-4:])
                label = _early(rng, kind.labels) if rng.random() < 0.7 else None
                stream.observe(stream.contents[again], label, again)
            case "again":
                continue
            case "observation":
                name = rng.choice((None, None, *NAMES))
                label = _early(rng, kind.labels) if rng.random() < 0.4 else None
                stream.observe(_early(rng, kind.contents), label, name, rng.randrange(3))
            case "label":
                _answer(stream, rng, "unsure" if rng.random() < 0.1 else _early(rng, kind.labels))
            case "rubbish":
                stream.put(rng.choice((OBSERVATIONS, LABELS, LABELS)), rng.choice(_RUBBISH))
            case _:
                stream.ends[OBSERVATIONS] += rng.choice((1, 1, 2, 9))
    return stream


def _early(rng: random.Random, options: Sequence[Any]) -> Any:
    """One of them, the first ones, which are taken, more often than the last ones, which are refused."""
    return options[min(rng.randrange(len(options)) for _ in range(2))]


def _answer(stream: Stream, rng: random.Random, label: Any) -> None:
    known = [0, *stream.names]
    offset = rng.choice(known[-12:] * 2 + known[-3:] * 4 + [stream.ends[OBSERVATIONS] + rng.randrange(2)])
    name = stream.names.get(offset, "nobody")
    place = f"{OBSERVATIONS}-0-{offset}"
    match rng.choices(("id", "source", "place", "name", "other id", "partition"), (7, 7, 3, 2, 1, 1))[0]:
        case "id":
            stream.answer(label, name, topic=rng.choice((LABELS, LABELS, LABELS, OBSERVATIONS)))
        case "source":
            stream.answer(label, name, offset, labeller=rng.choice((None, "ann", "bob")))
        case "place":
            stream.answer(label, place)
        case "name":
            stream.answer(label, rng.choice(NAMES))
        case "other id":
            stream.answer(label, "somebody", offset)
        case _:
            stream.answer(label, name, offset, partition=1)


def streams(kind: Kind, most: int = 60) -> st.SearchStrategy[Stream]:
    """Random streams of at most this number of records."""
    return st.builds(random_stream, st.just(kind), st.integers(0, 2**32), st.integers(1, most))


def fold(
    engine: Engine, arrivals: Sequence[InputEvent], sizes: Iterable[int], decisions: ReplayDecisions | None = None
) -> BatchResult:
    """Process events in pieces of these sizes, over and over; what is not in memory is found again."""
    whole = BatchResult()
    observations = {
        record.offset: event
        for record, event in (arrival[:2] for arrival in arrivals)
        if record.topic == OBSERVATIONS and isinstance(event, Observation)
    }
    begin = 0
    lengths = cycle(sizes)
    while begin < len(arrivals):
        piece = arrivals[begin : begin + next(lengths)]
        plan = engine.plan(piece, decisions)
        new = engine.apply(plan, {offset: observations.get(offset) for offset in plan.missing})
        whole.requests.update(new.requests)
        for name in ("outputs", "rejected", "late", "abstentions", "forwards"):
            getattr(whole, name).extend(getattr(new, name))
        begin += len(piece)
    return whole


def run(settings: Settings, stream: Stream, sizes: Iterable[int] = (1,)) -> tuple[Engine, BatchResult]:
    """A new engine after a stream, and what it said."""
    engine = Engine(settings)
    return engine, fold(engine, stream.arrivals, sizes)


def encoded_result(outcome: BatchResult) -> tuple[list[Any], ...]:
    """All of an outcome, as it would be written."""
    outputs = [encode(event) for event in outcome.outputs]
    return outputs, [*outcome.requests.items()], outcome.rejected, outcome.late, outcome.abstentions, outcome.forwards


def comparable_state(engine: Engine) -> tuple[str, dict[str, tuple[str, tuple[int, ...], bytes]]]:
    """The whole state of an engine, comparable."""
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    return json.dumps(scalars, sort_keys=True), {
        name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()
    }


def predictions(outcome: BatchResult) -> list[Prediction]:
    """What was predicted."""
    return [event for event in outcome.outputs if isinstance(event, Prediction)]


def codes(outcome: BatchResult) -> list[str]:
    """Of the dead letters."""
    return [event.code for event in outcome.outputs if isinstance(event, DeadLetter)]
