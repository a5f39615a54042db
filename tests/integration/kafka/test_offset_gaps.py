"""Records that were removed before they were read, and recreated topics: reported, never ignored."""

from __future__ import annotations

from typing import Any

import pytest
from kafka import OffsetAndMetadata, TopicPartition

from stream_bayes.errors import LogError, LogGap, RecoveryError
from stream_bayes.eventlog.kafka import connection
from stream_bayes.records import Offsets, Partition
from stream_bayes.runtime import Worker
from tests.support.kafka_workers import KafkaTestBed, Make, WorkerThread, wait_until
from tests.support.shared_log import log_fields
from tests.support.workers import all_records, assert_same, events, label, observation, state, stream

pytestmark = pytest.mark.broker

GO_ON: dict[str, Any] = {"kafka": {"on_offset_gap": "earliest"}}
_LARGE = b'{"id": "%d", "text": "' + 2000 * b"word " + b'"}'


def emails(count: int, first: int = 0) -> list[tuple[str, bytes]]:
    """Only those."""
    return [("emails", observation(number, ("ham", "spam")[number % 2])) for number in range(first, first + count)]


def ends(scene: KafkaTestBed, topic: str) -> int:
    return sum(scene.log.end_offsets(topic).values())


def assert_recovers(scene: KafkaTestBed, expected: Worker) -> None:
    """A worker that starts now knows what another one knew when it ended."""
    with scene.open() as log:
        worker = Worker(scene.settings, log)
        assert worker.recover()
        for number, processor in expected.processors.items():
            assert_same(state(worker.processors[number].engine), state(processor.engine))
            assert worker.processors[number].positions == processor.positions
        assert worker.processors.keys() == expected.processors.keys()


def runs(scene: KafkaTestBed, partition: int = 0) -> list[list[Any]]:
    """What the journal has, in order."""
    return [run for entry in events(scene.log, scene.settings.journal, partition) for run in entry["ranges"]]


# Records that are gone


def test_records_that_retention_removed_unread_are_a_gap(make: Make, worker_logs: pytest.LogCaptureFixture) -> None:
    scene = make()
    scene.feed(emails(20))
    scene.work()
    read = ends(scene, scene.emails)
    scene.feed(emails(40, 100))
    scene.remove_before(scene.emails, read + 30)
    begins = f"{scene.emails}-0 begins at offset {read + 30} now, and [0-9]+ to {read + 29} were not read yet"
    for _ in range(2):
        with pytest.raises(LogGap, match=begins):
            scene.work()
    assert scene.predicted() == 20
    other = scene.with_settings(**GO_ON)
    worker_logs.clear()
    worker = other.work()
    (lost,) = log_fields(worker_logs, "records were removed before they were read")
    (letter,) = scene.letters()
    assert letter.code == "lost-records"
    assert (letter.topic, letter.partition, letter.offset) == (scene.emails, 0, lost["from"])
    assert letter.message == f"the records {lost['from']} to {read + 29} were removed before they were read"
    assert read - 1 <= lost["from"] <= read
    assert [scene.emails, 0, read + 30] in [run[:3] for run in runs(scene)]
    assert scene.predicted() == 20 + sum(1 for _ in all_records(scene.log, scene.emails))
    assert_recovers(other, worker)
    assert_recovers(scene, worker)
    scene.forget_checkpoints()
    with pytest.raises(
        RecoveryError, match=rf"{scene.emails}-0 no longer has the records 0 to .* stream-bayes rebuild"
    ):
        scene.work()


@pytest.mark.long
def test_a_gap_in_the_journal_is_processed_again(make: Make) -> None:
    """Labels that were not read are lost; all mails are there, so the model can be rebuilt."""
    scene = make(**GO_ON)
    scene.feed(stream(20))
    scene.feed([("labels", label(1, "ham"))])
    scene.work()
    for first in (100, 200):
        scene.feed([*emails(10, first), *[("labels", label(number, "spam")) for number in range(10, 20)]])
        scene.remove_before(scene.labels, ends(scene, scene.labels) - 4)
        worker = scene.work()
        assert_recovers(scene, worker)
    assert [letter.topic for letter in scene.letters() if letter.code == "lost-records"] == 2 * [scene.labels]


