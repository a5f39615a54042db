"""Workers and producers, killed at random moments and started again."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from stream_bayes.log.sqlite import SqliteLog
from tests.chaos.scene import Scene

_STARTING, _WRITING, _WORKING = "starting or catching up", "writing a checkpoint", "working"
# In these shares, in random order.
_MOMENTS = (_WORKING, _STARTING, _WRITING, _WORKING, _WORKING)
_LOOK = 0.002
# A worker that has nothing left to do is killed all the same.
_IDLE = 2.0
_PRODUCER_KILLED = 0.2
_SECONDS_A_KILL = 3.0


class Killed(NamedTuple):
    """What was done to the processes."""

    kills: Counter[str]
    """Of workers, by what they were doing."""
    producer_kills: int
    replayed: int
    """Events that were learned again after kills."""
    seconds: float


class Killer:
    """Starts a worker as often as it kills it, and once more for the end."""

    def __init__(self, scene: Scene, kills: int) -> None:
        self._scene, self._wanted = scene, kills
        self._random = random.Random(scene.seed)
        self._log = SqliteLog(scene.log)
        self._kills: Counter[str] = Counter()
        self._moments = [_MOMENTS[number % len(_MOMENTS)] for number in range(kills)]
        self._random.shuffle(self._moments)
        self._producer_kills = 0
        self._start_seconds = 2.0
        batches = (scene.messages - scene.beforehand) / 100.0
        self._pause = 0.7 * _SECONDS_A_KILL * kills / batches
        self._producer = scene.start_producer(0, self._pause)

    def run(self, say: Callable[[str], None]) -> Killed:
        """Kill as often as wanted, then let a worker come to the end."""
        began = time.monotonic()
        try:
            for number in range(self._wanted):
                self._live_and_die(number)
                self._trouble_producer()
                say(f"{number + 1} kills, {self._scene.progress(self._log):,} predictions")
            self._let_producer_end()
            self._last_worker(self._wanted)
        finally:
            self._producer.kill()
            self._producer.wait()
            self._log.close()
        said = [event for number in range(self._wanted + 1) for event in self._scene.events_said(number)]
        replayed = sum(event["events"] for event in said if event["event"] == "recovered")
        return Killed(self._kills, self._producer_kills, replayed, time.monotonic() - began)

    def _live_and_die(self, number: int) -> None:
        worker = self._scene.start_worker(number)
        moment = self._moments[number]
        try:
            if moment == _STARTING:
                time.sleep(self._random.uniform(0.0, 1.2 * self._start_seconds))
            elif moment == _WORKING or not self._wait(worker, self._is_writing, self._start_seconds + _IDLE):
                moment = _WORKING
                self._work(worker, number)
            self._check_alive(worker, number)
            self._kills[moment] += 1
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait()

    def _work(self, worker: subprocess.Popen[bytes], number: int) -> None:
        """Until about its share is done, and a little longer; shares are such that it soon has to wait for more."""
        began, first = time.monotonic(), self._scene.progress(self._log)
        if self._wait(worker, lambda: self._scene.progress(self._log) > first, 2.0 * self._start_seconds + _IDLE):
            self._start_seconds = time.monotonic() - began
        share = 0.8 * self._scene.messages * (number + 1) / self._wanted - first
        target = first + self._random.uniform(0.0, max(2.0 * share, 100.0))
        self._wait(worker, lambda: self._scene.progress(self._log) >= target, _IDLE)
        time.sleep(self._random.uniform(0.0, 0.05))

    def _is_writing(self) -> bool:
        folder = self._scene.checkpoints
        return folder.is_dir() and any(path.name.startswith(".") for path in folder.iterdir())

    @staticmethod
    def _wait(worker: subprocess.Popen[bytes], happened: Callable[[], bool], most: float) -> bool:
        """Whether it happened within so many seconds, while the worker lived."""
        deadline = time.monotonic() + most
        while worker.poll() is None and time.monotonic() < deadline:
            if happened():
                return True
            time.sleep(_LOOK)
        return False

    def _check_alive(self, worker: subprocess.Popen[bytes], number: int) -> None:
        if worker.poll() is not None:
            message = f"a worker ended by itself with {worker.returncode}: {self._scene.said(number).read_text()}"
            raise AssertionError(message)

    def _trouble_producer(self) -> None:
        """Kill it now and then; start it again if it was."""
        if self._producer.poll() is None and self._random.random() < _PRODUCER_KILLED:
            self._producer.kill()
            self._producer.wait()
            self._producer_kills += 1
            self._producer = self._scene.start_producer(self._producer_kills, self._pause)

    def _let_producer_end(self) -> None:
        """One that is in no haste is replaced by one that is."""
        if self._producer.poll() is None:
            self._producer.kill()
            self._producer.wait()
            self._producer_kills += 1
            self._producer = self._scene.start_producer(self._producer_kills, 0.0)
        assert self._producer.wait() == 0, self._scene.producer_said(self._producer_kills).read_text()

    def _last_worker(self, number: int) -> None:
        worker = self._scene.start_worker(number, "--until-end")
        assert worker.wait() == 0, self._scene.said(number).read_text()
