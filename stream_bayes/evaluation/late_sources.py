"""Late sources: mailing lists and sender domains whose first mail comes after a tenth of the stream.

By then labels have become rare, so a filter with few labels may never have learned a mail of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from stream_bayes.mail.parse.mime import part_of
from stream_bayes.mail.parse.parsed_mail import MAX_HEADER
from stream_bayes.typing import BoolArray

LATE_SHARE = 0.1
"""The share of the stream after which a source that begins is late."""
_FOLD = re.compile(rb"\r?\n[ \t]+")
_LIST = re.compile(rb"^list-id:[^<\r\n]*<([^>\r\n]+)>", re.IGNORECASE | re.MULTILINE)
_SENDER = re.compile(rb"^from:[^\r\n@]*@([a-z0-9.-]+)", re.IGNORECASE | re.MULTILINE)


def mail_source(raw: bytes) -> str | None:
    r"""The source of a mail: its mailing list (List-Id), else the domain of its sender (From); None without both.

    >>> mail_source(b"From: Ann <ann@Example.org>\n\nHi"), mail_source(b"lunch at noon?")
    ('example.org', None)
    >>> mail_source(b"From: ann@example.org\nList-Id: Sailing\n <sailing.example.org>\n\nHi")
    'sailing.example.org'
    """
    octets = raw[:MAX_HEADER]
    header = _FOLD.sub(b" ", octets[: part_of(octets).begin])
    found = _LIST.search(header) or _SENDER.search(header)
    return found.group(1).decode("ascii", "replace").lower() if found else None


def late_messages(sources: Sequence[str | None]) -> BoolArray:
    """Whether each message of a stream is of a late source, by the sources of all messages in order.

    A message without a source is not late.

    >>> late_messages([*["a"] * 9, None, "b", "a", "b"]).nonzero()[0].tolist()
    [10, 12]
    """
    early = set(sources[: int(LATE_SHARE * len(sources))])
    return np.array([source is not None and source not in early for source in sources], dtype=np.bool_)
