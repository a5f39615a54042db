"""Mails larger than what a filter looks at, and labels that a filter does not know, through a worker."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.config import SqliteSettings
from stream_bayes.errors import LogError
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.factory import open_log
from stream_bayes.events import Observation
from stream_bayes.runtime import Worker
from tests.support.logs import Logs
from tests.support.mails import make_mail
from tests.support.workers import INPUTS, assert_nothing_lost, assert_same, events, settings_in, state, work

FILTER: dict[str, Any] = {"name": "SpamFilter", "parameters": {"buckets": 1024}}
LARGE = 3 << 20


def send(log: Log, name: str, raw: bytes, label: str | None = None) -> None:
    own = () if label is None else (("label", label.encode()),)
    log.append("emails", raw, None, 0, (("content-type", b"message/rfc822"), ("id", name.encode()), *own))


def mail(number: int, size: int = 0) -> bytes:
    rng = random.Random(number)
    raw = make_mail(rng, spam=number % 2 == 1, kind="plain")
    return raw + rng.randbytes(max(size - len(raw), 0)).replace(b"\n", b" ")


@pytest.mark.slow
def test_item03_a_large_mail_is_predicted_and_learned_from_its_parsed_part(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, learner=FILTER)
    large = mail(1, LARGE)
    writer = logs.open()
    for number in range(6):
        send(writer, f"m{number}", mail(number, LARGE if number == 1 else 0), None if number == 1 else "ham")
    writer.append("labels", json.dumps({"id": "m1", "label": "spam"}).encode(), None, 0)
    writer.commit({})
    log = logs.open(settings.group, INPUTS)
    work(settings, log)
    log.close()
    send(writer, "m1", large, "spam")
    send(writer, "m1", large, "ham")
    writer.commit({})
    log = logs.open(settings.group, INPUTS)
    engine = work(settings, log).processors[0].engine
    assert [event["id"] for event in events(log, "predictions")] == [f"m{number}" for number in range(6)]
    assert events(log, "dead-letters") == []
    assert (engine.counts["learn"], engine.counts["correct"], engine.counts["duplicate"]) == (1, 1, 1)
    assert_nothing_lost(settings, log)
    # The same stream with the mail cut behind what is looked at leads to the same model.
    filter_of_all = engine.model.learner.state().arrays
    log.close()
    with open_log(f"sqlite:///{tmp_path}/cut.db", settings.group, INPUTS) as other:
        for number in range(6):
            send(
                other,
                f"m{number}",
                mail(number, LARGE if number == 1 else 0)[: 1 << 16],
                None if number == 1 else "ham",
            )
        other.append("labels", json.dumps({"id": "m1", "label": "spam"}).encode(), None, 0)
        other.append("labels", json.dumps({"id": "m1", "label": "ham"}).encode(), None, 0)
        other.commit({})
        cut = settings_in(tmp_path / "cut", learner=FILTER)
        learned = work(cut, other).processors[0].engine.model.learner.state().arrays
    assert all((array == filter_of_all[name]).all() for name, array in learned.items())


def test_item03_a_large_mail_does_not_drive_others_out_of_memory(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, learner=FILTER, engine={"observation_cache_bytes": 4 << 20})
    with open_log(settings.log, settings.group, INPUTS) as log:
        send(log, "small", mail(0))
        send(log, "large", mail(1, LARGE))
        log.commit({})
        contents = work(settings, log).processors[0].engine.observation_cache
    assert isinstance(contents.get(0), Observation)
    assert contents.get(1) is None


def test_item03_how_large_a_record_of_a_file_may_be_is_a_setting(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/log.db"
    limit = 1 << 20
    with open_log(url, sqlite=SqliteSettings(record_bytes=limit)) as log:
        assert log.max_record_bytes("emails") == limit
        with pytest.raises(LogError, match="at most 1,048,576 are taken"):
            log.append("emails", bytes(limit + 1))
    with open_log(url) as log:
        assert log.max_record_bytes("emails") == 64 << 20


def test_item04_a_mail_with_an_unknown_label_is_predicted_through_restarts(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, learner=FILTER)
    writer = logs.open()
    for number in range(30):
        send(writer, f"m{number}", mail(number), ("SPAM", "ham", "spam", None)[number % 4])
    send(writer, "empty", mail(50), "")
    writer.append("labels", json.dumps({"id": "m0", "label": "ham"}).encode(), None, 0)
    writer.commit({})
    log = logs.open(settings.group, INPUTS)
    before = work(settings, log).processors[0].engine
    log.close()
    found = events(writer, "dead-letters")
    refused = [f"m{number}" for number in range(0, 30, 4)]
    assert [event["code"] for event in found] == ["bad-input"] * len(refused) + ["wrong-shape"]
    assert all("the observation was predicted" in event["message"] for event in found)
    assert len(events(writer, "predictions")) == 31
    assert (before.counts["predict"], before.counts["learn"], before.refused.total()) == (31, 1, len(found))
    assert_nothing_lost(settings, writer)
    for path in settings.checkpoint_folder.rglob("*.safetensors"):
        path.unlink()
    worker = Worker(settings, logs.open(settings.group, INPUTS))
    worker.recover()
    assert_same(state(worker.processors[0].engine), state(before))


def test_item07_status_counts_duplicates_and_unknown_fields(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, learner=FILTER)
    writer = logs.open()
    for fields in ({"id": 1, "text": "words", "tenant": "a"}, {"id": "1", "text": "words", "tenant": "b"}):
        writer.append("emails", json.dumps(fields).encode(), b"mailbox", 0)
    send(writer, "m", mail(0), "SPAM")
    writer.commit({})
    log = logs.open(settings.group, INPUTS)
    work(settings, log)
    last = events(log, "status")[-1]
    assert (last["events_in"], last["predictions"], last["duplicates"], last["unknown_fields"]) == (3, 2, 1, 2)
    assert (last["dead_letters"], last["dead_letters_by_code"]) == (1, {"bad-input": 1})
