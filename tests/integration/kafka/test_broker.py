"""The test broker itself: transactions end to end, and committed data that survive a kill."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.broker import Broker, RemoteBroker

pytestmark = pytest.mark.broker

Isolation = Literal["read_committed", "read_uncommitted"]
READ_SECONDS = 300.0
CLEANUP_SECONDS = 120.0

# What a test run does that is killed before it can close its broker.
ABANDON_A_BROKER = """
import os, signal
from tests.support.broker import Broker, kafka_jars
broker = Broker(kafka_jars())
broker.start()
print(broker.pid, broker.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def create_topic(address: str) -> str:
    """Create a topic of one partition under a new name and wait until it has a leader."""
    topic = f"test-{uuid.uuid4().hex}"
    with KafkaAdminClient(bootstrap_servers=address) as admin:
        options = {"num_partitions": 1, "replication_factor": 1}
        admin.create_topics({topic: options}, wait_for_metadata=True)
    return topic


def write_transactions(address: str, topic: str, *, committed: Sequence[bytes], aborted: Sequence[bytes] = ()) -> None:
    """Write one transaction that is committed and, unless it would be empty, one that is aborted."""
    with KafkaProducer(bootstrap_servers=address, transactional_id=f"writer-of-{topic}") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for value in committed:
            producer.send(topic, value)
        producer.commit_transaction()
        if aborted:
            producer.begin_transaction()
            for value in aborted:
                producer.send(topic, value)
            # An abort drops what has not been sent yet: only flushed records reach the log.
            producer.flush()
            producer.abort_transaction()


def read_all(address: str, topic: str, isolation: Isolation) -> list[bytes]:
    """Read the topic from its beginning to its end."""
    partition = TopicPartition(topic, 0)
    with KafkaConsumer(
        bootstrap_servers=address,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        values: list[bytes] = []
        deadline = time.monotonic() + READ_SECONDS
        while consumer.position(partition) < end:
            assert time.monotonic() < deadline, f"read only {len(values)} records in {READ_SECONDS:.0f} s"
            for records in consumer.poll(timeout_ms=500).values():
                values.extend(record.value for record in records)
        return values


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_read_committed_sees_exactly_the_committed_records(broker: Broker | RemoteBroker) -> None:
    topic = create_topic(broker.address)
    write_transactions(broker.address, topic, committed=[b"a", b"b"], aborted=[b"lost"])
    write_transactions(broker.address, topic, committed=[b"c"])
    assert read_all(broker.address, topic, "read_committed") == [b"a", b"b", b"c"]


def test_read_uncommitted_sees_the_aborted_records_too(broker: Broker | RemoteBroker) -> None:
    topic = create_topic(broker.address)
    write_transactions(broker.address, topic, committed=[b"a", b"b"], aborted=[b"lost"])
    assert read_all(broker.address, topic, "read_uncommitted") == [b"a", b"b", b"lost"]


@pytest.mark.long
def test_committed_records_survive_a_kill(killable_broker: Broker) -> None:
    address = killable_broker.address
    topic = create_topic(address)
    write_transactions(address, topic, committed=[b"a", b"b"], aborted=[b"lost"])
    killable_broker.kill()
    assert not killable_broker.running
    killable_broker.restart()
    assert killable_broker.address == address
    assert read_all(address, topic, "read_committed") == [b"a", b"b"]


@pytest.mark.long
def test_a_kill_under_load_tears_no_transaction(killable_broker: Broker) -> None:
    topic = create_topic(killable_broker.address)
    enough = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write_until, enough, killable_broker.address, topic)
        try:
            time.sleep(1.0)
            killable_broker.restart()
        finally:
            enough.set()
        count = written.result(READ_SECONDS)
    values = read_all(killable_broker.address, topic, "read_committed")
    assert values == [b"%d" % number for number in range(count)]


def write_until(enough: threading.Event, address: str, topic: str) -> int:
    """Write numbers, 50 in a transaction; one transaction more after it is enough. Gives how many."""
    count = 0
    last = False
    with KafkaProducer(bootstrap_servers=address, transactional_id=f"writer-of-{topic}") as producer:
        producer.init_transactions()
        while not last:
            last = enough.is_set()
            producer.begin_transaction()
            for number in range(count, count + 50):
                producer.send(topic, b"%d" % number)
            producer.commit_transaction()
            count += 50
    return count


def test_a_read_does_not_create_a_topic(killable_broker: Broker) -> None:
    with KafkaConsumer(bootstrap_servers=killable_broker.address) as consumer:
        assert not consumer.partitions_for_topic("mistyped")
    with KafkaAdminClient(bootstrap_servers=killable_broker.address) as admin:
        assert "mistyped" not in admin.list_topics()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks up processes in /proc")
@pytest.mark.long
def test_a_killed_test_run_leaves_neither_broker_nor_data(killable_broker: Broker) -> None:
    run = [sys.executable, "-W", "ignore", "-c", ABANDON_A_BROKER]
    root = Path(__file__).parents[3]
    done = subprocess.run(run, check=False, capture_output=True, text=True, timeout=120, cwd=root)
    assert done.stdout, done.stderr
    pid, folder = done.stdout.split()
    deadline = time.monotonic() + CLEANUP_SECONDS
    while Path(folder).exists():
        assert time.monotonic() < deadline, f"{folder} is still there"
        time.sleep(0.05)
    # At once: a broker that was missed ends by itself some seconds after it has lost its data.
    assert not is_alive(int(pid))
    assert killable_broker.running
