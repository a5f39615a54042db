"""Runs of `stream-bayes evaluate`: each filter over the stream, and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from stream_bayes.cli.interruption import defer_interrupt
from stream_bayes.cli.progress import PassProgressBar
from stream_bayes.errors import CorpusError, ParameterError, reason_of
from stream_bayes.evaluation import baselines
from stream_bayes.evaluation.corpora import Counts, Mail
from stream_bayes.evaluation.corpora.ordering import STORED
from stream_bayes.evaluation.factory import OWN_FILTERS, open_filter
from stream_bayes.evaluation.feedback import FeedbackRegime
from stream_bayes.evaluation.metrics import MetricsSummary, summarise
from stream_bayes.evaluation.protocol import PassProgress, PassResult, run, warm_up
from stream_bayes.evaluation.report import REPORT_FILE, worst_ids, write_report
from stream_bayes.evaluation.serialization import pass_notes
from stream_bayes.evaluation.stream import StreamSource
from stream_bayes.mail.render.summary import subject


class EvaluationTask(NamedTuple):
    """The stream, the feedback and the threshold that all filters are evaluated with."""

    source: StreamSource
    regime: FeedbackRegime = FeedbackRegime()
    threshold: float = 0.5

    def check(self) -> None:
        """Validate the options before anything takes time."""
        self.regime.check()
        self.source.check()
        if not 0.0 < self.threshold < 1.0:
            message = f"threshold must lie between 0 and 1; got {self.threshold!r}"
            raise ParameterError(message)


class EvaluatedPass(NamedTuple):
    """The run of one filter, with its metrics."""

    run: PassResult
    summary: MetricsSummary
    counts: Counts
    """Messages and problems of the corpus."""


def select_filters(name: str, *, everything: bool) -> tuple[str, ...]:
    """Return the filter named; with `everything` also ours and every installed baseline."""
    return tuple(dict.fromkeys((*OWN_FILTERS, *baselines.available(), name))) if everything else (name,)


class PassRunner:
    """Runs several filters over the same stream; a filter that fails does not stop the others."""

    def __init__(self, names: Sequence[str]) -> None:
        self.done: list[EvaluatedPass] = []
        self.failed: dict[str, str] = {}
        """Reasons by filter name."""
        self.stopped = False
        """Whether Ctrl-C was pressed."""
        self._names = names

    def warm_up(self, regime: FeedbackRegime) -> None:
        """Load each filter and compile its kernels."""
        for name in self._names:
            with self._record_failure(name):
                warm_up(partial(open_filter, name), regime._replace(delay=None))

    def run(self, task: EvaluationTask, console: Console) -> None:
        """Run each filter; Ctrl-C ends the current run and skips the rest."""
        with defer_interrupt() as interrupts:
            for name in self._names:
                if interrupts or name in self.failed:
                    continue
                total = self.done[0].run.messages if self.done else task.source.limit
                with self._record_failure(name):
                    self.done.append(_run_pass(name, task, PassProgressBar(console, name, total), interrupts))
            self.stopped = bool(interrupts)

    def notes(self) -> list[str]:
        """Return the notes about the figures, without duplicates."""
        failed = [f"{name} failed and is left out: {reason}" for name, reason in self.failed.items()]
        return list(dict.fromkeys([*(note for each in self.done for note in pass_notes(*each)), *failed]))

    @contextmanager
    def _record_failure(self, name: str) -> Iterator[None]:
        """Record the failure of a filter; raise it if no other filter is left or the filter is not its cause."""
        try:
            yield
        except (ParameterError, CorpusError):
            raise
        # External filters may raise anything.
        except Exception as problem:
            if len(self._names) == len(self.failed) + 1:
                raise
            self.failed[name] = reason_of(problem)


def _run_pass(name: str, task: EvaluationTask, bar: PassProgressBar, interrupts: Sequence[int]) -> EvaluatedPass:
    corpus = task.source.open()

    def stop(progress: PassProgress) -> bool:
        bar.show(progress)
        return bool(interrupts)

    with bar:
        done = run(partial(open_filter, name), task.source.stream(corpus), feedback=task.regime, stop=stop)
    summary = summarise(done.spam, done.log_odds, threshold=task.threshold)
    return EvaluatedPass(done, summary, corpus.counts)


def report_path(folder: Path) -> Path:
    """Return the path that `write_evaluation_report` writes to."""
    return folder / REPORT_FILE


def write_evaluation_report(folder: Path, runner: PassRunner, task: EvaluationTask) -> Path:
    """Write the report; the corpus is read again for the subjects of the worst errors."""
    runs, summaries, _ = zip(*runner.done, strict=True)
    ids = worst_ids(runs, task.threshold)
    subjects = {mail.id: subject(mail.raw) for mail in _find_mails(task, ids)}
    return write_report(folder, runs, summaries, subjects, runner.notes())


def _find_mails(task: EvaluationTask, ids: Set[str]) -> Iterator[Mail]:
    missing = set(ids)
    # Problems of the corpus were reported during the run; they must not prevent the report.
    mails = iter(task.source._replace(on_error="skip", order=STORED).open())
    while missing:
        mail = next(mails, None)
        if mail is None:
            return
        if mail.id in missing:
            missing.remove(mail.id)
            yield mail
