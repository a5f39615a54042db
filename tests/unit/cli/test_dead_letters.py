"""`stream-bayes dead-letters`: what could not be used, why, and another try."""

from __future__ import annotations

import json
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.events import DeadLetter, encode
from stream_bayes.records import Partition
from tests.support.commands import Run
from tests.support.workers import events, feed, label, observation, settings_in, write_config

NASTY = b"\x1b[2Jred\x07\r\nnext line \xff \xe2\x80\xae"


class Box:
    """A log in which a worker has left dead letters, and the command about them."""

    def __init__(self, folder: Path, command: Run) -> None:
        self.folder = folder
        self._command = command
        self.config = folder / "settings.toml"
        self.set(record_bytes=1000)
        with SqliteLog(folder / "log.db") as log:
            feed(log, [("emails", observation(1)), ("labels", label(99, "ham"))])
            log.append("emails", b'{"id": "large", "text": "%b"}' % (b"word " * 400), b"a key", headers=[("a", b"b")])
            log.append("emails", NASTY, NASTY)
            log.append("emails", b"")
            log.commit({})
        self.work()

    def set(self, record_bytes: int) -> None:
        """How large a record may be from now on."""
        write_config(settings_in(self.folder, events={"record_bytes": record_bytes}), self.config)

    def work(self) -> None:
        """Let a worker read all there is."""
        assert self._command("run", "--config", self.config, "--drain")[0] == 0

    def ask(self, *arguments: str) -> tuple[int, str, str]:
        """The command: exit code, output, errors."""
        return self._command("dead-letters", *arguments, "--config", self.config)

    def answer(self, *arguments: str) -> Any:
        """What it says as JSON."""
        code, output, errors = self.ask(*arguments, "--json")
        assert (code, errors) == (0, "")
        return json.loads(output)

    def place_of(self, code: str) -> str:
        """Where the letter with a code is."""
        (letter,) = self.answer("list", "--code", code)["newest"]
        return str(letter["place"])

    def events(self, topic: str) -> list[dict[str, Any]]:
        """What is in a topic."""
        with SqliteLog(self.folder / "log.db") as log:
            return events(log, topic)


@pytest.fixture
def box(tmp_path: Path, worker_command: Run) -> Box:
    return Box(tmp_path, worker_command)


def test_list(box: Box) -> None:
    code, output, errors = box.ask("list")
    assert (code, errors) == (0, "")
    lines = output.splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("open: 4 letters (1 ")
    assert any("too-large" in line and "emails-0-1" in line and line.startswith("0-") for line in lines)
    assert "\x1b" not in output


def test_list_as_json(box: Box) -> None:
    found = box.answer("list")
    assert found["open"] == {"unknown-observation": 1, "too-large": 1, "not-json": 1, "empty-record": 1}
    assert found["sent_again"] == {}
    assert len(found["newest"]) == 4
    assert {letter["sent_again"] for letter in found["newest"]} == {False}
    assert [letter["code"] for letter in box.answer("list", "--code", "too-large")["newest"]] == ["too-large"]
    newest = box.answer("list", "--limit", "1")
    assert (len(newest["newest"]), sum(newest["open"].values())) == (1, 4)


@pytest.mark.parametrize(
    ("given", "hint"),
    [("to-large", "did you mean 'too-large'?"), ("zzz", "there are ")],
)
def test_a_code_that_no_letter_has(box: Box, given: str, hint: str) -> None:
    for command, answer in (
        ("list", {"open": {}, "sent_again": {}, "newest": []}),
        ("requeue", {"sent_again": 0}),
    ):
        code, output, errors = box.ask(command, "--code", given, "--json")
        assert (code, json.loads(output), errors.count("\n")) == (0, answer, 1)
        assert f"no letter has the code {given!r}; {hint}" in errors


def test_show(box: Box) -> None:
    place = box.place_of("too-large")
    code, output, errors = box.ask("show", place)
    assert (code, errors) == (0, "")
    assert "at most 1000 are allowed (events.record_bytes)" in output
    assert "word word" in output
    shown = box.answer("show", place)
    assert b64decode(shown["payload"]).startswith(b'{"id": "large"')
    assert (shown["key"], shown["source"], shown["code"]) == ("a key", "emails-0-1", "too-large")


def test_nothing_in_a_letter_can_do_anything_to_a_terminal(box: Box) -> None:
    place = box.place_of("not-json")
    for arguments in (["list"], ["show", place], ["list", "--json"], ["show", place, "--json"]):
        code, output, _ = box.ask(*arguments)
        assert code == 0
        assert all(character.isprintable() or character == "\n" for character in output)
    assert b64decode(box.answer("show", place)["payload"]) == NASTY


@pytest.mark.parametrize("place", ["0-99", "7-0", "x", "-", "0-", "0-1x", "²-0", "0-99999999999999999999999"])
def test_a_place_where_nothing_is(box: Box, place: str) -> None:
    code, output, errors = box.ask("show", place)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "there is no dead letter" in errors


