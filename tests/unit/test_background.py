"""Background threads that fail: the worker or the page ends, and says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from threading import Timer

import pytest

from stream_bayes.background import BackgroundThread
from stream_bayes.errors import BackgroundError, WorkerError
from stream_bayes.eventlog.memory import MemoryLog
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.learners.naive_bayes import MultinomialNB
from stream_bayes.runtime import Worker
from tests.support.commands import ENVIRONMENT, Run
from tests.support.signals import LIMIT
from tests.support.tiers import short_first
from tests.support.workers import INPUTS, feed, settings_in, stream, write_config


def fail(*_: object) -> None:
    message = "out of order"
    raise ZeroDivisionError(message)


def test_a_thread_keeps_its_exception() -> None:
    failures: list[BackgroundError] = []
    thread = BackgroundThread(fail, "some-thread", failures.append)
    thread.check()
    thread.start()
    thread.join()
    with pytest.raises(BackgroundError, match="'some-thread' failed: ZeroDivisionError: out of order") as caught:
        thread.check()
    assert failures == [caught.value]
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_item20_a_worker_can_be_run_once(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with MemoryLog(settings.group, INPUTS) as log:
        feed(log, stream(10))
        worker = Worker(settings, log)
        worker.run(drain=True)
        events = worker.events
        with pytest.raises(WorkerError, match="this worker was run before: make a new Worker"):
            worker.run(drain=True)
        assert worker.events == events


@pytest.mark.parametrize(
    ("place", "thread"),
    [
        ("stream_bayes.runtime.checkpointing.state_of", "checkpoint"),
        ("stream_bayes.learners.naive_bayes.MultinomialNB.clone", "checkpoint-copy"),
    ],
)
def test_item20_a_thread_that_fails_ends_the_worker(
    place: str, thread: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path, status={"seconds": 0.05}, checkpoint={"events": 20})
    with MemoryLog(settings.group, INPUTS) as log:
        feed(log, stream(100))
        worker = Worker(settings, log)
        monkeypatch.setattr(place, fail)
        hung = Timer(LIMIT, worker.stop)
        hung.daemon = True
        hung.start()
        # Nothing else ends it: the log has no end, and no stop is requested.
        with pytest.raises(BackgroundError, match=f"{thread!r} failed: ZeroDivisionError: out of order"):
            worker.run()
        hung.cancel()


def test_item20_the_reason_is_the_last_line_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker_command: Run
) -> None:
    settings = settings_in(tmp_path, status={"seconds": 0.05})
    config = write_config(settings, tmp_path / "settings.toml")
    with SqliteLog(tmp_path / "log.db") as log:
        feed(log, stream(100))
    monkeypatch.setattr(MultinomialNB, "clone", fail)
    code, output, errors = worker_command("run", "--config", config)
    assert (code, output) == (2, "")
    reason = "stream-bayes: the background thread 'checkpoint-copy' failed: ZeroDivisionError: out of order"
    assert errors.splitlines()[-1] == reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "thread"),
    short_first(
        [
            ("readmodel.log_follower.LogFollower._run", "web-log-follower"),
            ("services.log_writer.LogWriter._next_tasks", "web-log-writer"),
            ("services.labelling_service.LabellingService._warm_up", "web-warm-up"),
            ("services.rescoring.Rescorer.rescore", "web-rescoring"),
        ]
    ),
)
def test_item20_a_thread_that_fails_ends_the_page(log_folder: Path, method: str, thread: str) -> None:
    module, kind, name = method.rsplit(".", 2)
    script = f"""
        import sys
        from stream_bayes.cli import main
        from stream_bayes.web.{module} import {kind}

        def fail(*_):
            raise ZeroDivisionError("out of order")

        {kind}.{name} = fail
        sys.argv = ["stream-bayes", "web", "--log", "sqlite:///mail.db", "--port", "0"]
        main()
    """
    command = [sys.executable, "-c", dedent(script)]
    done = subprocess.run(
        command, cwd=log_folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 2
    reason = f"stream-bayes: the background thread {thread!r} failed: ZeroDivisionError: out of order"
    assert done.stderr.splitlines()[-1] == reason
