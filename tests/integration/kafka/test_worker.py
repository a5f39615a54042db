"""The worker on a real broker: records that are no events, partitions that come and go, the budget of all together."""

from __future__ import annotations

import json
import random

import pytest

from tests.support.fuzzed_records import LIMITS, random_record
from tests.support.kafka_workers import CommandProcess, KafkaTestBed, Make, WorkerThread, wait_until
from tests.support.shared_log import log_fields
from tests.support.workers import all_records, events, label, observation, saved_state, stream

pytestmark = pytest.mark.broker

_BUDGET = 42
_FUZZED = 400
_OPEN_MILLISECONDS = 600_000


# Records that are no events


def test_no_record_stops_a_partition(make: Make) -> None:
    """Each is an event or a letter with its place and its content, and those behind it are read."""
    scene = make(events={"record_bytes": LIMITS.record_bytes})
    scene.feed(stream(30))
    rng = random.Random(7)
    with scene.plain_producer() as producer:
        for number in range(_FUZZED):
            record = random_record(rng)
            topic = (scene.emails, scene.labels)[number % 2]
            producer.send(topic, record.value, record.key, list(record.headers), partition=0)
        producer.send(scene.emails, None, b"a key and no value", partition=0)
    scene.feed(stream(30, 1000))
    scene.work()
    scene.check()
    topics = scene.emails, scene.labels
    inputs = {(topic, record.offset): record for topic in topics for record in all_records(scene.log, topic)}
    assert events(scene.log, scene.settings.topics.predictions)[-1]["id"] == "id-1029"
    letters = scene.letters()
    assert len({letter.code for letter in letters}) > 5
    for letter in letters:
        record = inputs[letter.topic, letter.offset]
        assert (letter.partition, letter.payload, letter.key) == (0, record.value, record.key)
    null = next(letter for letter in letters if letter.key == b"a key and no value")
    assert (null.topic, null.payload) == (scene.emails, b"")


def test_the_largest_record_that_there_can_be(make: Make) -> None:
    """Too large for a letter in a topic of the same size: the letter says where it is."""
    scene = make()
    log = scene.log
    log.ensure(scene.emails, 1)
    most = log.max_record_bytes(scene.emails)
    log.append(scene.emails, b"x" * most, partition=0)
    log.append(scene.emails, observation(1), partition=0)
    log.commit({})
    scene.work()
    (letter,) = scene.letters()
    assert (letter.topic, letter.partition, letter.offset) == (scene.emails, 0, 0)
    assert (letter.size, letter.payload) == (most, b"")
    assert f"{scene.emails}-0-0" in letter.message
    assert scene.predicted() == 1


# Partitions that come and go


@pytest.mark.long
def test_a_partition_without_a_checkpoint_is_learned_again(make: Make, worker_logs: pytest.LogCaptureFixture) -> None:
    scene = make(2)
    for number in (0, 1):
        scene.feed(stream(60, 1000 * number), number)
    first = scene.work()
    scene.check()
    for path in (scene.settings.checkpoint_folder / scene.settings.group / "partition-1").glob("*"):
        path.unlink()
    worker_logs.clear()
    for number in (0, 1):
        scene.feed(stream(20, 1000 * number + 500), number)
    scene.work()
    scene.check()
    assert log_fields(worker_logs, "no checkpoint: learning all again from the journal") == [{"partition": 1}]
    learned_again = {line["partition"]: line["events"] for line in log_fields(worker_logs, "recovered")}
    assert learned_again == {0: 0, 1: sum(first.processors[1].engine.counts.values())}


def test_a_standby_takes_over(make: Make, worker_logs: pytest.LogCaptureFixture) -> None:
    scene = make(2)
    for number in (0, 1):
        scene.feed(stream(40, 1000 * number), number)
    with WorkerThread(scene, "a") as a:
        wait_until(lambda: a.partitions == {0, 1})
        with WorkerThread(scene, "b") as b, WorkerThread(scene, "c") as c:
            wait_until(lambda: sorted(map(len, (a.partitions, b.partitions, c.partitions))) == [0, 1, 1])
            (idle,) = (one for one in (a, b, c) if not one.partitions)
            wait_until(lambda: idle.is_standby)
            busy = a if a is not idle else b
            busy.stop()
            wait_until(lambda: len(idle.partitions) == 1)
            for number in (0, 1):
                scene.feed(stream(40, 1000 * number + 500), number)
            wait_until(lambda: caught_up(scene))
    settle(scene)
    assert log_fields(worker_logs, "no partition is left for this worker: it stands by")


def settle(scene: KafkaTestBed) -> None:
    """One that ends while the group changes may leave its last checkpoint to whoever comes after it."""
    scene.work()
    scene.check()


def caught_up(scene: KafkaTestBed) -> bool:
    """Whether every e-mail was read: what comes twice is predicted once, and what is no event is not."""
    records = [
        r for place in scene.log.end_offsets(scene.emails) for r in all_records(scene.log, scene.emails, place.number)
    ]
    return scene.predicted() == len({json.loads(r.value)["id"] for r in records if r.value.startswith(b"{")})


# The end of the stream


def test_item05_the_end_is_behind_a_transaction_that_is_under_way(make: Make) -> None:
    """A worker that is killed while it forwards labels leaves one, which hides the labels behind it until it ends."""
    scene = make()
    scene.feed([("emails", observation(1)), ("emails", observation(2))])
    scene.feed([("labels", label(1, "ham"))])
    options = {"transactional_id": f"open-{scene.labels}", "transaction_timeout_ms": _OPEN_MILLISECONDS}
    with scene.plain_producer(**options) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(scene.labels, label(2, "ham"), partition=0)
        producer.flush()
        scene.feed([("labels", label(2, "spam"))])
        with CommandProcess(scene.folder, "run", "--config", scene.config, "--json", "--drain") as process:
            reason = process.wait_for("waiting for the log")["reason"]
            assert f"a transaction in {scene.labels}-0 does not end" in reason
            producer.abort_transaction()
            assert process.ended()[0] == 0
    scene.check()
    _, saved = saved_state(scene.settings)
    assert saved.scalars["model_version"] == 2


# The budget


@pytest.mark.long
def test_two_workers_share_one_budget(make: Make) -> None:
    """Each partition has its share, whoever reads it: a fourth each, and two of them one more."""
    scene = make(4, labels={"budget": _BUDGET, "max_open_requests": 1000})
    with WorkerThread(scene, "a") as a, WorkerThread(scene, "b") as b:
        wait_until(lambda: len(a.partitions) == len(b.partitions) == 2)
        assert a.partitions | b.partitions == {0, 1, 2, 3}
        for number in range(4):
            scene.feed(stream(60, 1000 * number), number)
        wait_until(lambda: caught_up(scene))
        taken = a.processors | b.processors
    settle(scene)
    shares = {number: processor.engine.selector.budget.total for number, processor in taken.items()}
    assert shares == {0: 11, 1: 11, 2: 10, 3: 10}
    topic = scene.settings.topics.label_requests
    for number, share in shares.items():
        asked = [event for event in events(scene.log, topic, number) if event["type"] == "label-request"]
        assert share is not None
        assert 0 < len(asked) <= share
