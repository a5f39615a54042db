"""Topics that get more partitions than they had when a group began: by a declared policy, and the budget holds."""

from __future__ import annotations

import json
import re

import pytest

from stream_bayes.errors import LogError
from stream_bayes.eventlog.kafka import KafkaLog
from stream_bayes.records import Partition
from tests.support.kafka_workers import KafkaTestBed, Make, WorkerThread, wait_until
from tests.support.shared_log import log_fields
from tests.support.tiers import short_first
from tests.support.workers import events, observation, stream

pytestmark = pytest.mark.broker

NEW_PARTITIONS = 4


def grow(scene: KafkaTestBed) -> None:
    scene.grow(scene.emails, scene.labels, partitions=NEW_PARTITIONS)


@pytest.mark.long
def test_new_partitions_are_explained(make: Make) -> None:
    scene = make(2)
    for number in (0, 1):
        scene.feed(stream(20, 1000 * number), number)
    scene.work()
    scene.grow(scene.emails, partitions=NEW_PARTITIONS)
    message = f"'{scene.emails}' has 4 partitions and '{scene.labels}' has 2: .* the same number"
    with pytest.raises(LogError, match=message):
        scene.work()
    scene.grow(scene.labels, partitions=NEW_PARTITIONS)
    begun = "has 4 partitions now, and had 2 when the group .* began"
    message = f"'{scene.emails}' {begun}: .*kafka.on_offset_gap = \"earliest\""
    with pytest.raises(LogError, match=message):
        scene.work()


@pytest.mark.long
def test_new_partitions_while_a_worker_runs(make: Make) -> None:
    scene = make(2)
    for number in (0, 1):
        scene.feed(stream(20, 1000 * number), number)
    colleague = WorkerThread(scene, "a")
    wait_until(lambda: colleague.partitions == {0, 1} and scene.predicted() == 40)
    grow(scene)
    hear_of_it(colleague)
    assert re.search("has 4 partitions now, and had 2", str(colleague.ended()))


@pytest.mark.long
def test_short_polls_report_new_partitions(make: Make) -> None:
    """Whose attempt to join is answered while it does something else."""
    scene = make(2)
    with scene.open("a") as log:
        changes: list[frozenset[Partition]] = []
        log.on_change = lambda gained, _: changes.append(gained)

        def told(count: int) -> bool:
            log.poll(1, 0.0)
            return bool(changes) and len(changes[-1]) == count

        wait_until(lambda: told(4))
        log.seek(log.committed())
        grow(scene)
        ask_anew(log)
        wait_until(lambda: told(8))


def hear_of_it(colleague: WorkerThread) -> None:
    """The client asks once in 30 s what there is; now it asks at once."""
    assert colleague.worker is not None
    assert isinstance(colleague.worker.log, KafkaLog)
    ask_anew(colleague.worker.log)


def ask_anew(log: KafkaLog) -> None:
    assert log._member is not None
    log._member.consumer._client.cluster.request_update()


@pytest.mark.long
def test_new_partitions_have_models_of_their_own(make: Make, worker_logs: pytest.LogCaptureFixture) -> None:
    """While a worker runs, and at the next start; what they would ask for was never theirs to ask for."""
    scene = make(2, labels={"budget": 7, "max_open_requests": 1000}, kafka={"on_offset_gap": "earliest"})
    for number in (0, 1):
        scene.feed(stream(20, 1000 * number), number)
    with WorkerThread(scene, "a") as colleague:
        wait_until(lambda: colleague.partitions == {0, 1} and scene.predicted() == 40)
        old = colleague.processors
        grow(scene)
        for number in range(4):
            scene.feed(stream(20, 1000 * number + 500), number)
        hear_of_it(colleague)
        wait_until(lambda: colleague.partitions == {0, 1, 2, 3} and scene.predicted() == 120)
        assert [colleague.processors[number] is old[number] for number in (0, 1)] == [True, True]
        shares = [processor.engine.selector.budget.total for _, processor in sorted(colleague.processors.items())]
        assert shares == [4, 3, 0, 0]
    # Stopped when all e-mails were predicted: labels may still be unread.
    check_shares(scene, is_complete=False)
    for number in range(4):
        scene.feed(stream(10, 1000 * number + 900), number)
    scene.forget_checkpoints()
    scene.work()
    check_shares(scene)
    assert log_fields(worker_logs, "the new partitions ask for no labels")
    for topic in (scene.settings.topics.predictions, scene.settings.journal, scene.settings.topics.dead_letters):
        assert len(scene.log.end_offsets(topic)) == NEW_PARTITIONS


def check_shares(scene: KafkaTestBed, *, is_complete: bool = True) -> None:
    scene.partitions = NEW_PARTITIONS
    scene.check(2, is_complete=is_complete)
    topic = scene.settings.topics.label_requests
    asked = [sum(event["type"] == "label-request" for event in events(scene.log, topic, n)) for n in range(4)]
    assert asked[2:] == [0, 0]
    assert 0 < sum(asked) <= 7


@pytest.mark.parametrize("running", short_first([True, False]), ids=["while a worker runs", "between two workers"])
def test_item05_labels_are_sent_on_to_partitions_that_came_later(make: Make, running: bool) -> None:
    scene = make(2, kafka={"on_offset_gap": "earliest"})
    source = {"topic": scene.emails, "partition": 3, "offset": 0}
    misplaced = "labels", json.dumps({"id": "id-3", "label": "ham", "source": source}).encode()
    for number in (0, 1):
        scene.feed([("emails", observation(number))], number)
    scene.feed([misplaced])
    if running:
        with WorkerThread(scene, "a") as colleague:
            wait_until(lambda: scene.predicted() == 2 and len(scene.letters()) == 1)
            grow(scene)
            hear_of_it(colleague)
            wait_until(lambda: colleague.partitions == {0, 1, 2, 3})
            scene.feed([("emails", observation(3))], 3)
            scene.feed([misplaced])
            wait_until(lambda: colleague.processors[3].engine.counts["learn"] == 1)
    else:
        scene.work()
        grow(scene)
        scene.forget_checkpoints()
        scene.feed([("emails", observation(3))], 3)
        scene.feed([misplaced])
        assert scene.work().processors[3].engine.counts["learn"] == 1
    assert [letter.code for letter in scene.letters()] == ["wrong-partition"]
