"""What an evaluation runs: anything that makes features of raw mails, then scores each and learns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from stream_bayes.kernels.compiled import FloatArray

HAM, SPAM = "ham", "spam"


class Scores(NamedTuple):
    """What a filter said of each mail before it was told the label."""

    log_odds: FloatArray
    """Of spam, with their sign: any score that rises with spam; the probability is 1 / (1 + exp(-log_odds))."""
    members: dict[str, FloatArray]
    """The same for each part of a filter that combines several; empty for the others."""


@runtime_checkable
class Filter(Protocol):
    """A spam filter as the protocol runs it; `features` and `test_then_train` are timed apart.

    Two more are used where a filter has them: `prepare()`, called once before the first mail, is timed with the making
    of the filter; and `most_bytes`, if it is a number, says that no more of a mail is looked at, so that no more is
    kept of mails that are learned later.
    """

    name: str

    def features(self, mails: Sequence[bytes]) -> Any:
        """Whatever `test_then_train` wants to have of these mails; the mails themselves will do."""

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> Scores:
        """For each mail in order: score it, then learn it if its label ("spam" or "ham") is given."""

    def close(self) -> None:
        """Give back what was opened: files, processes."""


def prepare(chosen: Filter) -> None:
    """Let a filter do what it has to do once, such as taking its memory, if there is anything."""
    getattr(chosen, "prepare", lambda: None)()


def most_bytes(chosen: Filter) -> int | None:
    """How much of a mail the filter looks at; None if it does not say or looks at everything."""
    most: int | None = getattr(chosen, "most_bytes", None)
    return most
