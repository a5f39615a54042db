"""The parts of a mail, their texts and its header fields, decoded whatever the bytes are, in a bounded time."""

from __future__ import annotations

import codecs
import re
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

LOOKED_AT = 1 << 16
"""Bytes in which the header fields are looked for."""

# Reading encoded words takes time that grows faster than the header.
_HEADER_BYTES = 4000
_LONG = 1000
_WORD_END = "?="
_REFUSED = (LookupError, ValueError, MessageError)
# Python has them among its charsets; the time of the first two grows as the square of the text.
_NO_CHARSETS = ("punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined")
_HEAD_END = re.compile(rb"\n\r?\n|\r\r")
_HEAD = re.compile(rb"(?:From [^\n]*+\n)?+(?:[!-9;-~]++[ \t]*+:[^\n]*+\n?(?:[ \t][^\n]*+\n?)*+)*+\r?\n?")
_VALUE = rb"^{name}[ \t]*+:[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)"
_TYPE, _ENCODING, _DISPOSITION, _FROM, _SUBJECT = (
    re.compile(_VALUE.replace(b"{name}", name), re.IGNORECASE | re.MULTILINE)
    for name in (b"content-type", b"content-transfer-encoding", b"content-disposition", b"from", b"subject")
)
# A text whose first words look like a header has no other sign of being a mail.
_FIELD = re.compile(
    rb"^(?:from|to|cc|subject|date|sender|reply-to|return-path|received|message-id|delivered-to|mime-version"
    rb"|content-[^:\n]++|x-[^:\n]++)[ \t]*+:",
    re.IGNORECASE | re.MULTILINE,
)
# A part that no header announces: a line that begins as a boundary does, and a field of MIME below it.
_UNANNOUNCED = re.compile(rb"^--([^\r\n]{1,70})\r?\nContent-", re.IGNORECASE | re.MULTILINE)
_PREAMBLE = 400
_BOUNDARY_LINE = 80
READABLE = (b"text", b"multipart")
"""The first words of content types that may be read; a multipart that has no parts is."""
_AS_IT_IS = (b"", b"7bit", b"8bit", b"binary")
_MARKUP = re.compile(r"\s*<|.{0,1000}?<(!doctype|html|body|table|center|div|font|br|p)\b", re.IGNORECASE | re.DOTALL)
# A number may have more digits than Python reads; from the eighth on, leading zeros aside, it is no character.
_LONG_REFERENCE = re.compile(r"&#0*+([0-9]{0,8}+)[0-9]*+")
# Not by the email package, whose reading of parameters fails on some that are not well-formed.
_PARAMETER = rb'\b{name}\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))'
_BOUNDARY, _CHARSET = (
    re.compile(_PARAMETER.replace(b"{name}", name), re.IGNORECASE) for name in (b"boundary", b"charset")
)
# Also in several numbered values (RFC 2231), with an asterisk behind where a value is percent-encoded.
_FILE_NAME = re.compile(
    rb'\b(?:file)?name(?:\*(?P<number>[0-9]{1,3}))?+(?P<coded>\*?)\s*=\s*(?:"(?P<quoted>[^"]*+)"|"?(?P<word>[^\s;"]++))',
    re.IGNORECASE,
)
_EXTENDED = re.compile(rb"([\w-]*+)'[\w-]*+'(.*)", re.DOTALL)


class MimePart(NamedTuple):
    """A mail, or a part of one."""

    octets: bytes
    begin: int
    """Of the body, behind the headers."""
    type: bytes
    """What the content type says, with its parameters."""
    main: bytes
    """The first word of that: text, where nothing is said."""


def part_of(octets: bytes) -> MimePart:
    """The mail, or the part of one, that begins with its header fields."""
    found = _HEAD.match(octets)
    begin = found.end() if found else 0
    kind = _value(_TYPE, octets, begin)
    return MimePart(octets, begin, kind, kind.partition(b"/")[0].strip().lower() or b"text")


def is_mail(part: MimePart) -> bool:
    """Whether it begins with fields as mails have them; anything may begin with a word and a colon."""
    return _FIELD.search(part.octets, 0, part.begin) is not None


def full_type(part: MimePart) -> str:
    """The content type without its parameters; empty where nothing is said.

    >>> full_type(part_of(b"Content-Type: Text/HTML; charset=utf-8\\n\\n"))
    'text/html'
    """
    return part.type.partition(b";")[0].strip().lower().decode("ascii", "replace")


def file_name(part: MimePart) -> str:
    """The name under which a part would be saved; empty where it has none.

    >>> file_name(part_of(b'Content-Disposition: attachment; filename="a.pdf"\\n\\n'))
    'a.pdf'
    """
    return _name_in(_value(_DISPOSITION, part.octets, part.begin)) or _name_in(part.type)


def _name_in(field: bytes) -> str:
    """The name that a field has; programs take one that is numbered or encoded before one that is neither."""
    found = list(_FILE_NAME.finditer(field))
    special = [value for value in found if value["number"] or value["coded"]]
    values = {int(value["number"] or 0): value for value in reversed(special or found[:1])}
    octets = b""
    charset = ""
    for number, value in sorted(values.items()):
        text = value["quoted"] or value["word"] or b""
        if number == 0 and (extended := _EXTENDED.fullmatch(text)):
            charset = extended[1].decode("ascii", "replace")
            text = unquote_to_bytes(extended[2])
        elif value["coded"]:
            text = unquote_to_bytes(text)
        octets += text
    return _words(decoded(octets, charset or None))


