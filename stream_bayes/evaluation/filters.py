"""What an evaluation runs: anything that makes features of raw mails, then scores each and learns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.typing import BoolArray, FloatArray

HAM = "ham"
SPAM = "spam"


class FilterScores(NamedTuple):
    """What a filter said of each mail before it was told the label."""

    log_odds: FloatArray
    """Of spam, with their sign: any score that rises with spam; the probability is 1 / (1 + exp(-log_odds))."""
    members: dict[str, FloatArray]
    """The same for each part of a filter that combines several; empty for the others."""
    predictions: LabelPredictions | None = None
    """All that was said, for whoever chooses which labels to ask for; None where there is nothing but the log-odds."""

    def taken(self, rows: slice | BoolArray) -> FilterScores:
        """Only the log-odds of these rows."""
        return FilterScores(self.log_odds[rows], {name: values[rows] for name, values in self.members.items()})

    @classmethod
    def joined(cls, parts: Sequence[FilterScores]) -> FilterScores:
        """The log-odds of one after the other."""
        names = parts[0].members if parts else {}
        members = {name: np.concatenate([part.members[name] for part in parts]) for name in names}
        return cls(np.concatenate([np.zeros(0), *(part.log_odds for part in parts)]), members)


@runtime_checkable
class MailFilter(Protocol):
    """A spam filter as the protocol runs it; `features` and `test_then_train` are timed apart.

    Three more are used where a filter has them: `prepare()`, called once before the first mail, is timed with the
    making of the filter; `most_bytes`, if it is a number, says that no more of a mail is looked at, so that no more is
    kept of mails that are learned later; and `part(features, begin, end)` gives the features of some of the mails,
    where they are not a sequence.
    """

    name: str

    def features(self, mails: Sequence[bytes]) -> Any:
        """Whatever `test_then_train` wants to have of these mails; the mails themselves will do."""

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> FilterScores:
        """For each mail in order: score it, then learn it if its label ("spam" or "ham") is given."""

    def close(self) -> None:
        """Give back what was opened: files, processes."""


def prepare(chosen: MailFilter) -> None:
    """Let a filter do what it has to do once, such as taking its memory, if there is anything."""
    getattr(chosen, "prepare", lambda: None)()


def most_bytes(chosen: MailFilter) -> int | None:
    """How much of a mail the filter looks at; None if it does not say or looks at everything."""
    most: int | None = getattr(chosen, "most_bytes", None)
    return most


def part_of(chosen: MailFilter, features: Any, begin: int, end: int) -> Any:
    """The features of some of the mails that they were made of."""
    part = getattr(chosen, "part", None)
    return features[begin:end] if part is None else part(features, begin, end)


def check_scores(name: str, messages: int, scores: FilterScores) -> None:
    """Refuse what is not one finite number for each message."""
    for part, values in (("it", scores.log_odds), *scores.members.items()):
        if len(values) != messages or not np.isfinite(values).all():
            message = f"{name} must give one finite score to each message; of {messages}, {part} gave {values!r}"
            raise InputError(message)
