"""What follows the log for the page, when the log fails in between; and who writes for it, when the log is locked."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from time import sleep

import httpx
import pytest

from stream_bayes.engine.forwarding import FORWARDED
from stream_bayes.errors import LogUnavailable
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.events import Label, LabelOutcome, encode
from stream_bayes.records import Offsets, Record, Source
from stream_bayes.web.readmodel.log_follower import LogFollower
from stream_bayes.web.readmodel.state_store import StateStore
from stream_bayes.web.services.log_writer import LogWriter
from tests.support.web_events import request
from tests.support.web_testbed import WebTestBed, client, page, path_of, submit_label, take_request, wait_until
from tests.support.workers import settings_in


class Failing(SqliteLog):
    """A log of which one call fails, as when a broker is away for a moment."""

    fails_at = -1
    calls = 0

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.fails_at:
            message = "away for a moment"
            raise LogUnavailable(message)

    def end_offsets(self, topic: str) -> Offsets:
        self._count()
        return super().end_offsets(topic)

    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        self._count()
        return super().read(topic, partition, offset, most)


def test_no_record_is_lost_when_a_read_fails_during_a_poll(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Failing(tmp_path / "log.db") as log:
        for offset in range(5):
            log.append("label-requests", encode(request(offset)), partition=0)
        for topic in ("labels", "status", "predictions"):
            log.append(topic, b"{}", partition=0)
        log.commit({})
        failed = 0
        for fails_at in range(1, 20):
            store = StateStore(10.0, None)
            log_follower = LogFollower(settings, store, lambda: log)
            log.calls = 0
            log.fails_at = fails_at
            for _ in range(3):
                try:
                    log_follower.poll(log)
                except LogUnavailable:
                    failed += 1
            assert len(store.queue) == 5, f"call {fails_at} had failed"
            assert store.ready
    assert failed > 5, "some calls have failed"


def test_a_label_whose_client_timed_out_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_bayes.web.services.log_writer.RESULT_SECONDS", 0.2)
    may_open = Event()

    def opened() -> SqliteLog:
        may_open.wait(30)
        return SqliteLog(tmp_path / "log.db")

    log_writer = LogWriter("labels", opened)
    log_writer.start()
    first, second = (Label(id=name, label="spam", source=Source("emails", 0, 0)) for name in ("a", "b"))
    with ThreadPoolExecutor(1) as pool:
        # The first is being written when its labeller gives up; the second has not been begun.
        begun = pool.submit(log_writer.write, first, 0)
        with pytest.raises(LogUnavailable, match="has not responded"):
            begun.result()
        with pytest.raises(LogUnavailable, match="has not responded"):
            log_writer.write(second, 0)
    may_open.set()
    log_writer.stop()
    with SqliteLog(tmp_path / "log.db") as log:
        assert [Label.model_validate_json(record.value).id for record in log.read("labels", 0, 0, 10)] == ["a"]


def test_health_answers_while_the_log_is_locked(http: httpx.Client, testbed: WebTestBed) -> None:
    label_request = take_request(http)
    locked = sqlite3.connect(testbed.path, isolation_level=None)
    locked.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(60) as pool:
        answers = [pool.submit(submit_label, http, label_request, "spam") for _ in range(50)]
        # With all threads of the pool waiting for the lock, before any of them has given up.
        assert http.get("/healthz").status_code == 200
        assert not all(answer.done() for answer in answers)
        locked.execute("ROLLBACK")
        locked.close()
        assert {answer.result().status_code for answer in answers} <= {200, 503}
    assert submit_label(http, label_request, "spam").status_code == 200
    assert {label["label"] for label in testbed.labels()} == {"spam"}


def test_a_correction_is_written_before_the_worker_has_read_the_label(http: httpx.Client, testbed: WebTestBed) -> None:
    label_request = take_request(http)
    submit_label(http, label_request, "spam")
    first = testbed.labels()[0]
    http.post(f"{path_of(label_request)}/reopen", json={"labeller": "ann"})
    submit_label(http, label_request, "ham")
    source = Source("emails", 0, label_request["place"]["offset"])
    late = LabelOutcome(
        id=label_request["id"],
        outcome="answered",
        label="spam",
        labeller="ann",
        open=False,
        source=source,
        at=datetime.fromisoformat(first["at"]).astimezone(UTC),
    )
    with testbed.open() as log:
        log.append("label-requests", encode(late), partition=0)
        log.commit({})
    after = request(label_request["place"]["offset"] + 100_000)
    with testbed.open() as log:
        log.append("label-requests", encode(after), partition=0)
        log.commit({})
    # The page reads in order: what is known of this one comes after what was told late.
    wait_until(lambda: http.get(f"/api/requests/0/{after.source.offset}").status_code == 200)
    assert submit_label(http, label_request, "spam").status_code == 200
    assert [label["label"] for label in testbed.labels()] == ["spam", "ham", "spam"]


def test_invalid_labels_are_refused_when_any_label_is_possible(tmp_path: Path) -> None:
    testbed = WebTestBed(tmp_path, learner={"name": "MultinomialNB", "parameters": {}})
    testbed.send([(f"m{n}", b"Subject: %d\n\nbody of %d" % (n, n)) for n in range(30)])
    testbed.work()
    with page(testbed.settings) as address, client(address) as http:
        label_request = take_request(http)
        for label in ('""', "1e400", "NaN", str(2**64), '"' + "x" * 257 + '"', '"\\ud800"', "null", "[]"):
            body = f'{{"labeller": "ann", "label": {label}}}'
            refused = http.post(
                f"{path_of(label_request)}/label", content=body, headers={"content-type": "application/json"}
            )
            assert refused.status_code == 422, (label, refused.text)
        assert submit_label(http, label_request, 2**40).status_code == 200


def test_item05_a_copy_of_a_label_is_no_answer_of_its_own(tmp_path: Path) -> None:
    """A label that was sent on to the partition of its observation may come after a correction of it."""
    settings = settings_in(tmp_path)
    label_request = request(0)
    with SqliteLog(tmp_path / "log.db", partitions=2) as log:
        log.append("label-requests", encode(label_request), partition=label_request.source.partition)
        for answer, headers in (("spam", ()), ("ham", ()), ("spam", [(FORWARDED, b"a group")])):
            value = encode(Label(id=label_request.id, label=answer, source=label_request.source))
            log.append("labels", value, partition=label_request.source.partition, headers=headers)
            log.commit({})
            # The times of labels are the log's own, in milliseconds.
            sleep(0.005)
        store = StateStore(10.0, None)
        LogFollower(settings, store, lambda: log).poll(log)
        queued = store.queue.find((label_request.source.partition, label_request.source.offset))
        assert queued is not None
        assert queued.submitted is not None
        assert queued.submitted.label == "ham"


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 17},
        {"confidence": 0.9},
        {"at": 1_700_000_000_000},
        {"source": {"topic": "emails", "partition": 0, "offset": 0, "note": "x"}},
    ],
    ids=["whole-number-id", "unknown-field", "time-in-milliseconds", "unknown-field-of-the-source"],
)
def test_item16_labels_that_the_engine_accepts_are_answers_on_the_page(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    settings = settings_in(tmp_path)
    label_request = request(0).model_copy(update={"id": "17"})
    source = {"topic": "emails", "partition": label_request.source.partition, "offset": label_request.source.offset}
    label = {"id": "17", "label": "spam", "source": source, **changes}
    with SqliteLog(tmp_path / "log.db") as log:
        log.append("label-requests", encode(label_request), partition=0)
        # An invalid label is skipped, and the records after it are read.
        log.append("labels", b"no event", partition=0)
        log.append("labels", json.dumps({"type": "observation", "id": "17", "text": "x"}).encode(), partition=0)
        log.append("labels", json.dumps(label).encode(), partition=0)
        log.commit({})
        store = StateStore(10.0, None)
        LogFollower(settings, store, lambda: log).poll(log)
    queued = store.queue.find((label_request.source.partition, label_request.source.offset))
    assert queued is not None
    assert queued.submitted is not None
    assert queued.submitted.label == "spam"
