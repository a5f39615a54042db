"""Hanging transactions on a real broker: those whose end it has forgotten to mark, as after it was killed."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from kafka import KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.producer.transaction_manager import TransactionalRequestResult, TxnOffsetCommitHandler

from stream_bayes.errors import LogUnavailable
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.kafka import KafkaLog, open_transactions, writer
from stream_bayes.eventlog.kafka.open_transactions import LastTransaction, OpenTransactions
from stream_bayes.records import Partition
from tests.support.broker import Broker, kafka_jars
from tests.support.kafka_logs import KafkaLogs, poll_until, retry_while_unavailable
from tests.support.logs import everything, first, put, values, wait_for_assignment

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("killable_broker")]

BROKER_TIMES = {"message__timestamp__type": "LogAppendTime"}
TOOL_SECONDS = 120.0


@pytest.fixture(scope="module")
def forgetful_broker() -> Iterator[Broker]:
    """One that takes what is written in a transaction unasked."""
    with Broker(kafka_jars(), settings={"transaction.partition.verification.enable": "false"}) as broker:
        yield broker


@pytest.fixture
def logs(forgetful_broker: Broker) -> Iterator[KafkaLogs]:
    """Logs on the broker."""
    kind = KafkaLogs(forgetful_broker.address)
    yield kind
    kind.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that is open is looked at sooner."""
    monkeypatch.setattr(open_transactions, "_OPEN_SECONDS", 0.2)


