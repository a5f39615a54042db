"""Workers for the suites about them: settings, inputs, and what must be true of a log whatever happened to them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stream_bayes.config import Settings
from stream_bayes.engine import Engine
from stream_bayes.engine.state import bookkeeping_of, state_of
from stream_bayes.eventlog.base import Log
from stream_bayes.events import (
    DeadLetter,
    InputEvent,
    LabelOutcome,
    LabelRequest,
    Limits,
    Observation,
    Prediction,
    decode_records,
    encode,
)
from stream_bayes.kernels.common.jit_stats import NOTICE_BEGINNING
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.records import Record
from stream_bayes.runtime import Worker

INPUTS = "emails", "labels"
JOURNAL = "journal-stream-bayes"
OUTPUTS = {
    Prediction: "predictions",
    LabelRequest: "label-requests",
    LabelOutcome: "label-requests",
    DeadLetter: "dead-letters",
}
Place = tuple[str, int]
"""Topic and offset, in some partition."""
_AT_ONCE = 1000
_WORDS = "cheap", "pills", "now", "lunch", "tomorrow", "report", "meeting", "offer", "free", "prize", "agenda", "train"


class State(NamedTuple):
    """All that an engine knows."""

    scalars: dict[str, Any]
    arrays: Arrays


def without_compiling(errors: str) -> list[str]:
    """The lines of a worker, but for the one about compiling: whether there is one depends on what ran here before."""
    return [line for line in errors.splitlines() if NOTICE_BEGINNING not in line]


def settings_in(folder: Path, **sections: dict[str, Any]) -> Settings:
    """Settings of a small learner whose corrections are exact, with a log and checkpoints in a folder."""
    given: dict[str, dict[str, Any]] = {
        "learner": {"name": "MultinomialNB"},
        "engine": {"label_history": 10_000, "dedup_window": 1000, "observation_cache_bytes": 20_000},
        "labels": {"budget": 20, "max_open_requests": 10, "audit_fraction": 0.2},
        "commit": {"events": 10},
        "checkpoint": {"folder": folder / "checkpoints", "events": 50},
    }
    for name, section in sections.items():
        given[name] = {**given.get(name, {}), **section}
    return Settings(log=f"sqlite:///{folder}/log.db", **given)  # type: ignore[arg-type]  # pydantic makes the sections


def write_config(settings: Settings, path: Path) -> Path:
    """The settings as a file for the command line."""
    content = settings.model_dump(mode="json", exclude_none=True)
    tables = {name: value for name, value in content.items() if isinstance(value, dict)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in content.items() if name not in tables]
    for name, table in tables.items():
        parameters = table.pop("parameters", {})
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
        if parameters:
            lines += [f"[{name}.parameters]", *(f"{key} = {json.dumps(value)}" for key, value in parameters.items())]
    path.write_text("\n".join(lines) + "\n")
    return path


def observation(number: int, label: str | float | None = None) -> bytes:
    """A text of some words, of which half are the label's own."""
    words = [_WORDS[(number * step + step) % len(_WORDS)] for step in range(1, 6)]
    fields = {"id": f"id-{number}", "text": " ".join(words), **({"label": label} if label else {})}
    return json.dumps(fields).encode()


def label(number: int, name: str) -> bytes:
    """A label for an observation."""
    return json.dumps({"id": f"id-{number}", "label": name}).encode()


def stream(count: int, first: int = 0) -> list[tuple[str, bytes]]:
    """Observations, some with labels, late labels, corrections, repeated ones, and bad records."""
    messages: list[tuple[str, bytes]] = []
    for number in range(first, first + count):
        name = ("ham", "spam")[number % 2]
        # 0.5 is no label: the observation is predicted without it.
        own = name if number % 7 == 0 else 0.5 if number % 23 == 8 else None
        messages.append(("emails", observation(number, own)))
        if number % 3 == 0:
            messages.append(("labels", label(number, name)))
        if number % 5 == 0 and number > first + 40:
            messages.append(("labels", label(number - 40, ("ham", "spam")[number % 3 == 0])))
        if number % 11 == 0:
            messages.append((INPUTS[number % 2], b"no event"))
        if number % 13 == 0:
            messages.append(("emails", observation(number)))
        if number % 17 == 3:
            # The same observation with a label that may be another one.
            messages.append(("emails", observation(number, "spam")))
        if number % 19 == 5:
            messages.append(("emails", json.dumps({"id": f"id-{number}", "text": "another content"}).encode()))
    return messages


def feed(log: Log, messages: Sequence[tuple[str, bytes]], partition: int = 0, at_once: int = 10) -> None:
    """Write messages in commits of this size."""
    for begin in range(0, len(messages), at_once):
        for topic, value in messages[begin : begin + at_once]:
            log.append(topic, value, partition=partition)
        log.commit({})


def work(settings: Settings, log: Log) -> Worker:
    """Let a worker read all there is."""
    worker = Worker(settings, log)
    worker.run(drain=True)
    return worker


