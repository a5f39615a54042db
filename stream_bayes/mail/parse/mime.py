"""MIME parts of a mail: their types, file names, texts and inner parts.

Any bytes have a result, and the time is bounded. The email package is used for single values only: its parser fails on
some input that is not well-formed, and its time is not bounded.
"""

from __future__ import annotations

import codecs
import re
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

MAX_FIELD = 4000
"""Bytes of a header field that are decoded: the time of encoded words grows faster than the field."""

_LONG = 1000
_WORD_END = "?="
_REFUSED = (LookupError, ValueError, MessageError)
# Python has them among its charsets; the time of the first two grows as the square of the text.
_NO_CHARSETS = ("punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined")
_HEAD = re.compile(rb"(?:From [^\n]*+\n)?+(?:[!-9;-~]++[ \t]*+:[^\n]*+\n?(?:[ \t][^\n]*+\n?)*+)*+\r?\n?")
_VALUE = rb"^{name}[ \t]*+:[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)"
_TYPE, _ENCODING, _DISPOSITION, _FROM, _SUBJECT = (
    re.compile(_VALUE.replace(b"{name}", name), re.IGNORECASE | re.MULTILINE)
    for name in (b"content-type", b"content-transfer-encoding", b"content-disposition", b"from", b"subject")
)
# Fields of mails: without one of them, a text whose first words look like a header is no mail.
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
"""Main types that have text to read; a multipart without parts counts as text."""
_UNENCODED = (b"", b"7bit", b"8bit", b"binary")
_PARAMETER = rb'\b{name}\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))'
_BOUNDARY, _CHARSET = (
    re.compile(_PARAMETER.replace(b"{name}", name), re.IGNORECASE) for name in (b"boundary", b"charset")
)
# A file name may be split into numbered values (RFC 2231); an asterisk follows where a value is percent-encoded.
_FILE_NAME = re.compile(
    rb'\b(?:file)?name(?:\*(?P<number>[0-9]{1,3}))?+(?P<coded>\*?)\s*=\s*(?:"(?P<quoted>[^"]*+)"|"?(?P<word>[^\s;"]++))',
    re.IGNORECASE,
)
_EXTENDED = re.compile(rb"([\w-]*+)'[\w-]*+'(.*)", re.DOTALL)


class MimePart(NamedTuple):
    """A mail, or a part of one."""

    octets: bytes
    begin: int
    """The position of the body, after the header fields."""
    type: bytes
    """The Content-Type field with its parameters."""
    main: bytes
    """The main type of that, such as text or multipart; text where there is no such field."""


def part_of(octets: bytes) -> MimePart:
    """Parse the header fields of a mail or of a part of one."""
    found = _HEAD.match(octets)
    begin = found.end() if found else 0
    kind = _value(_TYPE, octets, begin)
    return MimePart(octets, begin, kind, kind.partition(b"/")[0].strip().lower() or b"text")


def is_mail(part: MimePart) -> bool:
    """Whether it begins with a header field that mails have; any text may begin with a word and a colon."""
    return _FIELD.search(part.octets, 0, part.begin) is not None


def full_type(part: MimePart) -> str:
    """The content type without its parameters; empty where there is none.

    >>> full_type(part_of(b"Content-Type: Text/HTML; charset=utf-8\\n\\n"))
    'text/html'
    """
    return part.type.partition(b";")[0].strip().lower().decode("ascii", "replace")


def file_name(part: MimePart) -> str:
    """The file name of a part; empty where it has none.

    >>> file_name(part_of(b'Content-Disposition: attachment; filename="a.pdf"\\n\\n'))
    'a.pdf'
    """
    return _name_in(_value(_DISPOSITION, part.octets, part.begin)) or _name_in(part.type)


def _name_in(field: bytes) -> str:
    """The file name in a field; mail programs prefer one that is numbered or encoded (RFC 2231)."""
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
    return decode_words(decode_text(octets, charset or None))


def is_attached(part: MimePart) -> bool:
    """Whether the Content-Disposition of the part is attachment."""
    return _value(_DISPOSITION, part.octets, part.begin).lstrip().lower().startswith(b"attachment")


def sender_and_subject(raw: bytes) -> tuple[str, str]:
    """The From and Subject fields of a mail within a mail, decoded.

    Faster than `ParsedMail.header`: there may be many such mails in one.
    """
    inner = part_of(raw)
    sender, subject = (_value(field, inner.octets, inner.begin) for field in (_FROM, _SUBJECT))
    return decode_words(decode_text(sender, None)), decode_words(decode_text(subject, None))


