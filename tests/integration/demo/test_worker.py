"""The worker of a demo: its settings are those of the demo alone, and its failures are reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from stream_bayes.demo import scenario
from stream_bayes.demo.figures import DemoFigures
from stream_bayes.demo.mail_sources import generated_mails
from stream_bayes.demo.process import WorkerProcess
from stream_bayes.demo.scenario import Scenario, ScenarioOptions
from stream_bayes.demo.workspace import Workspace
from stream_bayes.errors import StreamBayesError
from stream_bayes.kernels.common.jit_stats import NOTICE_BEGINNING
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE
from tests.support.corpora import put
from tests.support.demo_processes import workers_of


@pytest.mark.long
def test_settings_in_the_environment_are_not_those_of_the_demo(tmp_path: Path) -> None:
    own = tmp_path / "production.db"
    variables = {
        "STREAM_BAYES__LOG": f"sqlite:///{own}",
        "STREAM_BAYES__GROUP": "production",
        "STREAM_BAYES__TOPICS__OBSERVATIONS": "orders",
        "STREAM_BAYES__NO_SUCH_SETTING": "1",
    }
    command = [*COMMAND, "demo", "--json", "--fast", "--mails", "40", "--folder", str(tmp_path / "demo")]
    done = subprocess.run(command, env={**ENVIRONMENT, **variables}, capture_output=True, timeout=PATIENCE, check=True)
    assert json.loads(done.stdout)["exactly_once"] is True
    assert not own.exists()


def test_a_worker_that_ends_early_is_an_error_that_names_its_log(tmp_path: Path) -> None:
    usual = signal.getsignal(signal.SIGINT)
    worker = WorkerProcess(tmp_path / "no settings", tmp_path / "worker.log")
    worker.start()
    assert worker._process is not None
    worker._process.wait()
    with pytest.raises(
        StreamBayesError, match=r"ended with code 2; its last output: .*no settings.* \(see .*worker.log"
    ):
        worker.poll()
    worker.kill()
    worker.finish()
    assert signal.getsignal(signal.SIGINT) is usual


def test_a_worker_without_progress_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario, "STALL_SECONDS", 0.5)
    place = Workspace(tmp_path)

    def hold(_: DemoFigures) -> None:
        for worker in workers_of(tmp_path):
            os.kill(worker, signal.SIGSTOP)

    with (
        Scenario(generated_mails(1, 40), place, ScenarioOptions(budget=5, fast=True), hold, lambda: False) as one,
        pytest.raises(StreamBayesError, match=r"has made no progress for \d+ s; it.*worker.log"),
    ):
        one.run()
    assert not workers_of(tmp_path)


def test_the_compilation_notice_of_the_worker_is_noticed(tmp_path: Path) -> None:
    reports = put(tmp_path / "worker.log", '{"event": "started"}\nno json\n')
    worker = WorkerProcess(tmp_path / "settings", reports)
    worker.poll()
    assert not worker.compiling
    with reports.open("a") as file:
        file.write(f'{{"event": "{NOTICE_BEGINNING} (mail_fold, ...)"}}\n')
        file.write('{"event": "recovered", "events": 0, "seconds": 0}\n')
    worker.poll()
    assert (worker.compiling, len(worker.recovered)) == (True, 1)
    assert "its last output: no json / " in str(worker.stalled_error(60.0))
