"""A single-node Kafka broker in KRaft mode, as a process that tests may kill and restart."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kafka import KafkaAdminClient

from tests.support.broker.processes import HOST, BrokerError, dismiss, free_ports, listens, run, start_guard
from tests.support.broker.properties import QUICK, SINGLE_NODE, as_file, listening

if TYPE_CHECKING:
    from types import TracebackType

START_SECONDS = 300.0
STOP_SECONDS = 120.0
LOG_TAIL_LINES = 40
PLAINTEXT = "PLAINTEXT"


@dataclass(frozen=True)
class RemoteBroker:
    """A broker that someone else runs: it can be used, not killed."""

    address: str
    """The bootstrap address, host:port."""


class Broker:
    """A broker of our own, on ports and in a folder of its own.

    Killing it keeps its data; `close` ends it and removes the data. If the process that made it dies without
    closing it, a guard process does both. It makes no topics by itself.

    Parameters
    ----------
    jars
        The folder of Kafka's jars.
    port
        The port that clients connect to; a free one if not given.
    settings
        Properties of the server besides its own, or instead of them.
    quick
        Whether its limits and intervals are so short that tests need not wait; else they are Kafka's own.
    """

    def __init__(
        self, jars: Path, port: int | None = None, *, settings: Mapping[str, str] | None = None, quick: bool = True
    ) -> None:
        self._jars = jars
        self._port = port or free_ports(1)[0]
        self._properties = {**SINGLE_NODE, **(QUICK if quick else {}), **(settings or {})}
        self.folder = Path(tempfile.mkdtemp(prefix="stream_bayes-kafka-"))
        self._log = self.folder / "server.log"
        self._settings = self.folder / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def address(self) -> str:
        """The bootstrap address, host:port; the same after a restart."""
        return f"{HOST}:{self._port}"

    @property
    def pid(self) -> int | None:
        """The process id, which is its group's too; None when it was never started or has been killed."""
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the broker and wait until a client has spoken to it."""
        if self.running:
            return
        if listens(self._port):
            message = f"{self.address} is in use by another program"
            raise BrokerError(message)
        if not self._settings.exists():
            self._format()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(self._settings)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._guard = start_guard(self._process.pid, self.folder)
        self._wait_until_ready()

    def stop(self) -> None:
        """Ask the broker to shut down and wait for it; kill it if it takes too long."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the broker with SIGKILL, keeping its data."""
        if self._guard is not None:
            dismiss(self._guard)
            self._guard = None
        if self._process is not None:
            if self.running:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Start again, on the same port and data, killing the broker first if it still runs."""
        self.kill()
        self.start()

    def close(self) -> None:
        """Kill the broker and remove its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def listeners(self) -> dict[str, str]:
        """The settings of what it listens on."""
        return listening({PLAINTEXT: self._port}, {PLAINTEXT: PLAINTEXT}, free_ports(1)[0])

    def format_arguments(self) -> list[str]:
        """What the data folder is to hold before the first start, as arguments of Kafka's StorageTool."""
        return []

    def _java(self, main: str, *arguments: str) -> list[str]:
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=INFO"]
        return ["java", *options, "-cp", str(self._jars / "*"), main, *arguments]

    def _format(self) -> None:
        """Write the settings and give the data folder a cluster id, as Kafka wants before its first start."""
        place = {"log.dirs": str(self.folder / "data")}
        self._settings.write_text(as_file({**self.listeners(), **place, **self._properties}), encoding="utf-8")
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        arguments = [f"--cluster-id={cluster_id}", f"--config={self._settings}", *self.format_arguments()]
        try:
            run(self._java("kafka.tools.StorageTool", "format", *arguments), "Kafka's format", START_SECONDS)
        except BaseException:
            self._settings.unlink()
            raise

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        try:
            self._wait_for_port(deadline)
            _shake_hands(self.address, max(1.0, deadline - time.monotonic()))
        except Exception as error:
            reason = f"The Kafka broker at {self.address} did not start: {str(error) or repr(error)}"
            message = f"{reason}. Its log ends:\n{self._tail()}"
            raise BrokerError(message) from error

    def _wait_for_port(self, deadline: float) -> None:
        """Wait until the broker listens; only then a client, since one that cannot connect leaks a thread."""
        while not listens(self._port):
            if not self.running:
                message = "the process ended"
                raise BrokerError(message)
            if time.monotonic() > deadline:
                message = f"its port was not open within {START_SECONDS:.0f} s"
                raise BrokerError(message)
            time.sleep(0.05)

    def _tail(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])


def _shake_hands(address: str, seconds: float) -> None:
    """Connect as a client and ask for the brokers of the cluster."""
    with KafkaAdminClient(bootstrap_servers=address, bootstrap_timeout_ms=int(seconds * 1000)) as client:
        brokers = client.describe_cluster()["brokers"]
    if not brokers:
        message = "the cluster has no broker"
        raise BrokerError(message)
