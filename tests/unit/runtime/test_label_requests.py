"""Questions and answers of a worker: in its journal, in its log, through restarts with other budgets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.active import RequestReason
from stream_bayes.config import Settings
from stream_bayes.engine import BatchResult, RejectedRecord, ReplayDecisions, RequestPolicy
from stream_bayes.errors import RecoveryError
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.persistence import checkpoint
from stream_bayes.records import Record
from stream_bayes.runtime import Worker
from stream_bayes.runtime.journal import JournalEntry, OffsetRange
from tests.support.label_requests import dissimilar_observations, open_request_offsets, requests
from tests.support.workers import (
    INPUTS,
    JOURNAL,
    assert_nothing_lost,
    assert_same,
    events,
    feed,
    settings_in,
    state,
    work,
)

ASKING: dict[str, Any] = {"budget": 40, "max_open_requests": 40, "audit_fraction": 0.5}


def entry_of(content: dict[str, Any]) -> JournalEntry:
    return JournalEntry.decode(Record(JOURNAL, 0, 3, 0, None, json.dumps(content).encode()))


def test_a_journal_entry_has_the_decisions() -> None:
    outcome = BatchResult()
    outcome.requests.update({3: RequestReason(0.5), 5: RequestReason(0.25, 0.0625)})
    outcome.abstentions.append(("labels", 7))
    policy = RequestPolicy(request_ttl=4000, remembered=100, partitions=2)
    records = [Record("emails", 0, offset, 0, None, b"") for offset in (2, 5)]
    entry = JournalEntry(policy)
    entry.add(records, outcome)
    content = json.loads(entry.encode())
    assert content == {
        "version": 1,
        "ranges": [["emails", 0, 2, 6]],
        "requests": [[3, 0.5, None, False], [5, 0.25, 0.0625, False]],
        "policy": {"request_ttl": 4000, "remembered": 100, "partitions": 2},
        "abstentions": [["labels", 7]],
    }
    assert entry_of(content) == entry
    assert entry.decisions == ReplayDecisions(
        {3: RequestReason(0.5), 5: RequestReason(0.25, 0.0625)}, {("labels", 7)}, policy
    )


def test_a_journal_entry_without_audits_abstentions_and_rejections() -> None:
    policy = RequestPolicy(request_ttl=4000, remembered=100, partitions=2)
    content = {
        "version": 1,
        "ranges": [["emails", 0, 2, 6]],
        "requests": [[3, 0.5, None, True]],
        "policy": policy._asdict(),
    }
    entry = entry_of(content)
    assert (entry.ranges, entry.rejected) == ([OffsetRange("emails", 0, 2, 6)], [])
    assert entry.decisions == ReplayDecisions({3: RequestReason(0.5, None, True)}, frozenset(), policy)
    content["rejected"] = [["labels", 1, "not-json"], ["labels", 2, "bad-label", 3]]
    assert entry_of(content).rejected == [
        RejectedRecord("labels", 1, "not-json"),
        RejectedRecord("labels", 2, "bad-label", 3),
    ]


def test_a_journal_entry_of_another_version_is_refused() -> None:
    with pytest.raises(
        RecoveryError,
        match=r"has version 2, and this stream_bayes reads version 1\. Use the stream_bayes that wrote it",
    ):
        entry_of({"version": 2})


def answers(asked: list[dict[str, Any]]) -> list[tuple[str, bytes]]:
    """To each question, one in five unsure, by two labellers."""
    labels = ["unsure" if place % 5 == 4 else ("ham", "spam")[place % 2] for place in range(len(asked))]
    found = [
        {"id": one["id"], "label": label, "source": one["source"], "labeller": ("ann", "bob")[place % 2]}
        for place, (one, label) in enumerate(zip(asked, labels, strict=True))
    ]
    return [("labels", json.dumps(label).encode()) for label in found]


def opened(settings: Settings) -> SqliteLog:
    return SqliteLog(Path(settings.log.removeprefix("sqlite:///")), settings.group, INPUTS)


@pytest.mark.slow
def test_requests_and_outcomes_are_in_one_topic(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, labels=ASKING)
    with opened(settings) as log:
        for first in (0, 300):
            feed(log, dissimilar_observations(300, first))
            work(settings, log)
            asked = requests(log)
            feed(log, answers(asked) * 2)
            engine = work(settings, log).processors[0].engine
        assert_nothing_lost(settings, log)
        ends = [event for event in events(log, "label-requests") if event["type"] == "label-outcome"]
        status = events(log, "status")[-1]
    assert len(asked) > 10
    assert [end["source"] for end in ends] == [one["source"] for one in asked], "each ends once"
    assert [end["outcome"] for end in ends[:5]] == ["answered"] * 4 + ["unsure"]
    assert {end["labeller"] for end in ends} == {"ann", "bob"}
    assert open_request_offsets(engine) == []
    assert status["label_outcomes"]["answered"] + len(asked) // 5 == len(asked) == status["labels_requested"]
    assert status["audit"]["answers"] > 0
    assert status["labellers"].keys() == {"ann", "bob"}


@pytest.mark.slow
@pytest.mark.parametrize("lost", [False, True], ids=["from checkpoints", "all checkpoints lost"])
def test_no_restart_exceeds_a_budget(tmp_path: Path, lost: bool) -> None:
    used = 0
    for number, budget in enumerate((12, 4, 0, 30, 13)):
        settings = settings_in(tmp_path, labels={**ASKING, "budget": budget}, checkpoint={"events": 20})
        if lost:
            for path in settings.checkpoint_folder.rglob("*.safetensors"):
                path.unlink()
        with opened(settings) as log:
            feed(log, dissimilar_observations(150, 1000 * number))
            budget_now = work(settings, log).processors[0].engine.selector.budget
            asked = requests(log)
        assert budget_now.used == len(asked) <= max(used, budget)
        assert budget_now.left() == max(budget - len(asked), 0)
        used = len(asked)
    assert 4 < used <= 30


def test_requests_expire_by_the_clock_of_the_log(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, labels={**ASKING, "request_ttl": "1h"})
    now = 1e9
    path = Path(settings.log.removeprefix("sqlite:///"))
    with SqliteLog(path, settings.group, INPUTS, clock=lambda: now) as log:
        feed(log, dissimilar_observations(20))
        first = work(settings, log).processors[0].engine
        asked = open_request_offsets(first)
        assert asked
        now += 3600
        feed(log, [("labels", b"no event")])
        engine = work(settings, log).processors[0].engine
        assert open_request_offsets(engine) == []
        assert engine.selector.counts["expired"] == len(asked)
        assert_nothing_lost(settings, log)
        late = [json.dumps({"id": f"id-{asked[0]}", "label": "ham"}).encode()]
        feed(log, [("labels", one) for one in late])
        work(settings, log)
        last = events(log, "label-requests")[-1]
    assert (last["outcome"], last["id"], last["at"]) == ("late", f"id-{asked[0]}", "2001-09-09T02:46:40Z")


def test_a_checkpoint_of_an_older_format_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is learned again from the journal instead, and the questions stay open and paid for."""
    settings = settings_in(tmp_path, labels=ASKING)
    with opened(settings) as log:
        feed(log, dissimilar_observations(200))
        before = work(settings, log).processors[0].engine
        monkeypatch.setattr(checkpoint, "CHECKPOINT", checkpoint.CHECKPOINT._replace(version=2, oldest=2))
        worker = Worker(settings, log)
        worker.recover()
        assert_same(state(worker.processors[0].engine), state(before))
    assert "is a checkpoint of format 1, and this stream_bayes reads format 2 and later" in caplog.text
