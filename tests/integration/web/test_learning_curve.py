"""Learning curves have points by the number of events and labels, not by the clock."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from stream_bayes.events import Status
from tests.support.web_testbed import WebTestBed, client, page
from tests.support.workers import all_records

MAILS = 3000


def _backfilled(folder: Path) -> WebTestBed:
    """A log of labelled mails that a worker has read in one go, without a status event by the clock but its last."""
    testbed = WebTestBed(folder, status={"seconds": 3600.0}, labels={"budget": 5})
    mails = [(f"mail-{number}", f"Subject: s{number % 7}\n\nhello {number % 50}".encode()) for number in range(MAILS)]
    with testbed.open() as log:
        for number, (name, raw) in enumerate(mails):
            label = b"spam" if number % 3 == 0 else b"ham"
            headers = (("content-type", b"message/rfc822"), ("label", label), ("id", name.encode()))
            log.append("emails", raw, name.encode(), 0, headers)
        log.commit({})
    testbed.work()
    return testbed


def test_item10_a_quick_backfill_gives_a_learning_curve(tmp_path: Path) -> None:
    testbed = _backfilled(tmp_path)
    with testbed.open() as log:
        statuses = [Status.model_validate_json(record.value) for record in all_records(log, "status", 0)]
    events = [status.events_in for status in statuses]
    assert len(events) >= 20
    assert events == sorted(events)
    # About as many points below the geometric middle as above it, and none far from the next.
    assert abs(sum(count < MAILS**0.5 for count in events) - len(events) / 2) <= len(events) / 4
    assert all(later <= 2 * max(earlier, 1) for earlier, later in pairwise(events))
    with page(testbed.settings) as address, client(address) as http:
        curve = http.get("/api/charts").json()["curve"]
    assert len(curve) >= 20
    assert [point["events"] for point in curve] == sorted(point["events"] for point in curve)
    assert sum(point["log_loss"] is not None for point in curve) >= 20
