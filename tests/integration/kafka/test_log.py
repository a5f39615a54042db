"""The Kafka log on a real broker: what it reads, which is more than what it writes itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogError, LogGap
from stream_bayes.eventlog.base import Log, records_from
from stream_bayes.eventlog.kafka import KafkaLog
from stream_bayes.records import Partition, Record
from tests.support.kafka_logs import GroupReader, KafkaLogs, plain_producer, poll_until
from tests.support.logs import everything, first, poll_all, poll_some, put, values

if TYPE_CHECKING:
    from tests.support.broker import Broker, RemoteBroker

pytestmark = pytest.mark.broker

NUMBERS = [b"%d" % number for number in range(10)]


@pytest.fixture
def logs(broker: Broker | RemoteBroker) -> Iterator[KafkaLogs]:
    """Logs on the broker."""
    kind = KafkaLogs(broker.address)
    yield kind
    kind.close()


def write(address: str, topic: str, *records: dict[str, Any], **options: Any) -> None:
    """Records of a client that is not ours, without a transaction."""
    with plain_producer(address, **options) as producer:
        for record in records:
            producer.send(topic, partition=0, **record)
        producer.flush()


def abort(logs: KafkaLogs, topic: str, *lost: bytes) -> None:
    """A transaction that comes to nothing."""
    with plain_producer(logs.address, transactional_id=f"aborts-{topic}") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for value in lost:
            producer.send(topic, value, partition=0)
        producer.flush()
        producer.abort_transaction()


@pytest.fixture
def with_gaps(logs: KafkaLogs) -> str:
    """A topic with each of NUMBERS in a transaction of its own, and others in between that came to nothing."""
    topic = logs.create("mails")
    writer = logs.open()
    for at, value in enumerate(NUMBERS):
        put(writer, topic, value)
        if at % 4 == 0:
            abort(logs, topic, b"lost", b"lost too")
    abort(logs, topic, b"lost at the end")
    writer.wait_for_open_transactions(first(topic))
    return topic


def read(log: Log, topic: str, offset: int, most: int = 100) -> list[bytes]:
    return values(log.read(topic, 0, offset, most))


def test_offsets_have_gaps_and_records_come_without(logs: KafkaLogs, with_gaps: str) -> None:
    log = logs.open()
    records = everything(log, with_gaps)
    assert values(records) == NUMBERS
    assert all(later.offset > earlier.offset + 1 for earlier, later in pairwise(records))
    assert list(records_from(log, first(with_gaps))) == records
    assert list(records_from(log, first(with_gaps), records[3].offset + 1)) == records[4:]
    reader = logs.reader(with_gaps)
    assert poll_all(reader, 3) == records
    assert reader.lag() == {first(with_gaps): 0}


def test_a_read_within_a_gap_returns_the_records_after_it(logs: KafkaLogs, with_gaps: str) -> None:
    log = logs.open()
    records = everything(log, with_gaps)
    end = log.end_offsets(with_gaps)[first(with_gaps)]
    assert end > records[-1].offset + 2
    for offset in range(end + 1):
        following = [record for record in records if record.offset >= offset][:2]
        assert log.read(with_gaps, 0, offset, 2) == following
    for offset in reversed(range(end)):
        assert log.read(with_gaps, 0, offset, 1) == [record for record in records if record.offset >= offset][:1]


def test_a_read_over_aborted_records_finds_what_was_committed_meanwhile(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = logs.create("mails")
    abort(logs, topic, b"lost")
    log = logs.open()
    assert isinstance(log, KafkaLog)
    log.wait_for_open_transactions(first(topic))
    fetch = log._reader._fetch
    left = [b"next"]

    def fetch_before_a_commit(course: Any, most: int) -> None:
        fetch(course, most)
        while left:
            put(logs.open(), topic, left.pop())

    monkeypatch.setattr(log._reader, "_fetch", fetch_before_a_commit)
    assert values(log.read(topic, 0, 0, 10)) == [b"next"]
    assert log.read(topic, 0, log.end_offsets(topic)[first(topic)], 10) == []


def test_a_topic_with_only_aborted_records(logs: KafkaLogs) -> None:
    topic = logs.create("mails")
    abort(logs, topic, b"lost")
    log = logs.reader(topic)
    log.wait_for_open_transactions(first(topic))
    assert log.end_offsets(topic)[first(topic)] > 0
    assert everything(log, topic) == list(records_from(log, first(topic))) == poll_all(log) == []
    put(logs.open(), topic, b"kept")
    assert values(poll_some(log, 10)) == [b"kept"]


def test_uncommitted_records_are_not_read(logs: KafkaLogs) -> None:
    topic = logs.create("mails")
    put(logs.open(), topic, b"one")
    reader = logs.reader(topic)
    log = logs.open()
    end = log.end_offsets(topic)
    with plain_producer(logs.address, transactional_id=f"open-{topic}") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"two", partition=0)
        producer.flush()
        assert log.end_offsets(topic) == end
        assert (read(log, topic, 0), values(poll_all(reader))) == ([b"one"], [b"one"])
        producer.commit_transaction()
    assert values(poll_some(reader, 10)) == [b"two"]
    assert read(log, topic, 0) == [b"one", b"two"]


def test_records_of_other_clients(logs: KafkaLogs) -> None:
    topic = logs.create("mails")
    other = confluent_kafka.Producer({"bootstrap.servers": logs.address})
    other.produce(topic, value=None, key=b"k")
    other.produce(topic, value=b"", key=b"")
    other.produce(topic, value=b"v", headers=[("empty", None), ("full", b"x"), ("full", b"y")])
    other.flush()
    found = [record[4:] for record in polled_all(logs.reader(topic), 3)]
    assert found == [
        (b"k", b"", ()),
        (b"", b"", ()),
        (None, b"v", (("empty", b""), ("full", b"x"), ("full", b"y"))),
    ]
    assert [record[4:] for record in everything(logs.open(), topic)] == found


def polled_all(log: Log, count: int) -> list[Record]:
    records: list[Record] = []
    while len(records) < count:
        more = poll_some(log, count - len(records))
        assert more, f"only {len(records)} records came"
        records += more
    return records


@pytest.mark.parametrize("codec", ["gzip", "lz4", "snappy", "zstd"])
def test_item06_compressed_records_are_read(logs: KafkaLogs, codec: str) -> None:
    topic = logs.create("mails")
    expected = [value * 1000 for value in NUMBERS]
    other = confluent_kafka.Producer({"bootstrap.servers": logs.address, "compression.type": codec, "linger.ms": 50})
    for value in expected:
        other.produce(topic, value)
    other.flush()
    assert values(everything(logs.open(), topic)) == expected
    assert values(polled_all(logs.reader(topic), len(NUMBERS))) == expected


def times(records: Sequence[Record]) -> list[int]:
    return [record.timestamp for record in records]


def test_producer_timestamps_are_kept_and_so_is_the_order_of_a_partition(logs: KafkaLogs) -> None:
    emails, labels = (logs.create(name, message__timestamp__type="CreateTime") for name in ("emails", "labels"))
    # Records of long ago would be removed.
    now = int(1000 * time.time())
    falling = [5, 3, 4, 1]
    write(logs.address, emails, *({"value": b"e%d" % at, "timestamp_ms": now + at} for at in falling))
    write(logs.address, labels, *({"value": b"l%d" % at, "timestamp_ms": now + at} for at in (2, 4)))
    reader = logs.reader(emails, labels)
    records = polled_all(reader, 6)
    assert values(records) == [b"l2", b"l4", b"e5", b"e3", b"e4", b"e1"]
    assert times(everything(reader, emails)) == [now + at for at in falling]
    assert not reader.has_log_append_time(emails)
    own = logs.topic("own")
    put(logs.open(), own, b"")
    assert reader.has_log_append_time(own)


def test_topics_are_merged_by_time(logs: KafkaLogs) -> None:
    emails = logs.topic("emails")
    labels = logs.topic("labels")
    writer = logs.open()
    for at in range(30):
        put(writer, labels if at % 3 == 0 else emails, b"%d" % at)
    reader = logs.reader(emails, labels)
    assert values(polled_all(reader, 30)) == [b"%d" % at for at in range(30)]


def test_a_record_that_is_too_large(logs: KafkaLogs) -> None:
    topic = logs.create("mails", max__message__bytes="20000")
    log = logs.open()
    log.append(topic, b"fits")
    most = log.max_record_bytes(topic)
    with pytest.raises(LogError, match="too large for a log: at most") as refusal:
        log.append(topic, bytes(most + 1))
    assert not refusal.value.retriable
    log.append(topic, bytes(most), partition=0)
    log.commit({})
    log.wait_for_open_transactions(first(topic))
    assert [len(value) for value in values(everything(log, topic))] == [4, most]


def test_a_limit_that_was_lowered_meanwhile(logs: KafkaLogs) -> None:
    topic = logs.create("mails")
    log = logs.open()
    log.append(topic, bytes(100_000))
    with KafkaAdminClient(bootstrap_servers=logs.address) as admin:
        configure(admin, topic, "max.message.bytes", "20000")
    with pytest.raises(LogError, match=r"larger than the topic|MessageSizeTooLarge|RecordListTooLarge") as refusal:
        log.commit({})
    assert not refusal.value.retriable
    log.discard()
    put(log, topic, b"small")
    assert values(everything(log, topic)) == [b"small"]


def configure(admin: KafkaAdminClient, topic: str, name: str, value: str) -> None:
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})])


def test_a_missing_topic_that_may_not_be_made(logs: KafkaLogs) -> None:
    forbids = KafkaLogs(logs.address, KafkaSettings(create_topics=False))
    topic = logs.topic("mails")
    with pytest.raises(LogError, match=rf"no topic '{topic}'.*kafka\.create_topics.*LogAppendTime") as refusal:
        forbids.open(forbids.group("g"), [topic])
    assert not refusal.value.retriable
    log = forbids.open()
    with pytest.raises(LogError, match="create_topics"):
        log.append(topic, b"")
    assert log.end_offsets(topic) == {}
    forbids.close()


@pytest.fixture
def at_five(logs: KafkaLogs) -> tuple[str, GroupReader]:
    """A topic with NUMBERS, and a member whose group stands behind the fifth of them."""
    topic = logs.topic("mails")
    member = logs.member("a", topic)
    put(logs.open(), topic, *NUMBERS)
    poll_until(lambda: bool(member.changes), member)
    member.go_on()
    fifth = polled_all(member.log, 5)[4]
    member.log.commit({first(topic): fifth.offset + 1})
    return topic, member


def delete_before(logs: KafkaLogs, topic: str, offset: int) -> None:
    """What the broker does to old records, whoever still needs them."""
    with KafkaAdminClient(bootstrap_servers=logs.address) as admin:
        admin.delete_records({TopicPartition(topic, 0): offset})


def test_a_trim_takes_nothing_that_a_group_needs(logs: KafkaLogs, at_five: tuple[str, GroupReader]) -> None:
    topic, member = at_five
    place = first(topic)
    at = member.log.committed()[place]
    logs.open().trim({place: at + 3})
    assert member.log.earliest_offsets(topic) == {place: at}
    assert values(everything(member.log, topic)) == NUMBERS[5:]


def test_a_gap_is_reported_with_the_next_offset(logs: KafkaLogs, at_five: tuple[str, GroupReader]) -> None:
    topic, member = at_five
    place = first(topic)
    at = member.log.committed()[place]
    delete_before(logs, topic, at + 3)
    with pytest.raises(LogGap, match=rf"{topic}-0 begins at offset {at + 3} now, and {at} to") as gap:
        member.go_on()
    assert (gap.value.topic, gap.value.partition, gap.value.wanted, gap.value.begins) == (topic, 0, at, at + 3)
    assert not gap.value.retriable
    member.log.seek({place: gap.value.begins})
    assert values(poll_some(member.log, 100)) == NUMBERS[8:]


def test_a_gap_that_appears_during_reading(logs: KafkaLogs) -> None:
    topic = logs.topic("mails")
    member = logs.member("a", topic)
    put(logs.open(), topic, *NUMBERS)
    poll_until(lambda: bool(member.changes), member)
    member.log.seek({first(topic): 2})
    delete_before(logs, topic, 5)
    with pytest.raises(LogGap, match="begins at offset 5 now, and 2 to 4") as gap:
        poll_some(member.log, 100)
    member.log.seek({first(topic): gap.value.begins})
    assert values(poll_some(member.log, 100)) == NUMBERS[5:]


def test_a_first_start_on_a_topic_that_begins_late_is_no_gap(logs: KafkaLogs) -> None:
    topic = logs.topic("mails")
    put(logs.open(), topic, *NUMBERS)
    delete_before(logs, topic, 4)
    member = logs.member("a", topic)
    poll_until(lambda: bool(member.changes), member)
    assert member.log.committed() == {first(topic): 0}
    member.go_on()
    assert values(poll_some(member.log, 100)) == NUMBERS[4:]
    assert values(poll_all(logs.reader(topic, group="others"))) == NUMBERS[4:]


def test_a_read_skips_removed_records(logs: KafkaLogs) -> None:
    topic = logs.topic("mails")
    log = logs.open()
    put(log, topic, *NUMBERS)
    assert read(log, topic, 1, 1) == NUMBERS[1:2]
    delete_before(logs, topic, 6)
    assert read(logs.open(), topic, 0) == read(logs.open(), topic, 3) == NUMBERS[6:]
    assert values(list(records_from(logs.open(), first(topic)))) == NUMBERS[6:]
    assert log.earliest_offsets(topic) == {first(topic): 6}


def test_a_recreated_topic_is_noticed(logs: KafkaLogs, at_five: tuple[str, GroupReader]) -> None:
    topic, member = at_five
    at = member.log.committed()
    with KafkaAdminClient(bootstrap_servers=logs.address) as admin:
        admin.delete_topics([topic])
        poll_until(lambda: topic not in admin.list_topics())
    logs.create("mails")
    log = logs.open()
    poll_until(lambda: log.end_offsets(topic) == {Partition(topic, 0): 0})
    with pytest.raises(LogError, match=r"ends at offset 0.*Is this the log that the position was taken from\?"):
        member.log.seek(at)
