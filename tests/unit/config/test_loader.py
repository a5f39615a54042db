from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from stream_bayes.config import Settings, load_settings
from stream_bayes.events import Limits

COMPLETE = """
log = "kafka://one:9092,two:9092"
group = "night"

[topics]
observations = "mails"
labels = "answers"

[learner]
name = "BayesianLinearRegression"
parameters = { prior_precision = 2.0, noise_variance = 0.5 }

[labels]
budget = "none"
per_period = 50
period = "12h"
strategy = "entropy"
abstain_label = ""

[checkpoint]
folder = "/var/lib/stream_bayes"
seconds = 30

[retention]
days = 7
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of ./stream_bayes.toml, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "stream_bayes.toml"


@pytest.mark.usefixtures("file")
def test_without_anything_given_the_defaults_hold() -> None:
    loaded = load_settings(None, {"PATH": "/bin", "STREAM_BAYES_CORPORA": "/corpora"}, {})
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.values()["log"] == "sqlite:///stream_bayes.db"
    assert loaded.values()["topics.label_requests"] == "label-requests"
    assert loaded.values()["checkpoint.folder"] is None
    assert loaded.values()["retention.days"] is None
    assert Limits(**loaded.settings.events.model_dump()) == Limits()


def test_the_file_in_the_working_folder_is_read(file: Path) -> None:
    file.write_text(COMPLETE)
    settings, origins = load_settings(None, {}, {})
    assert settings.log == "kafka://one:9092,two:9092"
    assert (settings.topics.observations, settings.topics.predictions) == ("mails", "predictions")
    assert settings.learner.parameters == {"prior_precision": 2.0, "noise_variance": 0.5}
    labels = settings.labels
    assert (labels.budget, labels.per_period, labels.period, labels.strategy) == (None, 50, "12h", "entropy")
    assert (labels.abstain_label, labels.request_ttl, labels.audit_fraction) == ("", "7d", 0.05)
    assert settings.checkpoint.folder == Path("/var/lib/stream_bayes")
    assert settings.retention.days == 7.0
    assert origins["topics.observations"] == origins["log"] == "stream_bayes.toml"
    assert origins["topics.predictions"] == "default"


def test_the_file_that_is_named_is_read_instead(file: Path, tmp_path: Path) -> None:
    file.write_text('group = "not me"')
    other = tmp_path / "other.toml"
    other.write_text('group = "me"')
    loaded = load_settings(other, {}, {})
    assert (loaded.settings.group, loaded.origins["group"]) == ("me", str(other))


def test_environment_goes_before_the_file_and_the_command_line_before_both(file: Path) -> None:
    file.write_text('group = "file"\nlog = "file"\n[commit]\nevents = 1\nmilliseconds = 1\n')
    environment = {"STREAM_BAYES__GROUP": "environment", "STREAM_BAYES__COMMIT__EVENTS": "2"}
    loaded = load_settings(None, environment, {"group": "command", "commit.milliseconds": 3, "log": None})
    assert (loaded.settings.log, loaded.origins["log"]) == ("file", "stream_bayes.toml")
    assert (loaded.settings.group, loaded.origins["group"]) == ("command", "command line")
    assert (loaded.settings.commit.events, loaded.settings.commit.milliseconds) == (2, 3)
    assert loaded.origins["commit.events"] == "environment STREAM_BAYES__COMMIT__EVENTS"


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("STREAM_BAYES__GROUP", "2026", "group", "2026"),
        ("STREAM_BAYES__LOG", '"quoted"', "log", '"quoted"'),
        ("STREAM_BAYES__LOG", "sqlite:////tmp/a b.db", "log", "sqlite:////tmp/a b.db"),
        ("STREAM_BAYES__TOPICS__LABELS", "1", "topics.labels", "1"),
        ("STREAM_BAYES__CHECKPOINT__SECONDS", "5", "checkpoint.seconds", 5.0),
        ("STREAM_BAYES__CHECKPOINT__KEEP", "1_0", "checkpoint.keep", 10),
        ("STREAM_BAYES__CHECKPOINT__FOLDER", "a/b", "checkpoint.folder", Path("a/b")),
        ("STREAM_BAYES__CHECKPOINT__FOLDER", "~/b", "checkpoint.folder", Path.home() / "b"),
        ("STREAM_BAYES__RETENTION__DAYS", "0.5", "retention.days", 0.5),
        ("STREAM_BAYES__LABELS__PER_PERIOD", "5", "labels.per_period", 5),
        ("STREAM_BAYES__LABELS__PER_PERIOD", "none", "labels.per_period", "none"),
        ("STREAM_BAYES__LABELS__PERIOD", "30m", "labels.period", "30m"),
        ("STREAM_BAYES__LEARNER__PARAMETERS", "{ buckets = 1024, a = [true] }", "learner.parameters", None),
    ],
)
def test_environment_values_are_read_as_toml_or_else_as_text(variable: str, text: str, key: str, value: object) -> None:
    loaded = load_settings(None, {variable: text}, {})
    assert loaded.values()[key] == ({"buckets": 1024, "a": [True]} if value is None else value)
    assert loaded.origins[key] == f"environment {variable}"


def test_the_environment_can_give_entries_of_a_table(file: Path) -> None:
    file.write_text("[learner]\nparameters = { buckets = 1, pairs = true }")
    name = "STREAM_BAYES__LEARNER__PARAMETERS__BUCKETS"
    loaded = load_settings(None, {name: "4096"}, {})
    assert loaded.settings.learner.parameters == {"buckets": 4096, "pairs": True}
    assert loaded.origins["learner.parameters"] == f"stream_bayes.toml and environment {name}"
    whole = {name: "4096", "STREAM_BAYES__LEARNER__PARAMETERS": "{ buckets = 2, false_positive_cost = 1 }"}
    assert load_settings(None, whole, {}).settings.learner.parameters == {"buckets": 4096, "false_positive_cost": 1}


def test_a_relative_folder_stays_relative_to_the_working_directory(file: Path) -> None:
    file.parent.joinpath("etc").mkdir()
    named = file.parent / "etc" / "settings.toml"
    named.write_text('[checkpoint]\nfolder = "here"')
    assert load_settings(named, {}, {}).settings.checkpoint.folder == Path("here")


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().commit.events = 5
    assert Settings().learner.parameters is not Settings().learner.parameters
