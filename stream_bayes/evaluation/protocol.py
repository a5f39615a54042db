"""One pass of a filter over a stream of mails: in order, predict, score, then (maybe) learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stream_bayes.evaluation.active_learning import ActiveLearningPass, RequestCounts
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.feedback import Feedback, FeedbackRegime
from stream_bayes.evaluation.filters import HAM, SPAM, FilterScores, MailFilter, check_scores, most_bytes, prepare
from stream_bayes.evaluation.progress import TENTHS, PassProgress
from stream_bayes.evaluation.stream import Stream
from stream_bayes.evaluation.timing import FEATURES, LEARN, MAKE, READ, Stopwatch
from stream_bayes.typing import BoolArray, FloatArray

__all__ = ["CHUNK", "CHUNK_BYTES", "TENTHS", "PassProgress", "PassResult", "run", "warm_up"]

CHUNK = 256
CHUNK_BYTES = 16 << 20
_WARM_UP = (
    Mail("1", SPAM, b"Subject: a\n\nwin money now"),
    Mail("2", HAM, b"Subject: b\n\nsee you at lunch"),
    Mail("3", None, b"Subject: c\n\nlunch money"),
)


@dataclass(frozen=True, eq=False)
class PassResult:
    """What one pass gave; arrays have one entry for each message with a label, in the order of the stream."""

    filter_name: str
    corpus: str
    feedback: str
    ids: list[str]
    spam: BoolArray
    log_odds: FloatArray
    """Of spam, as they were said before the label was known."""
    learned: BoolArray
    """Whether the label was told at some time."""
    members: dict[str, FloatArray]
    """The log-odds of each part of a filter that combines several."""
    stages: dict[str, tuple[float, float]]
    """CPU and wall seconds of "make", which is once a pass, "read", "features" and "predict and learn"."""
    peak_memory_mb: float
    """The most the process had before the pass and after each chunk of it."""
    memory_mb: tuple[float, ...]
    """Memory of the process before the filter was made and after each tenth of the stream."""
    unlabelled: int
    """Messages without a label: scored as the others, but nothing can be said of the score."""
    stopped: bool
    """Whether somebody ended the pass; there may have been more messages."""
    waiting: int = 0
    """Labels that were to be told and had not come by the end."""
    asked: RequestCounts | None = None
    """What became of the questions, where a selector decided whose labels to ask for."""

    @property
    def messages(self) -> int:
        """All that came, with and without a label."""
        return len(self.ids) + self.unlabelled

    @property
    def accuracy(self) -> float:
        """The share of messages whose more probable label came; NaN without messages."""
        return float(np.mean((self.log_odds > 0.0) == self.spam)) if len(self.spam) else np.nan

    @property
    def cpu_microseconds(self) -> float:
        """CPU time of a message in the filter: features, predict and learn; NaN without messages."""
        return self._a_message(0) * 1e6

    @property
    def messages_per_second(self) -> float:
        """Messages in a second of wall time spent in the filter; NaN without messages."""
        seconds = self._a_message(1)
        return 1.0 / seconds if seconds else np.nan

    def _a_message(self, clock: int) -> float:
        seconds = sum(self.stages[name][clock] for name in (FEATURES, LEARN) if name in self.stages)
        return seconds / self.messages if self.messages else np.nan


def run(
    make: Callable[[], MailFilter],
    stream: Stream,
    *,
    feedback: str | FeedbackRegime = "immediate",
    chunk: int = CHUNK,
    stop: Callable[[PassProgress], bool] = lambda _: False,
) -> PassResult:
    """Make a filter, run it over a stream and close it; `stop` is asked after each chunk of messages.

    The size of the chunks, so many messages or 16 MiB of them, decides how often the filter is called and nothing else.
    """
    regime = FeedbackRegime(feedback) if isinstance(feedback, str) else feedback
    regime.check()
    progress = PassProgress()
    stopped = False
    with progress.watch.stage(MAKE):
        chosen = make()
    try:
        with progress.watch.stage(MAKE):
            prepare(chosen)
        way = _way(chosen, stream, regime, progress.watch)
        for part in _chunks(stream, chunk, progress.watch):
            progress.take(part, *way.over(part))
            if stop(progress):
                stopped = True
                break
        else:
            way.end()
    finally:
        # What a filter leaves to the end is work of it, such as the CPU time of a process it has run.
        with progress.watch.stage(LEARN):
            chosen.close()
    return _result(progress, (chosen.name, stream.corpus, str(regime)), stopped, way)


def warm_up(make: Callable[[], MailFilter], feedback: str | FeedbackRegime = "immediate") -> None:
    """Let a filter of its own load and compile what it needs, so that no pass is charged for it."""
    run(make, Stream("", _WARM_UP), feedback=feedback)


def _way(chosen: MailFilter, stream: Stream, regime: FeedbackRegime, watch: Stopwatch) -> ActiveLearningPass | _Telling:
    selector = regime.selector()
    if selector is None:
        return _Telling(chosen, regime.told(stream, most_bytes(chosen)), watch)
    return ActiveLearningPass(chosen, selector, regime.late, watch)


class _Telling:
    """A pass in which it is known beforehand whose labels are told."""

    asked: RequestCounts | None = None

    def __init__(self, chosen: MailFilter, feedback: Feedback, watch: Stopwatch) -> None:
        self._filter = chosen
        self._feedback = feedback
        self._watch = watch

    @property
    def waiting(self) -> int:
        return self._feedback.waiting

    def end(self) -> None:
        self._feedback.end()

    def over(self, mails: Sequence[Mail]) -> tuple[FilterScores, list[int]]:
        rows = list(self._feedback.rows(mails))
        with self._watch.stage(FEATURES):
            features = self._filter.features([row.raw for row in rows])
        with self._watch.stage(LEARN):
            said = self._filter.test_then_train(features, [row.label for row in rows])
        check_scores(self._filter.name, len(rows), said)
        scored = np.array([row.scored for row in rows], dtype=np.bool_)
        return said.taken(scored), [row.place for row in rows if row.label is not None]


def _chunks(mails: Iterable[Mail], size: int, watch: Stopwatch) -> Iterator[list[Mail]]:
    with watch.stage(READ):
        source = iter(mails)
    while True:
        with watch.stage(READ):
            part = _chunk(source, size)
        if not part:
            return
        yield part


def _chunk(source: Iterator[Mail], size: int) -> list[Mail]:
    part: list[Mail] = []
    read = 0
    while len(part) < size and read < CHUNK_BYTES:
        mail = next(source, None)
        if mail is None:
            break
        part.append(mail)
        read += len(mail.raw)
    return part


def _result(
    progress: PassProgress, names: tuple[str, str, str], stopped: bool, way: ActiveLearningPass | _Telling
) -> PassResult:
    known = progress.known
    (spam, log_odds) = progress.so_far
    return PassResult(
        *names,
        [name for name, labelled in zip(progress.ids, known.tolist(), strict=True) if labelled],
        spam,
        log_odds,
        np.array(progress.learned, dtype=np.bool_)[known],
        progress.members,
        progress.watch.stages,
        max(megabytes for _, megabytes in progress.memory),
        progress.tenths,
        int((~known).sum()),
        stopped,
        way.waiting,
        way.asked,
    )
