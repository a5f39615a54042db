"""What is known of a pass while it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.filters import SPAM, FilterScores
from stream_bayes.evaluation.timing import Stopwatch, memory_mb
from stream_bayes.typing import BoolArray, FloatArray

TENTHS = 10


class PassProgress:
    """Grows with each chunk of messages."""

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
        """Which were spam, and their log-odds; of the messages with a label."""
        known = self.known
        log_odds = np.concatenate([np.zeros(0), *(part.log_odds for part in self.scores)])
        return np.array([label == SPAM for label in self.labels], dtype=np.bool_)[known], log_odds[known]

    @property
    def known(self) -> BoolArray:
        """Which messages have a label."""
        return np.array([label is not None for label in self.labels], dtype=np.bool_)

    @property
    def members(self) -> dict[str, FloatArray]:
        """The log-odds of each part of the filter; of the messages with a label."""
        return FilterScores.joined(self.scores).taken(self.known).members

    @property
    def tenths(self) -> tuple[float, ...]:
        """The memory at the first look, and at the first after each tenth of the messages."""
        seen = np.array([place for place, _ in self.memory])
        megabytes = [value for _, value in self.memory]
        wanted = np.ceil(seen[-1] * np.arange(TENTHS + 1) / TENTHS)
        return tuple(megabytes[place] for place in np.searchsorted(seen, wanted).tolist())

    def take(self, mails: Sequence[Mail], scores: FilterScores, told: Iterable[int]) -> None:
        """Add what a filter said of these messages, and the places of messages whose labels it was told meanwhile."""
        self.ids += [mail.id for mail in mails]
        self.labels += [mail.label for mail in mails]
        self.learned += [False] * len(mails)
        for place in told:
            self.learned[place] = True
        self.scores.append(scores)
        self.memory.append((len(self), memory_mb()))
