"""Labels that arrive in another partition than their observation: sent on once, and learned there."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from stream_bayes.config import Settings
from stream_bayes.engine import Engine
from stream_bayes.engine.forwarding import FORWARDED
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.memory import ABORT, Aborted, MemoryLog, MemoryStore
from stream_bayes.records import Record
from stream_bayes.runtime import Worker
from tests.support.engines import (
    KINDS,
    Stream,
    codes,
    comparable_state,
    encoded_result,
    fold,
    random_stream,
    settings_for,
)
from tests.support.label_requests import replay_decisions, replayed_events
from tests.support.logs import Logs
from tests.support.workers import INPUTS, all_records, assert_nothing_lost, events, observation, settings_in, work

PARTITIONS = 4
MISSES = sum(number % PARTITIONS != number % 3 for number in range(12))
"""How many of the labels that `fill` writes are in another partition than their mail."""
SPAM = KINDS["SpamFilter"]


def place(partition: int, offset: int, topic: str = "emails") -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "offset": offset}


def label(name: str, answer: str, **fields: Any) -> bytes:
    return json.dumps({"id": name, "label": answer, **fields}).encode()


def engine_of(partitions: int, group: str = "stream-bayes") -> Engine:
    settings = settings_for(SPAM).model_copy(update={"group": group})
    return Engine(settings, 0, partitions)


def forwarded(stream: Stream, partitions: int = PARTITIONS) -> list[tuple[int, int]]:
    """The offset of each label that is sent on, and the partition it is sent to."""
    outcome = fold(engine_of(partitions), stream.arrivals, (1,))
    return [(record.offset, partition) for record, partition in outcome.forwards]


# The engine


def test_item05_a_source_or_an_id_in_another_partition_is_sent_on() -> None:
    stream = Stream()
    stream.observe({"text": "cheap pills"}, name="own")
    stream.answer("spam", "theirs", 5, partition=3)
    stream.answer("spam", "emails-2-7")
    stream.answer("spam", "own", 0)
    assert forwarded(stream) == [(0, 3), (1, 2)]
    engine = engine_of(PARTITIONS)
    outcome = fold(engine, stream.arrivals, (10,))
    assert (outcome.rejected, engine.counts["forward"], engine.model_version) == ([], 2, 1)


@pytest.mark.parametrize("name", ["emails-02-7", "emails-2-7-1", "emails-2", "emails-x-7", "mails-2-7", "emails-9-7"])
def test_item05_an_id_that_is_no_place_of_the_topic_is_not_sent_on(name: str) -> None:
    stream = Stream()
    stream.answer("spam", name)
    outcome = fold(engine_of(PARTITIONS), stream.arrivals, (1,))
    assert (outcome.forwards, codes(outcome)) == ([], ["unknown-observation"])


def test_item05_an_observation_that_has_the_id_is_meant_before_a_place() -> None:
    stream = Stream()
    stream.observe({"text": "cheap pills"}, name="emails-2-7")
    stream.answer("spam", "emails-2-7")
    for sizes in ((1,), (10,)):
        engine = engine_of(PARTITIONS)
        outcome = fold(engine, stream.arrivals, sizes)
        assert (outcome.forwards, engine.model_version) == ([], 1)


def test_item05_a_partition_or_a_topic_that_does_not_exist_is_a_dead_letter_at_once() -> None:
    stream = Stream()
    stream.answer("spam", "a", 0, partition=PARTITIONS)
    stream.put("labels", label("a", "spam", source=place(1, 0, "others")))
    outcome = fold(engine_of(PARTITIONS), stream.arrivals, (10,))
    assert (outcome.forwards, codes(outcome)) == ([], ["wrong-partition", "wrong-partition"])


def with_header(stream: Stream, group: str) -> Stream:
    """The same records, as if this group had sent on those of the labels topic."""
    headers = ((FORWARDED, group.encode()),)
    stream.records = [one._replace(headers=headers) if one.topic == "labels" else one for one in stream.records]
    return stream


def test_item05_a_second_miss_is_a_dead_letter() -> None:
    stream = Stream()
    stream.answer("spam", "a", 0, partition=1)
    stream.answer("spam", "emails-2-7")
    outcome = fold(engine_of(PARTITIONS, "own"), with_header(stream, "own").arrivals, (10,))
    assert (outcome.forwards, codes(outcome)) == ([], ["wrong-partition", "wrong-partition"])


def test_item05_labels_forwarded_by_another_group_are_ignored() -> None:
    """Each group sends labels on for itself: one that comes later must not repeat old answers to the others."""
    stream = Stream()
    stream.observe({"text": "cheap pills"}, "spam", "a")
    stream.answer("ham", "a", 0)
    with_header(stream, "theirs")
    engine = engine_of(PARTITIONS, "own")
    outcome = fold(engine, stream.arrivals, (10,))
    assert (codes(outcome), outcome.forwards, engine.counts["ignore"], engine.counts["correct"]) == ([], [], 1, 0)
    assert fold(engine_of(PARTITIONS, "theirs"), stream.arrivals, (10,)).late == [0]


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@hypothesis_settings(max_examples=10)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 80), sizes=st.sampled_from(((1,), (1000,), (2, 5))))
def test_item05_neither_cuts_nor_a_silent_pass_change_anything(
    name: str, seed: int, length: int, sizes: Sequence[int]
) -> None:
    settings = settings_for(KINDS[name])
    stream = random_stream(KINDS[name], seed, length)
    one_by_one, cut, silent = (Engine(settings, 0, 2) for _ in range(3))
    outcome = fold(one_by_one, stream.arrivals, (1,))
    assert encoded_result(fold(cut, stream.arrivals, sizes)) == encoded_result(outcome)
    again = fold(
        silent, replayed_events(stream.arrivals, outcome), sizes, replay_decisions(outcome, one_by_one.request_policy)
    )
    assert comparable_state(cut) == comparable_state(silent) == comparable_state(one_by_one)
    assert again.forwards == []
    assert len(outcome.forwards) == one_by_one.counts["forward"]


def test_item05_the_random_streams_have_labels_of_another_partition() -> None:
    engine = Engine(settings_for(SPAM), 0, 2)
    outcome = fold(engine, random_stream(SPAM, 5, 400).arrivals, (1000,))
    assert [partition for _, partition in outcome.forwards] == [1] * engine.counts["forward"] != []


# The worker


def answers(log: Log) -> list[Record]:
    """All labels, of all partitions."""
    return [record for number in range(PARTITIONS) for record in all_records(log, "labels", number)]


def fill(writer: Log, mails: int = 12, aborts: Collection[int] = ()) -> None:
    """Mails in all partitions and a label for each, mostly in another partition than its mail.

    In a log in memory the reader crashes before the labels of these numbers.
    """
    for topic in INPUTS:
        writer.ensure(topic, PARTITIONS)
    for number in range(mails):
        writer.append("emails", observation(number), b"mailbox", number % PARTITIONS)
    writer.commit({})
    for number in range(mails):
        source = place(number % PARTITIONS, number // PARTITIONS)
        value = label(f"id-{number}", ("ham", "spam")[number % 2], source=source)
        if number in aborts:
            assert isinstance(writer, MemoryLog)
            writer.store.put("labels", ABORT, partition=number % 3)
        writer.append("labels", value, b"mailbox", number % 3, [("trace", b"%d" % number)])
        writer.commit({})


def totals(worker: Worker, action: str) -> int:
    return sum(processor.engine.counts[action] for processor in worker.processors.values())


def check_learned(settings: Settings, log: Log, mails: int = 12) -> None:
    """Each mail was predicted once, each label was learned once, and the models are those of one pass."""
    predicted = [event["id"] for number in range(PARTITIONS) for event in events(log, "predictions", number)]
    assert sorted(predicted) == sorted(f"id-{number}" for number in range(mails))
    for number in range(PARTITIONS):
        assert_nothing_lost(settings, log, number, PARTITIONS)
        assert events(log, "dead-letters", number) == []


def test_item05_a_worker_learns_every_label(local_logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    writer = local_logs.open(partitions=PARTITIONS)
    fill(writer)
    log = local_logs.open(settings.group, INPUTS, PARTITIONS)
    worker = work(settings, log)
    assert (totals(worker, "forward"), totals(worker, "learn")) == (MISSES, 12)
    check_learned(settings, log)
    copies = [record for record in answers(log) if FORWARDED in dict(record.headers)]
    assert len(answers(log)) - 12 == len(copies) == MISSES
    for copy in copies:
        assert copy.partition == json.loads(copy.value)["source"]["partition"]
        assert copy.key == b"mailbox"
        assert copy.headers[-1] == (FORWARDED, settings.group.encode())
        assert copy.headers[0][0] == "trace"
    status = [events(log, "status", number)[-1]["forwarded"] for number in range(PARTITIONS)]
    assert sum(status) == MISSES


def test_item05_learning_again_from_the_journal_sends_nothing_on(local_logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    writer = local_logs.open(partitions=PARTITIONS)
    fill(writer)
    with local_logs.open(settings.group, INPUTS, PARTITIONS) as log:
        work(settings, log)
    count = len(answers(writer))
    for path in settings.checkpoint_folder.rglob("*.safetensors"):
        path.unlink()
    with local_logs.open(settings.group, INPUTS, PARTITIONS) as log:
        worker = work(settings, log)
        assert totals(worker, "learn") == 12
    assert len(answers(writer)) == count
    check_learned(settings, writer)


def test_item05_two_groups_each_learn_every_label_once(local_logs: Logs, tmp_path: Path) -> None:
    writer = local_logs.open(partitions=PARTITIONS)
    fill(writer)
    for group in ("first", "second"):
        outputs = {"predictions": f"p-{group}", "dead_letters": f"d-{group}", "label_requests": f"r-{group}"}
        settings = settings_in(tmp_path, topics=outputs).model_copy(update={"group": group})
        with local_logs.open(group, INPUTS, PARTITIONS) as log:
            worker = work(settings, log)
            done = [totals(worker, action) for action in ("learn", "repeat", "correct", "refuse")]
            assert done == [12, 0, 0, 0]
    # What the second has sent on is nothing to the first.
    settings = settings_in(tmp_path).model_copy(update={"group": "first"})
    with local_logs.open("first", INPUTS, PARTITIONS) as log:
        worker = work(settings, log)
        done = [totals(worker, action) for action in ("learn", "repeat", "correct", "refuse")]
        assert done == [12, 0, 0, 0]
        assert totals(worker, "ignore") == totals(worker, "forward") > 0


@pytest.mark.slow
@hypothesis_settings(max_examples=15)
@given(aborts=st.sets(st.integers(0, 11), max_size=4), commit=st.integers(1, 8), keep=st.booleans())
def test_item05_after_a_crash_no_label_is_sent_on_twice(aborts: set[int], commit: int, keep: bool) -> None:
    store = MemoryStore()
    with MemoryLog(store=store, partitions=PARTITIONS) as writer:
        fill(writer, 12, aborts)
    with TemporaryDirectory() as folder:
        settings = settings_in(Path(folder), commit={"events": commit}, checkpoint={"events": 5})
        crashes = 0
        while not finished(settings, store):
            crashes += 1
            for path in () if keep else settings.checkpoint_folder.rglob("*.safetensors"):
                path.unlink()
        assert crashes == len(aborts)
        with MemoryLog(store=store, partitions=PARTITIONS) as log:
            check_learned(settings, log)
            copies = [record for record in answers(log) if FORWARDED in dict(record.headers)]
            assert len(copies) == len({record.value for record in copies}) == MISSES


def finished(settings: Settings, store: MemoryStore) -> bool:
    """Let a worker read all there is; False if it crashed."""
    try:
        with MemoryLog(settings.group, INPUTS, PARTITIONS, store=store) as log:
            work(settings, log)
    except Aborted:
        return False
    return True


def test_item05_a_label_that_the_header_makes_too_large_is_a_dead_letter(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    store = MemoryStore()
    with MemoryLog(store=store, partitions=PARTITIONS) as writer:
        writer.append("emails", observation(0), None, 1)
        writer.append("labels", label("id-0", "ham", source=place(1, 0)), b"k" * 4000, 0)
        writer.commit({})
    with SmallLog(settings.group, INPUTS, PARTITIONS, store=store) as log:
        worker = work(settings, log)
        (letter,) = events(log, "dead-letters", 0)
    assert (letter["code"], letter["topic"], letter["offset"]) == ("wrong-partition", "labels", 0)
    assert totals(worker, "learn") == 0


class SmallLog(MemoryLog):
    """A log whose labels topic takes records of little more than 4000 bytes."""

    def max_record_bytes(self, topic: str) -> int:
        """As a broker says it."""
        return 4100 if topic == "labels" else super().max_record_bytes(topic)