@contextmanager
def hanging(logs: KafkaLogs, name: str, topic: str, *, committed: bool) -> Iterator[KafkaProducer]:
    """A producer whose last transaction has ended, but for the mark in partition 0, which has a record of it."""
    with KafkaProducer(bootstrap_servers=logs.address, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        # Known to the coordinator, which the transaction begins with; then unknown to it.
        producer.send(topic, b"in the other partition", partition=1)
        producer.flush()
        producer._transaction_manager._partitions_in_transaction.add(TopicPartition(topic, 0))
        producer.send(topic, b"hanging", partition=0)
        producer.flush()
        if committed:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
        log = logs.open()
        assert isinstance(log, KafkaLog)
        while not is_complete(log, name):
            time.sleep(0.01)
        yield producer


def is_complete(log: KafkaLog, name: str) -> bool:
    """Whether the last transaction of a transactional id is complete for its coordinator."""
    last = log._writer._open.describe_last(name)
    return last is not None and last.is_complete


def is_open(log: Log, topic: str) -> bool:
    """Whether a transaction is open in partition 0."""
    assert isinstance(log, KafkaLog)
    return first(topic) in log._topics.open_partitions()


@pytest.mark.parametrize("committed", [False, True])
def test_a_worker_ends_what_hangs_of_its_name_as_it_was_decided(logs: KafkaLogs, committed: bool) -> None:
    topic = logs.create("out", partitions=2, **BROKER_TIMES)
    with hanging(logs, f"{logs.group('readers')}.a", topic, committed=committed):
        assert is_open(logs.open(), topic)
    log = logs.member("a", logs.topic("mails")).log
    assert not is_open(log, topic)
    expected = [b"hanging"] if committed else []
    assert values(everything(log, topic)) == expected
    put(logs.open(), topic, b"next")
    assert values(everything(log, topic)) == [*expected, b"next"]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("of_group", [True, False])
def test_whoever_waits_for_an_aborted_transaction_that_hangs_ends_it(logs: KafkaLogs, of_group: bool) -> None:
    topic = logs.create("out", partitions=2, **BROKER_TIMES)
    name = f"{logs.group('readers')}.a" if of_group else f"writer.{uuid4().hex}"
    with hanging(logs, name, topic, committed=False):
        pass
    log = logs.member("b", logs.topic("mails")).log
    assert is_open(log, topic)
    retry_while_unavailable(lambda: log.wait_for_open_transactions(first(topic)))
    assert not is_open(log, topic)
    put(logs.open(), topic, b"next")
    assert values(everything(log, topic)) == [b"next"]


@pytest.mark.usefixtures("impatient")
def test_a_committed_transaction_that_hangs_is_left_to_its_worker(logs: KafkaLogs) -> None:
    topic = logs.create("out", partitions=2, **BROKER_TIMES)
    name = f"{logs.group('readers')}.a"
    with hanging(logs, name, topic, committed=True):
        pass
    log = logs.member("b", logs.topic("mails")).log
    with pytest.raises(LogUnavailable, match=rf"in {topic}-0 does not end.*{name}\. It was committed, so do not abort"):
        log.wait_for_open_transactions(first(topic))
    assert is_open(log, topic)
    logs.member("a", logs.topic("mails"))
    log.wait_for_open_transactions(first(topic))
    assert values(everything(log, topic)) == [b"hanging"]


@pytest.mark.long
@pytest.mark.usefixtures("impatient")
def test_the_transaction_of_another_program_is_left_to_an_operator_who_is_told_how(
    logs: KafkaLogs, forgetful_broker: Broker
) -> None:
    topic = logs.create("out", partitions=2, **BROKER_TIMES)
    put(logs.open(), topic, b"first")
    with hanging(logs, logs.topic("another program"), topic, committed=False):
        pass
    log = logs.member("b", logs.topic("mails")).log
    with pytest.raises(LogUnavailable, match=r"It was aborted\. An operator has to end it") as caught:
        log.wait_for_open_transactions(first(topic))
    command = re.search(r"kafka-transactions\.sh (.*)", str(caught.value))
    assert command is not None
    java = forgetful_broker._java("org.apache.kafka.tools.TransactionsCommand", *command[1].split())
    subprocess.run(java, check=True, capture_output=True, timeout=TOOL_SECONDS)
    retry_while_unavailable(lambda: log.wait_for_open_transactions(first(topic)))
    assert values(everything(log, topic)) == [b"first"]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("member", ["a", "b"])
def test_what_may_not_be_the_last_transaction_is_not_ended(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch, member: str
) -> None:
    """The coordinator knows the end of the last one only."""
    if member == "a":
        monkeypatch.setattr(open_transactions, "_CLOCK_MILLISECONDS", 0)
    topic = logs.create("out", partitions=2, **BROKER_TIMES)
    with hanging(logs, f"{logs.group('readers')}.a", topic, committed=True) as producer:
        # The broker counts in milliseconds.
        time.sleep(0.01)
        producer.begin_transaction()
        producer.send(topic, b"another", partition=1)
        producer.flush()
        producer.abort_transaction()
    with pytest.raises(LogUnavailable, match="It is not known whether it was committed") as caught:
        logs.member(member, logs.topic("mails")).log.wait_for_open_transactions(first(topic))
    assert f"abort --topic {topic} --partition 0 --start-offset 0" in str(caught.value)
    assert is_open(logs.open(), topic)


def test_times_of_the_sender_decide_nothing(logs: KafkaLogs) -> None:
    topic = logs.create("out", partitions=2, message__timestamp__type="CreateTime")
    with hanging(logs, f"{logs.group('readers')}.a", topic, committed=True):
        pass
    with pytest.raises(LogUnavailable, match="It is not known whether it was committed"):
        logs.member("a", logs.topic("mails"))
    assert is_open(logs.open(), topic)


@pytest.mark.parametrize("committed", [False, True])
def test_a_transaction_without_an_end_marker_is_ended_before_the_next(logs: KafkaLogs, committed: bool) -> None:
    topic = logs.create("out", partitions=2)
    mails = logs.topic("mails")
    member = logs.member("a", mails)
    put(logs.open(), mails, b"mail")
    poll_until(lambda: bool(member.changes), member)
    member.go_on()
    put(member.log, topic, b"one")
    _leave_open(member.log, topic, mails, committed)
    assert values(everything(member.log, topic)) == [b"one"]
    # As after a commit that failed.
    member.log._writer._transactions.close()
    member.log._writer._unended.add(first(topic))
    member.log._writer.prepare()
    member.log.wait_for_open_transactions(first(topic))
    assert values(everything(member.log, topic)) == [b"one", *([b"two"] if committed else [])]
    assert member.log.committed() == {first(mails): int(committed)}


@pytest.mark.parametrize("committed", [False, True])
def test_a_position_without_an_end_marker_is_ended_before_the_next_transaction(
    logs: KafkaLogs, committed: bool
) -> None:
    topic = logs.create("out", partitions=2)
    mails = logs.topic("mails")
    member = logs.member("a", mails)
    put(logs.open(), mails, b"mail")
    poll_until(lambda: bool(member.changes), member)
    member.go_on()
    put(member.log, topic, b"one")
    _leave_open(member.log, topic, mails, committed, has_record=False)
    member.log._writer.prepare()
    assert member.log.committed() == {first(mails): int(committed)}


def test_a_position_of_a_transaction_that_was_about_to_end_is_ended_too(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its other partitions are marked, and the coordinator has not noted that it is complete."""
    topic = logs.create("out", partitions=2)
    mails = logs.topic("mails")
    member = logs.member("a", mails)
    put(logs.open(), mails, b"mail")
    poll_until(lambda: bool(member.changes), member)
    member.go_on()
    put(member.log, topic, b"one")
    _leave_open(member.log, topic, mails, committed=True, has_record=False)
    describe_last = OpenTransactions.describe_last

    def about_to_end(transactions: OpenTransactions, name: str) -> LastTransaction | None:
        last = describe_last(transactions, name)
        assert last is not None
        return last._replace(is_complete=False, places=frozenset())

    monkeypatch.setattr(OpenTransactions, "describe_last", about_to_end)
    member.log._writer.prepare()
    assert member.log.committed() == {first(mails): 1}


def test_the_end_of_a_slow_commit_is_marked_again(logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_SLOW_SECONDS", 0.0)
    topic = logs.create("out", partitions=2)
    log = logs.open()
    put(log, topic, b"one")
    _hide_partition(log, topic, monkeypatch)
    log.append(topic, b"two", partition=0)
    log.append(topic, b"in the other partition", partition=1)
    log.commit({})
    assert not is_open(log, topic)
    assert values(everything(log, topic)) == [b"one", b"two"]


def test_a_slow_commit_whose_end_cannot_be_marked_again_is_not_written_twice(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = logs.create("out", partitions=2)
    log = logs.open()
    assert isinstance(log, KafkaLog)
    put(log, topic, b"one")
    _hide_partition(log, topic, monkeypatch)
    log.append(topic, b"two", partition=0)
    log.append(topic, b"in the other partition", partition=1)
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_SLOW_SECONDS", 0.0)
        patch.setattr(log._writer, "_still_there", _raise_unavailable)
        with pytest.raises(LogUnavailable, match="not finished in time"):
            log.commit({})
    assert is_open(log, topic)
    ends = log.commit({})
    assert not is_open(log, topic)
    records = everything(log, topic)
    assert values(records) == [b"one", b"two"]
    assert ends[first(topic)] == records[-1].offset + 1


@pytest.mark.usefixtures("impatient")
def test_a_committed_transaction_of_a_writer_is_ended_by_an_operator_who_is_told_how(logs: KafkaLogs) -> None:
    topic = logs.create("out", partitions=2, **BROKER_TIMES)
    with hanging(logs, f"writer.{uuid4().hex}", topic, committed=True):
        pass
    log = logs.open()
    with pytest.raises(LogUnavailable, match="It was committed, so do not abort it") as caught:
        log.wait_for_open_transactions(first(topic))
    program = re.search(r"in Python: (.*)", str(caught.value))
    assert program is not None
    exec(program[1])
    log.wait_for_open_transactions(first(topic))
    assert values(everything(log, topic)) == [b"hanging"]


@pytest.mark.usefixtures("impatient")
def test_an_open_transaction_of_a_producer_that_may_not_be_seen_is_not_called_hanging(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = logs.create("out", partitions=2, **BROKER_TIMES)
    log = logs.open()
    assert isinstance(log, KafkaLog)
    monkeypatch.setattr(log._writer._open, "_last_of", lambda producer_id: None)
    with KafkaProducer(bootstrap_servers=logs.address, transactional_id=logs.topic("another program")) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"open", partition=0)
        producer.flush()
        with pytest.raises(LogUnavailable, match=r"This user may not see the producer.* find-hanging") as caught:
            log.wait_for_open_transactions(first(topic))
        producer.abort_transaction()
    assert " abort " not in str(caught.value)


@pytest.mark.usefixtures("impatient")
def test_a_transaction_of_a_group_whose_name_begins_with_this_one_is_left_to_an_operator(logs: KafkaLogs) -> None:
    topic = logs.create("out", partitions=2, **BROKER_TIMES)
    mails = logs.topic("mails")
    other_group = f"{logs.group('readers')}.other"
    wait_for_assignment(logs.open(other_group, [mails]))
    with hanging(logs, f"{other_group}.a", topic, committed=False):
        pass
    with pytest.raises(LogUnavailable, match=r"It was aborted\. An operator has to end it"):
        logs.member("b", mails).log.wait_for_open_transactions(first(topic))


def _hide_partition(log: Log, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the coordinator not know that the next transaction writes in partition 0."""
    assert isinstance(log, KafkaLog)
    producer = log._writer._transactions._producer
    assert producer is not None
    manager = producer._transaction_manager
    add = manager.maybe_add_partition_to_transaction
    hidden = {TopicPartition(topic, 0)}

    def add_unless_hidden(tp: TopicPartition) -> None:
        if tp in hidden:
            hidden.remove(tp)
            manager._partitions_in_transaction.add(tp)
        else:
            add(tp)

    monkeypatch.setattr(manager, "maybe_add_partition_to_transaction", add_unless_hidden)


def _raise_unavailable() -> set[Partition]:
    message = "the broker is away"
    raise LogUnavailable(message)


def _leave_open(log: KafkaLog, topic: str, mails: str, committed: bool, *, has_record: bool = True) -> None:
    """A record and a position of a transaction that has ended, of which their partitions do not know."""
    producer = log._writer._transactions._producer
    member = log._member
    assert producer is not None
    assert member is not None
    manager = producer._transaction_manager
    producer.begin_transaction()
    manager.maybe_add_partition_to_transaction(TopicPartition(topic, 1))
    if has_record:
        manager._partitions_in_transaction.add(TopicPartition(topic, 0))
        producer.send(topic, b"two", partition=0)
    else:
        producer.send(topic, b"in the other partition", partition=1)
    producer.flush()
    positions = {TopicPartition(mails, 0): OffsetAndMetadata(1, "", -1)}
    manager._pending_txn_offset_commits.update(positions)
    handler = TxnOffsetCommitHandler(manager, member.membership, positions, TransactionalRequestResult())
    manager._enqueue_request(handler)
    producer._sender.wakeup()
    handler.result.wait()
    if committed:
        producer.commit_transaction()
    else:
        producer.abort_transaction()
