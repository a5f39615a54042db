"""Topics that take less than there is to say: as much is said as they take, or an error says what to do."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import LogError
from stream_bayes.eventlog.memory import MemoryLog, MemoryStore
from stream_bayes.eventlog.sqlite import SqliteLog
from tests.support.commands import Run
from tests.support.workers import (
    INPUTS,
    JOURNAL,
    assert_same,
    events,
    observation,
    saved_state,
    settings_in,
    state,
    work,
    write_config,
)

LONG = "x" * 3000


class Narrow(MemoryLog):
    """A log of which some topics take small records only."""

    def __init__(self, most: dict[str, int], store: MemoryStore) -> None:
        super().__init__("stream-bayes", INPUTS, store=store)
        self._most = most

    def max_record_bytes(self, topic: str) -> int:
        """As the test says."""
        return self._most.get(topic, super().max_record_bytes(topic))


def worked(folder: Path, most: dict[str, int], *messages: bytes, **settings: Any) -> Narrow:
    store = MemoryStore()
    for message in messages:
        store.put("emails", message, b"the key", headers=[("a", b"header")])
    log = Narrow(most, store)
    work(settings_in(folder, **settings), log)
    return log


def test_a_dead_letter_without_its_record(tmp_path: Path) -> None:
    log = worked(tmp_path, {"dead-letters": 600}, b"no event", b"no event" * 100, observation(1))
    whole, letter = events(log, "dead-letters")
    assert (whole["payload"], whole.get("size")) == (b64encode(b"no event").decode(), None)
    assert (letter["payload"], letter["size"]) == ("", 800)
    assert letter["message"].endswith(" (its 800 bytes are too many for a letter here: they are at emails-0-1)")
    assert len(letter["message"]) <= 300
    assert "key" not in letter
    assert "headers" not in letter
    assert [event["id"] for event in events(log, "predictions")] == ["id-1"]


def test_it_is_as_large_as_it_may_be(tmp_path: Path) -> None:
    large = b"no event" * 50
    (letter,) = events(worked(tmp_path, {}, large), "dead-letters")
    size = len(json.dumps(letter, separators=(",", ":")))
    for most, payload in ((size, letter["payload"]), (size - 1, "")):
        (found,) = events(worked(tmp_path / str(most), {"dead-letters": most}, large), "dead-letters")
        assert found["payload"] == payload


@pytest.mark.parametrize(("most", "shown"), [(100_000, ["preview", "subject", "key"]), (3800, ["key"]), (700, [])])
def test_a_large_request_is_shortened(tmp_path: Path, most: int, shown: list[str]) -> None:
    mail = {"id": "m", "text": "words " * 100, "subject": LONG, "key": LONG}
    log = worked(tmp_path, {"label-requests": most}, json.dumps(mail).encode())
    (question,) = events(log, "label-requests")
    assert [name for name in ("preview", "subject", "key") if name in question] == shown
    assert (question["id"], question["source"]["offset"]) == ("m", 0)


@pytest.mark.parametrize(
    ("topic", "what", "setting"),
    [
        ("predictions", "a prediction of [0-9,]+ bytes is too large for the topic predictions", "events.id_bytes"),
        ("dead-letters", "a dead-letter of [0-9,]+ bytes is too large for the topic dead-letters", "larger records"),
        (JOURNAL, f"the journal record of a commit is of [0-9,]+ bytes, and the topic {JOURNAL}", "commit.events"),
    ],
)
def test_an_output_that_cannot_be_shortened_says_what_to_do(
    tmp_path: Path, topic: str, what: str, setting: str
) -> None:
    with pytest.raises(LogError, match=f"{what}.*takes [0-9]+: .*{setting}"):
        worked(tmp_path, {topic: 50}, observation(1), b"no event")


def test_fewer_events_in_a_commit_fit(tmp_path: Path) -> None:
    """As the error says: nothing was committed, and with other settings it goes on."""
    store = MemoryStore()
    for _ in range(60):
        store.put("emails", b"no event")
    small = {JOURNAL: 1000}
    with Narrow(small, store) as log, pytest.raises(LogError, match=r"lower commit\.events"):
        work(settings_in(tmp_path, commit={"events": 60}), log)
    assert not store.records(JOURNAL)
    with Narrow(small, store) as log:
        settings = settings_in(tmp_path, commit={"events": 10})
        engine = work(settings, log).processors[0].engine
    assert len(store.records("dead-letters")) == 60
    assert_same(saved_state(settings)[1], state(engine))


def test_a_letter_without_its_record_is_sent_again_whole(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteLog, "max_record_bytes", lambda _, topic: 600 if topic == "dead-letters" else 1 << 20)
    settings = settings_in(tmp_path)
    value = b"no event" * 100
    with SqliteLog(tmp_path / "log.db", settings.group, INPUTS) as log:
        log.append("emails", value, b"the key", headers=[("a", b"header")])
        log.commit({})
        work(settings, log)
    config = write_config(settings, tmp_path / "settings.toml")
    code, _, errors = run("dead-letters", "requeue", "--all", "--config", config)
    assert code == 0, errors
    with SqliteLog(tmp_path / "log.db") as log:
        first, again = log.read("emails", 0, 0, 10)
    assert again[4:] == first[4:] == (b"the key", value, (("a", b"header"),))
