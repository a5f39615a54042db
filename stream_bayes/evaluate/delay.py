"""When labels come: so many messages after their own, or so much time by the dates of the mails."""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from stream_bayes.durations import milliseconds
from stream_bayes.errors import CorpusError, ParameterError

_HEADER = 16_000
# The receiving server writes the topmost Received field, with the time after the last semicolon; anybody writes Date.
_RECEIVED = re.compile(
    rb"^received:(?:[^\n]*\n[ \t])*[^\n]*;([^;\n]*(?:\n[ \t][^;\n]*)*)$", re.IGNORECASE | re.MULTILINE
)
_DATE = re.compile(rb"^date:([^\n]*)$", re.IGNORECASE | re.MULTILINE)
_FIRST_DATED = 100


class Delay(NamedTuple):
    """How late labels are: by messages, or by a span of time in milliseconds."""

    messages: int = 0
    span: int | None = None


AT_ONCE = Delay()


def open_delay(text: str) -> Delay:
    """A delay as it is written: a number of messages, or a span of time.

    >>> open_delay("100"), open_delay("1.5h").span
    (Delay(messages=100, span=None), 5400000)
    """
    if text.isascii() and text.isdigit() and len(text) < 16:
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


class Timetable:
    """When each message comes, and when its label does; sees every message once, in order."""

    def __init__(self, delay: Delay) -> None:
        self._delay = delay
        self._seen = 0
        self._dates = MailClock()

    def arrive(self, raw: bytes) -> Moment:
        """When the next message comes."""
        place, self._seen = self._seen, self._seen + 1
        if self._delay.span is None:
            return Moment(place, place + 1, 0)
        clock = self._dates.read(raw)
        if not clock and self._seen >= _FIRST_DATED:
            message = f"none of the first {_FIRST_DATED} mails has a date: give the delay as a number of messages"
            raise CorpusError(message, "missing-date")
        return Moment(clock, clock, clock)

    def due(self, moment: Moment) -> int:
        """When the label of that message comes; it is known to all messages that come then or later."""
        return moment.after + (self._delay.messages if self._delay.span is None else self._delay.span)


class MailClock:
    """Time by the dates of mails; it never goes back, and stands still for a mail without a date.

    The date is the one that the receiving server set, in the topmost Received field; until a mail has one, Date.
    """

    def __init__(self) -> None:
        self._now = 0
        self._received = False

    def read(self, raw: bytes) -> int:
        """Milliseconds since 1970 after this mail; 0 before the first date."""
        head = raw[:_HEADER].replace(b"\r\n", b"\n").partition(b"\n\n")[0]
        date = _date(_RECEIVED.search(head))
        self._received |= date is not None
        if not self._received:
            date = _date(_DATE.search(head))
        self._now = max(self._now, date or 0)
        return self._now


def _date(found: re.Match[bytes] | None) -> int | None:
    if found is None:
        return None
    try:
        date = parsedate_to_datetime(b" ".join(found[1].split()).decode("latin-1"))
        return round((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() * 1000.0)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
