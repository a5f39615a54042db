"""Retention removes what is old, and never what a recovery needs."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_bayes.config import CommitSettings, Settings
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.records import Partition
from stream_bayes.runtime import Worker, retention
from stream_bayes.runtime.retention import Retention
from tests.support.label_requests import dissimilar_observations, open_request_offsets
from tests.support.workers import (
    INPUTS,
    JOURNAL,
    assert_same,
    events,
    feed,
    saved_state,
    settings_in,
    state,
    stream,
    work,
)

DAY = 86_400.0
OLD = {"source": {"topic": "emails", "partition": 0, "offset": 3}}
"""Of the first day, without a label."""
DAYS = 10


class Clock:
    """Seconds since 1970, as a test wants them."""

    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


def settings_of(folder: Path) -> Settings:
    return settings_in(folder, retention={"days": 3.0}, checkpoint={"events": 100, "keep": 2})


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ten days of inputs, a hundred observations a day, worked through."""
    folder = tmp_path_factory.mktemp("worked")
    clock = Clock()
    for day in range(DAYS):
        with opened(settings_of(folder), clock) as log:
            feed(log, stream(100, 100 * day))
            work(settings_of(folder), log)
        clock.now += DAY
    return folder


@pytest.fixture
def settings(tmp_path: Path, worked: Path) -> Settings:
    """Of a copy of it."""
    shutil.copytree(worked, tmp_path, dirs_exist_ok=True)
    return settings_of(tmp_path)


@pytest.fixture
def clock() -> Clock:
    """A day after the last inputs."""
    made = Clock()
    made.now += DAYS * DAY
    return made


def opened(settings: Settings, clock: Callable[[], float]) -> SqliteLog:
    return SqliteLog(settings.log.removeprefix("sqlite:///"), settings.group, INPUTS, clock=clock)


def begin(log: Log, topic: str) -> int:
    return log.earliest_offsets(topic)[Partition(topic, 0)]


def trim(worker: Worker) -> None:
    days = worker.settings.retention.days
    assert days is not None
    Retention(worker.settings, worker.log).trim(worker.processors[0], days)


@pytest.mark.slow
def test_old_records_are_removed(settings: Settings, clock: Clock) -> None:
    with opened(settings, clock) as log:
        worker = work(settings, log)
        before = {topic: begin(log, topic) for topic in (*INPUTS, "predictions", JOURNAL)}
        trim(worker)
        assert set(before.values()) == {0}
        oldest = (clock.now - DAY - 3 * DAY) * 1000
        for topic in (*INPUTS, "predictions"):
            first = log.read(topic, 0, begin(log, topic))[0]
            assert begin(log, topic) > 50
            assert oldest <= first.timestamp < oldest + DAY * 1000
        assert begin(log, JOURNAL) > 0


def test_recovery_works_after_trimming(settings: Settings, clock: Clock) -> None:
    _, expected = saved_state(settings)
    with opened(settings, clock) as log:
        worker = work(settings, log)
        trim(worker)
    checkpoints = sorted(settings.checkpoint_folder.rglob("*.safetensors"))
    assert len(checkpoints) == 2
    # From either of those that are kept.
    for path in reversed(checkpoints):
        with opened(settings, clock) as log:
            worker = Worker(settings, log)
            worker.recover()
            assert_same(state(worker.processors[0].engine), expected)
        path.rename(path.with_suffix(".away"))


def test_an_old_observation_that_a_replay_reads_again_stays(settings: Settings, clock: Clock) -> None:
    """Its label came after the older checkpoint: who starts from there has to learn it again."""
    with opened(settings, clock) as log:
        dead = log.end_offsets("dead-letters")
        # By its place: the id is no longer remembered.
        log.append("labels", json.dumps({"id": "id-1", "label": "ham", **OLD}).encode())
        log.commit({})
        worker = work(settings, log)
        assert log.end_offsets("dead-letters") == dead
        trim(worker)
        expected = state(worker.processors[0].engine)
        assert begin(log, "emails") == OLD["source"]["offset"]
    newest = max(settings.checkpoint_folder.rglob("*.safetensors"))
    newest.unlink()
    with opened(settings, clock) as log:
        worker = Worker(settings, log)
        worker.recover()
        assert_same(state(worker.processors[0].engine), expected)


