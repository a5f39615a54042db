"""The demo, step by step: mails go in, a worker filters them, questions are answered, the worker is killed once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Self

from stream_bayes.config import TopicSettings
from stream_bayes.demo.feeder import Feeder
from stream_bayes.demo.figures import BudgetFigures, Crash, DemoFigures
from stream_bayes.demo.log_follower import DemoFollower
from stream_bayes.demo.mail_sources import LabelledMails
from stream_bayes.demo.process import WorkerProcess
from stream_bayes.demo.simulated_labeller import SimulatedLabeller
from stream_bayes.demo.workspace import Workspace
from stream_bayes.eventlog.factory import open_log

LONGEST = 60.0
"""Seconds of mail at most, when there is a pace."""
MAILS_A_SECOND = 100.0
_THINKING = 0.8
"""Seconds, in the mean."""
_TICK = 0.05
_FAST_TICK = 0.01
_SHOWN_EVERY = 0.25
_KILLED_AT = 0.4
"""The share of the mails after which the worker is killed."""
_DOWN = 1.0
"""Seconds until somebody starts it again."""
_SETTLING = 60.0
"""Seconds at most until the last labels are learned."""
PATIENCE = 60.0
"""Seconds without anything new from the worker after which the demo gives up."""
_COMPILING = 5.0
"""How many times as long it may take while the worker compiles."""


class ScenarioOptions(NamedTuple):
    """How the demo is played."""

    budget: int
    fast: bool

    def flow_seconds(self, mails: int) -> float | None:
        """How long so many mails take to come; None: as long as they need."""
        return None if self.fast else min(LONGEST, mails / MAILS_A_SECOND)


class Scenario:
    """One demo; leaving the context ends the worker, whatever has happened.

    Parameters
    ----------
    post
        The mails.
    place
        The folder, with nothing in it.
    terms
        Budget and pace.
    show
        Called several times a second with the figures of the moment.
    stopped
        Whether somebody wants it to end; looked at between steps.
    """

    def __init__(
        self,
        post: LabelledMails,
        place: Workspace,
        terms: ScenarioOptions,
        show: Callable[[DemoFigures], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._post = post
        self._place = place
        self._terms = terms
        self._show = show
        self._stopped = stopped
        place.write_settings(terms.budget)
        topics = TopicSettings()
        truth = post.labels
        self._log = open_log(place.url)
        self._worker = WorkerProcess(place.settings, place.reports)
        self._postman = Feeder(self._log, topics.observations, post.mails, terms.flow_seconds(len(post.mails)))
        thinking = 0.0 if terms.fast else _THINKING
        self._labeller = SimulatedLabeller(self._log, (topics.label_requests, topics.labels), truth, thinking)
        self._watch = DemoFollower(self._log, topics, truth)
        self.scores = self._watch.scores
        self._began = self._show_due = time.monotonic()
        self._flow_began: float | None = None
        self._done: tuple[int, ...] = ()
        self._done_at = self._began
        self._crash: Crash | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()
        self._log.close()

    def run(self) -> DemoFigures | None:
        """Play it to its end: the last figures; None if somebody has stopped it."""
        some = max(int(_KILLED_AT * len(self._post.mails)), 1)
        self._worker.start()
        self._postman.send_first()
        if not self._until(lambda: self._watch.through > 0):
            return None
        self._flow_began = time.monotonic()
        if not self._until(lambda: self._watch.through >= some):
            return None
        if not self._kill_and_restart() or not self._until(self._is_through):
            return None
        flow_ended = time.monotonic()
        return self._finish(flow_ended) if self._until(lambda: self._has_learned(flow_ended)) else None

    def _is_through(self) -> bool:
        through = self._watch.through >= len(self._post.mails)
        return self._postman.done and through and self._labeller.idle

    def _has_learned(self, since: float) -> bool:
        """Whether the worker has learned every answer; it is not waited for without end."""
        return self._watch.learned >= self._labeller.answered or time.monotonic() > since + _SETTLING

    def _until(self, done: Callable[[], bool]) -> bool:
        """Step by step until then; whether nobody stopped it before."""
        while not done():
            if self._stopped():
                return False
            self._step()
            time.sleep(_FAST_TICK if self._terms.fast else _TICK)
        return True

    def _step(self) -> None:
        now = time.monotonic()
        self._worker.look()
        if self._flow_began is not None:
            self._postman.send_due(now, self._watch.through)
        self._watch.read()
        self._labeller.work(now)
        self._give_up_if_stuck(now)
        if now >= self._show_due:
            self._show_due = now + _SHOWN_EVERY
            starting = "compiling" if self._worker.compiling else "starting"
            self._show(self._figures(starting if self._flow_began is None else "running", now))

    def _give_up_if_stuck(self, now: float) -> None:
        done = self._watch.through, self._watch.learned, len(self._worker.recovered)
        if done != self._done:
            self._done = done
            self._done_at = now
        if now > self._done_at + PATIENCE * (_COMPILING if self._worker.compiling else 1.0):
            raise self._worker.stuck(now - self._done_at)

    def _kill_and_restart(self) -> bool:
        """SIGKILL in the middle of everything; mails go on to come while the worker is down."""
        self._worker.kill()
        self._watch.read()
        self._crash = Crash(self._watch.scores.predictions)
        starts = len(self._worker.recovered) + 1
        up = time.monotonic() + (0.0 if self._terms.fast else _DOWN)
        if not self._until(lambda: time.monotonic() >= up):
            return False
        self._worker.start()
        if not self._until(lambda: len(self._worker.recovered) >= starts):
            return False
        events, seconds = self._worker.recovered[-1]
        self._crash = self._crash._replace(replayed=events, seconds=seconds)
        return True

    def _finish(self, flow_ended: float) -> DemoFigures:
        """End the worker as an operator would, then look at all that it has written."""
        self._worker.finish()
        self._watch.read()
        return self._figures("ended", flow_ended)._replace(seconds=time.monotonic() - self._began)

    def _figures(self, phase: str, now: float) -> DemoFigures:
        labeller = self._labeller
        return DemoFigures(
            phase=phase,
            seconds=now - self._began,
            flow_seconds=0.0 if self._flow_began is None else now - self._flow_began,
            source=self._post.name,
            mails=len(self._post.mails),
            sent=self._postman.sent,
            seen=self._watch.seen(now),
            asking=BudgetFigures(self._terms.budget, labeller.asked, labeller.answered, labeller.newest),
            crash=self._crash,
            folder=str(self._place.folder),
        )
