"""A worker from a SQLite log to committed predictions, against the bare filter on the same mails in memory."""

from __future__ import annotations

import gc
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import worker_recovery
from benchmarks.worker_mails import (
    LATER,
    MAILS,
    Event,
    Mail,
    Rows,
    json_events,
    late_events,
    raw_events,
    read_mails,
    rows_at_once,
    rows_later,
)
from stream_bayes.config import CheckpointSettings, LearnerSettings, Settings, TopicSettings
from stream_bayes.engine import Engine
from stream_bayes.engine.state import bookkeeping_of
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.records import Offsets, Record
from stream_bayes.runtime import Worker
from stream_bayes.runtime.partition_processor import STAGES
from stream_bayes.runtime.worker import tune_gc

BATCH = 1_000
REPEATS = 12
PAUSE_REPEATS = 5
SHARE_TARGET = 0.6
PAUSE_TARGET = 50.0
CHECKPOINT_EVERY = 2_000


class Case(NamedTuple):
    """The records of a log, and what a bare filter does to do the same."""

    events: Callable[[Sequence[Mail]], Iterator[Event]]
    rows: Callable[[Sequence[Mail]], Rows]


class Pass(NamedTuple):
    """One pass over all mails, in seconds; the last two of a worker only."""

    wall: float
    cpu: float
    stages: dict[str, float]
    longest_pause: float


def run(console: Console) -> None:
    """Print the tables."""
    tune_gc()
    mails, origin = read_mails()
    mean = sum(len(mail.raw) for mail in mails) / len(mails)
    with tempfile.TemporaryDirectory() as folder:
        passes = measured(Path(folder), mails)
        console.print(f"{len(mails):,} mails of {origin}, {mean:,.0f} bytes in the mean, half of them labelled")
        console.print(rate_table(passes, len(mails)))
        console.print(stage_table(passes, len(mails)))
        console.print(pauses(Path(folder), mails))
        console.print(worker_recovery.table(Path(folder), raw_events(mails), len(mails)))


CASES = {
    "raw mails": Case(raw_events, rows_at_once),
    "JSON with base64": Case(json_events, rows_at_once),
    f"raw, labels {LATER} mails later": Case(late_events, rows_later),
}


class Empty(Exception):
    """There is no more to read."""


class TimedLog(SqliteLog):
    """A log that knows when its reader was ready to poll, and when it last committed; it ends with `Empty`."""

    def __init__(self, path: Path, settings: Settings, ready: Callable[[], None]) -> None:
        super().__init__(path, settings.group, (settings.topics.observations, settings.topics.labels))
        self._ready = ready
        self.begun = self.done = (0.0, 0.0)

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        records = super().poll(max_records, timeout)
        # The first one tells which partitions there are, and gives no records.
        if not records and self.begun != (0.0, 0.0):
            raise Empty
        return records

    def seek(self, offsets: Offsets) -> None:
        super().seek(offsets)
        self._ready()
        self.begun = time.perf_counter(), time.process_time()

    def commit(self, offsets: Offsets) -> Offsets:
        written = super().commit(offsets)
        self.done = time.perf_counter(), time.process_time()
        return written


def measured(folder: Path, mails: Sequence[Mail]) -> dict[str, tuple[Pass, Pass]]:
    """Of each case the fastest pass of the bare filter and of the worker; in turns, so that all are disturbed alike."""
    for name, case in CASES.items():
        write(path_of(folder, name), case.events(mails))
    turns = [
        {name: (bare(case.rows(mails)), worker_pass(settings_of(folder, name, turn))) for name, case in CASES.items()}
        for turn in range(REPEATS + 1)
    ]
    # The first turn compiles and loads.
    return {
        name: (fastest(turn[name][0] for turn in turns[1:]), fastest(turn[name][1] for turn in turns[1:]))
        for name in CASES
    }


def fastest(passes: Iterable[Pass]) -> Pass:
    return min(passes, key=lambda found: found.wall)


def path_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.db"


def settings_of(folder: Path, name: str, turn: int, every: int = 10 * MAILS) -> Settings:
    """Settings by which nothing is left of another turn: a group and a journal of its own."""
    return Settings(
        log=f"sqlite:///{path_of(folder, name)}",
        group=f"turn-{turn}",
        topics=TopicSettings(journal=f"journal-{turn}"),
        checkpoint=CheckpointSettings(folder=folder / f"checkpoints of {name}", events=every, keep=1),
    )


def write(path: Path, events: Iterator[Event]) -> None:
    """A log of these, committed a hundred at a time."""
    with SqliteLog(path) as log:
        for place, (topic, key, value, headers) in enumerate(events):
            log.append(topic, value, key, 0, headers)
            if place % 100 == 99:
                log.commit({})
        log.commit({})