def test_after_a_fix_a_letter_that_is_sent_again_is_predicted(box: Box) -> None:
    box.set(record_bytes=10_000)
    place = box.place_of("too-large")
    code, output, errors = box.ask("requeue", place)
    assert (code, output, errors) == (0, "1 record sent again\n", "")
    with SqliteLog(box.folder / "log.db") as log:
        again = log.read("emails", 0, 4)[0]
        before = log.read("emails", 0, 1)[0]
    assert again[4:] == before[4:]
    box.work()
    assert [event["id"] for event in box.events("predictions")] == ["id-1", "large"]
    assert box.answer("list", "--code", "too-large")["newest"][0]["sent_again"] is True
    assert "(sent again)" in box.ask("list")[1]
    assert len(box.events("dead-letters")) == 4
    found = box.answer("list")
    assert (sum(found["open"].values()), found["sent_again"]) == (3, {"too-large": 1})
    assert box.ask("list")[1].splitlines()[-1].endswith("; sent again: 1 letter (1 too-large)")


def test_all_sends_each_once(box: Box) -> None:
    assert box.answer("requeue", "--all") == {"sent_again": 4}
    assert box.answer("requeue", "--all") == {"sent_again": 0}
    box.work()
    # The same reasons are still there.
    assert len(box.events("dead-letters")) == 8
    assert box.answer("requeue", "--all") == {"sent_again": 4}


def test_a_place_that_is_named_is_sent_again_and_again(box: Box) -> None:
    place = box.place_of("empty-record")
    for _ in range(3):
        assert box.answer("requeue", place) == {"sent_again": 1}
    assert box.answer("requeue", "--code", "empty-record") == {"sent_again": 0}
    box.work()
    assert [event["code"] for event in box.events("dead-letters")].count("empty-record") == 4


def without_payload(box: Box, offset: int, size: int) -> str:
    """A letter about a mail that holds nothing of it; its place."""
    with SqliteLog(box.folder / "log.db") as log:
        letter = DeadLetter(
            code="too-large",
            message="see there",
            topic="emails",
            partition=0,
            offset=offset,
            payload=b"",
            size=size,
            at=datetime.now(UTC),
        )
        log.append("dead-letters", encode(letter), partition=0)
        ((place, end),) = log.commit({}).items()
    return f"{place.number}-{end - 1}"


def test_a_letter_without_its_payload_is_sent_again_from_its_source(box: Box) -> None:
    place = without_payload(box, 1, 5000)
    code, output, _ = box.ask("show", place)
    assert code == 0
    assert output.endswith("payload     5,000 bytes, which are only at the source\n")
    assert box.answer("requeue", place) == {"sent_again": 1}
    with SqliteLog(box.folder / "log.db") as log:
        (before,) = log.read("emails", 0, 1)
        (again,) = log.read("emails", 0, 4)
    assert again[4:] == before[4:]


def test_a_dead_letter_without_payload_and_source(box: Box) -> None:
    place = without_payload(box, 1, 5000)
    with SqliteLog(box.folder / "log.db") as log:
        log.trim({Partition("emails", 0): 2})
    code, output, errors = box.ask("requeue", place)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "emails-0-1 is no longer in the log, and its letter does not hold all of it" in errors


def test_a_place_that_is_not_there_sends_nothing(box: Box) -> None:
    code, _, errors = box.ask("requeue", box.place_of("empty-record"), "0-99")
    assert code == 2
    assert "0-99" in errors
    box.work()
    assert len(box.events("dead-letters")) == 4


def test_a_record_that_is_no_dead_letter_is_named(box: Box) -> None:
    with SqliteLog(box.folder / "log.db") as log:
        log.append("dead-letters", b"by somebody else")
        log.commit({})
    for arguments in (("list",), ("show", "0-4"), ("requeue", "--all")):
        code, output, errors = box.ask(*arguments)
        assert (code, output, errors.count("\n")) == (2, "", 1)
        assert "record 0-4 of 'dead-letters' is no dead letter" in errors


@pytest.mark.parametrize("arguments", [(), ("0-0", "--all"), ("0-0", "--code", "x")])
def test_the_records_to_requeue_must_be_given_once(box: Box, arguments: tuple[str, ...]) -> None:
    code, output, errors = box.ask("requeue", *arguments)
    assert (code, output) == (2, "")
    assert "name the letters to send again, or choose --all or --code CODE" in errors


@pytest.mark.parametrize("arguments", [("list",), ("show", "0-0"), ("requeue", "--all")])
def test_without_a_log_none_is_made(tmp_path: Path, run: Run, arguments: tuple[str, ...]) -> None:
    code, output, errors = run("dead-letters", *arguments, "--log", f"sqlite:///{tmp_path}/none.db")
    assert (code, output) == (2, "")
    assert errors == f"stream-bayes: there is no such log ({tmp_path}/none.db)\n"
    assert not list(tmp_path.iterdir())


def test_a_log_without_dead_letters(tmp_path: Path, run: Run) -> None:
    with SqliteLog(tmp_path / "log.db"):
        pass
    code, output, errors = run("dead-letters", "list", "--log", f"sqlite:///{tmp_path}/log.db")
    assert (code, output, errors) == (0, "open: 0 letters\n", "")
