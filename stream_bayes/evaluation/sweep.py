"""Many passes with different feedback, in parallel on all cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from stream_bayes.errors import reason_of
from stream_bayes.evaluation.corpora import Corpus, Mail
from stream_bayes.evaluation.factory import open_filter
from stream_bayes.evaluation.feedback import ACTIVE, FIRST, FeedbackRegime
from stream_bayes.evaluation.late_sources import late_messages, mail_source
from stream_bayes.evaluation.pass_figures import PassFigures, pass_figures
from stream_bayes.evaluation.process_pool import Failure, available_cores, map_unordered
from stream_bayes.evaluation.protocol import PassProgress, run
from stream_bayes.evaluation.stream import Stream, StreamSource
from stream_bayes.typing import BoolArray

Stop = Callable[[], bool]
"""Whether to stop; called several times a second."""


class Job(NamedTuple):
    """The description of one pass."""

    source: StreamSource
    filter_name: str
    regime: FeedbackRegime

    def __str__(self) -> str:
        seed = f", seed {self.regime.seed}" if self.regime.uses_seed else ""
        return f"{self.filter_name}, {self.regime}{seed}"


class SweepResult(NamedTuple):
    """The result of one pass."""

    job: Job
    figures: PassFigures
    audited: int
    waiting: int
    """Labels that had not come by the end of the stream."""


class AreaSpread(NamedTuple):
    """The distribution of (1-ROCA)% over passes that differ in their seeds only."""

    passes: int
    mean: float
    deviation: float
    """Standard deviation of a pass; 0 for one alone."""
    least: float
    greatest: float
    labels: float
    """Learned on average."""


def spread(outcomes: Sequence[SweepResult]) -> AreaSpread:
    """The distribution over one pass or more."""
    areas = np.array([outcome.figures.one_minus_roca_percent for outcome in outcomes])
    deviation = float(areas.std(ddof=1)) if len(areas) > 1 else 0.0
    labels = float(np.mean([outcome.figures.labels for outcome in outcomes]))
    return AreaSpread(len(areas), float(areas.mean()), deviation, float(areas.min()), float(areas.max()), labels)


def regimes_by_seed(strategy: str, budget: int, seeds: Sequence[int], delay: str | None = None) -> list[FeedbackRegime]:
    """The feedback of one strategy with one budget, for each seed; `first` does not depend on a seed."""
    chosen = seeds[:1] if strategy == FIRST else seeds
    return [FeedbackRegime(f"{ACTIVE}:{budget}", strategy, delay, seed) for seed in chosen]


def run_job(job: Job, stop: Stop = lambda: False) -> SweepResult | None:
    """Run one pass; None if it was stopped. The mails of a corpus are cached for the next pass."""

    def ended(_: PassProgress) -> bool:
        return stop()

    source = job.source
    make = partial(open_filter, job.filter_name)
    done = run(make, _stream(source), feedback=job.regime, stop=ended)
    if done.stopped:
        return None
    requests = Counter({} if done.requests is None else done.requests.counts)
    return SweepResult(job, pass_figures(done, _late(source)), requests["audited"], done.waiting)


def sweep(
    jobs: Sequence[Job], *, stop: Stop = lambda: False, processes: int | None = None
) -> Iterator[SweepResult | Failure[Job]]:
    """Run these passes, by default on all cores, and yield their results as they end.

    A pass that fails does not stop the others. `stop` ends all of them; finished ones have been yielded by then.
    """
    count = min(processes or available_cores(), len(jobs))
    if count > 1:
        yield from map_unordered(_run_to_end, jobs, count, stop)
        return
    for job in jobs:
        outcome = None if stop() else _run_or_fail(job, stop)
        if outcome is None:
            return
        yield outcome


def _run_or_fail(job: Job, stop: Stop) -> SweepResult | Failure[Job] | None:
    try:
        return run_job(job, stop)
    # Filters of other people may raise anything.
    except Exception as problem:
        return Failure(job, reason_of(problem))


def _run_to_end(job: Job) -> SweepResult:
    outcome = run_job(job)
    assert outcome is not None  # it is never stopped
    return outcome


def _stream(source: StreamSource) -> Stream:
    corpus, mails = _read(StreamSource(source.path, source.prefix, source.on_error, order=source.corpus_order))
    return source.stream(corpus, mails)


@lru_cache(4)
def _late(source: StreamSource) -> BoolArray:
    """Whether each message with a label is of a late source."""
    mails = list(_stream(source))
    late = late_messages([mail_source(mail.raw) for mail in mails])
    return late[[mail.label is not None for mail in mails]]


@lru_cache(4)
def _read(source: StreamSource) -> tuple[Corpus, list[Mail]]:
    corpus = source.open()
    return corpus, list(corpus)