def all_records(log: Log, topic: str, partition: int = 0) -> Iterator[Record]:
    """Everything that is in a partition."""
    position = 0
    while records := log.read(topic, partition, position, _AT_ONCE):
        yield from records
        position = records[-1].offset + 1


def events(log: Log, topic: str, partition: int = 0) -> list[dict[str, Any]]:
    """Everything in a partition, as JSON."""
    return [json.loads(record.value) for record in all_records(log, topic, partition)]


def journal_order(log: Log, partition: int = 0, journal: str = JOURNAL) -> list[Place]:
    """The places of all input records in the order in which they were processed, read without the worker's code."""
    order: list[Place] = []
    for entry in events(log, journal, partition):
        for topic, number, begin, end in entry["ranges"]:
            assert number == partition
            # One of nothing says that what was before it is gone.
            assert begin <= end
            order.extend((topic, offset) for offset in range(begin, end))
    return order


def state(engine: Engine) -> State:
    """All of an engine, as a checkpoint would have it."""
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    return State(json.loads(json.dumps(scalars)), arrays)


def saved_state(settings: Settings, partition: int = 0) -> tuple[int, State]:
    """The newest checkpoint and its number."""
    folder = settings.checkpoint_folder / settings.group / f"partition-{partition}"
    found = CheckpointStore(folder).newest()
    assert found is not None
    number, checkpoint = found
    scalars = {name: value for name, value in checkpoint.scalars.items() if name not in ("positions", "mark")}
    return number, State(scalars, checkpoint.arrays)


def one_pass(settings: Settings, log: Log, partition: int = 0, partitions: int = 1) -> State:
    """By a fresh engine that takes one event after the other; what it puts out must be what is in the log."""
    engine = Engine(settings, partition, partitions)
    written = {role: all_records(log, _named(settings, role), partition) for role in OUTPUTS.values()}
    inputs = {topic: all_records(log, topic, partition) for topic in inputs_of(settings)}
    # Records behind a gap of the log within a run.
    behind: dict[str, Record] = {}
    for topic, offset in journal_order(log, partition, settings.journal):
        record = behind.pop(topic, None)
        while record is None or record.offset < offset:
            record = next(inputs[topic])
        if record.offset > offset:
            behind[topic] = record
            continue
        arrival = _arrival(record, settings)
        for event in engine.process([arrival], _found(engine, arrival, log)).outputs:
            expected = next(written[OUTPUTS[type(event)]])
            assert encode(event) == expected.value, f"{expected[:3]} is not what one pass puts out"
    assert not any(list(rest) for rest in written.values()), "the log has more outputs than one pass"
    return state(engine)


def inputs_of(settings: Settings) -> tuple[str, str]:
    """The topics that a worker reads."""
    return settings.topics.observations, settings.topics.labels


def _named(settings: Settings, role: str) -> str:
    """What the settings call a topic that is called by its role otherwise."""
    return str(getattr(settings.topics, role.replace("-", "_")))


def _arrival(record: Record, settings: Settings) -> InputEvent:
    limits = Limits(settings.events.record_bytes, settings.events.depth, settings.events.id_bytes)
    (arrival,) = decode_records([record], settings.topics.observations, limits)
    return arrival


def _found(engine: Engine, arrival: InputEvent, log: Log) -> dict[int, Observation | None]:
    found: dict[int, Observation | None] = {}
    for offset in engine.plan([arrival]).missing:
        (record,) = log.read(engine.settings.topics.observations, engine.partition, offset)
        event = _arrival(record, engine.settings).event
        assert isinstance(event, Observation)
        found[offset] = event
    return found


def assert_same(found: State, expected: State) -> None:
    """Equal to the last bit."""
    assert found.scalars == expected.scalars
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        twin = found.arrays[name]
        assert (twin.dtype, twin.shape, twin.tobytes()) == (array.dtype, array.shape, array.tobytes()), name


def assert_nothing_lost(
    settings: Settings, log: Log, partition: int = 0, partitions: int = 1, *, is_complete: bool = True
) -> None:
    """Every input once in the journal, outputs as of one pass, and the newest checkpoint is the state of one pass.

    Where the worker was stopped before the end of the stream (`is_complete` false), every input up to its last commit.
    """
    order = journal_order(log, partition, settings.journal)
    for topic in inputs_of(settings):
        there = [record.offset for record in all_records(log, topic, partition)]
        offsets = [offset for name, offset in order if name == topic]
        assert offsets == sorted(set(offsets))
        last = there[-1:] if is_complete else offsets[-1:]
        expected = there[: bisect_right(there, *last)] if last else []
        assert [offset for offset in offsets if offset in set(there)] == expected
    number, saved = saved_state(settings, partition)
    assert number == max(record.offset for record in all_records(log, settings.journal, partition)) + 1
    assert_same(saved, one_pass(settings, log, partition, partitions))
