"""ParsedMail: a mail that is parsed once, for features, near-duplicate detection, preview and page."""

from __future__ import annotations

import re
from email.errors import MessageError
from email.message import Message
from email.parser import BytesHeaderParser
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.kernels.mail.decode import MAX_RAW, MAX_TEXT, decode_mail
from stream_bayes.mail.parse.mime import MAX_FIELD, MimePart, decode_text, decode_words, is_mail, part_of

MAX_PARSED = 1 << 18
"""Bytes of a mail in which MIME parts are looked for."""
MAX_HEADER = 1 << 16
"""Bytes of a mail in which header fields are looked for."""
_HEADER_END = re.compile(rb"\n\r?\n|\r\r")


class MailSections(NamedTuple):
    """Header and body of a mail as the features see them: with the transfer encodings of parts removed."""

    header: bytes
    body: bytes


def decode_sections(raw: bytes) -> MailSections:
    """The header and the body of a mail, of at most `MAX_RAW` bytes of it.

    >>> decode_sections(b"Content-Transfer-Encoding: base64\\n\\ndGVhIGF0IG5vb24/").body
    b'\\ntea at noon?'
    """
    text = np.empty(MAX_TEXT, dtype=np.uint8)
    length, header_end = decode_mail(np.frombuffer(raw[:MAX_RAW], dtype=np.uint8), text)
    return MailSections(text[:header_end].tobytes(), text[header_end:length].tobytes())


def message_bytes(message: Message) -> bytes:
    """The bytes of a message of Python's email package.

    >>> from email.message import EmailMessage
    >>> message = EmailMessage()
    >>> message["Subject"] = "Lunch?"
    >>> message.set_content("At noon.")
    >>> message_bytes(message)[:15]
    b'Subject: Lunch?'
    """
    try:
        return message.as_bytes()
    except (AttributeError, LookupError, TypeError, ValueError, MessageError) as problem:
        text = f"this {type(message).__name__} cannot be written as bytes ({problem}): give the bytes it was read from"
        raise InputError(text) from problem


class ParsedMail:
    """A raw mail with what was parsed of it; each part of that is computed at its first use and kept.

    Any bytes are a mail, and the time is bounded.

    >>> mail = ParsedMail(b"Subject: =?utf-8?q?caf=C3=A9?= today\\n\\nAt noon?")
    >>> mail.header("subject"), mail.sections.body
    ('café today', b'\\nAt noon?')
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @classmethod
    def of(cls, mail: bytes | Message | ParsedMail) -> ParsedMail:
        """The mail itself if it is parsed already."""
        if isinstance(mail, ParsedMail):
            return mail
        return cls(message_bytes(mail) if isinstance(mail, Message) else mail)

    @cached_property
    def root(self) -> MimePart:
        """The outermost MIME part."""
        return part_of(self.raw[:MAX_PARSED])

    @cached_property
    def has_header(self) -> bool:
        """Whether it begins with a header as mails do; without one it is a text."""
        return is_mail(self.root)

    @cached_property
    def sections(self) -> MailSections:
        """Header and body as the features see them."""
        return decode_sections(self.raw)

    @cached_property
    def _fields(self) -> dict[str, str]:
        """The raw values of header fields by name in lower case; the first of several counts."""
        octets = self.raw[:MAX_HEADER]
        end = _HEADER_END.search(octets)
        message = BytesHeaderParser().parsebytes(octets[: end.end()] if end else octets)
        fields: dict[str, str] = {}
        for name, value in message.raw_items():
            fields.setdefault(name.lower(), value)
        return fields

    def header(self, name: str) -> str:
        """A header field, decoded; empty where there is none."""
        value = self._fields.get(name.lower(), "")
        return decode_words(decode_text(value.encode("utf-8", "surrogateescape")[:MAX_FIELD], None))
