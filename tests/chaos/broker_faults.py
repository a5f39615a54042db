"""What can happen to workers on a broker besides being killed: it dies, others come and go, one sleeps too long."""

from __future__ import annotations

import signal
import time
from functools import partial
from typing import NamedTuple

from stream_bayes.errors import LogError
from tests.chaos.killer import Act, Killer
from tests.chaos.log_locations import SESSION_SECONDS
from tests.chaos.processes import Running
from tests.chaos.workspace import ChaosWorkspace
from tests.support.broker import Broker

BROKER = "kills of the broker"
REBALANCE = "rebalances forced"
ZOMBIE = "zombies"
_WITHOUT_BROKER = "kills of a worker without its broker"
_NO_BROKER = "workers started without a broker"
_REFUSED = "commits of zombies refused"
# What each takes, about.
_SECONDS = {BROKER: 15.0, REBALANCE: 10.0, ZOMBIE: 15.0}
_JOIN_SECONDS = 300.0
_LONG_AWAY = 0.15
_SHORT_AWAY_SECONDS = 1.0
_EARLY = 0.5
_TAKEN_OVER_SECONDS = 300.0


class Plan(NamedTuple):
    """How often what happens."""

    kills: int
    """Of workers."""
    brokers: int
    rebalances: int
    zombies: int


class BrokerFaults(Killer):
    """A killer of workers on a broker, which it kills too.

    Parameters
    ----------
    scene
        Prepared.
    broker
        Where the scene is; it runs.
    plan
        What happens.
    """

    def __init__(self, scene: ChaosWorkspace, broker: Broker, plan: Plan) -> None:
        super().__init__(scene, plan.kills)
        self._broker = broker
        self._known = 0
        acts: dict[str, tuple[int, Act]] = {
            BROKER: (plan.brokers, self._kill_broker),
            REBALANCE: (plan.rebalances, self._come_and_go),
            ZOMBIE: (plan.zombies, self._sleep_too_long),
        }
        for what, (count, act) in acts.items():
            self.acts += [partial(self._counted, what, act)] * count
            self.seconds += _SECONDS[what] * count

    def progress(self) -> int:
        """How many predictions there are, or were when the broker last answered."""
        try:
            self._known = super().progress()
        except LogError as problem:
            if not problem.retriable:
                raise
        return self._known

    def away_seconds(self) -> float:
        """Mostly it comes back before the others know; now and then its partitions are theirs by then."""
        long = self.random.random() < _LONG_AWAY
        return SESSION_SECONDS + 2.0 if long else self.random.uniform(0.0, _SHORT_AWAY_SECONDS)

    def _counted(self, what: str, act: Act) -> None:
        act()
        self.others[what] += 1

    def _kill_broker(self) -> None:
        """In the middle of work; sometimes a worker dies meanwhile, and comes back before or after the broker."""
        time.sleep(self.random.uniform(0.0, 1.0))
        self._broker.kill()
        victim = self.random.choice([None, *range(len(self.crew))])
        early = self.random.random() < _EARLY
        time.sleep(self.random.uniform(0.0, 3.0))
        if victim is not None:
            self.crew[victim].check()
            self.crew[victim].kill()
            self.others[_WITHOUT_BROKER] += 1
        if victim is not None and early:
            self.crew[victim] = self.start()
            self.others[_NO_BROKER] += 1
            time.sleep(self.random.uniform(0.0, 3.0))
        self._broker.start()
        if victim is not None and not early:
            self.crew[victim] = self.start()
        self._await_progress("after the broker came back")

    def _come_and_go(self) -> None:
        """One more worker, for a while."""
        guest = self.start()
        self.crew.append(guest)
        assert self.wait(lambda: bool(guest.partitions), _JOIN_SECONDS), self._nothing("a worker that came gets none")
        time.sleep(self.random.uniform(0.0, 2.0))
        guest.check()
        guest.stop()
        self.crew.remove(guest)

    def _sleep_too_long(self) -> None:
        """A worker that is frozen in the middle of work, and wakes when its partitions are another's."""
        sleeper = self.random.choice(self.crew)
        assert self.wait(lambda: bool(sleeper.partitions), _JOIN_SECONDS), self._nothing("a worker gets none")
        time.sleep(self.random.uniform(0.0, 1.0))
        fenced = sleeper.fenced
        sleeper.process.send_signal(signal.SIGSTOP)
        lost = sleeper.partitions
        others = [worker for worker in self.crew if worker is not sleeper]
        taken = self.wait(lambda: lost <= _owned(others), _TAKEN_OVER_SECONDS)
        time.sleep(self.random.uniform(0.0, 2.0))
        sleeper.process.send_signal(signal.SIGCONT)
        assert taken, self._nothing("the partitions of a frozen worker are not taken over")
        time.sleep(self.random.uniform(0.0, 3.0))
        self.others[_REFUSED] += sleeper.fenced and not fenced

    def _await_progress(self, when: str) -> None:
        first = self.progress()
        assert self.wait(lambda: self.progress() > first, _JOIN_SECONDS), self._nothing(f"no progress {when}")

    def _nothing(self, what: str) -> str:
        said = "\n".join(self.scene.said(worker.number).read_text() for worker in self.crew)
        return f"{what}: {said}"


def _owned(workers: list[Running]) -> set[int]:
    return set().union(*(worker.partitions for worker in workers))
