"""`stream-bayes run` and `rebuild` as processes: signals, a second worker, lines that machines read."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_bayes.config import Settings
from stream_bayes.eventlog.sqlite import SqliteLog
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE, Run
from tests.support.label_requests import dissimilar_observations, requests
from tests.support.signals import wait_until_handled
from tests.support.tiers import short_first
from tests.support.workers import (
    all_records,
    assert_nothing_lost,
    assert_same,
    events,
    feed,
    saved_state,
    settings_in,
    stream,
    without_compiling,
    write_config,
)


class Scene:
    """A log with something in it, and settings in a file."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.config = write_config(settings, folder / "settings.toml")
        self.path = folder / "log.db"

    def more(self, count: int, first: int) -> None:
        """Write some more."""
        with SqliteLog(self.path) as log:
            feed(log, stream(count, first), at_once=100)

    def start(self) -> subprocess.Popen[str]:
        """A worker in a process of its own."""
        command = [*COMMAND, "run", "--config", str(self.config), "--json"]
        return subprocess.Popen(
            command, env=ENVIRONMENT, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def wait_for(self, worker: subprocess.Popen[str], happened: Callable[[SqliteLog], bool]) -> None:
        """Until it has happened in the log."""
        deadline = time.monotonic() + PATIENCE
        with SqliteLog(self.path) as log:
            while not happened(log):
                assert worker.poll() is None, worker.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.005)

    def check(self, *, is_complete: bool = True) -> None:
        """Nothing is lost; of a stream that was not read to its end, nothing up to the last commit."""
        with SqliteLog(self.path) as log:
            assert_nothing_lost(self.settings, log, is_complete=is_complete)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path, settings_in(tmp_path, commit={"events": 50}, checkpoint={"events": 500}))
    made.more(1000, 0)
    return made


def end(worker: subprocess.Popen[str]) -> tuple[int, list[dict[str, object]]]:
    """The exit code, and what it said, one JSON object a line."""
    output, errors = worker.communicate(timeout=PATIENCE)
    assert output == ""
    return worker.returncode, [json.loads(line) for line in errors.splitlines()]


def predicted(log: SqliteLog) -> int:
    return sum(log.end_offsets("predictions").values())


@pytest.mark.parametrize("number", short_first([signal.SIGTERM, signal.SIGINT]))
def test_a_signal_ends_it_in_good_order(scene: Scene, worker_command: Run, number: signal.Signals) -> None:
    worker = scene.start()
    wanted = random.Random(number).randrange(1000)
    scene.wait_for(worker, lambda log: predicted(log) > wanted)
    worker.send_signal(number)
    code, result = end(worker)
    assert code == 0
    assert result[-1]["event"] == "stopped"
    scene.check(is_complete=False)
    code, _, errors = worker_command("run", "--config", scene.config, "--drain", "--json")
    assert code == 0
    recovered = json.loads(without_compiling(errors)[1])
    assert (recovered["event"], recovered["commits"], recovered["events"]) == ("recovered", 0, 0)
    scene.check()
    with SqliteLog(scene.path) as log:
        assert predicted(log) == 1000


@pytest.mark.long
def test_a_second_signal_ends_it_at_once(tmp_path: Path, worker_command: Run) -> None:
    scene = Scene(tmp_path, settings_in(tmp_path, commit={"events": 1_000_000, "milliseconds": 60_000}))
    scene.more(500, 0)
    worker = scene.start()
    assert worker.stderr is not None
    while json.loads(worker.stderr.readline())["event"] != "recovered":
        assert worker.poll() is None
    # Two of one kind at once would be one.
    worker.send_signal(signal.SIGINT)
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 130
    assert worker_command("run", "--config", scene.config, "--drain")[0] == 0
    scene.check()


def test_a_signal_during_the_start(scene: Scene, worker_command: Run) -> None:
    """At any moment since it can be handled at all."""
    rng = random.Random(5)
    for _ in range(2):
        worker = scene.start()
        wait_until_handled(worker)
        time.sleep(rng.uniform(0.0, 1.5))
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=PATIENCE)
        assert worker.returncode == 0
    assert worker_command("run", "--config", scene.config, "--drain")[0] == 0
    scene.check()


@pytest.mark.long
def test_two_workers(scene: Scene) -> None:
    first = scene.start()
    scene.wait_for(first, lambda log: predicted(log) > 10)
    second = scene.start()
    output, errors = second.communicate(timeout=PATIENCE)
    assert (second.returncode, output) == (2, "")
    assert len(without_compiling(errors)) == 1
    advice = "Stop it, or give this one another group and output topics of its own"
    assert f"process {first.pid} already reads for the group 'stream-bayes'. {advice}" in errors
    first.send_signal(signal.SIGTERM)
    assert end(first)[0] == 0
    scene.check()


