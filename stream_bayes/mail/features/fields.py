"""A mail as classifiers from elsewhere take it: its texts, or what can be measured of it.

>>> as_features(b"Subject: Win $$$\\n\\nVisit http://example.com NOW", "numbers")["links"]
1.0
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from typing import Any

from stream_bayes.mail.features.batch import decoded

TAKES = ("texts", "numbers")
_FIELD = re.compile(rb"^(subject|from):[ \t]*(.*(?:\n[ \t].*)*)", re.IGNORECASE | re.MULTILINE)


def as_features(raw: bytes, takes: str) -> dict[Hashable, Any]:
    """The subject, the sender and the text of a mail, or numbers about it."""
    header, body = decoded(raw)
    fields = {name.lower(): b" ".join(value.split()) for name, value in reversed(_FIELD.findall(header))}
    subject = fields.get(b"subject", b"")
    sender = fields.get(b"from", b"")
    if takes == "numbers":
        return _numbers(len(raw), header, subject, body)
    return {"subject": _text(subject), "sender": _text(sender), "text": _text(body)}


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _numbers(size: int, header: bytes, subject: bytes, body: bytes) -> dict[Hashable, float]:
    """Sizes as logarithms, shares of the body's bytes, and counts of what spam has much of as logarithms."""
    count = max(len(body), 1)
    letters = sum(map(body.count, range(65, 91))), sum(map(body.count, range(97, 123)))
    return {
        "size": math.log1p(size),
        "fields": math.log1p(header.count(b"\n")),
        "subject size": math.log1p(len(subject)),
        "subject capitals": sum(map(subject.count, range(65, 91))) / max(len(subject), 1),
        "links": float(body.count(b"://")),
        "tags": math.log1p(body.count(b"<")),
        "addresses": math.log1p(body.count(b"@")),
        "money": math.log1p(body.count(b"$") + body.count("\N{POUND SIGN}".encode()) + body.count(b"%")),
        "exclamations": math.log1p(body.count(b"!") + subject.count(b"!")),
        "capitals": letters[0] / max(sum(letters), 1),
        "digits": sum(map(body.count, range(48, 58))) / count,
        "blanks": (body.count(b" ") + body.count(b"\n")) / count,
        "beyond ascii": sum(byte >= 128 for byte in body) / count,
    }