def bare(rows: Rows) -> Pass:
    """A new filter that has all its memory, and nothing else to do."""
    model = SpamFilter()
    model.prefault()
    settle()
    wall = time.perf_counter()
    cpu = time.process_time()
    for begin in range(0, len(rows), BATCH):
        raws, labels = zip(*rows[begin : begin + BATCH], strict=True)
        model.test_then_train(raws, labels)
    return Pass(time.perf_counter() - wall, time.process_time() - cpu, {}, 0.0)


def worker_pass(settings: Settings) -> Pass:
    """A new worker whose filter and its copy have all their memory, from the first poll to the last commit."""

    def ready() -> None:
        for processor in worker.processors.values():
            model = processor.engine.model.learner
            assert isinstance(model, SpamFilter)
            model.prefault()
        settle()

    with TimedLog(Path(settings.log.removeprefix("sqlite:///")), settings, ready) as log:
        worker = Worker(settings, log)
        with suppress(Empty):
            worker.run()
    settle()
    wall, cpu = (done - begun for done, begun in zip(log.done, log.begun, strict=True))
    return Pass(wall, cpu, worker.stages.seconds, worker.stages.longest["checkpoint"])


def settle() -> None:
    """Let nothing be done beside what is measured: no snapshot copy, no checkpoint, no garbage of before."""
    for thread in threading.enumerate():
        if thread.name.startswith("checkpoint"):
            thread.join()
    gc.collect()


def rate_table(passes: dict[str, tuple[Pass, Pass]], count: int) -> Table:
    table = Table(title="SQLite log to predictions committed, default SpamFilter, mails a second by the clock")
    for column in ("records", "worker", "bare filter", "worker / bare", "target, at least", "by CPU time"):
        table.add_column(column, justify="left" if column == "records" else "right")
    for name, (peer, ours) in passes.items():
        share = peer.wall / ours.wall
        target = f"{SHARE_TARGET:.0%}"
        verdict = f"{share:.0%}, {'met' if share >= SHARE_TARGET else 'missed'}"
        cells = f"{count / ours.wall:,.0f}", f"{count / peer.wall:,.0f}", verdict, target, f"{peer.cpu / ours.cpu:.0%}"
        table.add_row(name, *cells)
    return table


def stage_table(passes: dict[str, tuple[Pass, Pass]], count: int) -> Table:
    """The stages of the fastest pass, which takes no checkpoint."""
    shown = [stage for stage in STAGES if stage != "checkpoint"]
    table = Table(title=f"where the time goes, microseconds a mail, shortest of {REPEATS} turns")
    for column in ("records", *shown, "the rest", "all", "bare filter"):
        table.add_column(column, justify="left" if column == "records" else "right")
    for name, (peer, ours) in passes.items():
        times = [ours.stages[stage] for stage in shown]
        every = (*times, ours.wall - sum(times), ours.wall, peer.wall)
        table.add_row(name, *(f"{seconds / count * 1e6:.1f}" for seconds in every))
    return table


def pauses(folder: Path, mails: Sequence[Mail]) -> Table:
    """How long a checkpoint holds up the stream: the same pass with some on the way; the median of several passes."""
    name = next(iter(CASES))
    passes = [worker_pass(settings_of(folder, name, 100 + turn, CHECKPOINT_EVERY)) for turn in range(PAUSE_REPEATS)]
    remembered, more = bookkeeping_pause()
    table = Table(title=f"checkpoints of {SpamFilter().buckets:,} buckets on the way, as often as they can be written")
    columns = "longest pause, ms", f"after {remembered:,} mails", "target, less than", "the stream meanwhile, µs a mail"
    for column in columns:
        table.add_column(column, justify="right")
    longest = median(found.longest_pause for found in passes) * 1e3
    verdict = f"{longest + more:.0f}, {'met' if longest + more < PAUSE_TARGET else 'missed'}"
    table.add_row(f"{longest:.0f}", verdict, f"{PAUSE_TARGET:g}", f"{fastest(passes).wall / len(mails) * 1e6:.1f}")
    return table


def bookkeeping_pause() -> tuple[int, float]:
    """Milliseconds by which the pause is longer once as many observations are remembered as ever are, and how many."""
    engine = Engine(Settings(learner=LearnerSettings(parameters={"buckets": 2**10})))
    remembered = engine.label_history.capacity
    engine.label_history.advance(remembered)
    engine.metrics.remember(remembered - 1, 0.0, 0)
    # The first one counts: it takes memory that was not there.
    begin = time.perf_counter()
    bookkeeping_of(engine)
    return remembered, (time.perf_counter() - begin) * 1e3
