"""Which labels a filter is told, as one asks for it: a regime of `feedback`, or a budget of questions.

    active:QUOTA    at most so many labels, of the messages that a strategy chooses

The strategies are those of `stream_bayes.active`, which see the prediction and do not know how long the stream is, and
three to compare them with:

    first           the first QUOTA messages
    random          QUOTA messages of the whole stream, all equally likely: it alone is told how long the stream is
    random-paced    messages by chance, at the pace of the others
"""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.active import STRATEGIES as SCORES
from stream_bayes.active import LabelBudget, LabelSelector
from stream_bayes.active.scores import check_strategy as check_known
from stream_bayes.errors import ParameterError
from stream_bayes.evaluate.delay import AT_ONCE, Delay, is_whole, open_delay
from stream_bayes.evaluate.feedback import SEED, Feedback, drawn, first, open_feedback
from stream_bayes.evaluate.order import Stream

ACTIVE = "active"
DEFAULT = LabelSelector(budget=LabelBudget(total=1)).strategy
"""What a `LabelSelector` does unless it is told otherwise."""
FIRST, RANDOM, PACED = "first", "random", "random-paced"
STRATEGIES = (DEFAULT, *(name for name in SCORES if name not in {DEFAULT, RANDOM}), PACED, RANDOM, FIRST)
"""All of them, the default first."""
PARTIAL = "partial"
SEEDS = 2**53
"""Seeds are whole numbers from 0 that lie below."""


def check_strategy(name: str) -> str:
    """The name of a strategy, if there is one called so."""
    return check_known(name, STRATEGIES)


class Regime(NamedTuple):
    """Feedback as it is asked for; strategy and delay are for "active:QUOTA" alone."""

    feedback: str = "immediate"
    strategy: str | None = None
    """None: the default."""
    delay: str | None = None
    """How late the answers are: messages, or a span of time; None for at once."""
    seed: int = SEED
    """Of what "active:QUOTA" and "partial:FRACTION" draw by chance."""

    def __str__(self) -> str:
        late = f", labels {self.delay} late" if self.delay else ""
        return f"{self.feedback}, {self.named}{late}" if self.is_active else self.feedback

    @property
    def is_active(self) -> bool:
        """Whether labels are asked for."""
        return self.feedback.partition(":")[0] == ACTIVE

    @property
    def draws(self) -> bool:
        """Whether the seed may make a difference."""
        return self.feedback.partition(":")[0] in {ACTIVE, PARTIAL}

    @property
    def quota(self) -> int:
        """How many labels may be asked for."""
        return int(self.feedback.partition(":")[2])

    @property
    def named(self) -> str:
        """The strategy."""
        return DEFAULT if self.strategy is None else self.strategy

    @property
    def late(self) -> Delay:
        """How late answers are."""
        return AT_ONCE if self.delay is None else open_delay(self.delay)

    def check(self) -> None:
        """Refuse what cannot work."""
        if not 0 <= self.seed < SEEDS:
            message = f"seed must be a whole number from 0 to {SEEDS - 1}; got {self.seed}"
            raise ParameterError(message)
        if self.is_active:
            self._check_active()
        elif open_feedback(self.feedback) is None:
            known = "immediate, delayed:N, first:N, partial:FRACTION (0 to 1) or active:QUOTA"
            message = f"feedback must be {known}; got {self.feedback!r}"
            raise ParameterError(message)
        elif self.strategy is not None or self.delay is not None:
            message = "a strategy and a delay go with feedback active:QUOTA; all labels late are feedback delayed:N"
            raise ParameterError(message)

    def _check_active(self) -> None:
        amount = self.feedback.partition(":")[2]
        if not is_whole(amount) or not int(amount):
            message = f"feedback active:QUOTA needs a number of labels, at least 1; got {self.feedback!r}"
            raise ParameterError(message)
        check_strategy(self.named)
        if self.delay is not None:
            open_delay(self.delay)

    def selector(self) -> LabelSelector | None:
        """What decides message by message; None where it is known beforehand which labels are told."""
        if not self.is_active or self.named in {FIRST, RANDOM}:
            return None
        score = RANDOM if self.named == PACED else self.named
        return LabelSelector(score, LabelBudget(total=self.quota), seed=self.seed)

    def told(self, stream: Stream, most_bytes: int | None) -> Feedback:
        """The labels that are known beforehand to be told; to draw them at random the stream is read through once."""
        if self.is_active:
            if self.named == FIRST:
                return Feedback(first(self.quota), self.late, most_bytes)
            return Feedback(drawn(self.quota, sum(1 for _ in stream), self.seed), self.late, most_bytes)
        found = open_feedback(self.feedback, most_bytes, self.seed)
        assert found is not None  # checked
        return found
