"""A worker from a Kafka topic to committed predictions, against a bare loop that reads and writes as much."""

from __future__ import annotations

import gc
import logging
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

from kafka import KafkaProducer
from rich.console import Console
from rich.table import Table

from benchmarks import kafka_latency
from benchmarks.kafka_adapters import BATCH_BYTES, PATIENCE, DefaultsAdapter, PythonAdapter, Topics
from benchmarks.kafka_broker import missing_broker, new_topics, open_broker
from benchmarks.kafka_clients import batches
from benchmarks.worker import bare, settle
from benchmarks.worker_mails import Mail, raw_events, read_mails, rows_at_once
from stream_bayes.config import CheckpointSettings, CommitSettings, LearnerSettings, Settings, TopicSettings
from stream_bayes.eventlog.kafka import KafkaLog
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.records import Offsets, Record
from stream_bayes.runtime import Worker
from stream_bayes.runtime.partition_processor import STAGES
from stream_bayes.runtime.worker import tune_gc

BATCH = CommitSettings().events
REPEATS = 7
TARGET = 0.6
NEVER = 1_000_000_000
SHARED = ("emails", "labels", "predictions", "label-requests", "dead-letters", "status", "bare", "bare-journal")
LOOP = "bare loop"
PLAIN = "bare loop, the client as it comes"
FILTER = "bare filter"
BOTH = "first and third, one after the other"
WORKER = "worker"
LIGHT = "worker with SpamFilter.light"
LIGHT_PARAMETERS = ("members", "buckets", "text_bytes", "pairs")


class Pass(NamedTuple):
    """The number of mails after the first commit and their seconds. Only a worker has stages."""

    mails: int
    wall: float
    cpu: float
    stages: dict[str, float]


class Turn(NamedTuple):
    """One pass of each."""

    loop: Pass
    plain: Pass
    filter: Pass
    worker: Pass
    light: Pass


def run(console: Console) -> None:
    """Print the tables."""
    missing = missing_broker()
    if missing:
        console.print(f"The worker on Kafka is not measured: {missing}")
        return
    logging.getLogger("kafka").setLevel(logging.ERROR)
    tune_gc()
    mails, origin = read_mails()
    # Twice: no id may come again.
    mails += [mail._replace(id=f"again-{mail.id}") for mail in mails]
    mean = sum(len(mail.raw) for mail in mails) / len(mails)
    journals = [f"journal-{turn}" for turn in range(2 * REPEATS + 2)]
    with tempfile.TemporaryDirectory() as folder, open_broker() as address:
        with new_topics(address, (*SHARED, *journals)) as names:
            turns = measured(address, Path(folder), names, mails)
            console.print(f"{len(mails):,} mails of {origin}, {mean:,.0f} bytes in the mean, half of them labelled")
            console.print(rate_table(turns))
            console.print(stage_table(turns))
        with new_topics(address, (*SHARED, "journal")) as names:
            rate = median(turn.worker.mails / turn.worker.wall for turn in turns) / 2.0
            settings = settings_of(address, Path(folder), names, 0, LearnerSettings())
            console.print(kafka_latency.table(address, settings, mails, rate))


def measured(address: str, folder: Path, names: Sequence[str], mails: Sequence[Mail]) -> list[Turn]:
    """Several turns of all, one after the other, so that all are disturbed alike."""
    fill(address, names[0], mails)
    rows = rows_at_once(mails)
    light_filter = SpamFilter.light()
    learners = (
        LearnerSettings(),
        LearnerSettings(parameters={name: getattr(light_filter, name) for name in LIGHT_PARAMETERS}),
    )
    turns = []
    for turn in range(REPEATS + 1):
        loop, plain = (loop_pass(kind, address, names, len(mails)) for kind in (PythonAdapter, DefaultsAdapter))
        wall, cpu, *_ = bare(rows)
        worker, light = (
            worker_pass(settings_of(address, folder, names, 2 * turn + which, learner), len(mails))
            for which, learner in enumerate(learners)
        )
        turns.append(Turn(loop, plain, Pass(len(mails), wall, cpu, {}), worker, light))
    # The first turn compiles and loads, and warms up the broker.
    return turns[1:]


def fill(address: str, topic: str, mails: Iterable[Mail]) -> None:
    producer = KafkaProducer(bootstrap_servers=address, batch_size=BATCH_BYTES, linger_ms=100, metrics_enabled=False)
    for _, key, value, headers in raw_events(list(mails)):
        producer.send(topic, value, key, list(headers), 0)
    producer.flush(PATIENCE)
    producer.close()


def settings_of(address: str, folder: Path, names: Sequence[str], turn: int, learner: LearnerSettings) -> Settings:
    """Defaults, but for names by which nothing is left of another turn, and without checkpoints on the way."""
    emails, labels, predictions, requests, letters, status, _, _, *journals = names
    return Settings(
        log=f"kafka://{address}",
        learner=learner,
        group=f"{emails}-{turn}",
        topics=TopicSettings(
            observations=emails,
            labels=labels,
            predictions=predictions,
            label_requests=requests,
            dead_letters=letters,
            status=status,
            journal=journals[turn],
        ),
        checkpoint=CheckpointSettings(folder=folder, events=NEVER, seconds=NEVER, keep=1),
    )


