"""Processes that are killed: workers and producers."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from typing import Any

from tests.chaos.workspace import ChaosWorkspace
from tests.support.signals import wait_until_handled

_PRODUCER_KILLED = 0.2
# A worker that is told to stop has a checkpoint of each partition to write, and may have to wait for the broker.
_STOP_SECONDS = 300.0
_END_SECONDS = 600.0
_FENCED = "partitions may be another worker's by now"


class Running:
    """A worker at work; `number` tells it from all others of the scene."""

    def __init__(self, scene: ChaosWorkspace, number: int, *more: str) -> None:
        self._scene = scene
        self.number = number
        self.process = scene.start_worker(number, *more)
        self.began = time.monotonic()

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    @property
    def partitions(self) -> set[int]:
        """Those that it recovered and has not lost since, as far as it has said."""
        own: set[int] = set()
        for event in self.events():
            if event["event"] == "recovered":
                own.add(event["partition"])
            elif event["event"] == "lost":
                own -= set(map(int, str(event["partitions"]).split(", ")))
            elif event["event"] == _FENCED:
                own.clear()
        return own

    @property
    def fenced(self) -> bool:
        """Whether the broker refused a commit of it, since its partitions were another's."""
        return any(event["event"] == _FENCED for event in self.events())

    @property
    def writing(self) -> bool:
        """Whether it is writing a checkpoint: a temporary file has the number of its process."""
        return any(True for _ in self._scene.checkpoints.glob(f"partition-*/.*.{self.process.pid}.*"))

    def events(self) -> list[dict[str, Any]]:
        """What it has said."""
        return self._scene.events_said(self.number)

    def check(self) -> None:
        """A worker never ends by itself."""
        assert self.alive, f"a worker ended by itself with {self.process.returncode}: {self._said()}"

    def kill(self) -> None:
        """At once, also one that is frozen."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """As an operator would: it commits, writes its checkpoints and ends, whatever it was doing."""
        wait_until_handled(self.process)
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired as problem:
            message = f"a worker did not stop within {_STOP_SECONDS:.0f} s: {self._said()}"
            raise AssertionError(message) from problem
        assert code == 0, f"a worker that was stopped ended with {code}: {self._said()}"

    def work_to_the_end(self) -> None:
        """One that was started with --drain."""
        code = self.process.wait(_END_SECONDS)
        assert code == 0, f"the last worker ended with {code}: {self._said()}"

    def _said(self) -> str:
        return self._scene.said(self.number).read_text()


class Producers:
    """One producer after the other, each going on where the last one was killed."""

    def __init__(self, scene: ChaosWorkspace, rng: random.Random, seconds: float) -> None:
        """The total time in seconds, approximately."""
        self._scene = scene
        self._random = rng
        batches = (scene.messages - scene.beforehand) / 100.0
        self._pause = seconds / batches
        self.kills = 0
        self._process = scene.start_producer(0, self._pause)

    def trouble(self) -> None:
        """Kill the one of now every now and then."""
        if self._process.poll() is None and self._random.random() < _PRODUCER_KILLED:
            self._replace(self._pause)

    def let_end(self) -> None:
        """One that is in no haste is replaced by one that is."""
        if self._process.poll() is None:
            self._replace(0.0)
        assert self._process.wait() == 0, self._scene.producer_said(self.kills).read_text()

    def close(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()

    def _replace(self, pause: float) -> None:
        self.close()
        self.kills += 1
        self._process = self._scene.start_producer(self.kills, pause)
