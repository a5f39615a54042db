"""When labels come: so many messages after their own, or so much time by the dates of the mails."""

from __future__ import annotations

import re
from collections import deque
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.units import milliseconds

_HEADER = 16_000
# The receiving server writes the topmost Received field, with the time after the last semicolon; anybody writes Date.
_RECEIVED = re.compile(
    rb"^received:(?:[^\n]*\n[ \t])*[^\n]*;([^;\n]*(?:\n[ \t][^;\n]*)*)$", re.IGNORECASE | re.MULTILINE
)
_DATE = re.compile(rb"^date:([^\n]*)$", re.IGNORECASE | re.MULTILINE)
_FIRST_DATED = 100
# A date further off than that is not believed alone, but when so many mails in a row agree.
_AHEAD = 86_400_000
_BEHIND = 30 * 86_400_000
_AGREEING = 3


class Delay(NamedTuple):
    """How late labels are: by messages, or by a span of time in milliseconds."""

    messages: int = 0
    span: int | None = None


AT_ONCE = Delay()


def is_whole(amount: str) -> bool:
    """Whether this is a number without sign, point or too many digits.

    >>> is_whole("350"), is_whole("-1"), is_whole("")
    (True, False, False)
    """
    return amount.isascii() and amount.isdigit() and len(amount) < 16


def open_delay(text: str) -> Delay:
    """A delay as it is written: a number of messages, or a span of time.

    >>> open_delay("100"), open_delay("1.5h").span
    (Delay(messages=100, span=None), 5400000)
    """
    if is_whole(text):
        return Delay(int(text))
    try:
        return Delay(span=milliseconds("delay", text))
    except ParameterError:
        message = f"delay must be a number of messages, or a span such as 30s, 15m, 12h, 1d or 2w; got {text!r:.100}"
        raise ParameterError(message) from None


class Moment(NamedTuple):
    """One message on the clock by which labels are late: messages that have come, or milliseconds."""

    before: int
    """When it comes."""
    after: int
    """When it has been predicted."""
    clock: int
    """Milliseconds by the dates of the mails; 0 where the delay does not need them."""


class LabelSchedule:
    """When each message comes, and when its label does; sees every message once, in order, and is told of the end."""

    def __init__(self, delay: Delay) -> None:
        self._delay = delay
        self._seen = 0
        self._dates = MailClock()

    def arrive(self, raw: bytes) -> Moment:
        """When the next message comes."""
        place = self._seen
        self._seen = self._seen + 1
        if self._delay.span is None:
            return Moment(place, place + 1, 0)
        clock = self._dates.read(raw)
        if self._seen >= _FIRST_DATED:
            self._refuse_undated(f"none of the first {_FIRST_DATED} mails")
        return Moment(clock, clock, clock)

    def end(self) -> None:
        """There are no more messages."""
        if self._seen and self._delay.span is not None:
            self._refuse_undated("no mail of the stream")

    def _refuse_undated(self, which: str) -> None:
        if not self._dates.now:
            message = f"{which} has a date: give the delay as a number of messages"
            raise CorpusError(message, "missing-date")

    def due(self, moment: Moment) -> int:
        """When the label of that message comes; it is known to all messages that come then or later."""
        return moment.after + (self._delay.messages if self._delay.span is None else self._delay.span)


class MailClock:
    """Time by the dates of mails; it never goes back, and stands still for a mail without a date.

    The date is the one that the receiving server set, in the topmost Received field; until a mail has one, Date. One
    more than a day ahead counts as far as it and the two before it agree. Three in a row that are more than 30 days
    behind are believed as well, as where one mailbox ends and another begins, or where the first date was wrong: the
    clock goes on from where it is by what passes between such mails.
    """

    def __init__(self) -> None:
        self.now = 0
        """Milliseconds; those since 1970 until mails agree on an earlier time, 0 before the first date."""
        self._received = False
        self._date = self._latest = 0
        self._recent: deque[int] = deque(maxlen=_AGREEING)

    def read(self, raw: bytes) -> int:
        """The time after this mail."""
        head = raw[:_HEADER].replace(b"\r\n", b"\n").partition(b"\n\n")[0]
        date = _date(_RECEIVED.search(head))
        self._received |= date is not None
        if not self._received:
            date = _date(_DATE.search(head))
        if date is not None:
            self._take(date)
        return self.now

    def _take(self, date: int) -> None:
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
        # After a leap, what lies before the latest date has been counted: mailboxes in turn do not add up.
        counted = self._date if date - self._date <= _AHEAD else self._latest
        self.now += max(date - counted, 0)
        self._date = date
        self._latest = max(self._latest, date)


def _date(found: re.Match[bytes] | None) -> int | None:
    if found is None:
        return None
    try:
        date = parsedate_to_datetime(b" ".join(found[1].split()).decode("latin-1"))
        return round((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() * 1000.0)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
