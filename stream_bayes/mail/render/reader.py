"""Rendering of a whole mail for people: spans of plain text and links, never markup, with nothing hidden.

Mail is hostile. Any bytes have a result. Only the first 256 KiB are read, and the time grows linearly with them.
Where a mail has a plain and an HTML version of a text, both are shown if their words differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from email.message import Message
from itertools import groupby
from typing import NamedTuple

from stream_bayes.mail.parse.mime import (
    MimePart,
    decode_text,
    file_name,
    full_type,
    inner_parts,
    is_attached,
    sender_and_subject,
    text_of,
)
from stream_bayes.mail.parse.parsed_mail import MAX_PARSED, ParsedMail
from stream_bayes.mail.render.html import TokenLimit, html_to_runs, unescape_references
from stream_bayes.mail.render.sanitize import visible, visible_ends
from stream_bayes.mail.render.spans import SpanBuilder, TextSpan

_MAX_PARTS = 64
_LONGEST_NAME = 100
_LONGEST_TYPE = 60
_UNREAD_TYPES = (b"application", b"audio", b"font", b"image", b"message", b"model", b"video")
_MAIL_TYPES = ("message/rfc822", "message/global")
_PLAIN_TYPES = ("", "text", "text/plain")
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_CALENDAR_TYPE = "text/calendar"
# Characters in which HTML is recognized, and a plain version must have some text.
_DETECTED = 2000
# As browsers do: control characters of latin-1 are read as those of Windows.
_CP1252_CONTROLS = {
    code: character for code in range(128, 160) if (character := bytes([code]).decode("cp1252", "ignore"))
}
_ELEMENT = re.compile(
    r"<(?:!doctype|!--|html|head|body|meta|title|style|script|table|center|div|span|font|br|p|a|b|i|img|h[1-6]|ul|ol)"
    r"(?=[\s/>-])",
    re.IGNORECASE,
)
_DOCUMENT = re.compile(r"\A\s*+<(?:!doctype|html)\b", re.IGNORECASE)
_HTML_PART = "HTML part, which most mail programs show instead"
_OTHER_PART = "another part, which some mail programs show instead"
_HTML_LINKS = "links of the HTML part"

_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"(?:https?:|www\.|mailto:)\S+", re.IGNORECASE)
# Two versions differ where the other has more new words than this share of its words, or than this number.
_NEW_SHARE = 0.1
_NEW_WORDS = 20
# They differ where they have less than this share of the words in common: programs that make a plain text of HTML add
# words, but not as many as there were.
_COMMON_SHARE = 0.5
_MAX_LINKS = 20


class RenderedMail(NamedTuple):
    """A mail as text for people."""

    sender: str
    subject: str
    spans: tuple[TextSpan, ...]
    attachments: tuple[str, ...]
    """Names and types of the parts that are not shown."""
    size: int
    """Bytes of the mail."""
    cut: bool
    """Whether only the beginning is shown."""


def render_mail(mail: bytes | Message | ParsedMail) -> RenderedMail:
    """Render a mail as text.

    >>> rendered = render_mail(b"Subject: tea\\n\\n<p>At <a href=//x.example>noon</a>?<script>a()")
    >>> [span.text for span in rendered.spans], rendered.spans[1].host
    (['At ', 'noon', '?', 'script without an end'], 'x.example')
    """
    parsed = ParsedMail.of(mail)
    size = len(parsed.raw)
    whole = size <= MAX_PARSED
    if not parsed.has_header:
        spans, cut = render_text(decode_text(parsed.root.octets, None).translate(_CP1252_CONTROLS))
        return RenderedMail("", "", spans, (), size, cut or not whole)
    leaves, complete = _leaves(parsed.root)
    page = SpanBuilder()
    limit = TokenLimit()
    read = (leaf for leaf in leaves if _is_read(leaf.part))
    for best, group in groupby(read, key=lambda leaf: leaf.best):
        _add_group(page, [leaf.part for leaf in group], best is not None, whole, limit)
    attached = [leaf.part for leaf in leaves if not _is_read(leaf.part)]
    if not page.spans():
        for part in filter(_is_text, attached):
            _add(page, part, whole, limit)
    return RenderedMail(
        sender=visible(parsed.header("from")),
        subject=visible(parsed.header("subject")),
        spans=page.spans(),
        attachments=tuple(map(_label, attached)),
        size=size,
        cut=page.cut or page.shortened or not (whole and complete),
    )


def render_text(text: str) -> tuple[tuple[TextSpan, ...], bool]:
    """Render a text, which may be HTML; also whether only its beginning is shown.

    >>> render_text("see www.x.example, soon")[0][1]
    TextSpan(kind='link', text='www.x.example', host='www.x.example', url='http://www.x.example/')
    """
    page = SpanBuilder()
    prefix = text[:MAX_PARSED]
    whole = prefix == text
    if _ELEMENT.search(prefix, 0, _DETECTED):
        page.add_runs(html_to_runs(prefix, page.room, whole))
    if not page.spans():
        page.add_text(unescape_references(prefix))
    return page.spans(), page.cut or page.shortened or not whole


class _Leaf(NamedTuple):
    part: MimePart
    best: MimePart | None
    """The version of the text that is shown first, in a part of multipart/alternative."""


def _add_group(page: SpanBuilder, parts: list[MimePart], alternatives: bool, whole: bool, limit: TokenLimit) -> None:
    """Add the texts of parts, or of the versions of one text; a calendar entry is no version."""
    versions = [part for part in parts[1:] if full_type(part) != _CALENDAR_TYPE] if alternatives else []
    if not versions:
        for part in parts if not alternatives else parts[:1]:
            _add(page, part, whole, limit)
        return
    pages = [SpanBuilder() for _ in range(len(versions) + 1)]
    for own, part in zip(pages, (parts[0], *versions), strict=True):
        _add(own, part, whole, limit)
    marks = (_HTML_PART if full_type(part) in _HTML_TYPES else _OTHER_PART for part in versions)
    _add_alternatives(page, pages[0], list(zip(marks, pages[1:], strict=True)))


def _add(page: SpanBuilder, part: MimePart, whole: bool, limit: TokenLimit) -> None:
    """Add the text of a part as a paragraph; of a mail within a mail, its sender and subject."""
    if page.cut:
        return
    page.start_paragraph()
    kind = full_type(part)
    if kind in _MAIL_TYPES:
        sender, subject = (visible(value) for value in sender_and_subject(part.octets[part.begin :]))
        fields = (("From", sender), ("Subject", subject))
        page.add_text("\n".join(f"{name}: {value}" for name, value in fields if value))
        return
    text = text_of(part, MAX_PARSED).translate(_CP1252_CONTROLS)
    if kind in _HTML_TYPES or (_DOCUMENT if part.type else _ELEMENT).search(text, 0, _DETECTED):
        page.add_runs(html_to_runs(text, page.room, whole, limit))
    else:
        page.add_text(text)


def _add_alternatives(page: SpanBuilder, first: SpanBuilder, others: Sequence[tuple[str, SpanBuilder]]) -> None:
    """Add the first version of a text, and each other version with its mark if its words differ, or else its links.

    A long text leaves half of the room to those after it, so that none can push another out of sight.
    """
    words = _words(first.spans())
    others = [(mark, other) for mark, other in others if other.spans()]
    different = [_differ(words, _words(other.spans())) for _, other in others]
    page.start_paragraph()
    page.add_spans(first.spans(), 2 if any(different) else 1)
    for number, (mark, other) in enumerate(others):
        if different[number]:
            page.add_line(mark)
            page.add_spans(other.spans(), 2 if any(different[number + 1 :]) else 1)
        else:
            _add_links(page, other.spans())
    page.shortened = page.shortened or first.cut or any(other.cut for _, other in others)


def _words(spans: Iterable[TextSpan]) -> list[str]:
    """The words of the text in lower case, without marks and addresses."""
    text = "".join(span.text if span.kind != "mark" else " " for span in spans)
    return _WORD.findall(_ADDRESS.sub(" ", text).casefold())


def _differ(plain: list[str], other: list[str]) -> bool:
    """Whether the other version has many words that the plain one lacks, or lacks most of its words."""
    known = set(plain)
    found = set(other)
    new = sum(word not in known for word in other)
    common = sum(word in found for word in plain)
    return new > min(_NEW_SHARE * len(other), _NEW_WORDS) or common < _COMMON_SHARE * len(plain)


def _add_links(page: SpanBuilder, spans: Iterable[TextSpan]) -> None:
    """Add the links and forms that are not yet on the page, each on its line."""
    seen = {_key(span) for span in page.spans()}
    links = {_key(span): span for span in spans if _is_link(span) and _key(span) not in seen}
    if not links:
        return
    page.add_line(_HTML_LINKS)
    lines = list(links.values())[:_MAX_LINKS]
    if len(links) > _MAX_LINKS:
        lines.append(TextSpan("mark", f"{len(links) - _MAX_LINKS} more links"))
    for number, line in enumerate(lines):
        page.add_spans((TextSpan("text", "\n"), line) if number else (line,))


def _is_link(span: TextSpan) -> bool:
    form_or_scheme = span.text.startswith("form to ") or span.text.endswith(": link")
    return span.kind == "link" or (span.kind == "mark" and form_or_scheme)


def _key(span: TextSpan) -> tuple[str, ...]:
    """The identity of a link: its URL; a mail address or a mark is identified by its text."""
    return (span.url,) if span.url else (span.kind, span.text)


def _leaves(part: MimePart) -> tuple[list[_Leaf], bool]:
    """The parts without inner parts, and mails within mails before their parts; the best of alternatives first.

    Also whether these are all. Where parts are nested too deeply, the last one counts as a leaf.
    """
    leaves: list[_Leaf] = []
    pending = [_Leaf(part, None)]
    for _ in range(_MAX_PARTS):
        if not pending:
            return leaves, True
        leaf = pending.pop()
        part = leaf.part
        best = leaf.best
        kind = full_type(part)
        inner = inner_parts(part, _MAX_PARTS) if part.main != b"message" or kind in _MAIL_TYPES else []
        if not inner or kind in _MAIL_TYPES:
            leaves.append(leaf)
        versions = kind == "multipart/alternative" and not best
        pending.extend(reversed(_versions(inner) if versions else [_Leaf(each, best) for each in inner]))
    return leaves + pending[-1:], not pending


def _versions(parts: list[MimePart]) -> list[_Leaf]:
    """The parts of multipart/alternative: the plain text first unless it is empty, else the HTML, then the others.

    Where there is neither, all parts that have parts.
    """
    read = [part for part in parts if _is_read(part) and full_type(part) not in _MAIL_TYPES]
    plain = [part for part in read if full_type(part) in _PLAIN_TYPES and text_of(part, _DETECTED).strip()]
    html = [part for part in read if full_type(part) in _HTML_TYPES]
    best = next(iter(plain or html), None)
    if best:
        others = [_Leaf(part, best if part in read else None) for part in parts if part is not best]
        return [_Leaf(best, best), *others]
    several = [part for part in read if part.main == b"multipart"]
    return [_Leaf(part, None) for part in parts if not several or part in several or part not in read]


def _is_text(part: MimePart) -> bool:
    return part.main not in _UNREAD_TYPES or full_type(part) in (*_MAIL_TYPES, *_HTML_TYPES)


def _is_read(part: MimePart) -> bool:
    return _is_text(part) and (not is_attached(part) or full_type(part) in _MAIL_TYPES)


def _label(part: MimePart) -> str:
    name = visible_ends(file_name(part), _LONGEST_NAME)
    kind = visible(full_type(part), _LONGEST_TYPE)
    return f"{name} ({kind})" if name and kind else name or kind or "text"
