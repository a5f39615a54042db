"""Fixtures shared by all tests."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from stream_bayes.cli import main
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.kernels.common.jit_stats import NOTICE_BEGINNING
from tests.support.broker import (
    Broker,
    ConsoleProducer,
    RemoteBroker,
    SecureBroker,
    install_missing_tools,
    kafka_jars,
    missing_tools,
)
from tests.support.commands import Run
from tests.support.disks import mount
from tests.support.logs import LOCAL, Logs, local_kind
from tests.support.scheduling import GroupScheduling, group_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
REMOTE_BROKER = "STREAM_BAYES_KAFKA"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# A property must hold on a busy machine too: it is not judged by its time.
hypothesis_settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("any speed")


def pytest_configure() -> None:
    """Set signals to what a program in the foreground has: tests interrupt processes that inherit them from here.

    In the background of a script SIGINT is ignored, under `nohup` SIGHUP.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _signal_handlers() -> Iterator[None]:
    """Restore the handlers that a command has installed in this process."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels that commands need, so that no command says in a test that it compiles."""
    if hasattr(session.config, "workerinput") or session.config.option.collectonly:
        return
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "STREAM_BAYES__LEARNER__NAME": "MultinomialNB"}
    command = [sys.executable, "-m", "stream_bayes.cli", "warm-up"]
    # Where that fails its own tests say so.
    subprocess.run(command, env=environment, cwd=ROOT, check=False, capture_output=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what needs the broker: it waits more than it computes, and takes longest."""
    items.sort(key=lambda item: "broker" not in group_of(item.nodeid.split("::", 1)[0]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep the tests of a file in one process."""
    return GroupScheduling(config, log)


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker | RemoteBroker]:
    """A real Kafka broker: the one STREAM_BAYES_KAFKA names, else our own, for which Java and Maven are needed."""
    address = os.environ.get(REMOTE_BROKER)
    if address:
        yield RemoteBroker(address)
        return
    with Broker(_jars_or_skip(f", or set {REMOTE_BROKER} to the host:port of a broker")) as own:
        yield own


@pytest.fixture(scope="session")
def secure_broker() -> Iterator[SecureBroker]:
    """A broker behind passwords and certificates; always our own."""
    with SecureBroker(_jars_or_skip("", "openssl")) as own:
        yield own


@pytest.fixture
def console_producer(broker: Broker | RemoteBroker) -> ConsoleProducer:
    """A client of the broker in Java."""
    return ConsoleProducer(_jars_or_skip(""), broker.address)


@pytest.fixture
def killable_broker(broker: Broker | RemoteBroker) -> Iterator[Broker]:
    """Our own broker, for a test that kills it; it runs again when the test has ended."""
    if isinstance(broker, RemoteBroker):
        pytest.skip(f"the broker at {broker.address} is not ours to kill: install Java 17 and Maven")
    yield broker
    broker.start()


def _jars_or_skip(otherwise: str, *besides: str) -> Path:
    """Kafka's jars; the test is skipped where a program is missing that a broker of our own needs."""
    install_missing_tools(*besides)
    if missing := missing_tools(*besides):
        packages = " ".join(["openjdk-17-jre-headless", "maven", *besides])
        pytest.skip(
            f"no Kafka broker: {' and '.join(missing)} not found. Install Java 17 and Maven (Debian: apt-get install "
            f"{packages}){otherwise}"
        )
    return kafka_jars()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process: exit code, output, errors.

    The notice that kernels are compiled is left out: whether it comes depends on what ran before, and how fast.
    """

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["stream-bayes", *map(str, arguments)])
        monkeypatch.setattr(sys, "path", [*sys.path])
        with pytest.raises(SystemExit) as ending:
            main()
        assert isinstance(ending.value.code, int)
        captured = capsys.readouterr()
        lines = captured.err.splitlines(keepends=True)
        errors = "".join(line for line in lines if NOTICE_BEGINNING not in line)
        return ending.value.code, captured.out, errors

    return call


@pytest.fixture
def worker_command(run: Run) -> Iterator[Run]:
    """The command line in this process; signals and loggers are afterwards as they were."""
    root = logging.getLogger("stream_bayes")
    before = root.handlers, root.level, root.propagate
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield run
    root.handlers, root.level, root.propagate = before
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 4 MiB, in memory."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", folder)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(params=LOCAL)
def local_logs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Logs]:
    """Each kind that needs no broker."""
    kind = local_kind(request.param, tmp_path)
    yield kind
    kind.close()


@pytest.fixture
def worker_logs(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log records of workers, from level INFO on."""
    caplog.set_level("INFO", "stream_bayes")
    return caplog


@pytest.fixture
def log_folder(tmp_path: Path) -> Path:
    """A folder with a log of one mail, and an empty folder of checkpoints."""
    (tmp_path / "mail.db.checkpoints").mkdir()
    with SqliteLog(tmp_path / "mail.db") as log:
        log.append("emails", b'{"id": "1", "text": "hello"}')
        log.commit({})
    return tmp_path
