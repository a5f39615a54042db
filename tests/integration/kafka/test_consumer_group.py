"""Members of a group on a real broker: assignment of partitions, and how it is reported."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from stream_bayes.records import Partition, Record
from tests.support.kafka_logs import ChildProcess, GroupReader, KafkaLogs, poll_until
from tests.support.logs import commit, poll_some, put, values

if TYPE_CHECKING:
    from tests.support.broker import Broker, RemoteBroker

pytestmark = pytest.mark.broker

PARTITIONS = 4
# No member loses a partition within a test because it was silent.
LONG: dict[str, Any] = {"session_seconds": 60.0}

# Reads as a member with a name, says what it has, and waits to be killed.
MEMBER = """
import sys
from stream_bayes.config import KafkaSettings
from stream_bayes.eventlog.kafka import KafkaLog
from tests.support.logs import wait_for_assignment
address, group, name, *topics = sys.argv[1:]
log = KafkaLog([address], group, topics, 4, KafkaSettings(session_seconds=60.0), name)
print(sorted(place.number for place in wait_for_assignment(log) if place.topic == topics[0]), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def logs(broker: Broker | RemoteBroker) -> Iterator[KafkaLogs]:
    """Logs on the broker."""
    kind = KafkaLogs(broker.address)
    yield kind
    kind.close()


@pytest.fixture
def topics(logs: KafkaLogs) -> list[str]:
    """Two topics that belong together."""
    return [logs.topic("emails"), logs.topic("labels")]


def all_of(topics: list[str]) -> frozenset[Partition]:
    return frozenset(Partition(topic, number) for topic in topics for number in range(PARTITIONS))


def shared_out(members: list[GroupReader], topics: list[str]) -> bool:
    """Whether each partition is with one member, and each member has some."""
    parts = [member.mine for member in members]
    return all(parts) and sum(map(len, parts)) == len(frozenset().union(*parts)) == len(all_of(topics))


def joined(logs: KafkaLogs, names: list[str | None], topics: list[str]) -> list[GroupReader]:
    members = [logs.member(name, *topics, partitions=PARTITIONS, **LONG) for name in names]
    poll_until(lambda: shared_out(members, topics), *members)
    return members


@pytest.mark.parametrize("names", [["a", "b"], [None, None], ["a", "b", "c"]])
def test_members_share_the_partitions_of_equal_number_together(
    logs: KafkaLogs, topics: list[str], names: list[str | None]
) -> None:
    for member in joined(logs, names, topics):
        numbers = [{place.number for place in member.mine if place.topic == topic} for topic in topics]
        assert numbers[0] == numbers[1]


def test_more_members_than_partitions(logs: KafkaLogs, topics: list[str]) -> None:
    members = [logs.member(None, topics[0], **LONG) for _ in range(2)]
    poll_until(lambda: sum(len(member.mine) for member in members) == 1 and all(m.changes for m in members), *members)
    (idle,) = (member for member in members if not member.mine)
    assert (idle.log.committed(), idle.log.lag(), idle.log.heartbeat()) == ({}, {}, frozenset())
    idle.log.seek({})
    assert idle.log.poll(10, timeout=0.0) == []


@pytest.mark.long
@pytest.mark.parametrize("names", [["a", "b"], [None, None]])
def test_a_closed_member_releases_its_partitions_at_once(
    logs: KafkaLogs, topics: list[str], names: list[str | None]
) -> None:
    one, two = joined(logs, names, topics)
    before = one.mine
    one.changes = []
    two.log.close()
    poll_until(lambda: one.mine == all_of(topics), one)
    assert one.changes == [(all_of(topics), before)]


def test_a_killed_named_member_returns_without_a_rebalance(logs: KafkaLogs, topics: list[str]) -> None:
    staying = logs.member("staying", *topics, partitions=PARTITIONS, **LONG)
    poll_until(lambda: staying.mine == all_of(topics), staying)
    with ChildProcess(MEMBER, logs.address, logs.group("readers"), "coming", *topics) as other:
        poll_until(lambda: len(staying.mine) == PARTITIONS, staying)
        had = other.says()
    staying.changes = []
    again = logs.member("coming", *topics, partitions=PARTITIONS, **LONG)
    poll_until(lambda: bool(again.changes), again)
    assert str(sorted(place.number for place in again.mine if place.topic == topics[0])) == had
    assert staying.log.heartbeat() == staying.mine == all_of(topics) - again.mine
    for _ in range(5):
        assert staying.log.poll(10, timeout=0.2) == []
    assert staying.changes == []


def test_a_reader_gets_all_assigned_and_revoked_partitions(logs: KafkaLogs, topics: list[str]) -> None:
    one = logs.member("a", *topics, partitions=PARTITIONS, **LONG)
    poll_until(lambda: bool(one.changes), one)
    assert one.changes == [(all_of(topics), frozenset())]
    two = logs.member("b", *topics, partitions=PARTITIONS, **LONG)
    poll_until(lambda: shared_out([one, two], topics), one, two)
    # What was kept through the rebalance is in both sets.
    assert one.changes[-1] == (one.mine, all_of(topics))
    assert all(later[1] == earlier[0] for member in (one, two) for earlier, later in pairwise(member.changes))
    assert two.changes[0][1] == frozenset()


def test_after_a_rebalance_no_record_is_polled_before_a_seek(logs: KafkaLogs, topics: list[str]) -> None:
    emails = topics[0]
    one = logs.member("a", emails, partitions=2, **LONG)
    for number in (0, 1):
        put(logs.open(), emails, b"first", b"second", partition=number)
    poll_until(lambda: bool(one.changes), one)
    assert one.log.poll(10, timeout=0.3) == []
    one.go_on()
    assert values(poll_some(one.log, 1)) == [b"first"]
    two = logs.member("b", emails, partitions=2, **LONG)
    # What one has fetched and not given out is forgotten.
    while len(one.mine) == 2:
        one.log.poll(1, timeout=0.05)
        two.log.poll(1, timeout=0.05)
    poll_until(lambda: shared_one(one, two), one, two)
    assert one.log.poll(10, timeout=0.3) == two.log.poll(10, timeout=0.3) == []
    for member in (one, two):
        member.go_on()
        assert values(poll_some(member.log, 10)) == [b"first", b"second"]


def shared_one(one: GroupReader, two: GroupReader) -> bool:
    return len(one.mine) == len(two.mine) == 1 and one.mine != two.mine


def test_a_busy_member_with_heartbeats_keeps_its_place_and_gets_its_losses(logs: KafkaLogs, topics: list[str]) -> None:
    one = logs.member("a", *topics, partitions=PARTITIONS, **LONG)
    poll_until(lambda: bool(one.changes), one)
    one.go_on()
    assert one.log.heartbeat() == one.mine == all_of(topics)
    two = logs.member("b", *topics, partitions=PARTITIONS, **LONG)
    left: list[frozenset[Partition]] = []

    def half() -> bool:
        left.append(one.log.heartbeat())
        return len(left[-1]) == PARTITIONS and len(two.mine) == PARTITIONS

    poll_until(half, two)
    assert left[-1] == all_of(topics) - two.mine
    # So far nothing was told.
    assert one.mine == all_of(topics)
    poll_until(lambda: len(one.mine) == PARTITIONS, one)
    assert one.changes[1:] == [(left[-1], all_of(topics))]


def test_a_beat_loses_no_record(logs: KafkaLogs, topics: list[str]) -> None:
    emails = topics[0]
    numbers = [b"%d" % number for number in range(50)]
    one = logs.member("a", emails, **LONG)
    poll_until(lambda: bool(one.changes), one)
    one.go_on()
    put(logs.open(), emails, *numbers)
    found: list[Record] = []
    while len(found) < len(numbers):
        one.log.heartbeat()
        found += poll_some(one.log, 7)
    assert values(found) == numbers


def test_positions_pass_from_one_member_to_the_next(logs: KafkaLogs, topics: list[str]) -> None:
    emails = topics[0]
    out = logs.topic("out")
    one = logs.member("a", emails, **LONG)
    poll_until(lambda: bool(one.changes), one)
    one.go_on()
    put(logs.open(), emails, b"first", b"second")
    (record,) = poll_some(one.log, 1)
    one.log.append(out, b"of first")
    commit(one.log, {Partition(emails, 0): record.offset + 1})
    one.log.close()
    two = logs.member("b", emails, **LONG)
    poll_until(lambda: bool(two.changes), two)
    two.go_on()
    assert values(poll_some(two.log, 10)) == [b"second"]
