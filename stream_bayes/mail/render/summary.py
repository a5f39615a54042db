"""Subject, sender and preview of a mail, as one line of text each.

Any bytes have a result in a bounded time, without a character that could move others around. Only the subject is ever
learned from, by learners that do not read mail themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message

from stream_bayes.mail.parse.mime import READABLE, MimePart, decode_text, inner_parts, text_of
from stream_bayes.mail.parse.parsed_mail import ParsedMail
from stream_bayes.mail.render.html import html_to_text, looks_like_html, unescape_references
from stream_bayes.mail.render.sanitize import printable

# The time of a preview grows faster than these: parts within parts, and the text of each.
_MAX_PARTS = 16
_BODY_BYTES = 1 << 14
_MAX_CHARACTERS = 1 << 13
_LEAST_ROOM = 200
# Bytes of a text without a header.
_TEXT_BYTES = 1 << 16


def subject(mail: bytes | Message | ParsedMail) -> str:
    """The subject, decoded; empty where there is none.

    >>> subject(b"Subject: =?utf-8?q?caf=C3=A9?= today\\n\\nAt noon?")
    'café today'
    """
    return printable(ParsedMail.of(mail).header("subject"))


def sender(mail: bytes | Message | ParsedMail) -> str:
    """The From field, decoded; empty where there is none.

    >>> sender(b"From: =?iso-8859-1?q?J=F6rg?= <joerg@example.org>\\n\\n")
    'Jörg <joerg@example.org>'
    """
    return printable(ParsedMail.of(mail).header("from"))


def preview(mail: bytes | Message | ParsedMail, characters: int = 200) -> str:
    """The beginning of the first part with text to read, or of the mail itself where it has no header.

    Where there is nothing to read, as in a picture, it is the beginning of the raw part.

    >>> preview(b"Subject: hello\\nContent-Type: text/html\\n\\n<p>Lunch &amp; tea at <b>noon</b>?")
    'Lunch & tea at noon?'
    >>> preview(b"free entry in a weekly competition", characters=10)
    'free entr…'
    """
    parsed = ParsedMail.of(mail)
    if not parsed.has_header:
        return text_preview(decode_text(parsed.raw[:_TEXT_BYTES], None), characters)
    texts: list[str] = []
    for part in _text_parts(parsed.root):
        text = text_of(part, _BODY_BYTES)[:_MAX_CHARACTERS]
        if readable := _readable_text(text, characters):
            return readable
        texts.append(text)
    texts.append(decode_text(parsed.raw[:_TEXT_BYTES], None))
    return next(filter(None, (printable(text, characters) for text in texts)), "")


def text_preview(text: str, characters: int = 200) -> str:
    """The beginning of a text without its markup; of the text with its markup where there is nothing else.

    >>> text_preview("caf&eacute; <br>at noon")
    'café at noon'
    """
    return _readable_text(text[:_MAX_CHARACTERS], characters) or printable(text, characters)


def _readable_text(text: str, characters: int) -> str:
    if not looks_like_html(text):
        return printable(unescape_references(text), characters)
    # Blanks that follow each other count here and are one in the preview.
    words = html_to_text(text, 4 * characters + _LEAST_ROOM)
    # Markup that is damaged leaves single brackets.
    return printable(words, characters) if words.strip("<> ") else ""


def _text_parts(part: MimePart) -> Iterator[MimePart]:
    """The parts with text, in order; a multipart without parts counts as text."""
    pending = [part]
    for _ in range(_MAX_PARTS):
        if not pending:
            return
        part = pending.pop(0)
        if inner := inner_parts(part, _MAX_PARTS):
            pending[:0] = inner
        elif part.main in READABLE:
            yield part