def test_the_progress_lines_of_a_run(scene: Scene, worker_command: Run) -> None:
    code, output, errors = worker_command("run", "--config", scene.config, "--drain")
    assert (code, output) == (0, "")
    lines = without_compiling(errors)
    settings = scene.settings
    assert f"started  log={settings.log}  group=stream-bayes  topics=emails, labels  checkpoints=" in lines[0]
    assert lines[0].endswith(str(settings.checkpoint_folder))
    assert "recovered  partition=0  checkpoint=none  commits=0  events=0" in lines[1]
    assert lines[1].endswith("begins=emails 0, labels 0")
    assert any("checkpoint  partition=0  journal=" in line for line in lines)
    with SqliteLog(scene.path) as log:
        inputs = sum(end for topic in ("emails", "labels") for end in log.end_offsets(topic).values())
        dead = sum(log.end_offsets("dead-letters").values())
        repeated = events(log, "status")[-1]["duplicates"]
    learned = saved_state(settings)[1].scalars["model_version"]
    learned_and_repeated = f"labels_learned={learned}  duplicates={repeated}"
    expected = f"stopped  events={inputs}  predictions=1000  {learned_and_repeated}  dead_letters={dead}"
    assert repeated > 0
    assert lines[-1].endswith(expected)
    assert dead > 0
    reasons = f"reasons=stream-bayes dead-letters list --log {settings.log}"
    assert lines[-2].endswith(f" WARNING records were refused  count={dead}  {reasons}")
    scene.check()
    _, _, errors = worker_command("run", "--config", scene.config, "--drain")
    assert "stopped  events=0  predictions=0" in errors
    assert "records were refused" not in errors, "they were refused by another run"


def test_rebuild(scene: Scene, worker_command: Run) -> None:
    assert worker_command("run", "--config", scene.config, "--drain")[0] == 0
    number, expected = saved_state(scene.settings)
    code, output, errors = worker_command("rebuild", "--config", scene.config, "--json")
    assert code == 0
    made = json.loads(output)
    assert made["labels_learned"] == expected.scalars["model_version"]
    assert Path(made["checkpoints"]).is_dir()
    assert [json.loads(line)["event"] for line in errors.splitlines()] == ["recovered", "checkpoint"]
    assert saved_state(scene.settings)[0] == number
    assert_same(saved_state(scene.settings)[1], expected)
    assert len(list(scene.settings.checkpoint_folder.rglob("*.safetensors"))) == 1
    scene.more(50, 5000)
    assert worker_command("run", "--config", scene.config, "--drain")[0] == 0
    scene.check()


@pytest.mark.long
def test_rebuild_with_other_settings(scene: Scene, worker_command: Run) -> None:
    assert worker_command("run", "--config", scene.config, "--drain")[0] == 0
    changed = settings_in(scene.folder, learner={"parameters": {"prior_count": 0.5}})
    config = write_config(changed, scene.folder / "changed.toml")
    assert worker_command("run", "--config", config, "--drain")[0] == 2
    assert worker_command("rebuild", "--config", config)[0] == 0
    code, _, errors = worker_command("run", "--config", config, "--drain")
    assert code == 0
    assert "commits=0" in errors
    with SqliteLog(scene.path) as log:
        assert len(list(all_records(log, "predictions"))) == 1000


def test_partitions(tmp_path: Path, worker_command: Run) -> None:
    scene = Scene(
        tmp_path, settings_in(tmp_path, labels={"budget": 5, "max_open_requests": 100, "audit_fraction": 0.0})
    )
    with SqliteLog(scene.path, partitions=2) as log:
        for partition in (0, 1):
            feed(log, dissimilar_observations(500, 1000 * partition), partition)
    # New topics get as many partitions as the observations have.
    assert worker_command("run", "--config", scene.config, "--drain")[0] == 0
    with SqliteLog(scene.path) as log:
        asked = [len(requests(log, partition)) for partition in (0, 1)]
        assert 0 < asked[0] <= 3, "the first partition has a share of three labels"
        assert 0 < asked[1] <= 2
        for partition in (0, 1):
            assert_nothing_lost(scene.settings, log, partition, 2)


def test_another_number_of_partitions_is_refused(tmp_path: Path, worker_command: Run) -> None:
    scene = Scene(tmp_path, settings_in(tmp_path))
    with SqliteLog(scene.path, partitions=2) as log:
        feed(log, stream(10, 0))
    code, output, errors = worker_command("run", "--config", scene.config, "--partitions", "3", "--drain")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "'emails' has 2 partitions, not 3: leave --partitions out" in errors
    assert worker_command("run", "--config", scene.config, "--partitions", "2", "--drain")[0] == 0


def test_rebuild_for_people(scene: Scene, worker_command: Run) -> None:
    assert worker_command("run", "--config", scene.config, "--drain")[0] == 0
    code, output, _ = worker_command("rebuild", "--config", scene.config)
    first, *rows = output.splitlines()
    assert (code, first) == (0, "partition 0")
    assert [row[:26].strip() for row in rows][:2] == ["labels learned", "labelled"]
    assert rows[-1][:26].strip() == "checkpoints"
    assert Path(rows[-1][26:]).is_dir()


def test_draining_a_log_that_does_not_exist_is_refused(tmp_path: Path, worker_command: Run) -> None:
    path = tmp_path / "mistyped.db"
    code, output, errors = worker_command("run", "--log", f"sqlite:///{path}", "--drain")
    assert (code, output) == (2, "")
    assert "there is no such log" in errors
    assert list(tmp_path.iterdir()) == []
