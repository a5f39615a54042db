"""The Kafka log when processes are killed, stopped or doubled, and when they end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from stream_bayes.errors import LogConflict, LogError, LogRebalanced
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.kafka import KafkaLog
from stream_bayes.eventlog.kafka.transactions import TransactionAttempt
from tests.support.kafka_logs import ChildProcess, GroupReader, KafkaLogs, poll_until, retry_while_unavailable
from tests.support.logs import PATIENCE, commit, everything, first, poll_some, put, values

if TYPE_CHECKING:
    from tests.support.broker import Broker, RemoteBroker

pytestmark = pytest.mark.broker

SHORT: dict[str, Any] = {"session_seconds": 6.0}

# Writes in a transaction, under the name of a member, and waits to be killed before its end.
OPEN = """
import sys
from kafka import KafkaProducer
address, name, seconds, topic = sys.argv[1:]
producer = KafkaProducer(
    bootstrap_servers=address, transactional_id=name, transaction_timeout_ms=1000 * int(seconds)
)
producer.init_transactions()
producer.begin_transaction()
producer.send(topic, b"left behind", partition=0)
producer.flush()
print("open", flush=True)
sys.stdin.readline()
"""

# Commits its work on command, and prints the result.
ZOMBIE = """
import sys
from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogError
from stream_bayes.eventlog.kafka import KafkaLog
from tests.support.logs import first, poll_some, wait_for_assignment
address, group, topic, out = sys.argv[1:]
log = KafkaLog([address], group, [topic], settings=KafkaSettings(session_seconds=6.0), instance_id="zombie")
wait_for_assignment(log)
(record,) = poll_some(log, 1)
log.append(out, b"of the zombie")
print("ready", flush=True)
sys.stdin.readline()
try:
    log.commit({first(topic): record.offset + 1})
    print("written", flush=True)
except LogError as problem:
    print(type(problem).__name__, flush=True)
log.close()
"""


@pytest.fixture
def logs(broker: Broker | RemoteBroker) -> Iterator[KafkaLogs]:
    """Logs on the broker."""
    kind = KafkaLogs(broker.address)
    yield kind
    kind.close()


def left_open(logs: KafkaLogs, member: str, seconds: int, topic: str) -> None:
    """A transaction of a process that was killed, which the broker would abort after this timeout."""
    with ChildProcess(OPEN, logs.address, f"{logs.group('readers')}.{member}", str(seconds), topic) as other:
        assert other.says() == "open"


def test_a_member_with_the_name_of_a_killed_one_aborts_its_transaction(logs: KafkaLogs) -> None:
    topic = logs.create("mails")
    left_open(logs, "a", 600, topic)
    log = logs.member("a", topic).log
    log.wait_for_open_transactions(first(topic))
    assert log.end_offsets(topic)[first(topic)] > 0
    assert everything(log, topic) == []
    put(logs.open(), topic, b"kept")
    assert values(everything(log, topic)) == [b"kept"]


def test_the_broker_aborts_the_transaction_of_a_dead_member(logs: KafkaLogs) -> None:
    topic = logs.create("mails")
    left_open(logs, "a", 1, topic)
    log = logs.open()
    # The broker looks for such from time to time.
    retry_while_unavailable(lambda: log.wait_for_open_transactions(first(topic)))
    assert log.end_offsets(topic)[first(topic)] > 0
    assert everything(log, topic) == []


def test_a_zombie_changes_nothing(logs: KafkaLogs) -> None:
    topic = logs.create("mails")
    out = logs.create("out")
    put(logs.open(), topic, b"one")
    with ChildProcess(ZOMBIE, logs.address, logs.group("readers"), topic, out) as zombie:
        assert zombie.says() == "ready"
        zombie.send(signal.SIGSTOP)
        heir = logs.member("heir", topic, **SHORT)
        poll_until(lambda: bool(heir.mine), heir)
        heir.go_on()
        (record,) = poll_some(heir.log, 1)
        heir.log.append(out, b"of the heir")
        commit(heir.log, {first(topic): record.offset + 1})
        zombie.send(signal.SIGCONT)
        zombie.go_on()
        assert zombie.says() == "LogRebalanced"
        assert zombie.ended() == 0
    heir.log.wait_for_open_transactions(first(out))
    assert values(everything(heir.log, out)) == [b"of the heir"]
    assert heir.log.committed() == {first(topic): record.offset + 1}


def test_of_two_members_with_one_name_the_later_continues(logs: KafkaLogs) -> None:
    topic = logs.topic("mails")
    out = logs.topic("out")
    one = logs.member("a", topic)
    poll_until(lambda: bool(one.changes), one)
    one.go_on()
    one.log.append(out, b"of the first")
    two = logs.member("a", topic)
    poll_until(lambda: bool(two.changes), two)
    two.go_on()
    with pytest.raises((LogConflict, LogRebalanced)):
        one.log.commit({first(topic): 0})
    with pytest.raises(LogConflict, match=r"another worker has taken the place.*kafka\.instance_id"):
        poll_for_ever(one.log)
    # When it has what the first one did to it behind it.
    try:
        write_one(two, topic, out)
    except LogRebalanced:
        poll_until(lambda: len(two.changes) > 1, two)
        two.go_on()
        write_one(two, topic, out)
    assert values(everything(two.log, out)) == [b"of the second"]


def write_one(member: GroupReader, topic: str, out: str) -> None:
    member.log.append(out, b"of the second")
    commit(member.log, {first(topic): 0})


def poll_for_ever(log: Log) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        log.poll(1, timeout=0.1)


def test_a_transaction_that_was_given_up_and_yet_committed_is_not_written_again(logs: KafkaLogs) -> None:
    topic = logs.create("mails")
    log = KafkaLog([logs.address])
    log.append(topic, b"one", partition=0)
    log.append(topic, b"two", partition=0)
    ends = commit(log)
    # As if the answer to the commit had been lost.
    log._writer._doubtful = attempt = TransactionAttempt()
    attempt.ends = ends
    log._writer._unended.add(first(topic))
    log.append(topic, b"one", partition=0)
    log.append(topic, b"two", partition=0)
    assert log.commit({}) == ends
    assert values(everything(log, topic)) == [b"one", b"two"]
    # And as if a transaction had been given up whose records came to nothing.
    log._writer._doubtful = attempt = TransactionAttempt()
    attempt.ends = {first(topic): ends[first(topic)] + 1}
    log._writer._unended.add(first(topic))
    log.append(topic, b"three", partition=0)
    commit(log)
    assert values(everything(log, topic)) == [b"one", b"two", b"three"]
    log.close()


def test_a_closed_log_leaves_no_thread_behind(logs: KafkaLogs) -> None:
    before = set(threading.enumerate())
    topic = logs.topic("mails")
    member = logs.member("a", topic)
    poll_until(lambda: bool(member.changes), member)
    member.go_on()
    put(member.log, topic, b"one")
    assert values(poll_some(member.log, 1)) == [b"one"]
    assert values(everything(member.log, topic)) == [b"one"]
    member.log.append(topic, b"never written")
    member.log.close()
    # One of an earlier test may end meanwhile.
    assert set(threading.enumerate()) <= before
    with pytest.raises(LogError, match="is closed: open another one"):
        member.log.poll(1, timeout=0.0)
