"""The demo step by step: mails are sent, a worker filters them, label requests are answered, the worker is killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Self

from stream_bayes.config import TopicSettings
from stream_bayes.demo.feeder import Feeder
from stream_bayes.demo.figures import BudgetFigures, Crash, DemoFigures
from stream_bayes.demo.mail_sources import MailSource
from stream_bayes.demo.output_follower import DemoFollower
from stream_bayes.demo.process import WorkerProcess
from stream_bayes.demo.simulated_labeller import SimulatedLabeller
from stream_bayes.demo.workspace import Workspace
from stream_bayes.eventlog.factory import open_log

MAX_SECONDS = 60.0
"""Maximum duration of the mails, if there is a pace."""
MAILS_PER_SECOND = 100.0
_ANSWER_SECONDS = 0.8
"""Mean time to answer a request."""
_TICK = 0.05
_FAST_TICK = 0.01
_REDRAW_SECONDS = 0.25
_KILL_FRACTION = 0.4
"""Fraction of the mails after which the worker is killed."""
_DOWNTIME_SECONDS = 1.0
"""Time until the restart."""
_MAX_LEARN_SECONDS = 60.0
"""Maximum time to learn the last labels."""
STALL_SECONDS = 60.0
"""Time without progress of the worker after which the demo fails."""
_COMPILE_FACTOR = 5.0
"""Factor on that time while the worker compiles."""


class ScenarioOptions(NamedTuple):
    """Label budget and pace of the demo."""

    budget: int
    fast: bool

    def flow_seconds(self, mails: int) -> float | None:
        """Return the duration of the mails; None: no pace."""
        return None if self.fast else min(MAX_SECONDS, mails / MAILS_PER_SECOND)


class Scenario:
    """One demo; leaving the context kills the worker.

    Parameters
    ----------
    source
        The mails.
    workspace
        The empty folder.
    options
        Budget and pace.
    show
        Called several times per second with the current figures.
    stopped
        Whether to stop; checked between steps.
    """

    def __init__(
        self,
        source: MailSource,
        workspace: Workspace,
        options: ScenarioOptions,
        show: Callable[[DemoFigures], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._source = source
        self._workspace = workspace
        self._options = options
        self._show = show
        self._stopped = stopped
        workspace.write_settings(options.budget)
        topics = TopicSettings()
        truth = source.labels
        self._log = open_log(workspace.url)
        self._worker = WorkerProcess(workspace.settings, workspace.worker_log)
        self._feeder = Feeder(self._log, topics.observations, source.mails, options.flow_seconds(len(source.mails)))
        answer_seconds = 0.0 if options.fast else _ANSWER_SECONDS
        self._labeller = SimulatedLabeller(self._log, (topics.label_requests, topics.labels), truth, answer_seconds)
        self._follower = DemoFollower(self._log, topics, truth)
        self.scores = self._follower.scores
        self._started_at = time.monotonic()
        self._show_due = self._started_at
        self._flow_started_at: float | None = None
        self._done: tuple[int, ...] = ()
        self._done_at = self._started_at
        self._crash: Crash | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()
        self._log.close()

    def run(self) -> DemoFigures | None:
        """Run to the end and return the final figures; None if stopped."""
        kill_at = max(int(_KILL_FRACTION * len(self._source.mails)), 1)
        self._worker.start()
        self._feeder.send_warm_up()
        if not self._run_until(lambda: self._follower.processed > 0):
            return None
        self._flow_started_at = time.monotonic()
        if not self._run_until(lambda: self._follower.processed >= kill_at):
            return None
        if not self._kill_and_restart() or not self._run_until(self._is_processed):
            return None
        flow_ended = time.monotonic()
        return self._finish(flow_ended) if self._run_until(lambda: self._has_learned(flow_ended)) else None

    def _is_processed(self) -> bool:
        processed = self._follower.processed >= len(self._source.mails)
        return self._feeder.done and processed and self._labeller.idle

    def _has_learned(self, since: float) -> bool:
        """Whether the worker has learned every answer, or the time limit is over."""
        return self._follower.learned >= self._labeller.answered or time.monotonic() > since + _MAX_LEARN_SECONDS

    def _run_until(self, done: Callable[[], bool]) -> bool:
        """Step until the condition holds; False if stopped before."""
        while not done():
            if self._stopped():
                return False
            self._step()
            time.sleep(_FAST_TICK if self._options.fast else _TICK)
        return True

    def _step(self) -> None:
        now = time.monotonic()
        self._worker.poll()
        if self._flow_started_at is not None:
            self._feeder.send_due(now, self._follower.processed)
        self._follower.read()
        self._labeller.answer_due(now)
        self._check_progress(now)
        if now >= self._show_due:
            self._show_due = now + _REDRAW_SECONDS
            starting = "compiling" if self._worker.compiling else "starting"
            self._show(self._figures(starting if self._flow_started_at is None else "running", now))

    def _check_progress(self, now: float) -> None:
        done = self._follower.processed, self._follower.learned, len(self._worker.recovered)
        if done != self._done:
            self._done = done
            self._done_at = now
        if now > self._done_at + STALL_SECONDS * (_COMPILE_FACTOR if self._worker.compiling else 1.0):
            raise self._worker.stalled_error(now - self._done_at)

    def _kill_and_restart(self) -> bool:
        """Kill the worker with SIGKILL and restart it; mails are sent while it is down."""
        self._worker.kill()
        self._follower.read()
        self._crash = Crash(self._follower.scores.predictions)
        starts = len(self._worker.recovered) + 1
        restart_at = time.monotonic() + (0.0 if self._options.fast else _DOWNTIME_SECONDS)
        if not self._run_until(lambda: time.monotonic() >= restart_at):
            return False
        self._worker.start()
        if not self._run_until(lambda: len(self._worker.recovered) >= starts):
            return False
        report = self._worker.recovered[-1]
        self._crash = self._crash._replace(replayed=report.events, seconds=report.seconds)
        return True

    def _finish(self, flow_ended: float) -> DemoFigures:
        """Shut the worker down gracefully, then read all of its output."""
        self._worker.finish()
        self._follower.read()
        return self._figures("ended", flow_ended)._replace(seconds=time.monotonic() - self._started_at)

    def _figures(self, phase: str, now: float) -> DemoFigures:
        labeller = self._labeller
        return DemoFigures(
            phase=phase,
            seconds=now - self._started_at,
            flow_seconds=0.0 if self._flow_started_at is None else now - self._flow_started_at,
            source=self._source.name,
            mails=len(self._source.mails),
            sent=self._feeder.sent,
            progress=self._follower.progress(now),
            budget=BudgetFigures(self._options.budget, labeller.requested, labeller.answered, labeller.newest),
            crash=self._crash,
            folder=str(self._workspace.folder),
        )