def is_attached(part: MimePart) -> bool:
    """Whether its sender wants it to be saved, not read."""
    return _value(_DISPOSITION, part.octets, part.begin).lstrip().lower().startswith(b"attachment")


def header(raw: bytes, name: str) -> str:
    """A header field, decoded; empty where there is none."""
    octets = raw[:LOOKED_AT]
    end = _HEAD_END.search(octets)
    fields = BytesHeaderParser().parsebytes(octets[: end.end()] if end else octets).raw_items()
    value = next((value for key, value in fields if key.lower() == name.lower()), "")
    return _words(decoded(value.encode("utf-8", "surrogateescape")[:_HEADER_BYTES], None))


def sender_and_subject(raw: bytes) -> tuple[str, str]:
    """The From and Subject fields of a mail within a mail, decoded.

    Faster than `header`: there may be many such mails in one.
    """
    inner = part_of(raw)
    sender, subject = (_value(field, inner.octets, inner.begin) for field in (_FROM, _SUBJECT))
    return _words(decoded(sender, None)), _words(decoded(subject, None))


def _words(text: str) -> str:
    """The encoded words of a header, decoded; the header as it is where they cannot be."""
    # On one line that ends with the last encoded word, so that no search for the end of a word is in vain: its time
    # would grow as the square of the header.
    words, end, rest = " ".join(text.splitlines()).rpartition(_WORD_END)
    if not end:
        return text
    try:
        parts = decode_header(words + end)
    except _REFUSED:
        return text
    return "".join(part if isinstance(part, str) else decoded(part, charset) for part, charset in parts) + rest


def decoded(octets: object, charset: str | None) -> str:
    """Bytes as text: in their charset, else UTF-8 if they are that, else latin-1."""
    if not isinstance(octets, bytes):
        return str(octets)
    for name in (charset, "utf-8"):
        try:
            return _strictly(octets, name or "utf-8")
        except _REFUSED:
            continue
    return octets.decode("latin-1")


def _strictly(octets: bytes, charset: str) -> str:
    if codecs.lookup(charset).name in _NO_CHARSETS:
        raise LookupError(charset)
    try:
        return octets.decode(charset)
    except UnicodeDecodeError as error:
        # A long text may have been cut within its last character.
        if len(octets) < _LONG or error.start < len(octets) - 4:
            raise
        return octets[: error.start].decode(charset)


def unescaped(text: str) -> str:
    """The text with its character references replaced.

    >>> unescaped("tea &amp; caf&#233;")
    'tea & café'
    """
    return unescape(_LONG_REFERENCE.sub(_shorter, text) if "&#" in text else text)


def _shorter(reference: re.Match[str]) -> str:
    return f"&#{reference[1] or 0}" if len(reference[0]) > 10 else reference[0]


def looks_like_markup(text: str) -> bool:
    """Whether tags stand at its beginning."""
    return _MARKUP.match(text) is not None


def _value(field: re.Pattern[bytes], octets: bytes, end: int) -> bytes:
    found = field.search(octets, 0, end)
    return found[1][:_HEADER_BYTES] if found else b""


def _parameter(kind: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """What a field of a part says of its charset, its boundary or its name."""
    found = pattern.search(kind)
    return (found[1] or found[2]) if found else b""


def text_of(part: MimePart, most: int) -> str:
    """So many bytes of the body, decoded."""
    body: object = part.octets[part.begin : part.begin + most]
    encoding = _value(_ENCODING, part.octets, part.begin).strip().lower()
    if encoding not in _AS_IT_IS and isinstance(body, bytes):
        message = Message()
        message["Content-Transfer-Encoding"] = encoding.decode("ascii", "replace").partition("\n")[0]
        message.set_payload(_whole(body, encoding).decode("ascii", "surrogateescape"))
        body = message.get_payload(decode=True)
    return decoded(body, _parameter(part.type, _CHARSET).decode("ascii", "replace"))


def _whole(body: bytes, encoding: bytes) -> bytes:
    """Without a last character of base64 that stands alone, where a long body was cut: nothing would be decoded."""
    if encoding != b"base64" or len(body) < _LONG:
        return body
    joined = b"".join(body.split())
    return joined[:-1] if len(joined) % 4 == 1 else joined


def inner_parts(part: MimePart, most: int) -> list[MimePart]:
    """The parts of a part: between its boundary lines, or between lines that look like such; a mail within a mail."""
    octets, begin, kind, main = part
    if main == b"message":
        return [part_of(octets[begin:])]
    boundary = _parameter(kind, _BOUNDARY) if main == b"multipart" else b""
    pieces = _between(boundary, octets, most)
    if not pieces and main in READABLE and (found := _UNANNOUNCED.search(octets, begin, begin + _PREAMBLE)):
        pieces = _between(found[1], octets, most)
    return [part_of(piece) for piece in pieces]


def _between(boundary: bytes, octets: bytes, most: int) -> list[bytes]:
    """What stands between boundary lines; those of a part within may begin with the same characters."""
    pieces: list[bytes] = []
    line = b"\n--" + boundary
    start = 0
    place = octets.find(line) if boundary else -1
    while place >= 0 and len(pieces) < most:
        head, newline, _ = octets[place + len(line) : place + len(line) + _BOUNDARY_LINE].partition(b"\n")
        if (rest := head.strip()) in (b"", b"--"):
            if start:
                pieces.append(octets[start:place])
            start = place + len(line) + len(head) + len(newline)
            if rest:
                return pieces
        place = octets.find(line, place + len(line))
    return [*pieces, octets[start:]] if start else []
