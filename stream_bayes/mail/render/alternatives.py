"""The texts of a mail of which programs show one: whether they say the same, and both where they do not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from stream_bayes.mail.render.spans import SpanBuilder, TextSpan

HTML_PART = "HTML part, which most mail programs show instead"
OTHER_PART = "another part, which some mail programs show instead"
HTML_LINKS = "links of the HTML part"

_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"(?:https?:|www\.|mailto:)\S+", re.IGNORECASE)
# More words than this share of a text, or than this number, are not there by chance.
_SHARE = 0.1
_NUMBER = 20
# Programs that make a plain text of HTML add some words of their own, but not as many as there were.
_COMMON = 0.5
_MAX_LINKS = 20


def add_alternatives(page: SpanBuilder, first: SpanBuilder, others: Sequence[tuple[str, SpanBuilder]]) -> None:
    """The first text, and of the others, each with its mark, those that say something else, or else their links.

    A long text leaves half of the room to those behind it, so that none can push another out of sight.
    """
    said = _words(first.all())
    others = [(mark, other) for mark, other in others if other.all()]
    different = [_differ(said, _words(other.all())) for _, other in others]
    page.set_apart()
    page.add_pieces(first.all(), 2 if any(different) else 1)
    for number, (mark, other) in enumerate(others):
        if different[number]:
            page.add_line(mark)
            page.add_pieces(other.all(), 2 if any(different[number + 1 :]) else 1)
        else:
            _add_links(page, other.all())
    page.shortened = page.shortened or first.cut or any(other.cut for _, other in others)


def _words(pieces: Iterable[TextSpan]) -> list[str]:
    """The words of what is not marks or addresses, in lower case."""
    text = "".join(piece.text if piece.kind != "mark" else " " for piece in pieces)
    return _WORD.findall(_ADDRESS.sub(" ", text).casefold())


def _differ(plain: list[str], other: list[str]) -> bool:
    """Whether the other text has words that the plain one has not, or lacks most of its words."""
    known = set(plain)
    found = set(other)
    new = sum(word not in known for word in other)
    common = sum(word in found for word in plain)
    return new > min(_SHARE * len(other), _NUMBER) or common < _COMMON * len(plain)


def _add_links(page: SpanBuilder, pieces: Iterable[TextSpan]) -> None:
    """The links that are not yet on the page, and what else leads somewhere, each on its line."""
    seen = {_key(piece) for piece in page.all()}
    links = {_key(piece): piece for piece in pieces if _leads(piece) and _key(piece) not in seen}
    if not links:
        return
    page.add_line(HTML_LINKS)
    lines = list(links.values())[:_MAX_LINKS]
    if len(links) > _MAX_LINKS:
        lines.append(TextSpan("mark", f"{len(links) - _MAX_LINKS} more links"))
    for number, line in enumerate(lines):
        page.add_pieces((TextSpan("text", "\n"), line) if number else (line,))


def _leads(piece: TextSpan) -> bool:
    ways = piece.text.startswith("form to ") or piece.text.endswith(": link")
    return piece.kind == "link" or (piece.kind == "mark" and ways)


def _key(piece: TextSpan) -> tuple[str, ...]:
    """What makes a link the same as another: where it leads; an address to write to, or a mark, is what it says."""
    return (piece.url,) if piece.url else (piece.kind, piece.text)
