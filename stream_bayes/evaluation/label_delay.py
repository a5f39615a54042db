"""Label delay: labels that come a number of messages late, or a duration by the dates of the mails."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.mail.parse.dates import date_field, received_date
from stream_bayes.units import milliseconds

_FIRST_DATED = 100
# A date further away than this is used only if this many mails in a row agree.
_AHEAD = 86_400_000
_BEHIND = 30 * 86_400_000
_AGREEING = 3


class Delay(NamedTuple):
    """The delay of labels: a number of messages, or a duration in milliseconds."""

    messages: int = 0
    span: int | None = None


AT_ONCE = Delay()


def is_count(amount: str) -> bool:
    """Whether a text is a non-negative integer of at most 15 digits.

    >>> is_count("350"), is_count("-1"), is_count("")
    (True, False, False)
    """
    return amount.isascii() and amount.isdigit() and len(amount) < 16


def parse_delay(text: str) -> Delay:
    """Parse a delay: a number of messages, or a duration.

    >>> parse_delay("100"), parse_delay("1.5h").span
    (Delay(messages=100, span=None), 5400000)
    """
    if is_count(text):
        return Delay(int(text))
    try:
        return Delay(span=milliseconds("delay", text))
    except ParameterError:
        message = f"delay must be a number of messages, or a duration such as 30s, 12h, 1d or 2w; got {text!r:.100}"
        raise ParameterError(message) from None


class Moment(NamedTuple):
    """The times of one message, in messages or in milliseconds, as the delay is counted."""

    before: int
    """The time at which it comes."""
    after: int
    """The time after its prediction."""
    clock: int
    """Milliseconds by the dates of the mails; 0 if the delay is counted in messages."""


class LabelSchedule:
    """Computes when each label comes; it must see every message once, in order, and then `end`."""

    def __init__(self, delay: Delay) -> None:
        self._delay = delay
        self._seen = 0
        self._dates = MailClock()

    def arrive(self, raw: bytes) -> Moment:
        """The times of the next message."""
        place = self._seen
        self._seen = self._seen + 1
        if self._delay.span is None:
            return Moment(place, place + 1, 0)
        clock = self._dates.read(raw)
        if self._seen >= _FIRST_DATED:
            self._refuse_undated(f"none of the first {_FIRST_DATED} mails")
        return Moment(clock, clock, clock)

    def end(self) -> None:
        """Check the stream at its end."""
        if self._seen and self._delay.span is not None:
            self._refuse_undated("no mail of the stream")

    def _refuse_undated(self, which: str) -> None:
        if not self._dates.now:
            message = f"{which} has a date: give the delay as a number of messages"
            raise CorpusError(message, "missing-date")

    def due(self, moment: Moment) -> int:
        """The time at which the label of a message comes; messages from then on know it."""
        return moment.after + (self._delay.messages if self._delay.span is None else self._delay.span)


class MailClock:
    """A clock by the dates of mails; it never goes back, and stands still at a mail without a date.

    The date is that of the receiving server, in the topmost Received field; until a mail has one, Date is used. A date
    more than a day ahead counts as far as it and the two before it agree. Three in a row that are more than 30 days
    behind are accepted too: another mailbox may begin there, or the first date was wrong. The clock then advances by
    the time between such mails.
    """

    def __init__(self) -> None:
        self.now = 0
        """Milliseconds, since 1970 until mails agree on an earlier time; 0 before the first date."""
        self._received = False
        self._date = self._latest = 0
        self._recent: deque[int] = deque(maxlen=_AGREEING)

    def read(self, raw: bytes) -> int:
        """Advance the clock by a mail, and return the time."""
        date = received_date(raw)
        self._received |= date is not None
        if not self._received:
            date = date_field(raw)
        if date is not None:
            self._accept(date)
        return self.now

    def _accept(self, date: int) -> None:
        self._recent.append(date)
        agreed = len(self._recent) == _AGREEING
        if not self.now:
            self.now = self._date = self._latest = max(date, 0)
        elif -_BEHIND <= date - self._date <= _AHEAD:
            self._go_to(max(date, self._date))
        elif agreed and date > self._date:
            self._go_to(max(min(self._recent), self._date))
        elif agreed and max(self._recent) < self._date - _BEHIND:
            self._go_to(max(self._recent))

    def _go_to(self, date: int) -> None:
        # After a leap, time before the latest date has been counted already: mailboxes in turn do not add up.
        counted = self._date if date - self._date <= _AHEAD else self._latest
        self.now += max(date - counted, 0)
        self._date = date
        self._latest = max(self._latest, date)
