"""The state of a demo as numbers, for the screen and for --json."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from stream_bayes.demo.accuracy import WINDOW
from stream_bayes.demo.output_follower import WorkerProgress
from stream_bayes.demo.simulated_labeller import RequestLine
from stream_bayes.evaluation.corpora.mail import counted


class Crash(NamedTuple):
    """The kill of the worker, and its recovery."""

    mail: int
    """Number of mails predicted before it."""
    replayed: int | None = None
    """Events replayed from the journal; None until the worker reports them."""
    seconds: float = 0.0
    """Duration of the replay."""

    @property
    def sentence(self) -> str:
        """The kill and the recovery in words."""
        killed = f"killed with SIGKILL at mail {self.mail:,}"
        if self.replayed is None:
            return f"{killed}; restarting"
        return f"{killed}; restarted; {counted(self.replayed, 'event')} replayed from the journal"


class BudgetFigures(NamedTuple):
    """Use of the label budget."""

    total: int
    requested: int
    answered: int
    newest: tuple[RequestLine, ...]


class DemoFigures(NamedTuple):
    """The state of the demo at one time."""

    phase: str
    """"starting", "compiling", "running" or "ended"."""
    seconds: float
    """Since the start of the demo."""
    flow_seconds: float
    """Since the start of the mails."""
    source: str
    mails: int
    sent: int
    progress: WorkerProgress
    budget: BudgetFigures
    crash: Crash | None
    folder: str

    @property
    def lag(self) -> int:
        """Mails without a prediction yet."""
        return self.sent - self.progress.predicted - self.progress.dead_letters

    @property
    def exactly_once(self) -> bool:
        """Whether each mail has exactly one prediction, or is a dead letter."""
        return self.progress.predicted == self.progress.distinct == self.mails - self.progress.dead_letters

    @property
    def verdict(self) -> str:
        """The check of exactly-once processing in words."""
        if not self.exactly_once:
            return (
                f"{self.progress.predicted:,} predictions of {self.progress.distinct:,} of {self.mails:,} mails: a bug"
            )
        exception = f", except {self.progress.dead_letters:,} dead letters" if self.progress.dead_letters else ""
        return f"every mail has exactly one prediction{exception}"

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for --json."""
        progress = self.progress
        budget = self.budget
        return {
            "source": self.source,
            "mails": self.mails,
            "predictions": progress.predicted,
            "mails_with_a_prediction": progress.distinct,
            "dead_letters": progress.dead_letters,
            "exactly_once": self.exactly_once,
            "killed": None if self.crash is None else self.crash._asdict(),
            "one_minus_roca_percent": _finite(progress.area),
            f"one_minus_roca_percent_of_the_last_{WINDOW}": _finite(progress.recent_area),
            "labels_requested": budget.requested,
            "labels_answered": budget.answered,
            "labels_learned": progress.learned,
            "labels_remaining": budget.total - budget.requested,
            "calibration": [each._asdict() for each in progress.calibration],
            "stage_seconds": progress.stage_seconds,
            "seconds": round(self.seconds, 3),
            "seconds_of_mail": round(self.flow_seconds, 3),
            "mails_per_second": round(progress.predicted / max(self.flow_seconds, 1e-9), 1),
            "folder": self.folder,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
