from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.config import load_settings
from stream_bayes.errors import ConfigError

PREFIX = "STREAM_BAYES__"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder without settings."""
    monkeypatch.chdir(tmp_path)


def refused(path: Path | None, environment: Mapping[str, str], overrides: Mapping[str, Any]) -> str:
    """What is said of settings that cannot be."""
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environment, overrides)
    assert caught.value.code == "bad-config"
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"log", "is no TOML: Expected '=' after a key"),
        (b"log = 1\nlog = 2", "is no TOML: Cannot overwrite a value"),
        (b"\xff", "is no TOML: it is not UTF-8"),
        (b"a = " + b"[" * 10_000, "it is nested too deep"),
    ],
)
def test_a_file_that_is_no_toml(content: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(content)
    message = refused(file, {}, {})
    assert message.startswith(str(file))
    assert reason in message


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    assert refused(missing, {}, {}) == f"cannot read the settings in {missing}: no such file or directory"
    assert refused(tmp_path, {}, {}) == f"cannot read the settings in {tmp_path}: is a directory"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[topcs]\n", "unknown section 'topcs' (FILE): did you mean 'topics'?"),
        (
            "[zzz]\n",
            "unknown section 'zzz' (FILE): known are checkpoint, commit, engine, events, group, kafka, labels, "
            "learner, log, retention, sqlite, status, topics, web",
        ),
        ('lgo = "a"', "unknown setting 'lgo' (FILE): did you mean 'log'?"),
        ("[commit]\nevent = 1", "unknown setting 'commit.event' (FILE): did you mean 'commit.events'?"),
        (
            "[commit]\nzzzzzzzzz = 1",
            "unknown setting 'commit.zzzzzzzzz' (FILE): known are commit.events, commit.millisec",
        ),
        ("commit = 5", "commit = 5 (FILE): commit is a section; write [commit] above its keys"),
        ("[log]\na = 1", "log = {'a': 1} (FILE): must be text"),
        ("log = 5", "log = 5 (FILE): must be text"),
        ('log = ""', "log = '' (FILE): must not be empty"),
        ("[commit]\nevents = 0", "commit.events = 0 (FILE): must be at least 1"),
        ("[commit]\nevents = 1.5", "commit.events = 1.5 (FILE): must be a whole number"),
        ("[commit]\nevents = true", "commit.events = True (FILE): must be a whole number"),
        ('[commit]\nevents = "many"', "commit.events = 'many' (FILE): must be a whole number"),
        ("[commit]\nevents = 9223372036854775808", "must be less than 9223372036854775808"),
        (f'[commit]\nevents = "{"x" * 1000}"', "x… (FILE): must be a whole number"),
        ("[events]\ndepth = 1", "events.depth = 1 (FILE): must be at least 2"),
        ("[events]\ndepth = 201", "events.depth = 201 (FILE): must be at most 200"),
        ("[labels]\nbudget = -1", "labels.budget = -1 (FILE): must be at least 0"),
        ("[labels]\nbudget = 'many'", "labels.budget = 'many' (FILE): must be a whole number, or 'none'"),
        (
            "[labels]\nbudget = 'none'",
            "labels.budget = 'none' (FILE): without a total, labels.per_period must be set",
        ),
        ("[labels]\nreserve = nan", "labels.reserve = nan (FILE): must be a finite number"),
        ("[labels]\nreserve = 1.5", "labels.reserve = 1.5 (FILE): must be at most 1"),
        ("[labels]\nsimilarity = 0", "labels.similarity = 0 (FILE): must be greater than 0"),
        ("[labels]\nperiod = 'a day'", "labels.period = 'a day' (FILE): must be a duration such as 250ms, 30s, 15m,"),
        ("[labels]\nrequest_ttl = 5", "labels.request_ttl = 5 (FILE): must be text"),
        ("[checkpoint]\nseconds = 0", "checkpoint.seconds = 0 (FILE): must be greater than 0"),
        ("[checkpoint]\nseconds = inf", "checkpoint.seconds = inf (FILE): must be a finite number"),
        ("[checkpoint]\nkeep = 0", "checkpoint.keep = 0 (FILE): must be at least 1"),
        ("[checkpoint]\nfolder = 5", "checkpoint.folder = 5 (FILE): must be a path"),
        ('[checkpoint]\nfolder = "~no-such-user/a"', "(FILE): Could not determine home directory."),
        ("[status]\nseconds = 'a'", "status.seconds = 'a' (FILE): must be a number"),
        ("[retention]\ndays = 0", "retention.days = 0 (FILE): must be greater than 0"),
        ("[learner]\nparameters = 5", "learner.parameters = 5 (FILE): must be a table of names and values"),
        ('[topics]\nlabels = "a b"', "topics.labels = 'a b' (FILE): must be letters, digits, underscores, hyphens an"),
        ('group = "a/b"', "group = 'a/b' (FILE): must be letters, digits"),
        (
            '[topics]\nlabels = "journal"',
            "topics.labels (FILE) and topics.journal (default) are both 'journal': every topic needs its own name",
        ),
    ],
)
def test_a_setting_in_a_file_that_cannot_be(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(content)
    assert message in refused(file, {}, {}).replace(str(file), "FILE")


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("COMIT__EVENTS", "5", "unknown setting 'comit.events' (VARIABLE): did you mean 'commit.events'?"),
        (
            "LABELS",
            "5",
            "labels = 5 (VARIABLE): labels is a section; give its keys, such as STREAM_BAYES__LABELS__BUDGET",
        ),
        ("COMMIT_EVENTS", "5", "unknown setting 'commit_events' (VARIABLE): did you mean 'commit.events'?"),
        ("", "5", "unknown setting '' (VARIABLE): known are checkpoint, commit"),
        ("COMMIT__EVENTS", "", "commit.events = '' (VARIABLE): must be a whole number"),
        ("COMMIT__EVENTS", "1\nlog = 5", r"commit.events = '1\nlog = 5' (VARIABLE): must be a whole number"),
        ("COMMIT__EVENTS", "-1", "commit.events = -1 (VARIABLE): must be at least 1"),
        ("LOG", "", "log = '' (VARIABLE): must not be empty"),
        ("LEARNER__PARAMETERS", "[" * 5000, "(VARIABLE): must be a table of names and values"),
    ],
)
def test_a_setting_in_the_environment_that_cannot_be(variable: str, text: str, message: str) -> None:
    name = f"{PREFIX}{variable}"
    assert message in refused(None, {name: text}, {}).replace(f"environment {name}", "VARIABLE")


def test_an_override_that_cannot_be() -> None:
    assert refused(None, {}, {"grup": "a"}) == "unknown setting 'grup' (command line): did you mean 'group'?"
    assert refused(None, {}, {"commit.events": 0}) == "commit.events = 0 (command line): must be at least 1"


def test_two_topics_of_one_name_from_two_places() -> None:
    message = refused(None, {f"{PREFIX}TOPICS__STATUS": "x"}, {"topics.labels": "x"})
    assert message == (
        f"topics.labels (command line) and topics.status (environment {PREFIX}TOPICS__STATUS) are both 'x': "
        "every topic needs its own name"
    )


def test_all_mistakes_are_in_one_message(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("lgo = 1\nstatus = 2\n[commit]\nevents = 0\nmilliseconds = 0\n[labels]\nbuget = 1\n")
    message = refused(file, {f"{PREFIX}COMMIT": "1"}, {"grup": "a"})
    parts = (
        "'lgo'",
        "status = 2",
        "commit.events = 0",
        "commit.milliseconds = 0",
        "labels.buget",
        "commit = 1",
        "grup",
    )
    for part in parts:
        assert message.count(part) == 1
    assert message.count("; ") >= len(parts) - 1
