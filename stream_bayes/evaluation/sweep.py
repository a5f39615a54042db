"""Many passes over streams that differ in what is asked for, on all cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stream_bayes.errors import reason_of
from stream_bayes.evaluation.corpora import Corpus, Mail
from stream_bayes.evaluation.factory import open_filter
from stream_bayes.evaluation.feedback import ACTIVE, FIRST, FeedbackRegime
from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.evaluation.process_pool import Failure, answers, cores
from stream_bayes.evaluation.protocol import PassProgress, run
from stream_bayes.evaluation.stream import StreamSource

Stop = Callable[[], bool]
"""Whether somebody wants it to end; asked several times a second."""


class Job(NamedTuple):
    """One pass."""

    source: StreamSource
    filter_name: str
    regime: FeedbackRegime

    def __str__(self) -> str:
        seed = f", seed {self.regime.seed}" if self.regime.draws else ""
        return f"{self.filter_name}, {self.regime}{seed}"


class SweepResult(NamedTuple):
    """What became of it."""

    job: Job
    one_minus_roca_percent: float
    """NaN where only one class came."""
    labels: int
    audited: int
    waiting: int
    """Labels that had not come by the end."""


class AreaSpread(NamedTuple):
    """(1-ROCA)% over passes that differ in nothing but chance."""

    passes: int
    mean: float
    deviation: float
    """Standard deviation of a pass; 0 for one alone."""
    least: float
    greatest: float
    labels: float
    """Told on average."""


def spread(outcomes: Sequence[SweepResult]) -> AreaSpread:
    """Over these passes, one or more."""
    areas = np.array([outcome.one_minus_roca_percent for outcome in outcomes])
    deviation = float(areas.std(ddof=1)) if len(areas) > 1 else 0.0
    labels = float(np.mean([outcome.labels for outcome in outcomes]))
    return AreaSpread(len(areas), float(areas.mean()), deviation, float(areas.min()), float(areas.max()), labels)


def trials(strategy: str, budget: int, seeds: Sequence[int], delay: str | None = None) -> list[FeedbackRegime]:
    """The passes of one strategy with so many labels, one for each seed; the first messages are always the same."""
    chosen = seeds[:1] if strategy == FIRST else seeds
    return [FeedbackRegime(f"{ACTIVE}:{budget}", strategy, delay, seed) for seed in chosen]


def perform(job: Job, stop: Stop = lambda: False) -> SweepResult | None:
    """Run one pass; None if it was ended. The mails of a corpus are kept for the next one."""

    def ended(_: PassProgress) -> bool:
        return stop()

    source = job.source
    corpus, mails = _read(source.path, source.prefix, source.on_error)
    make = partial(open_filter, job.filter_name)
    done = run(make, source.stream(corpus, mails), feedback=job.regime, stop=ended)
    if done.stopped:
        return None
    asked = Counter({} if done.asked is None else done.asked.counts)
    area = one_minus_roca_percent(done.spam, done.log_odds)
    return SweepResult(job, area, int(done.learned.sum()), asked["audited"], done.waiting)


def sweep(
    jobs: Sequence[Job], *, stop: Stop = lambda: False, processes: int | None = None
) -> Iterator[SweepResult | Failure[Job]]:
    """Run all of these passes, on all cores unless told otherwise, and yield what they gave as they end.

    A pass that fails does not take the others with it. `stop` ends them all; what is done by then has been yielded.
    """
    count = min(processes or cores(), len(jobs))
    if count > 1:
        yield from answers(_performed, jobs, count, stop)
        return
    for job in jobs:
        outcome = None if stop() else _tried(job, stop)
        if outcome is None:
            return
        yield outcome


def _tried(job: Job, stop: Stop) -> SweepResult | Failure[Job] | None:
    try:
        return perform(job, stop)
    # Of other people's filters anything may come.
    except Exception as problem:
        return Failure(job, reason_of(problem))


def _performed(job: Job) -> SweepResult:
    outcome = perform(job)
    assert outcome is not None  # nobody ends it
    return outcome


@lru_cache(4)
def _read(path: Path, prefix: str, on_error: str) -> tuple[Corpus, list[Mail]]:
    corpus = StreamSource(path, prefix, on_error).open()
    return corpus, list(corpus)
