"""Dates of a mail: of the server that received it, and of its Date field."""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

_HEADER_BYTES = 16_000
# The receiving server writes the topmost Received field, with the time after the last semicolon; anybody writes Date.
_RECEIVED = re.compile(
    rb"^received:(?:[^\n]*\n[ \t])*[^\n]*;([^;\n]*(?:\n[ \t][^;\n]*)*)$", re.IGNORECASE | re.MULTILINE
)
_DATE = re.compile(rb"^date:([^\n]*)$", re.IGNORECASE | re.MULTILINE)


def received_date(raw: bytes) -> int | None:
    """The time in the topmost Received field, in milliseconds since 1970; None if there is none."""
    return _milliseconds(_RECEIVED.search(_header(raw)))


def date_field(raw: bytes) -> int | None:
    """The time in the Date field, in milliseconds since 1970; None if there is none."""
    return _milliseconds(_DATE.search(_header(raw)))


def mail_date(raw: bytes) -> int | None:
    r"""The time of a mail in milliseconds since 1970: its topmost Received field, else Date; None without both.

    Examples
    --------
    >>> mail_date(b"Received: by mx; Thu, 1 Jan 1970 00:00:02 +0000\nDate: Fri, 2 Jan 1970 00:00:00 +0000\n\nHi")
    2000
    """
    date = received_date(raw)
    return date_field(raw) if date is None else date


def _header(raw: bytes) -> bytes:
    return raw[:_HEADER_BYTES].replace(b"\r\n", b"\n").partition(b"\n\n")[0]


def _milliseconds(match: re.Match[bytes] | None) -> int | None:
    if match is None:
        return None
    try:
        date = parsedate_to_datetime(b" ".join(match[1].split()).decode("latin-1"))
        return round((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() * 1000.0)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
