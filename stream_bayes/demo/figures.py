"""The state of a demo in numbers: what the screen shows, and what machines get in the end."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from stream_bayes.demo.accuracy import WINDOW
from stream_bayes.demo.log_follower import WorkerProgress
from stream_bayes.demo.simulated_labeller import RequestLine
from stream_bayes.evaluation.corpora.mail import counted


class Crash(NamedTuple):
    """What happened when the worker was killed."""

    mail: int
    """How many mails had been predicted by then."""
    replayed: int | None = None
    """Events that the next worker learned again from the journal; None until it says so."""
    seconds: float = 0.0
    """How long that took."""

    @property
    def sentence(self) -> str:
        """In words, as far as it has come."""
        killed = f"killed with SIGKILL at mail {self.mail:,}"
        if self.replayed is None:
            return f"{killed}; restarting"
        return f"{killed}; restarted; {counted(self.replayed, 'event')} replayed from the journal"


class BudgetFigures(NamedTuple):
    """How the label budget is spent."""

    budget: int
    asked: int
    answered: int
    newest: tuple[RequestLine, ...]


class DemoFigures(NamedTuple):
    """One moment of the demo."""

    phase: str
    """"starting", "compiling", "running" or "ended"."""
    seconds: float
    """Since the demo began."""
    flow_seconds: float
    """Since the mails began to flow."""
    source: str
    mails: int
    sent: int
    seen: WorkerProgress
    asking: BudgetFigures
    crash: Crash | None
    folder: str

    @property
    def lag(self) -> int:
        """Mails that wait."""
        return self.sent - self.seen.predicted - self.seen.dead

    @property
    def exactly_once(self) -> bool:
        """Whether each mail has one prediction, or is a dead letter, and none has two."""
        return self.seen.predicted == self.seen.distinct == self.mails - self.seen.dead

    @property
    def verdict(self) -> str:
        """What the last look at all predictions found."""
        if not self.exactly_once:
            return f"{self.seen.predicted:,} predictions of {self.seen.distinct:,} of {self.mails:,} mails: a bug"
        but = f", but {self.seen.dead:,} that are in the dead letters" if self.seen.dead else ""
        return f"every mail has exactly one prediction{but}"

    def described(self) -> dict[str, Any]:
        """For machines."""
        seen = self.seen
        asking = self.asking
        return {
            "source": self.source,
            "mails": self.mails,
            "predictions": seen.predicted,
            "mails_with_a_prediction": seen.distinct,
            "dead_letters": seen.dead,
            "exactly_once": self.exactly_once,
            "killed": None if self.crash is None else self.crash._asdict(),
            "one_minus_roca_percent": _finite(seen.area),
            f"one_minus_roca_percent_of_the_last_{WINDOW}": _finite(seen.recent_area),
            "labels_requested": asking.asked,
            "labels_answered": asking.answered,
            "labels_learned": seen.learned,
            "labels_remaining": asking.budget - asking.asked,
            "calibration": [each._asdict() for each in seen.calibration],
            "stage_seconds": seen.stage_seconds,
            "seconds": round(self.seconds, 3),
            "seconds_of_mail": round(self.flow_seconds, 3),
            "mails_per_second": round(seen.predicted / max(self.flow_seconds, 1e-9), 1),
            "folder": self.folder,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
