"""The Kafka log when the broker is away: what was to be written is written once, when it is back."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogRebalanced, LogUnavailable
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.kafka import KafkaLog, transactions
from stream_bayes.records import Offsets, Record
from tests.support.kafka_logs import ChildProcess, GroupReader, KafkaLogs, retry_while_unavailable
from tests.support.logs import PATIENCE, everything, first, values

if TYPE_CHECKING:
    from tests.support.broker import Broker

# The client leaves sockets to the garbage collector that could not connect.
pytestmark = pytest.mark.broker

# Cannot finish its last transaction, since the broker is gone, and ends all the same.
ENDING = """
import sys
from stream_bayes.errors import LogUnavailable
from stream_bayes.eventlog.kafka import KafkaLog, transactions
transactions._TIMEOUT_SECONDS = 1.0
address, group, topic = sys.argv[1:]
with KafkaLog([address], group or None, [topic] if group else [], instance_id=group or None) as log:
    if group:
        log.committed()
    log.append(topic, b"one")
    log.commit({})
    print("ready", flush=True)
    sys.stdin.readline()
    log.append(topic, b"two")
    try:
        log.commit({})
    except LogUnavailable:
        print("unavailable", flush=True)
print("closed", flush=True)
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit says sooner that the broker is away."""
    monkeypatch.setattr(transactions, "_TIMEOUT_SECONDS", 1.0)


def committed_at_last(log: Log, offsets: Offsets, broker: Broker | None = None) -> tuple[Offsets, int]:
    """Commit again as long as the broker is away, which is started after the first time; and how often it was."""
    until = time.monotonic() + PATIENCE
    away = 0
    while True:
        try:
            return log.commit(offsets), away
        except LogUnavailable:
            away += 1
        assert time.monotonic() < until, "the broker stays away"
        time.sleep(0.05)
        if broker is not None:
            broker.start()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("seconds", [1.0, pytest.param(5.0, marks=pytest.mark.long)])
def test_a_commit_during_an_outage_is_written_once(killable_broker: Broker, seconds: float) -> None:
    logs = KafkaLogs(killable_broker.address, KafkaSettings(transaction_seconds=seconds))
    log = logs.open()
    topic = logs.topic("mails")
    log.append(topic, b"before", partition=0)
    committed_at_last(log, {})
    killable_broker.kill()
    log.append(topic, b"one", partition=0)
    log.append(topic, b"two", partition=0)
    written, away = committed_at_last(log, {}, killable_broker)
    assert away
    retry_while_unavailable(lambda: log.wait_for_open_transactions(first(topic)))
    records = everything(log, topic)
    assert values(records) == [b"before", b"one", b"two"]
    assert written == {first(topic): records[-1].offset + 1}
    log.append(topic, b"after", partition=0)
    committed_at_last(log, {})
    assert values(everything(log, topic))[3:] == [b"after"]
    logs.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.long
def test_a_broker_killed_under_load_loses_and_doubles_nothing(killable_broker: Broker) -> None:
    enough = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        logs = KafkaLogs(killable_broker.address, KafkaSettings(transaction_seconds=2.0))
        topic = logs.create("mails")
        written = pool.submit(write_until, enough, logs, topic)
        try:
            for _ in range(2):
                time.sleep(1.0)
                killable_broker.restart()
        finally:
            enough.set()
        count = written.result(PATIENCE)
        log = logs.open()
        log.wait_for_open_transactions(first(topic))
        assert values(everything(log, topic)) == [b"%d" % number for number in range(count)]
        logs.close()


def write_until(enough: threading.Event, logs: KafkaLogs, topic: str) -> int:
    """Write numbers, 20 in a commit; one commit more after it is enough. Gives how many."""
    count = 0
    last = False
    with KafkaLog([logs.address], settings=logs.settings) as log:
        while not last:
            last = enough.is_set()
            for number in range(count, count + 20):
                log.append(topic, b"%d" % number, partition=0)
            committed_at_last(log, {})
            count += 20
    return count


@pytest.mark.usefixtures("impatient")
def test_a_group_member_continues_after_a_broker_outage(killable_broker: Broker) -> None:
    numbers = [b"%d" % number for number in range(20)]
    logs = KafkaLogs(killable_broker.address, KafkaSettings(transaction_seconds=1.0))
    topic = logs.topic("mails")
    out = logs.create("out")
    member = logs.member("a", topic)
    writer = logs.open()
    for number in numbers:
        writer.append(topic, number, partition=0)
    committed_at_last(writer, {})
    killed = False
    until = time.monotonic() + PATIENCE
    while len(retry_while_unavailable(lambda: everything(member.log, out))) < len(numbers):
        assert time.monotonic() < until, member.changes
        records = next_records(member, 5)
        for record in records:
            member.log.append(out, record.value, partition=0)
        if records and not killed:
            killable_broker.kill()
            killed = True
        try:
            if records:
                committed_at_last(member.log, {first(topic): records[-1].offset + 1}, killable_broker)
        except LogRebalanced:
            killable_broker.start()
            continue
        retry_while_unavailable(lambda: member.log.wait_for_open_transactions(first(out)))
    assert values(everything(member.log, out)) == numbers
    logs.close()


def next_records(member: GroupReader, most: int) -> list[Record]:
    """Poll; goes on where the group is when something has changed."""
    told = len(member.changes)
    try:
        records = member.log.poll(most, timeout=0.2)
        if len(member.changes) > told:
            member.go_on()
    except LogUnavailable:
        return []
    return records


@pytest.mark.long
def test_a_process_ends_with_an_unfinished_transaction_and_the_broker_gone(killable_broker: Broker) -> None:
    logs = KafkaLogs(killable_broker.address)
    address = logs.address
    topic = logs.topic("mails")
    with (
        ChildProcess(ENDING, address, "", topic) as alone,
        ChildProcess(ENDING, address, logs.group("readers"), topic) as member,
    ):
        assert [alone.says(), member.says()] == ["ready", "ready"]
        killable_broker.kill()
        for other in (alone, member):
            other.go_on()
        for other in (alone, member):
            assert [other.says(), other.says()] == ["unavailable", "closed"]
            assert other.ended() == 0
