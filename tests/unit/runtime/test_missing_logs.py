"""Where a worker's log, topics and checkpoints are, and what `run` and `rebuild` refuse to make there."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.config import Settings
from stream_bayes.eventlog.sqlite import SqliteLog
from tests.support.commands import Run
from tests.support.workers import assert_nothing_lost, feed, observation, settings_in, stream, write_config


def test_other_partitions_than_there_are(tmp_path: Path, worker_command: Run) -> None:
    settings = settings_in(tmp_path)
    path = tmp_path / "log.db"
    config = write_config(settings, tmp_path / "settings.toml")
    with SqliteLog(path) as log:
        feed(log, [("emails", observation(1))])
    code, output, errors = worker_command("run", "--config", config, "--drain", "--partitions", "4")
    assert (code, output) == (2, "")
    reason = "'emails' has 1 partition, not 4: leave --partitions out, or name other topics"
    assert errors == f"stream-bayes: {reason}\n"
    with SqliteLog(path) as log:
        assert not log.end_offsets("labels")
    assert worker_command("run", "--config", config, "--drain")[0] == 0
    with SqliteLog(path) as log:
        assert_nothing_lost(settings, log)


def test_checkpoints_are_beside_the_log(tmp_path: Path, worker_command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    settings = settings_in(tmp_path / "data", checkpoint={"folder": None})
    config = write_config(settings, tmp_path / "settings.toml")
    with SqliteLog(tmp_path / "data" / "log.db") as log:
        feed(log, stream(20))
    assert worker_command("run", "--config", config, "--drain")[0] == 0
    assert settings.checkpoint_folder == tmp_path / "data" / "log.db.checkpoints"
    assert list(settings.checkpoint_folder.rglob("*.safetensors"))
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize(
    ("log", "folder"),
    [("sqlite:///mail.db", "mail.db.checkpoints"), ("sqlite:////a/b.db", "/a/b.db.checkpoints")],
)
def test_which_folder_that_is(log: str, folder: str) -> None:
    assert Settings(log=log).checkpoint_folder == Path(folder)
    assert Settings(log="kafka://somewhere").checkpoint_folder == Path("checkpoints")


def test_rebuild_makes_no_log(tmp_path: Path, worker_command: Run) -> None:
    path = tmp_path / "none.db"
    code, output, errors = worker_command("rebuild", "--log", f"sqlite:///{path}")
    assert (code, output, list(tmp_path.iterdir())) == (2, "", [])
    assert f"there is no such log ({path})" in errors


def test_rebuild_of_nothing(tmp_path: Path, worker_command: Run) -> None:
    settings = settings_in(tmp_path)
    config = write_config(settings, tmp_path / "settings.toml")
    with SqliteLog(tmp_path / "log.db") as log:
        feed(log, stream(10))
    code, output, errors = worker_command("rebuild", "--config", config)
    assert (code, output) == (2, "")
    assert errors == "stream-bayes: nothing was processed for group 'stream-bayes' in this log yet\n"
    assert not settings.checkpoint_folder.exists()


@pytest.mark.parametrize("command", ["run", "rebuild"])
def test_bad_parameters_are_reported_before_a_log_is_created(tmp_path: Path, worker_command: Run, command: str) -> None:
    wrong = settings_in(tmp_path, learner={"parameters": {"prior_count": -1.0}})
    code, output, errors = worker_command(command, "--config", write_config(wrong, tmp_path / "settings.toml"))
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "prior_count" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["settings.toml"]


def test_a_file_that_is_no_log(tmp_path: Path, worker_command: Run) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(b"no log at all" * 1000)
    code, output, errors = worker_command("run", "--log", f"sqlite:///{path}", "--drain")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "this is not an SQLite file" in errors
    assert path.read_bytes() == b"no log at all" * 1000
