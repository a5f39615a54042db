"""A mail as a person may read it: pieces of plain text, never markup, with nothing hidden in them.

Mail is hostile. Whatever the bytes are, there is an answer; only the first 256 KiB are looked at, and the time taken
grows as they do.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

from stream_bayes.mail.parse.parts import (
    MimePart,
    decoded,
    file_name,
    full_type,
    header,
    inner_parts,
    is_attached,
    is_mail,
    part_of,
    sender_and_subject,
    text_of,
    unescaped,
)
from stream_bayes.mail.render.alternatives import HTML_PART, OTHER_PART, add_alternatives
from stream_bayes.mail.render.html import TokenLimit, html_to_runs
from stream_bayes.mail.render.sanitize import visible, visible_ends
from stream_bayes.mail.render.spans import SpanBuilder, TextSpan

__all__ = ["LOOKED_AT", "RenderedMail", "TextSpan", "render_mail", "render_text", "visible"]

LOOKED_AT = 1 << 18
"""Bytes of a mail, or characters of a text, that are looked at."""

_MAX_PARTS = 64
_LONGEST_NAME = 100
_LONGEST_TYPE = 60
_NOT_READ = (b"application", b"audio", b"font", b"image", b"message", b"model", b"video")
_MAILS = ("message/rfc822", "message/global")
_PLAIN = ("", "text", "text/plain")
_HTML = ("text/html", "application/xhtml+xml")
_CALENDAR = "text/calendar"
_BEGINNING = 2000
# As browsers do: what latin-1 has for controls is meant as Windows has it.
_WINDOWS = {code: character for code in range(128, 160) if (character := bytes([code]).decode("cp1252", "ignore"))}
_ELEMENT = re.compile(
    r"<(?:!doctype|!--|html|head|body|meta|title|style|script|table|center|div|span|font|br|p|a|b|i|img|h[1-6]|ul|ol)"
    r"(?=[\s/>-])",
    re.IGNORECASE,
)
_DOCUMENT = re.compile(r"\A\s*+<(?:!doctype|html)\b", re.IGNORECASE)


class RenderedMail(NamedTuple):
    """A mail as a person may read it."""

    sender: str
    subject: str
    pieces: tuple[TextSpan, ...]
    attachments: tuple[str, ...]
    """The names and types of the parts that are not read."""
    size: int
    """Bytes of the mail."""
    cut: bool
    """Whether only its beginning was looked at, or is shown."""


def render_mail(raw: bytes) -> RenderedMail:
    """What a person may see of a mail.

    >>> letter = read_letter(b"Subject: tea\\n\\n<p>At <a href=//x.example>noon</a>?<script>a()")
    >>> [piece.text for piece in letter.pieces], letter.pieces[1].host
    (['At ', 'noon', '?', 'script without an end'], 'x.example')
    """
    octets = raw[:LOOKED_AT]
    whole = len(raw) <= LOOKED_AT
    first = part_of(octets)
    if not is_mail(first):
        pieces, cut = render_text(decoded(octets, None).translate(_WINDOWS))
        return RenderedMail("", "", pieces, (), len(raw), cut or not whole)
    leaves, complete = _leaves(first)
    page = SpanBuilder()
    limit = TokenLimit()
    read = (leaf for leaf in leaves if _is_read(leaf.part))
    for of_one_text, group in groupby(read, key=lambda leaf: leaf.best):
        _add_group(page, [leaf.part for leaf in group], of_one_text is not None, whole, limit)
    attached = [leaf.part for leaf in leaves if not _is_read(leaf.part)]
    if not page.all():
        for part in filter(_is_text, attached):
            _add(page, part, whole, limit)
    return RenderedMail(
        sender=visible(header(raw, "from")),
        subject=visible(header(raw, "subject")),
        pieces=page.all(),
        attachments=tuple(map(_label, attached)),
        size=len(raw),
        cut=page.cut or page.shortened or not (whole and complete),
    )


def render_text(text: str) -> tuple[tuple[TextSpan, ...], bool]:
    """What a person may see of a text, and whether that is only its beginning.

    >>> read_text("see www.x.example, soon")[0][1]
    TextSpan(kind='link', text='www.x.example', host='www.x.example', url='http://www.x.example/')
    """
    page = SpanBuilder()
    beginning = text[:LOOKED_AT]
    whole = beginning == text
    if _ELEMENT.search(beginning, 0, _BEGINNING):
        page.add_runs(html_to_runs(beginning, page.room, whole))
    if not page.all():
        page.add_text(unescaped(beginning))
    return page.all(), page.cut or page.shortened or not whole


class _Leaf(NamedTuple):
    part: MimePart
    best: MimePart | None
    """Where it is one of several forms of a text: the best of these."""


def _add_group(page: SpanBuilder, parts: list[MimePart], of_one_text: bool, whole: bool, limit: TokenLimit) -> None:
    """The texts of parts, or of the forms of one text; what calendars read is none."""
    forms = [part for part in parts[1:] if full_type(part) != _CALENDAR] if of_one_text else []
    if not forms:
        for part in parts if not of_one_text else parts[:1]:
            _add(page, part, whole, limit)
        return
    pages = [SpanBuilder() for _ in range(len(forms) + 1)]
    for own, part in zip(pages, (parts[0], *forms), strict=True):
        _add(own, part, whole, limit)
    marks = (HTML_PART if full_type(part) in _HTML else OTHER_PART for part in forms)
    add_alternatives(page, pages[0], list(zip(marks, pages[1:], strict=True)))


def _add(page: SpanBuilder, part: MimePart, whole: bool, limit: TokenLimit) -> None:
    """The text of a part, behind a blank line; of a mail within a mail, from whom and of what it is."""
    if page.cut:
        return
    page.set_apart()
    kind = full_type(part)
    if kind in _MAILS:
        sender, subject = (visible(value) for value in sender_and_subject(part.octets[part.begin :]))
        fields = (("From", sender), ("Subject", subject))
        page.add_text("\n".join(f"{name}: {value}" for name, value in fields if value))
        return
    text = text_of(part, LOOKED_AT).translate(_WINDOWS)
    if kind in _HTML or (_DOCUMENT if part.type else _ELEMENT).search(text, 0, _BEGINNING):
        page.add_runs(html_to_runs(text, page.room, whole, limit))
    else:
        page.add_text(text)


def _leaves(part: MimePart) -> tuple[list[_Leaf], bool]:
    """The parts that have none within them, and mails within mails before theirs; of alternatives the best first.

    Also whether these are all. Where parts lie too deep, the last one is taken as it is.
    """
    leaves: list[_Leaf] = []
    waiting = [_Leaf(part, None)]
    for _ in range(_MAX_PARTS):
        if not waiting:
            return leaves, True
        part, best = leaf = waiting.pop()
        kind = full_type(part)
        inner = inner_parts(part, _MAX_PARTS) if part.main != b"message" or kind in _MAILS else []
        if not inner or kind in _MAILS:
            leaves.append(leaf)
        forms = kind == "multipart/alternative" and not best
        waiting.extend(reversed(_forms(inner) if forms else [_Leaf(each, best) for each in inner]))
    return leaves + waiting[-1:], not waiting


def _forms(parts: list[MimePart]) -> list[_Leaf]:
    """The plain text first, if there is something in it, else the HTML, and the other forms of it; and what is no text.

    Where there is neither, all parts that have parts.
    """
    read = [part for part in parts if _is_read(part) and full_type(part) not in _MAILS]
    plain = [part for part in read if full_type(part) in _PLAIN and text_of(part, _BEGINNING).strip()]
    html = [part for part in read if full_type(part) in _HTML]
    best = next(iter(plain or html), None)
    if best:
        others = [_Leaf(part, best if part in read else None) for part in parts if part is not best]
        return [_Leaf(best, best), *others]
    several = [part for part in read if part.main == b"multipart"]
    return [_Leaf(part, None) for part in parts if not several or part in several or part not in read]


def _is_text(part: MimePart) -> bool:
    return part.main not in _NOT_READ or full_type(part) in (*_MAILS, *_HTML)


def _is_read(part: MimePart) -> bool:
    return _is_text(part) and (not is_attached(part) or full_type(part) in _MAILS)


def _label(part: MimePart) -> str:
    name = visible_ends(file_name(part), _LONGEST_NAME)
    kind = visible(full_type(part), _LONGEST_TYPE)
    return f"{name} ({kind})" if name and kind else name or kind or "text"
