"""Restarts by other terms: another wait for answers, or another number of partitions that share the budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.config import Settings
from stream_bayes.errors import CheckpointMismatch, RecoveryError
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.persistence import snapshot
from stream_bayes.persistence.checkpoint import CHECKPOINT, read_checkpoint
from stream_bayes.runtime import Worker
from stream_bayes.runtime.partition_processor import PartitionProcessor, StageTimer
from stream_bayes.runtime.recovery import recover
from tests.support.label_requests import dissimilar_observations, open_request_offsets, requests
from tests.support.workers import (
    INPUTS,
    JOURNAL,
    all_records,
    assert_same,
    events,
    feed,
    saved_state,
    settings_in,
    state,
    work,
)

ASKING: dict[str, Any] = {"budget": 40, "max_open_requests": 40, "audit_fraction": 0.5}
HOURS = 3600.0


class Clock:
    """What the log takes for the time."""

    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> Iterator[Log]:
    settings = settings_in(tmp_path)
    with SqliteLog(tmp_path / "log.db", settings.group, INPUTS, clock=clock) as log:
        yield log


def waits(folder: Path, expires: str) -> Settings:
    return settings_in(folder, labels={**ASKING, "request_ttl": expires})


def lose_checkpoints(settings: Settings) -> None:
    for path in settings.checkpoint_folder.rglob("*.safetensors"):
        path.unlink()


def recovered(settings: Settings, log: Log) -> Worker:
    worker = Worker(settings, log)
    assert worker.recover()
    return worker


@pytest.mark.parametrize("lost", [False, True], ids=["from checkpoints", "all checkpoints lost"])
@pytest.mark.parametrize("spans", [("1h", "5h"), ("5h", "1h")], ids=["longer", "shorter"])
def test_each_request_has_one_outcome_when_the_ttl_changes(
    tmp_path: Path, log: Log, clock: Clock, lost: bool, spans: tuple[str, str]
) -> None:
    first, second = (waits(tmp_path, span) for span in spans)
    feed(log, dissimilar_observations(60))
    work(first, log)
    asked = requests(log)
    clock.now += 2 * HOURS
    feed(log, [("labels", b"no event")])
    work(first, log)
    number, before = saved_state(first)
    if lost:
        lose_checkpoints(first)
    assert_same(state(recovered(second, log).processors[0].engine), before)
    feed(log, [("labels", json.dumps({"id": one["id"], "label": "ham"}).encode()) for one in asked])
    engine = work(second, log).processors[0].engine
    ends = [(end["id"], end["outcome"]) for end in events(log, "label-requests") if end["type"] == "label-outcome"]
    names = [one["id"] for one in asked]
    assert [name for name, what in ends if what == "expired"] == names, "each expires once, now or then"
    assert [name for name, what in ends if what == "late"] == names
    assert (len(ends), open_request_offsets(engine)) == (2 * len(names), [])
    assert number < saved_state(second)[0]


# A log in a file keeps its number of partitions; that of a broker can grow.


@pytest.fixture
def spent(tmp_path: Path, log: Log) -> Settings:
    """Of a worker of one partition that has asked."""
    settings = settings_in(tmp_path, labels={**ASKING, "max_open_requests": 100})
    feed(log, dissimilar_observations(200))
    work(settings, log)
    assert requests(log)
    return settings


WHAT_TO_DO = r"1 partition, and there are 2 now: .*label budget.* Go back .*another group"


def test_a_checkpoint_of_another_number_of_partitions(spent: Settings, log: Log) -> None:
    before = sorted(spent.checkpoint_folder.rglob("*"))
    with pytest.raises(CheckpointMismatch, match=f"safetensors is of an engine for {WHAT_TO_DO}"):
        recover(PartitionProcessor(spent, 0, 2, log, StageTimer()))
    assert sorted(spent.checkpoint_folder.rglob("*")) == before
    assert recover(PartitionProcessor(spent, 0, 1, log, StageTimer())) is not None


def test_a_journal_of_another_number_of_partitions(spent: Settings, log: Log) -> None:
    assert {entry["policy"]["partitions"] for entry in events(log, JOURNAL)} == {1}
    lose_checkpoints(spent)
    with pytest.raises(RecoveryError, match=f"record 0 of '{JOURNAL}' was written for {WHAT_TO_DO}"):
        recover(PartitionProcessor(spent, 0, 2, log, StageTimer()))
    assert recover(PartitionProcessor(spent, 0, 1, log, StageTimer())) is not None


def test_a_new_model_divides_the_budget_again_and_warns(
    spent: Settings, log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    processor = PartitionProcessor(spent, 0, 2, log, StageTimer())
    assert recover(processor, rebuild=True) is not None
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    used = len(requests(log))
    assert warning.getMessage() == "the shares of the label budget have changed with the number of partitions"
    fields = {"partition": 0, "labels_requested": used, "share": 20, "then": 1, "now": 2}
    assert warning.__dict__["fields"] == fields
    assert processor.engine.selector.budget.used == used


def test_a_checkpoint_without_the_number_of_partitions(spent: Settings, log: Log) -> None:
    (path,) = sorted(spent.checkpoint_folder.rglob("*.safetensors"))[-1:]
    number, (compatibility_key, scalars, arrays) = read_checkpoint(path)
    assert compatibility_key.pop("partitions") == 1
    snapshot.write(
        path, {"number": number, "compatibility_key": compatibility_key, "scalars": scalars}, arrays, CHECKPOINT
    )
    for partitions in (1, 2):
        found = recover(PartitionProcessor(spent, 0, partitions, log, StageTimer()))
        assert found is not None
        assert found.checkpoint == number == len(list(all_records(log, JOURNAL)))
