"""What a person is shown of a mail: its subject, its sender, the beginning of its text.

For display only: what is learned never passes here. Python's `email` package does the decoding, on the first 64 KiB.
Whatever the bytes are, there is an answer, in a bounded time, without a character that could move others around.
"""

from __future__ import annotations

import re
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser

LOOKED_AT = 1 << 16
LONGEST = 500
"""Characters of a subject or sender that are shown."""

# Bounds for what takes time that grows faster than the text: encoded words, and parts within parts.
_HEADER_BYTES = 4000
_MARKUP_CHARACTERS = 1 << 13
_DEPTH = 8
_REFUSED = (LookupError, ValueError, MessageError)
_HIDDEN = re.compile(r"<(style|script|head)\b.*?(</\1\s*>|$)", re.IGNORECASE | re.DOTALL)
_INLINE = re.compile(r"</?(a|b|i|u|em|font|span|strong)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>?")
# Not by the email package, whose reading of parameters fails on some that are not well-formed.
_PARAMETER = r'\b{name}\s*=\s*(?:"([^"]{{1,70}})"|([^\s;"]{{1,70}}))'
_BOUNDARY, _CHARSET = (re.compile(_PARAMETER.format(name=name), re.IGNORECASE) for name in ("boundary", "charset"))


def subject(raw: bytes) -> str:
    """The subject, decoded; empty where there is none.

    >>> subject(b"Subject: =?utf-8?q?caf=C3=A9?= today\\n\\nAt noon?")
    'café today'
    """
    return _header(raw, "subject")


def sender(raw: bytes) -> str:
    """The From field, decoded; empty where there is none.

    >>> sender(b"From: =?iso-8859-1?q?J=F6rg?= <joerg@example.org>\\n\\n")
    'Jörg <joerg@example.org>'
    """
    return _header(raw, "from")


def preview(raw: bytes, characters: int = 200) -> str:
    """The beginning of the first part with text, or of the mail itself where it has no headers.

    >>> preview(b"Subject: hello\\nContent-Type: text/html\\n\\n<p>Lunch at <b>noon</b>?")
    'Lunch at noon?'
    >>> preview(b"free entry in a weekly competition", characters=10)
    'free entr…'
    """
    part = _first_text(raw[:LOOKED_AT])
    text = _decoded(part.get_payload(decode=True), _parameter(part, _CHARSET))[:_MARKUP_CHARACTERS]
    if part.get_content_subtype() == "html" or text.lstrip()[:1] == "<":
        text = _TAG.sub(" ", _INLINE.sub("", _HIDDEN.sub(" ", text)))
    return harmless(text, characters)


def harmless(text: str, characters: int = LONGEST) -> str:
    """The text in one line of at most so many characters, what cannot be printed shown as U+FFFD.

    That covers control characters, halves of pairs, and all that change the direction of the text around them.

    >>> harmless("pay\\n me\\u202e now\\x1b[2J")
    'pay me� now�[2J'
    """
    line = " ".join(text.split())
    if len(line) > characters:
        line = f"{line[: max(characters - 1, 0)]}…"
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


def _header(raw: bytes, name: str) -> str:
    fields = BytesHeaderParser().parsebytes(raw[:LOOKED_AT]).raw_items()
    value = next((value for key, value in fields if key.lower() == name), "")
    octets = value.encode("utf-8", "surrogateescape")[:_HEADER_BYTES]
    return harmless(_words(_decoded(octets, None)))


def _words(text: str) -> str:
    """The encoded words of a header, decoded; the header as it is where they cannot be."""
    try:
        parts = decode_header(text)
    except _REFUSED:
        return text
    return "".join(part if isinstance(part, str) else _decoded(part, charset) for part, charset in parts)


def _decoded(octets: object, charset: str | None) -> str:
    """Bytes as text: in their charset, else UTF-8 if they are that, else latin-1."""
    if not isinstance(octets, bytes):
        return str(octets)
    for name in (charset, "utf-8"):
        try:
            return octets.decode(name or "utf-8")
        except _REFUSED:
            continue
    return octets.decode("latin-1")


def _parameter(part: Message, pattern: re.Pattern[str]) -> str | None:
    """What the content type of a part says of its charset or its boundary."""
    found = pattern.search(str(part.get("content-type", ""))[:_HEADER_BYTES])
    return (found[1] or found[2]) if found else None


def _first_text(octets: bytes) -> Message:
    """The first part that is text, down the first part of each part that has parts; else where the way ends."""
    for _ in range(_DEPTH):
        part = BytesHeaderParser().parsebytes(octets)
        if part.get_content_maintype() != "multipart":
            return part
        inner = _after(octets, part)
        if inner is None:
            return part
        octets = inner
    return message_from_bytes(b"")


def _after(octets: bytes, part: Message) -> bytes | None:
    """What stands between the first boundary line of a part and the next."""
    boundary = _parameter(part, _BOUNDARY)
    if boundary is None:
        return None
    line = b"\n--" + boundary.encode("utf-8", "replace")
    _, found, rest = octets.partition(line)
    return rest.partition(b"\n")[2].partition(line)[0] if found else None
