"""Producers, a consumer, commits, discards, seeks, retention and restarts in any order, against lists in memory."""

from __future__ import annotations

import shutil
import tempfile
import time
from abc import abstractmethod
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stream_bayes.eventlog.base import Log
from stream_bayes.records import Offsets, Partition, Record
from tests.support.logs import PATIENCE, Logs, MemoryLogs, SqliteLogs, commit, everything

RUNS = settings(max_examples=50, stateful_step_count=30)

places = st.integers(0, 3)


class AnyOrder(RuleBasedStateMachine):
    """The machine; `make` says which kind of log it drives."""

    @abstractmethod
    def make(self) -> Logs:
        """A log of that kind."""

    @initialize()
    def begin(self) -> None:
        self.logs = self.make()
        self.inputs = self.logs.topic("mails"), self.logs.topic("labels")
        self.places = [Partition(topic, number) for topic in self.inputs for number in range(2)]
        self.out = Partition(self.logs.topic("out"), 0)
        self.records: dict[Partition, list[Record]] = {place: [] for place in [*self.places, self.out]}
        self.removed = dict.fromkeys(self.places, 0)
        self.positions = dict.fromkeys(self.places, 0)
        self.producer = self.logs.open(partitions=2)
        self.staged: list[tuple[Partition, bytes]] = []
        self.open_consumer()

    def open_consumer(self) -> None:
        self.consumer: Log = self.logs.reader(*self.inputs, partitions=2)
        self.next = dict(self.positions)
        self.outputs: list[bytes] = []

    @rule(place=places, value=st.binary(max_size=4), repeat=st.integers(1, 3))
    def append(self, place: int, value: bytes, repeat: int) -> None:
        for _ in range(repeat):
            self.producer.append(self.places[place].topic, value, partition=self.places[place].number)
            self.staged.append((self.places[place], value))

    @rule()
    def produce(self) -> None:
        self.note(self.staged, commit(self.producer))
        self.staged = []

    @rule()
    def discard(self) -> None:
        self.producer.discard()
        self.staged = []

    @rule(most=st.integers(1, 5))
    def poll(self, most: int) -> None:
        rest = [record for place in self.places for record in self.left(place, self.next[place])]
        rest.sort(key=lambda each: (each.timestamp, self.inputs.index(each.topic), each.partition, each.offset))
        expected = rest[:most]
        polled = list[Record]()
        until = time.monotonic() + PATIENCE
        while len(polled) < len(expected) and time.monotonic() < until:
            polled += self.consumer.poll(len(expected) - len(polled), timeout=1.0)
        assert polled == expected
        assert len(rest) > len(polled) or self.consumer.poll(most, timeout=0.0) == []
        for record in polled:
            self.next[Partition(*record[:2])] = record.offset + 1
            self.consumer.append(self.out.topic, record.value, partition=0)
            self.outputs.append(record.value)

    @rule()
    def commit(self) -> None:
        written = commit(self.consumer, self.next)
        self.positions = dict(self.next)
        self.note([(self.out, value) for value in self.outputs], written)
        self.outputs = []

    @rule()
    def restart(self) -> None:
        self.consumer.close()
        self.open_consumer()

    @rule(place=places, share=st.floats(0.0, 1.0))
    def seek(self, place: int, share: float) -> None:
        partition = self.places[place]
        self.next[partition] = self.offset(partition, int(share * len(self.records[partition])))
        self.consumer.seek({partition: self.next[partition]})

    @rule(place=places, before=st.integers(0, 10))
    def trim(self, place: int, before: int) -> None:
        partition = self.places[place]
        offset = min(self.offset(partition, before), self.positions[partition])
        self.producer.trim({partition: self.offset(partition, before)})
        self.removed[partition] = max(self.removed[partition], offset)

    @rule(place=places, index=st.integers(0, 10), most=st.integers(1, 5))
    def read(self, place: int, index: int, most: int) -> None:
        partition = self.places[place]
        offset = self.offset(partition, index)
        assert self.consumer.read(*partition, offset, most) == self.left(partition, offset)[:most]

    @invariant()
    def positions_and_places_are_as_committed(self) -> None:
        assert self.consumer.committed() == self.positions
        for place in self.places:
            known = self.records[place]
            left = self.left(place)
            begin = self.producer.earliest_offsets(place.topic)[place]
            end = self.producer.end_offsets(place.topic)[place]
            assert begin <= (left[0].offset if left else end)
            assert end >= self.offset(place, len(known))
            assert all(record.offset < begin for record in known[: len(known) - len(left)])
        assert everything(self.producer, *self.out) == self.records[self.out]

    def offset(self, place: Partition, index: int) -> int:
        """That of the record of this index, or behind the last."""
        known = self.records[place]
        if index < len(known):
            return known[index].offset
        return known[-1].offset + 1 if known else 0

    def left(self, place: Partition, offset: int = 0) -> list[Record]:
        """What was not removed, from an offset on."""
        return [record for record in self.records[place] if record.offset >= max(offset, self.removed[place])]

    def note(self, written: list[tuple[Partition, bytes]], ends: Offsets) -> None:
        """The log gives times and offsets, of which none falls."""
        assert ends.keys() == {place for place, _ in written}
        for place, end in ends.items():
            known = self.records[place]
            new = self.producer.read(*place, self.offset(place, len(known)), 1000)
            assert [record.value for record in new] == [value for at, value in written if at == place]
            assert new[-1].offset == end - 1
            known += new
            assert [(each.timestamp, each.offset) for each in known] == sorted(each[3:1:-1] for each in known)

    def teardown(self) -> None:
        if hasattr(self, "logs"):
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
