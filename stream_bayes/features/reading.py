"""A mail as a person may read it: pieces of plain text, never markup, with nothing hidden in them.

Mail is hostile. Whatever the bytes are, there is an answer; only the first 256 KiB are looked at, and the time taken
grows as they do.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stream_bayes.features.hypertext import read_markup
from stream_bayes.features.mail_parts import (
    Part,
    decoded,
    file_name,
    full_type,
    header,
    inner_parts,
    is_attached,
    is_mail,
    part_of,
    text_of,
    unescaped,
)
from stream_bayes.features.pieces import Piece, Pieces
from stream_bayes.features.visible import visible

__all__ = ["LOOKED_AT", "Letter", "Piece", "read_letter", "read_text", "visible"]

LOOKED_AT = 1 << 18
"""Bytes of a mail, or characters of a text, that are looked at."""

_MOST_PARTS, _LONGEST_NAME = 64, 100
_NOT_READ = (b"application", b"audio", b"font", b"image", b"message", b"model", b"video")
_MAILS = ("message/rfc822", "message/global")
_PLAIN, _HTML = ("", "text", "text/plain"), ("text/html", "application/xhtml+xml")
_BEGINNING = 2000
# As browsers do: what latin-1 has for controls is meant as Windows has it.
_WINDOWS = {code: character for code in range(128, 160) if (character := bytes([code]).decode("cp1252", "ignore"))}
_ELEMENT = re.compile(
    r"<(?:!doctype|!--|html|head|body|meta|title|style|script|table|center|div|span|font|br|p|a|b|i|img|h[1-6]|ul|ol)"
    r"(?=[\s/>-])",
    re.IGNORECASE,
)
_DOCUMENT = re.compile(r"\A\s*+<(?:!doctype|html)\b", re.IGNORECASE)


class Letter(NamedTuple):
    """A mail as a person may read it."""

    sender: str
    subject: str
    pieces: tuple[Piece, ...]
    attachments: tuple[str, ...]
    """The names, or else the types, of the parts that are not read."""
    size: int
    """Bytes of the mail."""
    cut: bool
    """Whether only its beginning was looked at, or is shown."""


def read_letter(raw: bytes) -> Letter:
    """What a person may see of a mail.

    >>> letter = read_letter(b"Subject: tea\\n\\n<p>At <a href=//x.example>noon</a>?<script>a()")
    >>> [piece.text for piece in letter.pieces], letter.pieces[1].host
    (['At ', 'noon', '?', 'script without an end'], 'x.example')
    """
    octets = raw[:LOOKED_AT]
    whole = len(raw) <= LOOKED_AT
    first = part_of(octets)
    if not is_mail(first):
        pieces, cut = read_text(decoded(octets, None).translate(_WINDOWS))
        return Letter("", "", pieces, (), len(raw), cut or not whole)
    leaves, complete = _leaves(first)
    page = Pieces()
    for part in filter(_is_read, leaves):
        _add(page, part, whole)
    attached = [part for part in leaves if not _is_read(part)]
    if not page.all():
        for part in filter(_is_text, attached):
            _add(page, part, whole)
    return Letter(
        sender=visible(header(raw, "from")),
        subject=visible(header(raw, "subject")),
        pieces=page.all(),
        attachments=tuple(map(_label, attached)),
        size=len(raw),
        cut=page.cut or not (whole and complete),
    )


def read_text(text: str) -> tuple[tuple[Piece, ...], bool]:
    """What a person may see of a text, and whether that is only its beginning.

    >>> read_text("see www.x.example, soon")[0][1]
    Piece(kind='link', text='www.x.example', host='www.x.example', url='http://www.x.example/')
    """
    page, beginning = Pieces(), text[:LOOKED_AT]
    whole = beginning == text
    if _ELEMENT.search(beginning, 0, _BEGINNING):
        page.add_runs(read_markup(beginning, page.room, whole))
    if not page.all():
        page.add_text(unescaped(beginning))
    return page.all(), page.cut or not whole


def _add(page: Pieces, part: Part, whole: bool) -> None:
    """The text of a part, behind a blank line; of a mail within a mail, from whom and of what it is."""
    if page.cut:
        return
    page.set_apart()
    kind = full_type(part)
    if kind in _MAILS:
        inner = part.octets[part.begin :]
        fields = ((name, visible(header(inner, name))) for name in ("From", "Subject"))
        page.add_text("\n".join(f"{name}: {value}" for name, value in fields if value))
        return
    text = text_of(part, LOOKED_AT).translate(_WINDOWS)
    if kind in _HTML or (_DOCUMENT if part.type else _ELEMENT).search(text, 0, _BEGINNING):
        page.add_runs(read_markup(text, page.room, whole))
    else:
        page.add_text(text)


def _leaves(part: Part) -> tuple[list[Part], bool]:
    """The parts that have none within them, and mails within mails before theirs; of alternatives the best.

    Also whether these are all. Where parts lie too deep, the last one is taken as it is.
    """
    leaves: list[Part] = []
    waiting = [part]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return leaves, True
        part = waiting.pop()
        kind = full_type(part)
        inner = inner_parts(part, _MOST_PARTS) if part.main != b"message" or kind in _MAILS else []
        if not inner or kind in _MAILS:
            leaves.append(part)
        waiting.extend(reversed(_best(inner) if kind == "multipart/alternative" else inner))
    return leaves + waiting[-1:], not waiting


def _best(parts: list[Part]) -> list[Part]:
    """The plain text, if there is something in it, else the HTML, else all; and what is no text."""
    plain = [part for part in parts if full_type(part) in _PLAIN and text_of(part, _BEGINNING).strip()]
    html = [part for part in parts if full_type(part) in _HTML]
    several = [part for part in parts if part.main == b"multipart"]
    best = (plain or html or several)[:1]
    return [*best, *(part for part in parts if not _is_text(part))] if best else parts


def _is_text(part: Part) -> bool:
    return part.main not in _NOT_READ or full_type(part) in (*_MAILS, *_HTML)


def _is_read(part: Part) -> bool:
    return _is_text(part) and (not is_attached(part) or full_type(part) in _MAILS)


def _label(part: Part) -> str:
    return visible(file_name(part) or full_type(part) or "text", _LONGEST_NAME)