def decode_words(text: str) -> str:
    """A header value with its encoded words (RFC 2047) decoded; unchanged where they are damaged."""
    # The decoder gets one line that ends with the last encoded word. Otherwise its search for the end of a word fails
    # again and again, in a time that grows as the square of the header.
    words, end, rest = " ".join(text.splitlines()).rpartition(_WORD_END)
    if not end:
        return text
    try:
        parts = decode_header(words + end)
    except _REFUSED:
        return text
    return "".join(part if isinstance(part, str) else decode_text(part, charset) for part, charset in parts) + rest


def decode_text(octets: object, charset: str | None) -> str:
    """Bytes as text in their charset; else in UTF-8 if they are valid, else in latin-1."""
    if not isinstance(octets, bytes):
        return str(octets)
    for name in (charset, "utf-8"):
        try:
            return _decode_strictly(octets, name or "utf-8")
        except _REFUSED:
            continue
    return octets.decode("latin-1")


def _decode_strictly(octets: bytes, charset: str) -> str:
    if codecs.lookup(charset).name in _NO_CHARSETS:
        raise LookupError(charset)
    try:
        return octets.decode(charset)
    except UnicodeDecodeError as error:
        # A long text may have been cut within its last character.
        if len(octets) < _LONG or error.start < len(octets) - 4:
            raise
        return octets[: error.start].decode(charset)


def _value(field: re.Pattern[bytes], octets: bytes, end: int) -> bytes:
    found = field.search(octets, 0, end)
    return found[1][:MAX_FIELD] if found else b""


def _parameter(kind: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """A parameter of a header field, such as charset or boundary."""
    found = pattern.search(kind)
    return (found[1] or found[2]) if found else b""


def text_of(part: MimePart, max_bytes: int) -> str:
    """The body of a part as text, decoded from at most `max_bytes` of it."""
    body: object = part.octets[part.begin : part.begin + max_bytes]
    encoding = _value(_ENCODING, part.octets, part.begin).strip().lower()
    if encoding not in _UNENCODED and isinstance(body, bytes):
        message = Message()
        message["Content-Transfer-Encoding"] = encoding.decode("ascii", "replace").partition("\n")[0]
        message.set_payload(_complete_base64(body, encoding).decode("ascii", "surrogateescape"))
        body = message.get_payload(decode=True)
    return decode_text(body, _parameter(part.type, _CHARSET).decode("ascii", "replace"))


def _complete_base64(body: bytes, encoding: bytes) -> bytes:
    """The body without a single last character of base64, where a long body was cut: nothing would be decoded."""
    if encoding != b"base64" or len(body) < _LONG:
        return body
    joined = b"".join(body.split())
    return joined[:-1] if len(joined) % 4 == 1 else joined


def inner_parts(part: MimePart, max_parts: int) -> list[MimePart]:
    """The parts within a part: between boundary lines or lines that look like such, or the mail within a mail."""
    octets = part.octets
    begin = part.begin
    if part.main == b"message":
        return [part_of(octets[begin:])]
    boundary = _parameter(part.type, _BOUNDARY) if part.main == b"multipart" else b""
    sections = _split_at_boundary(boundary, octets, max_parts)
    if not sections and part.main in READABLE and (found := _UNANNOUNCED.search(octets, begin, begin + _PREAMBLE)):
        sections = _split_at_boundary(found[1], octets, max_parts)
    return [part_of(section) for section in sections]


def _split_at_boundary(boundary: bytes, octets: bytes, max_parts: int) -> list[bytes]:
    """The sections between boundary lines; the boundary of an inner part may begin with the same characters."""
    sections: list[bytes] = []
    line = b"\n--" + boundary
    start = 0
    place = octets.find(line) if boundary else -1
    while place >= 0 and len(sections) < max_parts:
        head, newline, _ = octets[place + len(line) : place + len(line) + _BOUNDARY_LINE].partition(b"\n")
        if (rest := head.strip()) in (b"", b"--"):
            if start:
                sections.append(octets[start:place])
            start = place + len(line) + len(head) + len(newline)
            if rest:
                return sections
        place = octets.find(line, place + len(line))
    return [*sections, octets[start:]] if start else []
