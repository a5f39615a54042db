"""The interface of a filter under evaluation: it extracts features of raw mails, scores each mail and learns it."""

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
    """The scores of a filter for each mail, from before it learned the label."""

    log_odds: FloatArray
    """The log-odds of spam; the probability is 1 / (1 + exp(-log_odds))."""
    members: dict[str, FloatArray]
    """The log-odds of each member of a filter that combines several; empty for other filters."""
    predictions: LabelPredictions | None = None
    """The full predictions, for active learning; None if the filter has nothing but the log-odds."""

    def select(self, rows: slice | BoolArray) -> FilterScores:
        """The log-odds of these rows, without predictions."""
        return FilterScores(self.log_odds[rows], {name: values[rows] for name, values in self.members.items()})

    @classmethod
    def concatenate(cls, parts: Sequence[FilterScores]) -> FilterScores:
        """The log-odds of all parts in order, without predictions."""
        names = parts[0].members if parts else {}
        members = {name: np.concatenate([part.members[name] for part in parts]) for name in names}
        return cls(np.concatenate([np.zeros(0), *(part.log_odds for part in parts)]), members)


@runtime_checkable
class MailFilter(Protocol):
    """A spam filter as the protocol runs it; `features` and `test_then_train` are timed apart.

    Four more are used where a filter has them: `prepare()`, called once before the first mail, is timed with the
    making of the filter; `max_bytes`, if it is a number, says that no more of a mail is looked at, so that no more is
    kept of mails that are learned later; `part(features, begin, end)` gives the features of some of the mails, where
    they are not a sequence; and `test_then_remember(features, labels, remember)` is told besides which labels were
    requested or came late, so that they are few.
    """

    name: str

    def features(self, mails: Sequence[bytes]) -> Any:
        """Convert mails into the form that `test_then_train` takes; it may return the mails themselves."""

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> FilterScores:
        """For each mail in order: score it, then learn it if its label ("spam" or "ham") is given."""

    def close(self) -> None:
        """Close files and end processes."""


def prepare(mail_filter: MailFilter) -> None:
    """Call the filter's `prepare`, if it has one."""
    getattr(mail_filter, "prepare", lambda: None)()


def max_bytes(mail_filter: MailFilter) -> int | None:
    """The number of bytes of a mail that the filter uses; None if it uses all of them or does not say."""
    limit: int | None = getattr(mail_filter, "max_bytes", None)
    return limit


def test_then_remember(
    mail_filter: MailFilter, features: Any, labels: Sequence[str | None], remember: Sequence[bool]
) -> FilterScores:
    """The scores of mails before each is learned, also in the memory of the filter, if it has one."""
    own = getattr(mail_filter, "test_then_remember", None)
    scores: FilterScores = (
        mail_filter.test_then_train(features, labels) if own is None else own(features, labels, remember)
    )
    check_scores(mail_filter.name, len(labels), scores)
    return scores


def slice_features(mail_filter: MailFilter, features: Any, begin: int, end: int) -> Any:
    """The features of a range of mails."""
    part = getattr(mail_filter, "part", None)
    return features[begin:end] if part is None else part(features, begin, end)


def check_scores(name: str, messages: int, scores: FilterScores) -> None:
    """Refuse scores that are not one finite number for each message."""
    for part, values in (("it", scores.log_odds), *scores.members.items()):
        if len(values) != messages or not np.isfinite(values).all():
            message = f"{name} must give one finite score to each message; of {messages}, {part} gave {values!r}"
            raise InputError(message)
