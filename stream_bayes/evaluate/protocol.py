"""One pass of a filter over a stream of mails: in order, predict, score, then (maybe) learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.evaluate.clock import FEATURES, LEARN, MAKE, READ, Stopwatch, memory_mb
from stream_bayes.evaluate.corpora import Mail
from stream_bayes.evaluate.feedback import Feedback, Row, open_feedback
from stream_bayes.evaluate.filters import HAM, SPAM, Filter, Scores, most_bytes, prepare
from stream_bayes.evaluate.order import Stream
from stream_bayes.kernels.compiled import BoolArray, FloatArray

CHUNK = 256
CHUNK_BYTES = 16 << 20
TENTHS = 10
_WARM_UP = (
    Mail("1", SPAM, b"Subject: a\n\nwin money now"),
    Mail("2", HAM, b"Subject: b\n\nsee you at lunch"),
    Mail("3", None, b"Subject: c\n\nlunch money"),
)


@dataclass(frozen=True, eq=False)
class Run:
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

    @property
    def messages(self) -> int:
        """All that came, with and without a label."""
        return len(self.ids) + self.unlabelled

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


class Progress:
    """What is known while a pass goes on."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.labels: list[str | None] = []
        self.learned: list[bool] = []
        self.log_odds: list[FloatArray] = []
        self.members: dict[str, list[FloatArray]] = {}
        self.memory: list[tuple[int, float]] = [(0, memory_mb())]
        self.watch = Stopwatch()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def so_far(self) -> tuple[BoolArray, FloatArray]:
        """Which were spam, and their log-odds; of the messages with a label."""
        known = self.known
        return np.array([label == SPAM for label in self.labels], dtype=np.bool_)[known], _joined(self.log_odds)[known]

    @property
    def known(self) -> BoolArray:
        """Which messages have a label."""
        return np.array([label is not None for label in self.labels], dtype=np.bool_)

    def take(self, mails: Sequence[Mail], rows: Sequence[Row], scores: Scores) -> None:
        """Add what a filter said of these messages, and which of the messages it was told."""
        self.ids += [mail.id for mail in mails]
        self.labels += [mail.label for mail in mails]
        self.learned += [False] * len(mails)
        for row in rows:
            self.learned[row.place] |= row.label is not None
        scored = np.array([row.scored for row in rows], dtype=np.bool_)
        self.log_odds.append(scores.log_odds[scored])
        for name, values in scores.members.items():
            self.members.setdefault(name, []).append(values[scored])
        self.memory.append((len(self), memory_mb()))


def run(
    make: Callable[[], Filter],
    stream: Stream,
    *,
    feedback: str = "immediate",
    chunk: int = CHUNK,
    stop: Callable[[Progress], bool] = lambda _: False,
) -> Run:
    """Make a filter, run it over a stream and close it; `stop` is asked after each chunk of messages.

    The size of the chunks, so many messages or 16 MiB of them, decides how often the filter is called and nothing else.
    """
    progress, stopped = Progress(), False
    with progress.watch.stage(MAKE):
        chosen = make()
    try:
        with progress.watch.stage(MAKE):
            prepare(chosen)
        regime = open_feedback(feedback, most_bytes(chosen))
        for part in _chunks(stream, chunk, progress.watch):
            _pass(chosen, part, regime, progress)
            if stop(progress):
                stopped = True
                break
    finally:
        # What a filter leaves to the end is work of it, such as the CPU time of a process it has run.
        with progress.watch.stage(LEARN):
            chosen.close()
    return _result(progress, (chosen.name, stream.corpus, feedback), stopped)


def warm_up(make: Callable[[], Filter]) -> None:
    """Let a filter of its own load and compile what it needs, so that no pass is charged for it."""
    run(make, Stream("", _WARM_UP))


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


def _pass(chosen: Filter, mails: Sequence[Mail], regime: Feedback, progress: Progress) -> None:
    rows = list(regime.rows(mails))
    raw, labels = [row.raw for row in rows], [row.label for row in rows]
    with progress.watch.stage(FEATURES):
        features = chosen.features(raw)
    with progress.watch.stage(LEARN):
        scores = chosen.test_then_train(features, labels)
    _check(chosen.name, rows, scores)
    progress.take(mails, rows, scores)


def _check(name: str, rows: Sequence[Row], scores: Scores) -> None:
    for part, values in (("it", scores.log_odds), *scores.members.items()):
        if len(values) != len(rows) or not np.isfinite(values).all():
            message = f"{name} must give one finite score to each message; of {len(rows)}, {part} gave {values!r}"
            raise InputError(message)


def _result(progress: Progress, names: tuple[str, str, str], stopped: bool) -> Run:
    known, (spam, log_odds) = progress.known, progress.so_far
    return Run(
        *names,
        [name for name, labelled in zip(progress.ids, known.tolist(), strict=True) if labelled],
        spam,
        log_odds,
        np.array(progress.learned, dtype=np.bool_)[known],
        {name: _joined(parts)[known] for name, parts in progress.members.items()},
        progress.watch.stages,
        max(megabytes for _, megabytes in progress.memory),
        _tenths(progress.memory),
        int((~known).sum()),
        stopped,
    )


def _tenths(memory: list[tuple[int, float]]) -> tuple[float, ...]:
    """The memory at the first look, and at the first after each tenth of the messages."""
    seen, megabytes = np.array([place for place, _ in memory]), [value for _, value in memory]
    wanted = np.ceil(seen[-1] * np.arange(TENTHS + 1) / TENTHS)
    return tuple(megabytes[place] for place in np.searchsorted(seen, wanted).tolist())


def _joined(parts: list[FloatArray]) -> FloatArray:
    return np.concatenate([np.zeros(0), *parts])
