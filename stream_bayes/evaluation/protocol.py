"""The evaluation protocol (prequential): one pass over a stream that predicts each mail before it learns its label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stream_bayes.evaluation.active_learning import ActiveLearningPass, RequestCounts
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.feedback import Feedback, FeedbackRegime
from stream_bayes.evaluation.filters import HAM, SPAM, FilterScores, MailFilter, max_bytes, prepare, test_then_remember
from stream_bayes.evaluation.stream import Stream
from stream_bayes.evaluation.timing import FEATURES, LEARN, MAKE, READ, Stopwatch, memory_mb
from stream_bayes.typing import BoolArray, FloatArray

CHUNK = 256
CHUNK_BYTES = 16 << 20
TENTHS = 10
_WARM_UP = (
    Mail("1", SPAM, b"Subject: a\n\nwin money now"),
    Mail("2", HAM, b"Subject: b\n\nsee you at lunch"),
    Mail("3", None, b"Subject: c\n\nlunch money"),
)


class PassProgress:
    """The results of a pass so far."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.labels: list[str | None] = []
        self.learned: list[bool] = []
        self.scores: list[FilterScores] = []
        self.memory: list[tuple[int, float]] = [(0, memory_mb())]
        self.watch = Stopwatch()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def so_far(self) -> tuple[BoolArray, FloatArray]:
        """Whether each message is spam, and its log-odds; for messages with a label."""
        known = self.known
        log_odds = np.concatenate([np.zeros(0), *(part.log_odds for part in self.scores)])
        return np.array([label == SPAM for label in self.labels], dtype=np.bool_)[known], log_odds[known]

    @property
    def known(self) -> BoolArray:
        """Whether each message has a label."""
        return np.array([label is not None for label in self.labels], dtype=np.bool_)

    @property
    def members(self) -> dict[str, FloatArray]:
        """The log-odds of each member of the filter, for messages with a label."""
        return FilterScores.concatenate(self.scores).select(self.known).members

    @property
    def tenths(self) -> tuple[float, ...]:
        """The memory at the start, and after each tenth of the messages."""
        seen = np.array([place for place, _ in self.memory])
        megabytes = [value for _, value in self.memory]
        ends = np.ceil(seen[-1] * np.arange(TENTHS + 1) / TENTHS)
        return tuple(megabytes[place] for place in np.searchsorted(seen, ends).tolist())

    def add(self, mails: Sequence[Mail], scores: FilterScores, learned: Iterable[int]) -> None:
        """Add the scores of a chunk, and the indices of messages whose labels were learned meanwhile."""
        self.ids += [mail.id for mail in mails]
        self.labels += [mail.label for mail in mails]
        self.learned += [False] * len(mails)
        for place in learned:
            self.learned[place] = True
        self.scores.append(scores)
        self.memory.append((len(self), memory_mb()))


