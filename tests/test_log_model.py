"""Producers, a consumer, commits, discards, seeks, retention and restarts in any order, against lists in memory."""

from __future__ import annotations

import shutil
import tempfile
from abc import abstractmethod
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stream_bayes.log.base import Log
from stream_bayes.records import Partition, Record
from tests.logs import Logs, MemoryLogs, SqliteLogs

INPUTS = ("mails", "labels")
PARTITIONS = [Partition(topic, number) for topic in INPUTS for number in range(2)]
OUT = Partition("out", 0)
RUNS = settings(max_examples=100, stateful_step_count=30, deadline=None)

places = st.sampled_from(PARTITIONS)


class AnyOrder(RuleBasedStateMachine):
    """The machine; `make` says which kind of log it drives."""

    @abstractmethod
    def make(self) -> Logs:
        """A log of that kind."""

    @initialize()
    def begin(self) -> None:
        self.logs = self.make()
        self.records: dict[Partition, list[Record]] = {partition: [] for partition in [*PARTITIONS, OUT]}
        self.beginnings = dict.fromkeys(PARTITIONS, 0)
        self.positions = dict.fromkeys(PARTITIONS, 0)
        self.producer = self.logs.open(partitions=2)
        self.staged: list[tuple[Partition, bytes]] = []
        self.open_consumer()

    def open_consumer(self) -> None:
        self.consumer: Log = self.logs.open("readers", INPUTS, partitions=2)
        self.next = dict(self.positions)
        self.outputs: list[bytes] = []

    @rule(partition=places, value=st.binary(max_size=4), repeat=st.integers(1, 3))
    def append(self, partition: Partition, value: bytes, repeat: int) -> None:
        for _ in range(repeat):
            self.producer.append(partition.topic, value, partition=partition.number)
            self.staged.append((partition, value))

    @rule()
    def produce(self) -> None:
        self.producer.commit({})
        self.note(self.staged)
        self.staged = []

    @rule()
    def discard(self) -> None:
        self.producer.discard()
        self.staged = []

    @rule(most=st.integers(1, 5))
    def poll(self, most: int) -> None:
        rest = [record for partition in PARTITIONS for record in self.records[partition][self.next[partition] :]]
        rest = [record for record in rest if record.offset >= self.beginnings[Partition(*record[:2])]]
        rest.sort(key=lambda record: (record.timestamp, INPUTS.index(record.topic), record.partition, record.offset))
        polled = self.consumer.poll(most, timeout=0.0)
        assert polled == rest[:most]
        for record in polled:
            self.next[Partition(*record[:2])] = record.offset + 1
            self.consumer.append("out", record.value, partition=0)
            self.outputs.append(record.value)

    @rule()
    def commit(self) -> None:
        self.consumer.commit(self.next)
        self.positions = dict(self.next)
        self.note([(OUT, value) for value in self.outputs])
        self.outputs = []

    @rule()
    def restart(self) -> None:
        self.consumer.close()
        self.open_consumer()

    @rule(partition=places, share=st.floats(0.0, 1.0))
    def seek(self, partition: Partition, share: float) -> None:
        self.next[partition] = int(share * len(self.records[partition]))
        self.consumer.seek({partition: self.next[partition]})

    @rule(partition=places, before=st.integers(0, 10))
    def trim(self, partition: Partition, before: int) -> None:
        self.producer.trim({partition: before})
        kept = min(before, self.positions[partition], len(self.records[partition]))
        self.beginnings[partition] = max(self.beginnings[partition], kept)

    @rule(partition=places, offset=st.integers(0, 10), most=st.integers(1, 5))
    def read(self, partition: Partition, offset: int, most: int) -> None:
        start = max(offset, self.beginnings[partition])
        assert self.consumer.read(*partition, offset, most) == self.records[partition][start : start + most]

    @invariant()
    def positions_and_places_are_as_committed(self) -> None:
        assert self.consumer.committed() == self.positions
        for topic in INPUTS:
            own = [partition for partition in PARTITIONS if partition.topic == topic]
            assert self.producer.ends(topic) == {partition: len(self.records[partition]) for partition in own}
            assert self.producer.beginnings(topic) == {partition: self.beginnings[partition] for partition in own}
        assert self.producer.read(*OUT, 0, 10_000) == self.records[OUT]

    def note(self, written: list[tuple[Partition, bytes]]) -> None:
        """The log gives times and offsets: the one never falls, the other counts."""
        latest = max((known[-1].timestamp for known in self.records.values() if known), default=0)
        for partition, value in written:
            (record,) = self.producer.read(*partition, len(self.records[partition]))
            assert (record.offset, record.value) == (len(self.records[partition]), value)
            assert record.timestamp >= latest
            self.records[partition].append(record)

    def teardown(self) -> None:
        self.logs.close()


class OnMemory(AnyOrder):
    """In memory."""

    def make(self) -> Logs:
        return MemoryLogs()


class OnSqlite(AnyOrder):
    """In a file."""

    def make(self) -> Logs:
        self.folder = Path(tempfile.mkdtemp())
        return SqliteLogs(self.folder / "log.db")

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)


TestMemory = OnMemory.TestCase
TestMemory.settings = RUNS
TestSqlite = OnSqlite.TestCase
TestSqlite.settings = RUNS
