"""What a worker says of itself: status events in the log, lines for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_bayes.events import Status
from stream_bayes.runtime import monitoring
from stream_bayes.runtime.partition_processor import STAGES
from tests.support.label_requests import requests
from tests.support.logs import Logs
from tests.support.workers import INPUTS, events, feed, journal_order, settings_in, stream, work


def test_status_events_are_complete(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, status={"seconds": 0.001})
    feed(logs.open(), stream(100))
    log = logs.open(settings.group, INPUTS)
    engine = work(settings, log).processors[0].engine
    found = events(log, "status")
    assert len(found) > 2
    last = found[-1]
    assert {event["type"] for event in found} == {"status"}
    assert last["events_in"] == len(journal_order(log)) == sum(engine.counts.values())
    assert last["predictions"] == 100
    assert last["labels_learned"] == last["model_version"] == engine.model_version
    assert (last["labels_requested"], last["labels_remaining"]) == (
        engine.selector.budget.used,
        engine.selector.budget.left(),
    )
    assert last["label_outcomes"] == engine.selector.counts
    assert last["label_outcomes"]["requested"] == last["labels_requested"] == len(requests(log))
    assert last["label_outcomes"]["corrected"] > 0
    assert last["audit"]["answers"] == engine.selector.audit.answers > 0
    assert 0.0 <= last["audit"]["low"] <= last["audit"]["accuracy"] <= last["audit"]["high"] <= 1.0
    assert last["labellers"] == engine.selector.labellers.figures()
    assert list(last["labellers"]) == ["unnamed"]
    assert last["dead_letters"] == sum(last["dead_letters_by_code"].values()) == len(events(log, "dead-letters"))
    assert (last["lag"], last["partition"], last["group"]) == (0, 0, settings.group)
    assert last["duplicates"] == engine.counts["duplicate"] > 0
    assert set(last["stage_seconds"]) == set(STAGES)
    assert ", ".join(STAGES) in (Status.model_fields["stage_seconds"].description or "")
    assert last["metrics"]["accuracy"] > 0.3
    assert [event["events_in"] for event in found] == sorted(event["events_in"] for event in found)


def test_progress_is_logged_while_there_is_news(
    logs: Logs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "stream_bayes")
    monkeypatch.setattr(monitoring, "FIRST_LINE", 0.0)
    settings = settings_in(tmp_path)
    feed(logs.open(), stream(50))
    log = logs.open(settings.group, INPUTS)
    worker = work(settings, log)
    (line,) = [record for record in caplog.records if record.getMessage() == "status"]
    fields: dict[str, Any] = vars(line)["fields"]
    assert list(fields) == [
        "events",
        "per_second",
        "lag",
        "duplicates",
        "dead_letters",
        "labels_requested",
        "labels_remaining",
        "open",
    ]
    assert 0 < fields["events"] <= worker.events
    assert fields["per_second"] > 0.0
    caplog.clear()
    work(settings, log)
    assert "status" not in [record.getMessage() for record in caplog.records]