def test_a_label_for_a_removed_observation_is_a_dead_letter(settings: Settings, clock: Clock) -> None:
    with opened(settings, clock) as log:
        trim(work(settings, log))
        log.append("labels", json.dumps({"id": "id-1", "label": "ham", **OLD}).encode())
        log.commit({})
    for _ in range(2):
        with opened(settings, clock) as log:
            expected = state(work(settings, log).processors[0].engine)
            end = log.end_offsets("dead-letters")[Partition("dead-letters", 0)]
            last = log.read("dead-letters", 0, end - 1)[0]
            assert b"observation-gone" in last.value
        max(settings.checkpoint_folder.rglob("*.safetensors")).unlink()
        with opened(settings, clock) as log:
            worker = Worker(settings, log)
            worker.recover()
            assert_same(state(worker.processors[0].engine), expected)


def test_nothing_is_removed_that_was_not_read(settings: Settings, clock: Clock) -> None:
    with opened(settings, clock) as log:
        feed(log, stream(50, 2000))
        clock.now += 100 * DAY
        feed(log, stream(50, 3000))
        worker = Worker(settings, log)
        worker.recover()
        position = worker.processors[0].positions[Partition("emails", 0)]
        trim(worker)
        assert begin(log, "emails") <= position
        worker = work(settings, log)
        trim(worker)
        assert state(worker.processors[0].engine).scalars["counts"]["predict"] == 1100


def test_rebuild_starts_from_the_remaining_records(settings: Settings, clock: Clock) -> None:
    with opened(settings, clock) as log:
        trim(work(settings, log))
        left = begin(log, JOURNAL)
    with opened(settings, clock) as log:
        worker = Worker(settings, log)
        worker.rebuild()
        counts = worker.processors[0].engine.counts
    assert left > 0
    assert 300 <= counts["predict"] < 600
    with opened(settings, clock) as log:
        feed(log, stream(50, 2000))
        assert work(settings, log).processors[0].engine.counts["predict"] == counts["predict"] + 50


def test_the_worker_trims_by_itself(settings: Settings, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_LOOK_EVERY", 0.0)
    with opened(settings, clock) as log:
        feed(log, stream(50, 2000))
        work(settings, log)
        assert begin(log, "emails") > 50


def test_uncommitted_labels_need_their_observations_too(
    settings: Settings, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old observation is learned from, and it is time to trim, before the journal says so."""
    monkeypatch.setattr(retention, "_LOOK_EVERY", 0.0)
    slow = settings.model_copy(update={"commit": CommitSettings(events=1000, milliseconds=60_000)})
    with opened(slow, clock) as log:
        log.append("labels", json.dumps({"id": "id-1", "label": "ham", **OLD}).encode())
        log.commit({})
        expected = state(work(slow, log).processors[0].engine)
    max(settings.checkpoint_folder.rglob("*.safetensors")).unlink()
    with opened(settings, clock) as log:
        worker = Worker(settings, log)
        worker.recover()
        assert_same(state(worker.processors[0].engine), expected)


def test_a_clock_that_was_wrong_once_removes_nothing(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    clock = Clock()
    clock.now = time.time()
    with opened(settings, clock) as log:
        feed(log, stream(100))
        clock.now += 3650 * DAY
        feed(log, stream(10, 100))
        worker = work(settings, log)
        trim(worker)
        assert begin(log, "emails") == 0


def test_rebuild_after_trimming(settings: Settings, clock: Clock) -> None:
    with opened(settings, clock) as log:
        trim(work(settings, log))
        left = begin(log, "emails")
    with opened(settings, clock) as log:
        worker = Worker(settings, log)
        assert worker.rebuild()
        assert left > 0
        assert worker.processors[0].engine.counts["predict"] > 0


def test_a_request_for_a_removed_observation_is_closed(tmp_path: Path) -> None:
    clock = Clock()
    labels = {"budget": 100, "max_open_requests": 2, "request_ttl": "20d"}
    settings = settings_in(tmp_path, retention={"days": 3.0}, labels=labels)
    with opened(settings, clock) as log:
        feed(log, dissimilar_observations(50))
        asked = open_request_offsets(work(settings, log).processors[0].engine)
    clock.now += 10 * DAY
    with opened(settings, clock) as log:
        feed(log, [("emails", json.dumps({"id": "late", "text": "other words"}).encode())])
        trim(work(settings, log))
        assert begin(log, "emails") == 50
    place = {"topic": "emails", "partition": 0}
    with opened(settings, clock) as log:
        answers = [{"id": f"id-{n}", "label": "ham", "source": {**place, "offset": n}} for n in asked]
        feed(log, [("labels", json.dumps(answer).encode()) for answer in answers])
        clock.now += 1
        feed(log, [("emails", json.dumps({"id": "new", "text": "more words"}).encode())])
        worker = work(settings, log)
        assert worker.processors[0].engine.refused["observation-gone"] == 2
        assert not {*open_request_offsets(worker.processors[0].engine)} & {*asked}
        assert [end["outcome"] for end in events(log, "label-requests")[:2]] == ["refused", "refused"]