def loop_pass(kind: type[PythonAdapter], address: str, names: Sequence[str], count: int) -> Pass:
    """Read, write a prediction for each, a journal record and the position, commit."""
    emails, _, _, _, _, _, predictions, journal, *_ = names
    client = kind(address, Topics(emails, emails, predictions, journal))
    gc.collect()
    wall = cpu = 0.0
    for place, rows in enumerate(batches(client, BATCH, count // BATCH)):
        client.transact(rows)
        if place == 0:
            wall = time.perf_counter()
            cpu = time.process_time()
    done = Pass(count - BATCH, time.perf_counter() - wall, time.process_time() - cpu, {})
    client.close()
    return done


class Empty(Exception):
    """Everything was committed."""


class TimedLog(KafkaLog):
    """A log that notes when its reader polls after its first commit, and after the last one; then it ends."""

    def __init__(self, address: str, settings: Settings, count: int) -> None:
        super().__init__([address], settings.group, (settings.topics.observations, settings.topics.labels))
        self._count = count
        self._committed = 0
        self.worker = Worker(settings, self)
        self.begun: Pass | None = None
        self.done: Pass | None = None

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        # Not within the commit: only after it the worker adds its time to that of the stage.
        if self.begun is None and self._committed:
            self.begun = self.now()
        if self._committed >= self._count:
            self.done = self.now()
            raise Empty
        return super().poll(max_records, timeout)

    def seek(self, offsets: Offsets) -> None:
        super().seek(offsets)
        for processor in self.worker.processors.values():
            model = processor.engine.model.learner
            assert isinstance(model, SpamFilter)
            model.prefault()
        settle()

    def commit(self, offsets: Offsets) -> Offsets:
        written = super().commit(offsets)
        self._committed = max(offsets.values(), default=0)
        return written

    def now(self) -> Pass:
        return Pass(self.worker.events, time.perf_counter(), time.process_time(), dict(self.worker.stages.seconds))


def worker_pass(settings: Settings, count: int) -> Pass:
    """A new worker whose filter has all its memory, from its first commit to the last one."""
    with TimedLog(settings.log.removeprefix("kafka://"), settings, count) as log:
        with suppress(Empty):
            log.worker.run()
        begun = log.begun
        done = log.done
    assert begun is not None
    assert done is not None
    settle()
    stages = {stage: done.stages[stage] - begun.stages[stage] for stage in STAGES}
    return Pass(done.mails - begun.mails, done.wall - begun.wall, done.cpu - begun.cpu, stages)


def rate_table(turns: Sequence[Turn]) -> Table:
    """By the clock; a worker that had nothing to do besides, on one core, would be as fast as both in turn."""
    table = Table(title=f"one partition to predictions committed, up to {BATCH:,} at once, median of {REPEATS} turns")
    for column in ("", "mails/s", f"ratio to the {LOOP}", "target, at least", "CPU, µs a mail"):
        table.add_column(column, justify="right" if table.columns else "left")
    both = [together(turn) for turn in turns]
    for name, passes in {
        LOOP: [turn.loop for turn in turns],
        PLAIN: [turn.plain for turn in turns],
        FILTER: [turn.filter for turn in turns],
        BOTH: both,
        WORKER: [turn.worker for turn in turns],
        LIGHT: [turn.light for turn in turns],
    }.items():
        pairs = zip(turns, passes, strict=True)
        share = median(turn.loop.wall / turn.loop.mails * one.mails / one.wall for turn, one in pairs)
        judged = name in {WORKER, LIGHT}
        verdict = f"{share:.0%}, {'met' if share >= TARGET else 'missed'}" if judged else f"{share:.0%}"
        rate = median(one.mails / one.wall for one in passes)
        cpu = median(one.cpu / one.mails for one in passes)
        target = f"{TARGET:.0%}" if judged else ""
        table.add_row(name, f"{rate:,.0f}", verdict, target, f"{cpu * 1e6:.1f}")
    return table


def together(turn: Turn) -> Pass:
    loop = turn.loop
    own = turn.filter
    return Pass(1, loop.wall / loop.mails + own.wall / own.mails, loop.cpu / loop.mails + own.cpu / own.mails, {})


def stage_table(turns: Sequence[Turn]) -> Table:
    """Of the worker; waiting for records is in the rest."""
    shown = [stage for stage in STAGES if stage != "checkpoint"]
    table = Table(title=f"where the time of the worker goes, µs a mail by the clock, median of {REPEATS} turns")
    for column in (*shown, "the rest", "all"):
        table.add_column(column, justify="right")
    passes = [turn.worker for turn in turns]
    times = [median(one.stages[stage] / one.mails for one in passes) for stage in shown]
    whole = median(one.wall / one.mails for one in passes)
    table.add_row(*(f"{seconds * 1e6:.1f}" for seconds in (*times, whole - sum(times), whole)))
    return table
