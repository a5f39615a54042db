"""The passes of `stream-bayes evaluate`: which filters, over which stream, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from rich.console import Console

from stream_bayes.cli.interruption import interruption
from stream_bayes.cli.progress import Bar
from stream_bayes.errors import CorpusError, ParameterError, reason_of
from stream_bayes.evaluation import baselines
from stream_bayes.evaluation.corpora import Counts
from stream_bayes.evaluation.factory import OWN_FILTERS, open_filter
from stream_bayes.evaluation.feedback import FeedbackRegime
from stream_bayes.evaluation.metrics import MetricsSummary, summarise
from stream_bayes.evaluation.protocol import PassProgress, PassResult, run, warm_up
from stream_bayes.evaluation.serialization import pass_notes
from stream_bayes.evaluation.stream import StreamSource


class Task(NamedTuple):
    """What every filter is to be run over and told, and how it is judged."""

    source: StreamSource
    regime: FeedbackRegime = FeedbackRegime()
    threshold: float = 0.5

    def check(self) -> None:
        """Refuse what cannot work before anything takes time."""
        self.regime.check()
        self.source.check()
        if not 0.0 < self.threshold < 1.0:
            message = f"threshold must lie between 0 and 1; got {self.threshold!r}"
            raise ParameterError(message)


class Pass(NamedTuple):
    """One filter's pass and what it was worth."""

    run: PassResult
    summary: MetricsSummary
    counts: Counts
    """What came out of the corpus, and what was wrong in it."""


def chosen_filters(name: str, *, everything: bool) -> tuple[str, ...]:
    """The filter of that name; or ours, every peer that is installed, and the one named."""
    return tuple(dict.fromkeys((*OWN_FILTERS, *baselines.available(), name))) if everything else (name,)


class Passes:
    """The passes of several filters over the same stream; one filter that fails does not take the others with it."""

    def __init__(self, names: Sequence[str]) -> None:
        self.done: list[Pass] = []
        self.failed: dict[str, str] = {}
        """Why, by the name of the filter."""
        self.stopped = False
        """Whether Ctrl-C was pressed."""
        self._names = names

    def warm_up(self, regime: FeedbackRegime) -> None:
        """Let each filter load and compile what it needs."""
        for name in self._names:
            with self._kept(name):
                warm_up(partial(open_filter, name), regime._replace(delay=None))

    def run(self, task: Task, console: Console) -> None:
        """Run each filter; Ctrl-C ends the pass that runs and leaves out the others."""
        with interruption() as pressed:
            for name in self._names:
                if pressed or name in self.failed:
                    continue
                total = self.done[0].run.messages if self.done else task.source.limit
                with self._kept(name):
                    self.done.append(_run(name, task, Bar(console, name, total), pressed))
            self.stopped = bool(pressed)

    def notes(self) -> list[str]:
        """What one should know of the figures, each thing once."""
        failed = [f"{name} failed and is left out: {reason}" for name, reason in self.failed.items()]
        return list(dict.fromkeys([*(note for each in self.done for note in pass_notes(*each)), *failed]))

    @contextmanager
    def _kept(self, name: str) -> Iterator[None]:
        """A failure is noted, unless there is no other filter left or it has nothing to do with this one."""
        try:
            yield
        except (ParameterError, CorpusError):
            raise
        # Of other people's filters anything may come.
        except Exception as problem:
            if len(self._names) == len(self.failed) + 1:
                raise
            self.failed[name] = reason_of(problem)


def _run(name: str, task: Task, bar: Bar, pressed: Sequence[int]) -> Pass:
    corpus = task.source.open()

    def stop(progress: PassProgress) -> bool:
        bar.show(progress)
        return bool(pressed)

    with bar:
        done = run(partial(open_filter, name), task.source.stream(corpus), feedback=task.regime, stop=stop)
    summary = summarise(done.spam, done.log_odds, threshold=task.threshold)
    return Pass(done, summary, corpus.counts)
