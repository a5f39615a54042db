"""What a person is shown of a mail: its subject, its sender, the beginning of its text.

For display; of it only the subject is ever learned, by learners that do not read mail themselves. Only the first 64 KiB
are looked at. Whatever the bytes are, there is an answer, in a bounded time, without a character that could move others
around.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from html import unescape
from itertools import chain
from typing import NamedTuple

LOOKED_AT = 1 << 16
LONGEST = 500
"""Characters of a subject or sender that are shown."""

# Bounds for what takes time that grows faster than the text: encoded words, and parts within parts.
_HEADER_BYTES = 4000
_BODY_BYTES, _MARKUP_CHARACTERS = 1 << 14, 1 << 13
_MOST_PARTS = 16
_REFUSED = (LookupError, ValueError, MessageError)
_HEAD_END = re.compile(rb"\n\r?\n|\r\r")
_HEAD = re.compile(rb"(?:From [^\n]*+\n)?+(?:[!-9;-~]++[ \t]*+:[^\n]*+\n?(?:[ \t][^\n]*+\n?)*+)*+\r?\n?")
_MIME = rb"^content-{name}[ \t]*:[ \t]*([^\n]*+(?:\n[ \t][^\n]*+)*+)"
_TYPE, _ENCODING = (
    re.compile(_MIME.replace(b"{name}", name), re.IGNORECASE | re.MULTILINE) for name in (b"type", b"transfer-encoding")
)
# A text whose first words look like a header has no other sign of being a mail.
_FIELD = re.compile(
    rb"^(?:from|to|cc|subject|date|sender|reply-to|return-path|received|message-id|delivered-to|mime-version|content-.+?"
    rb"|x-.+?)[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
# A part that no header announces: a line that begins as a boundary does, and a field of MIME below it.
_UNANNOUNCED = re.compile(rb"^--([^\r\n]{1,70})\r?\nContent-", re.IGNORECASE | re.MULTILINE)
_PREAMBLE, _BOUNDARY_LINE = 400, 80
_READABLE = (b"text", b"multipart")
_AS_IT_IS = (b"", b"7bit", b"8bit", b"binary")
_HIDDEN = re.compile(r"<!--.*?(-->|$)|<(style|script|title)\b.*?(</\2\s*>|$)", re.IGNORECASE | re.DOTALL)
_INLINE = re.compile(r"</?(a|b|i|u|em|font|span|strong)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>?")
_MARKUP = re.compile(r"\s*<|.{0,1000}?<(!doctype|html|body|table|center|div|font|br|p)\b", re.IGNORECASE | re.DOTALL)
# Not by the email package, whose reading of parameters fails on some that are not well-formed.
_PARAMETER = rb'\b{name}\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))'
_BOUNDARY, _CHARSET = (
    re.compile(_PARAMETER.replace(b"{name}", name), re.IGNORECASE) for name in (b"boundary", b"charset")
)


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
    """The beginning of the first part with text to read, or of the mail itself where it has no headers.

    Where there is nothing to read, as in a picture, it is the beginning of what there is.

    >>> preview(b"Subject: hello\\nContent-Type: text/html\\n\\n<p>Lunch &amp; tea at <b>noon</b>?")
    'Lunch & tea at noon?'
    >>> preview(b"free entry in a weekly competition", characters=10)
    'free entr…'
    """
    octets = raw[:LOOKED_AT]
    first = _part_of(octets)
    if not _FIELD.search(octets, 0, first.begin):
        return beginning(_decoded(octets, None), characters)
    for text in map(_text_of, _parts(first)):
        if shown := _shown(text, characters):
            return shown
    sources = chain(map(_text_of, _parts(first)), (_decoded(octets, None),))
    return next(filter(None, (harmless(text, characters) for text in sources)), "")


def beginning(text: str, characters: int = 200) -> str:
    """The beginning of a text as people read it, without markup; of the text as it is where nothing else is in it.

    >>> beginning("caf&eacute; <br>at noon")
    'café at noon'
    """
    return _shown(text, characters) or harmless(text, characters)


def _shown(text: str, characters: int) -> str:
    text = text[:_MARKUP_CHARACTERS]
    if _MARKUP.match(text):
        # A comment or script without an end would hide all that comes after it.
        return harmless(_without_tags(_HIDDEN.sub(" ", text)), characters) or harmless(_without_tags(text), characters)
    return harmless(unescape(text), characters)


def _without_tags(markup: str) -> str:
    return unescape(_TAG.sub(" ", _INLINE.sub("", markup)))


def harmless(text: str, characters: int = LONGEST) -> str:
    """The text in one line of at most so many characters, what cannot be printed shown as U+FFFD.

    That covers control characters, halves of pairs, and all that change the direction of the text around them.

    >>> harmless("pay\\n me\\u202e now\\x1b[2J")
    'pay me� now�[2J'
    """
    line = " ".join(text.split())
    if len(line) > characters:
        line = f"{line[: max(characters - 1, 0)]}…"
    if line.isprintable():
        return line
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


def _header(raw: bytes, name: str) -> str:
    octets = raw[:LOOKED_AT]
    end = _HEAD_END.search(octets)
    fields = BytesHeaderParser().parsebytes(octets[: end.end()] if end else octets).raw_items()
    value = next((value for key, value in fields if key.lower() == name), "")
    text = _decoded(value.encode("utf-8", "surrogateescape")[:_HEADER_BYTES], None)
    return harmless(_words(text))


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


class _Part(NamedTuple):
    """A mail, or a part of one."""

    octets: bytes
    begin: int
    """Of the body, behind the headers."""
    type: bytes
    """What the content type says, with its parameters."""
    main: bytes
    """The first word of that: text, where nothing is said."""


def _part_of(octets: bytes) -> _Part:
    found = _HEAD.match(octets)
    begin = found.end() if found else 0
    kind = _value(_TYPE, octets, begin)
    return _Part(octets, begin, kind, kind.partition(b"/")[0].strip().lower() or b"text")


def _value(field: re.Pattern[bytes], octets: bytes, end: int) -> bytes:
    found = field.search(octets, 0, end)
    return found[1][:_HEADER_BYTES] if found else b""


def _parameter(kind: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """What the content type of a part says of its charset or its boundary."""
    found = pattern.search(kind)
    return (found[1] or found[2]) if found else b""


def _text_of(part: _Part) -> str:
    """The beginning of the body, decoded."""
    body: object = part.octets[part.begin : part.begin + _BODY_BYTES]
    encoding = _value(_ENCODING, part.octets, part.begin).strip().lower()
    if encoding not in _AS_IT_IS and isinstance(body, bytes):
        message = Message()
        message["Content-Transfer-Encoding"] = encoding.decode("ascii", "replace").partition("\n")[0]
        message.set_payload(body.decode("ascii", "surrogateescape"))
        body = message.get_payload(decode=True)
    return _decoded(body, _parameter(part.type, _CHARSET).decode("ascii", "replace"))[:_MARKUP_CHARACTERS]


def _parts(part: _Part) -> Iterator[_Part]:
    """Those with text, in their order; one that should have parts and has none is taken for text."""
    waiting = [part]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop(0)
        if inner := _inner(part):
            waiting[:0] = map(_part_of, inner)
        elif part.main in _READABLE:
            yield part


def _inner(part: _Part) -> list[bytes]:
    """The parts of a part: between its boundary lines, or between lines that look like such; a mail within a mail."""
    octets, begin, kind, main = part
    if main == b"message":
        return [octets[begin:]]
    boundary = _parameter(kind, _BOUNDARY) if main == b"multipart" else b""
    pieces = _between(boundary, octets)
    if not pieces and main in _READABLE and (found := _UNANNOUNCED.search(octets, begin, begin + _PREAMBLE)):
        return _between(found[1], octets)
    return pieces


def _between(boundary: bytes, octets: bytes) -> list[bytes]:
    """What stands between boundary lines; those of a part within may begin with the same characters."""
    pieces: list[bytes] = []
    line, start = b"\n--" + boundary, 0
    place = octets.find(line) if boundary else -1
    while place >= 0 and len(pieces) < _MOST_PARTS:
        head, newline, _ = octets[place + len(line) : place + len(line) + _BOUNDARY_LINE].partition(b"\n")
        if (rest := head.strip()) in (b"", b"--"):
            if start:
                pieces.append(octets[start:place])
            start = place + len(line) + len(head) + len(newline)
            if rest:
                return pieces
        place = octets.find(line, place + len(line))
    return [*pieces, octets[start:]] if start else []
