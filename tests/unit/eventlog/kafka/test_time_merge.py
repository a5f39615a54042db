"""Parts of the Kafka log that need no broker: the order of records, the partition of a key, names for workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.cluster import ClusterMetadata
from kafka.partitioner.default import DefaultPartitioner

from stream_bayes.errors import LogError
from stream_bayes.eventlog.kafka.instance_id import InstanceIdLease
from stream_bayes.eventlog.kafka.time_merge import MergeQueue
from stream_bayes.eventlog.kafka.writer import partition_of
from stream_bayes.records import Partition, Record
from tests.support.commands import ENVIRONMENT, ROOT

TOPICS = ["emails", "labels"]
PLACES = [Partition(topic, number) for topic in TOPICS for number in range(3)]

# Takes a name, says which, and waits to be killed.
HOLD = """
import sys
from pathlib import Path
from stream_bayes.eventlog.kafka.instance_id import InstanceIdLease
slot = InstanceIdLease(Path(sys.argv[1]), *sys.argv[2:])
print(slot.instance_id, flush=True)
sys.stdin.readline()
"""


def record(place: Partition, offset: int, timestamp: int) -> Record:
    return Record(*place, offset, timestamp, None, b"")


def never(_: Partition) -> bool:
    return False


# What is fetched, as runs of records of one partition, each with its time; and how many are taken in between.
any_times = st.lists(st.integers(0, 20), min_size=1, max_size=6)
any_fetches = st.lists(st.tuples(st.sampled_from(PLACES), any_times), max_size=12)


@given(any_fetches, st.lists(st.integers(1, 7), min_size=12, max_size=12))
def test_every_record_comes_once_and_in_the_order_of_its_partition(
    fetches: list[tuple[Partition, list[int]]], takes: list[int]
) -> None:
    merger = MergeQueue(TOPICS)
    ends = defaultdict[Partition, int](int)
    taken = list[Record]()
    for (place, times), most in zip(fetches, takes, strict=False):
        merger.add(place, [record(place, ends[place] + at, time) for at, time in enumerate(times)])
        ends[place] += len(times)
        some = merger.take(most, never)
        assert len(some) == min(most, len(some) + len(merger))
        taken += some
    while rest := merger.take(5, never):
        taken += rest
    assert len(merger) == 0
    for place in PLACES:
        assert [r.offset for r in taken if r[:2] == place] == list(range(ends[place]))


@given(st.lists(st.tuples(st.sampled_from(TOPICS), st.integers(0, 9))), st.integers(1, 9))
def test_partitions_of_one_number_are_merged_by_time_and_then_by_topic(
    written: list[tuple[str, int]], most: int
) -> None:
    merger = MergeQueue(TOPICS)
    queues = {topic: sorted(time for name, time in written if name == topic) for topic in TOPICS}
    for topic, times in queues.items():
        merger.add(Partition(topic, 1), [record(Partition(topic, 1), at, time) for at, time in enumerate(times)])
    taken: list[Record] = []
    while some := merger.take(most, never):
        assert len(some) <= most
        taken += some
    places = [(r.timestamp, TOPICS.index(r.topic), r.offset) for r in taken]
    assert places == sorted(places)
    assert len(places) == len(written)


@given(any_times, any_times)
def test_a_record_waits_for_another_topic_of_its_number_and_of_no_other(mine: list[int], others: list[int]) -> None:
    merger = MergeQueue(TOPICS)
    awaited = Partition("labels", 0)
    emails = Partition("emails", 0)
    elsewhere = Partition("emails", 1)
    merger.add(emails, [record(emails, at, time) for at, time in enumerate(mine)])
    merger.add(elsewhere, [record(elsewhere, at, time) for at, time in enumerate(others)])
    taken = merger.take(100, lambda place: place == awaited)
    assert {r.partition for r in taken} == {1}
    assert len(taken) == len(others)
    label = record(awaited, 0, min(mine) - 1)
    merger.add(awaited, [label])
    # Behind the label there may be more.
    assert merger.take(100, lambda place: place == awaited) == [label]
    assert len(merger.take(100, never)) == len(mine)


def test_a_cleared_merge_is_empty() -> None:
    merger = MergeQueue(TOPICS)
    for place in PLACES:
        merger.add(place, [record(place, 7, 0)])
    assert {merger.first(place) for place in PLACES} == {7}
    merger.clear(PLACES[0])
    assert (merger.first(PLACES[0]), len(merger)) == (None, len(PLACES) - 1)
    merger.clear()
    assert (len(merger), merger.take(10, never)) == (0, [])


def test_numbers_take_turns() -> None:
    merger = MergeQueue(TOPICS)
    for place in PLACES:
        merger.add(place, [record(place, at, at) for at in range(100)])
    for _ in range(5):
        taken = merger.take(30, never)
        assert [sum(r.partition == number for r in taken) for number in range(3)] == [10, 10, 10]
    assert {merger.take(1, never)[0].partition for _ in range(3)} == {0, 1, 2}


@given(st.binary(max_size=40), st.integers(1, 50))
def test_a_key_has_the_partition_that_it_has_for_other_clients(key: bytes, count: int) -> None:
    assert partition_of(key, count) == DefaultPartitioner().partition("t", key, key, None, None, cluster(count))


def cluster(count: int) -> ClusterMetadata:
    """One with a topic t of so many partitions."""

    class Known(ClusterMetadata):  # type: ignore[misc]
        def topics(self, exclude_internal_topics: bool = True) -> set[str]:
            return {"t"}

        def partitions_for_topic(self, topic: str) -> set[int]:
            return set(range(count))

        def available_partitions_for_topic(self, topic: str) -> set[int]:
            return set(range(count))

    return Known()


@contextmanager
def holding(folder: Path, *name: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-c", HOLD, str(folder), *name]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.slow
def test_each_worker_of_a_machine_has_a_name_of_its_own(tmp_path: Path) -> None:
    with holding(tmp_path) as (_, one), holding(tmp_path) as (_, two), InstanceIdLease(tmp_path) as three:
        assert one
        assert two
        assert len({one, two, three.instance_id}) == 3


def test_the_name_of_a_worker_that_was_killed_is_free(tmp_path: Path) -> None:
    with holding(tmp_path) as (process, name):
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with InstanceIdLease(tmp_path) as slot, InstanceIdLease(tmp_path) as next_one:
            assert slot.instance_id == name != next_one.instance_id
        with InstanceIdLease(tmp_path) as again:
            assert again.instance_id == name


def test_a_name_is_given_once(tmp_path: Path) -> None:
    with holding(tmp_path, "worker") as (_, name):
        assert name == "worker"
        with pytest.raises(LogError, match=r"has the name 'worker'.*kafka\.instance_id") as refusal:
            InstanceIdLease(tmp_path, "worker")
        assert not refusal.value.retriable
        with InstanceIdLease(tmp_path, "another") as slot:
            assert slot.instance_id == "another"


def test_a_slot_may_be_closed_twice(tmp_path: Path) -> None:
    slot = InstanceIdLease(tmp_path, "worker")
    slot.close()
    slot.close()
    with InstanceIdLease(tmp_path, "worker") as again:
        assert again.instance_id == "worker"


@pytest.mark.parametrize("host", ["", "a/b", "../..", "host name", "h" * 300, "b\u00fcro", "."])
def test_any_host_name_makes_a_name_that_a_broker_takes(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    with InstanceIdLease(tmp_path) as slot:
        assert set(slot.instance_id) <= set("abcdefghijklmnopqrstuvwxyz.-_0123456789")
        assert 0 < len(slot.instance_id) <= 70
        assert [path.name for path in (tmp_path / "workers").iterdir()] == [f"{slot.instance_id}.lock"]


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "workers").write_text("not a folder")
    with pytest.raises(LogError, match="workers"):
        InstanceIdLease(tmp_path)
