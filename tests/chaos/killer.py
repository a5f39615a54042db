"""Workers and producers, killed at random moments and started again."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tests.chaos.processes import Producers, Running
from tests.chaos.workspace import ChaosWorkspace

STARTING = "starting or catching up"
WRITING = "writing a checkpoint"
WORKING = "working"
# In these shares, in random order.
_MOMENTS = (WORKING, STARTING, WRITING, WORKING, WORKING)
# A worker that has nothing left to do is killed all the same.
_IDLE = 2.0
_SECONDS_A_KILL = 3.0
_LOOK_AT_FILES = 0.002

Act = Callable[[], None]


class Killed(NamedTuple):
    """What was done to the processes."""

    kills: Counter[str]
    """Of workers, by what they were doing."""
    others: Counter[str]
    """What else was done."""
    replayed: int
    """Events that were learned again after kills."""
    seconds: float


class Killer:
    """Lets as many workers work as the place of the scene is for, kills them, and starts one in place of each.

    Parameters
    ----------
    scene
        Prepared.
    kills
        How often a worker is killed.
    """

    def __init__(self, scene: ChaosWorkspace, kills: int) -> None:
        self.scene = scene
        self.random = random.Random(scene.seed)
        self.others: Counter[str] = Counter()
        self.log = scene.place.open()
        self._kills: Counter[str] = Counter()
        moments = [_MOMENTS[number % len(_MOMENTS)] for number in range(kills)]
        self.acts: list[Act] = [partial(self._live_and_die, moment) for moment in moments]
        self.seconds = 0.7 * _SECONDS_A_KILL * kills
        """What the acts take, about."""
        self._done = self._started = 0
        self._start_seconds = 2.0
        self.crew: list[Running] = []

    def run(self, say: Callable[[str], None]) -> Killed:
        """Perform all acts in random order, then let a worker come to the end."""
        began = time.monotonic()
        self.random.shuffle(self.acts)
        producers = Producers(self.scene, self.random, self.seconds)
        try:
            self.crew += [self.start() for _ in range(self.scene.place.workers)]
            for act in self.acts:
                self._done += 1
                act()
                self.check()
                producers.trouble()
                say(f"{self._done} of {len(self.acts)}, {self.progress():,} predictions")
            producers.let_end()
            self._end()
        finally:
            for worker in self.crew:
                worker.kill()
            producers.close()
            self.log.close()
        self.others["kills of the producer"] = producers.kills
        return Killed(self._kills, self.others, self._replayed(), time.monotonic() - began)

    def start(self, *more: str) -> Running:
        """Another worker."""
        self._started += 1
        return Running(self.scene, self._started - 1, *more)

    def check(self) -> None:
        """All workers live."""
        for worker in self.crew:
            worker.check()

    def progress(self) -> int:
        """How many predictions there are."""
        return self.scene.progress(self.log)

    def wait(self, happened: Callable[[], bool], most: float, every: float | None = None) -> bool:
        """Whether it happened within `most` seconds while the workers lived; polls as often as the log allows."""
        deadline = time.monotonic() + most
        while time.monotonic() < deadline:
            if happened():
                return True
            self.check()
            time.sleep(every or self.scene.place.look_seconds)
        return False

    def kill(self, worker: Running, what: str, pause: float = 0.0) -> Running:
        """Let another one take its place, after a pause."""
        worker.check()
        worker.kill()
        self._kills[what] += 1
        time.sleep(pause)
        place = self.crew.index(worker)
        self.crew[place] = self.start()
        return self.crew[place]

    def away_seconds(self) -> float:
        """For how long a worker is missed that was killed."""
        return 0.0

    def _live_and_die(self, moment: str) -> None:
        if moment == STARTING:
            worker = max(self.crew, key=lambda one: one.began)
            if time.monotonic() - worker.began > self._start_seconds:
                worker = self.kill(worker, WORKING)
            time.sleep(self.random.uniform(0.0, 1.2 * self._start_seconds))
        else:
            worker = self.random.choice(self.crew)
            if moment == WORKING or not self.wait(lambda: worker.writing, self._start_seconds + _IDLE, _LOOK_AT_FILES):
                moment = WORKING
                self._work(worker)
        self.kill(worker, moment, self.away_seconds())

    def _work(self, worker: Running) -> None:
        """Until about its share is done, and a little longer; shares are such that it soon has to wait for more."""
        first = self.progress()
        if self.wait(lambda: self.progress() > first, 2.0 * self._start_seconds + _IDLE) and len(self.crew) == 1:
            self._start_seconds = time.monotonic() - worker.began
        share = 0.8 * self.scene.messages * self._done / len(self.acts) - first
        target = first + self.random.uniform(0.0, max(2.0 * share, 100.0))
        self.wait(lambda: self.progress() >= target, _IDLE)
        time.sleep(self.random.uniform(0.0, 0.05))

    def _end(self) -> None:
        while self.crew:
            self.crew[-1].stop()
            self.crew.pop()
        self.start("--drain").work_to_the_end()

    def _replayed(self) -> int:
        said = [event for number in range(self._started) for event in self.scene.events_said(number)]
        return sum(event["events"] for event in said if event["event"] == "recovered")