@pytest.mark.long
def test_records_that_are_removed_while_they_are_read(
    make: Make, monkeypatch: pytest.MonkeyPatch, worker_logs: pytest.LogCaptureFixture
) -> None:
    """What was gathered and not committed is lost with what was never seen, and the letter says both."""
    monkeypatch.setattr(connection, "_FETCH_BYTES", 15_000)
    scene = make(commit={"events": 4, "milliseconds": 10_000}, **GO_ON)
    scene.feed([("emails", _LARGE % number) for number in range(60)], at_once=2)
    offsets = [record.offset for record in all_records(scene.log, scene.emails)]
    with scene.open() as log:
        commit = log.commit
        commits = 0

        def commit_and_remove(positions: Offsets) -> Offsets:
            nonlocal commits
            commits += 1
            written = commit(positions)
            if commits == 2:
                scene.remove_before(scene.emails, offsets[50])
            return written

        monkeypatch.setattr(log, "commit", commit_and_remove)
        worker = Worker(scene.settings, log)
        worker.run(drain=True)
    (letter,) = scene.letters()
    assert (letter.code, letter.topic) == ("lost-records", scene.emails)
    assert letter.message == f"the records {letter.offset} to {offsets[50] - 1} were removed before they were read"
    assert offsets[7] < letter.offset < offsets[50]
    ids = [int(event["id"]) for event in events(scene.log, scene.settings.topics.predictions)]
    assert ids == [number for number in range(60) if not letter.offset <= offsets[number] < offsets[50]]
    assert len(log_fields(worker_logs, "records were removed before they were read")) == 1
    assert_recovers(scene, worker)


@pytest.mark.long
def test_a_group_that_is_new_has_lost_nothing(make: Make) -> None:
    """Not at its first start, and not later, when it has read one topic and found nothing yet in the other."""
    scene = make()
    scene.feed([*emails(10), *[("labels", label(number, "spam")) for number in range(10)]])
    for topic in (scene.emails, scene.labels):
        scene.remove_before(topic, ends(scene, topic))
    scene.work()
    scene.feed(emails(10, 100))
    worker = scene.work()
    assert scene.predicted() == 10
    assert scene.letters() == []
    assert_recovers(scene, worker)
    scene.check()
    scene.forget_checkpoints()
    assert_recovers(scene, worker)
    scene.feed([("labels", label(101, "ham"))])
    scene.work()
    scene.check()


# Topics that are not fit, or are others by now


def test_a_compacted_topic(make: Make, worker_logs: pytest.LogCaptureFixture) -> None:
    scene = make()
    scene.create(scene.emails, **{"cleanup.policy": "compact"})
    with pytest.raises(LogError, match=f"'{scene.emails}' is compacted: .* Set its cleanup.policy to delete"):
        scene.work()
    scene.with_settings(**GO_ON).work()
    (warned,) = log_fields(worker_logs, "a model cannot be made again from its inputs")
    assert f"'{scene.emails}' is compacted" in warned["reason"]


@pytest.mark.long
def test_topics_with_producer_timestamps_give_a_warning(make: Make, worker_logs: pytest.LogCaptureFixture) -> None:
    scene = make()
    scene.create(scene.emails, **{"message.timestamp.type": "CreateTime"})
    scene.feed(stream(10))
    with WorkerThread(scene, "a") as a:
        wait_until(lambda: a.partitions == {0})
        with WorkerThread(scene, "b") as b:
            wait_until(lambda: b.is_standby or a.is_standby)
    warned = log_fields(worker_logs, "whoever sends a record says when it came")
    assert [line["topic"] for line in warned] == 2 * [scene.emails], "once by each worker"


@pytest.mark.long
def test_a_topic_that_was_made_again(make: Make) -> None:
    scene = make()
    scene.feed(stream(20))
    before = scene.work().processors[0].positions[Partition(scene.emails, 0)]
    positions = {TopicPartition(scene.emails, 0): OffsetAndMetadata(before, "", -1)}
    with scene.admin() as admin:
        admin.delete_topics([scene.emails])
        wait_until(lambda: not scene.log.end_offsets(scene.emails))
    scene.create(scene.emails)
    with pytest.raises(RecoveryError, match="one of them was changed from outside"):
        scene.work()
    with scene.admin() as admin:
        admin.alter_group_offsets(scene.settings.group, positions)
    with pytest.raises(LogError, match=r"ends at offset 0, so [0-9]+ cannot be a position in it. Is this the log"):
        scene.work()


@pytest.mark.long
def test_a_topic_that_is_made_again_while_it_is_read(make: Make) -> None:
    """It ends, rather than to wait for ever or to read what another topic has at the same places."""
    scene = make()
    scene.feed(stream(20))
    colleague = WorkerThread(scene, "a")
    wait_until(lambda: colleague.partitions == {0} and scene.predicted() == 20)
    with scene.admin() as admin:
        admin.delete_topics([scene.emails])
        wait_until(lambda: not scene.log.end_offsets(scene.emails))
    scene.create(scene.emails)
    scene.feed(stream(5, 500))
    problem = colleague.ended()
    assert isinstance(problem, (LogError, RecoveryError)), problem
