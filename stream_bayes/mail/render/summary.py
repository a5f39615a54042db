"""What a person is shown of a mail: its subject, its sender, the beginning of its text.

For display; of it only the subject is ever learned, by learners that do not read mail themselves. Only the first 64 KiB
are looked at. Whatever the bytes are, there is an answer, in a bounded time, without a character that could move others
around.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from stream_bayes.mail.parse.parts import (
    LOOKED_AT,
    READABLE,
    MimePart,
    decoded,
    header,
    inner_parts,
    is_mail,
    looks_like_markup,
    part_of,
    text_of,
    unescaped,
)

LONGEST = 500
"""Characters of a subject or sender that are shown."""

# Bounds for what takes time that grows faster than the text: parts within parts.
_BODY_BYTES = 1 << 14
_MARKUP_CHARACTERS = 1 << 13
_MAX_PARTS = 16
_HIDDEN = re.compile(r"<!--.*?(-->|$)|<(style|script|title)\b.*?(</\2\s*>|$)", re.IGNORECASE | re.DOTALL)
_INLINE = re.compile(r"</?(a|b|i|u|em|font|span|strong)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>?")


def subject(raw: bytes) -> str:
    """The subject, decoded; empty where there is none.

    >>> subject(b"Subject: =?utf-8?q?caf=C3=A9?= today\\n\\nAt noon?")
    'café today'
    """
    return harmless(header(raw, "subject"))


def sender(raw: bytes) -> str:
    """The From field, decoded; empty where there is none.

    >>> sender(b"From: =?iso-8859-1?q?J=F6rg?= <joerg@example.org>\\n\\n")
    'Jörg <joerg@example.org>'
    """
    return harmless(header(raw, "from"))


def preview(raw: bytes, characters: int = 200) -> str:
    """The beginning of the first part with text to read, or of the mail itself where it has no headers.

    Where there is nothing to read, as in a picture, it is the beginning of what there is.

    >>> preview(b"Subject: hello\\nContent-Type: text/html\\n\\n<p>Lunch &amp; tea at <b>noon</b>?")
    'Lunch & tea at noon?'
    >>> preview(b"free entry in a weekly competition", characters=10)
    'free entr…'
    """
    octets = raw[:LOOKED_AT]
    first = part_of(octets)
    if not is_mail(first):
        return beginning(decoded(octets, None), characters)
    for text in map(_text_of, _parts(first)):
        if shown := _shown(text, characters):
            return shown
    sources = chain(map(_text_of, _parts(first)), (decoded(octets, None),))
    return next(filter(None, (harmless(text, characters) for text in sources)), "")


def beginning(text: str, characters: int = 200) -> str:
    """The beginning of a text as people read it, without markup; of the text as it is where nothing else is in it.

    >>> beginning("caf&eacute; <br>at noon")
    'café at noon'
    """
    return _shown(text, characters) or harmless(text, characters)


def _shown(text: str, characters: int) -> str:
    text = text[:_MARKUP_CHARACTERS]
    if looks_like_markup(text):
        # A comment or script without an end would hide all that comes after it.
        return harmless(_without_tags(_HIDDEN.sub(" ", text)), characters) or harmless(_without_tags(text), characters)
    return harmless(unescaped(text), characters)


def _without_tags(markup: str) -> str:
    return unescaped(_TAG.sub(" ", _INLINE.sub("", markup)))


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


def _text_of(part: MimePart) -> str:
    """The beginning of the body, decoded."""
    return text_of(part, _BODY_BYTES)[:_MARKUP_CHARACTERS]


def _parts(part: MimePart) -> Iterator[MimePart]:
    """Those with text, in their order; one that should have parts and has none is taken for text."""
    waiting = [part]
    for _ in range(_MAX_PARTS):
        if not waiting:
            return
        part = waiting.pop(0)
        if inner := inner_parts(part, _MAX_PARTS):
            waiting[:0] = inner
        elif part.main in READABLE:
            yield part
