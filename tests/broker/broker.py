"""A single-node Kafka broker in KRaft mode, as a process that tests may kill and restart."""

from __future__ import annotations

import base64
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kafka import KafkaAdminClient

if TYPE_CHECKING:
    from types import TracebackType

START_SECONDS = 60.0
STOP_SECONDS = 20.0
LOG_TAIL_LINES = 40

# Below the ports the kernel gives to outgoing connections (from 32768). A client that retries a killed
# broker's port could otherwise be given that very port as its own and connect to itself.
PORTS = range(20_000, 32_000)

# The session timeout is how long a killed broker's registration keeps its successor out: 9 s by default.
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""

# Waits until the pipe from the tests closes, which happens however they end, SIGKILL included. It removes
# the folder a second after the kill, when the broker has let go of its files.
GUARD = 'read -r line; kill -s KILL -- "-$1" 2>/dev/null; sleep 1; rm -rf -- "$2"'


class BrokerError(RuntimeError):
    """The broker did not start; the message holds the end of its log."""


@dataclass(frozen=True)
class RemoteBroker:
    """A broker that someone else runs: it can be used, not killed."""

    address: str
    """The bootstrap address, host:port."""


class Broker:
    """A broker of our own, on ports and in a folder of its own.

    Killing it keeps its data; `close` ends it and removes the data. If the process that made it dies without
    closing it, a guard process does both.

    Parameters
    ----------
    jars
        The folder of Kafka's jars.
    port
        The port that clients connect to; a free one if not given.
    """

    def __init__(self, jars: Path, port: int | None = None) -> None:
        self._jars = jars
        self._port = port or _free_port()
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
        return f"127.0.0.1:{self._port}"

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
        if _listens(self._port):
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
        self._guard = _start_guard(self._process.pid, self.folder)
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
            _dismiss(self._guard)
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

    def _java(self, main: str, *arguments: str) -> list[str]:
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=INFO"]
        return ["java", *options, "-cp", str(self._jars / "*"), main, *arguments]

    def _format(self) -> None:
        """Write the settings and give the data folder a cluster id, as Kafka wants before its first start."""
        data = self.folder / "data"
        settings = SETTINGS.format(port=self._port, controller_port=_free_port(), data=data)
        self._settings.write_text(settings, encoding="utf-8")
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        arguments = ["format", f"--cluster-id={cluster_id}", f"--config={self._settings}"]
        done = subprocess.run(
            self._java("kafka.tools.StorageTool", *arguments),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS,
        )
        if done.returncode != 0:
            self._settings.unlink()
            message = f"Kafka could not format its data folder:\n{done.stdout}"
            raise BrokerError(message)

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
        while not _listens(self._port):
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


def _free_port() -> int:
    for port in random.sample(PORTS, k=100):
        with socket.socket() as candidate, contextlib.suppress(OSError):
            candidate.bind(("127.0.0.1", port))
            return port
    message = f"no free port found between {PORTS.start} and {PORTS.stop}"
    raise BrokerError(message)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _shake_hands(address: str, seconds: float) -> None:
    """Connect as a client and ask for the brokers of the cluster."""
    with KafkaAdminClient(bootstrap_servers=address, bootstrap_timeout_ms=int(seconds * 1000)) as client:
        brokers = client.describe_cluster()["brokers"]
    if not brokers:
        message = "the cluster has no broker"
        raise BrokerError(message)


def _start_guard(group: int, folder: Path) -> subprocess.Popen[bytes]:
    """Start the process that cleans up if this one dies."""
    command = ["sh", "-c", GUARD, "guard", str(group), str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def _dismiss(guard: subprocess.Popen[bytes]) -> None:
    guard.kill()
    guard.communicate()