@dataclass(frozen=True, eq=False)
class PassResult:
    """The result of one pass; arrays have one entry for each message with a label, in the order of the stream."""

    filter_name: str
    corpus: str
    feedback: str
    ids: list[str]
    spam: BoolArray
    log_odds: FloatArray
    """The log-odds of spam, predicted before the label was known."""
    learned: BoolArray
    """Whether the label was learned at some time."""
    members: dict[str, FloatArray]
    """The log-odds of each member of a filter that combines several."""
    stages: dict[str, tuple[float, float]]
    """The CPU and wall seconds of "make" (once), "read", "features" and "predict and learn"."""
    peak_memory_mb: float
    """The peak memory of the process, measured before the pass and after each chunk."""
    memory_mb: tuple[float, ...]
    """The memory of the process before the filter was made, and after each tenth of the stream."""
    unlabelled: int
    """Messages without a label: they are scored, but cannot be evaluated."""
    stopped: bool
    """Whether the pass was stopped before the end of the stream."""
    waiting: int = 0
    """Labels that had not come by the end of the stream."""
    requests: RequestCounts | None = None
    """The counts of label requests, if a selector made them."""

    @property
    def messages(self) -> int:
        """The number of messages, with and without a label."""
        return len(self.ids) + self.unlabelled

    @property
    def accuracy(self) -> float:
        """The share of messages with a correct prediction; NaN without messages."""
        return float(np.mean((self.log_odds > 0.0) == self.spam)) if len(self.spam) else np.nan

    @property
    def cpu_microseconds(self) -> float:
        """The CPU time of a message in the filter, for features, predict and learn; NaN without messages."""
        return self._seconds_per_message(0) * 1e6

    @property
    def messages_per_second(self) -> float:
        """The number of messages per second of wall time in the filter; NaN without messages."""
        seconds = self._seconds_per_message(1)
        return 1.0 / seconds if seconds else np.nan

    def _seconds_per_message(self, clock: int) -> float:
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
    """Make a filter, run it over a stream and close it; `stop` is called after each chunk of messages.

    The size of the chunks, `chunk` messages or 16 MiB of them, has an effect on the number of calls only.
    """
    regime = FeedbackRegime(feedback) if isinstance(feedback, str) else feedback
    regime.check()
    progress = PassProgress()
    stopped = False
    with progress.watch.stage(MAKE):
        mail_filter = make()
    try:
        with progress.watch.stage(MAKE):
            prepare(mail_filter)
        current = _open_pass(mail_filter, stream, regime, progress.watch)
        for part in _chunks(stream, chunk, progress.watch):
            progress.add(part, *current.process(part))
            if stop(progress):
                stopped = True
                break
        else:
            current.end()
    finally:
        # Closing counts as work of the filter: the CPU time of a child process is known when it has ended.
        with progress.watch.stage(LEARN):
            mail_filter.close()
    return _result(progress, (mail_filter.name, stream.corpus, str(regime)), stopped, current)


def warm_up(make: Callable[[], MailFilter], feedback: str | FeedbackRegime = "immediate") -> None:
    """Run a filter over three mails, so that loading and compilation do not count as the time of a pass."""
    run(make, Stream("", _WARM_UP), feedback=feedback)


def _open_pass(
    mail_filter: MailFilter, stream: Stream, regime: FeedbackRegime, watch: Stopwatch
) -> ActiveLearningPass | _ScheduledPass:
    selector = regime.selector()
    if selector is None:
        return _ScheduledPass(mail_filter, regime.scheduled(stream, max_bytes(mail_filter)), watch)
    return ActiveLearningPass(mail_filter, selector, regime.label_delay, watch)


class _ScheduledPass:
    """A pass whose labels to learn are known beforehand."""

    requests: RequestCounts | None = None

    def __init__(self, mail_filter: MailFilter, feedback: Feedback, watch: Stopwatch) -> None:
        self._filter = mail_filter
        self._feedback = feedback
        self._watch = watch

    @property
    def waiting(self) -> int:
        return self._feedback.waiting

    def end(self) -> None:
        self._feedback.end()

    def process(self, mails: Sequence[Mail]) -> tuple[FilterScores, list[int]]:
        rows = list(self._feedback.rows(mails))
        with self._watch.stage(FEATURES):
            features = self._filter.features([row.raw for row in rows])
        with self._watch.stage(LEARN):
            # A label in a row of its own is late.
            late = [not row.scored for row in rows]
            scores = test_then_remember(self._filter, features, [row.label for row in rows], late)
        scored = np.array([row.scored for row in rows], dtype=np.bool_)
        return scores.select(scored), [row.place for row in rows if row.label is not None]


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
    progress: PassProgress, names: tuple[str, str, str], stopped: bool, current: ActiveLearningPass | _ScheduledPass
) -> PassResult:
    known = progress.known
    spam, log_odds = progress.so_far
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
        current.waiting,
        current.requests,
    )
