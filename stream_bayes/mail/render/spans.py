"""Spans of text and links that a page can show: bounded in number and size, with nothing hidden in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from stream_bayes.mail.render.html import TRUNCATED, TextRun
from stream_bayes.mail.render.links import Target, target
from stream_bayes.mail.render.sanitize import escape_hidden, sanitized_runs, visible

MAX_SHOWN = 20_000
"""Characters of a mail that are shown; the words of marks are not counted."""
MAX_SPANS = 4000
"""Spans of a mail that are shown."""

_FIRST_LINES = re.compile(r"\A(?:[ \t]*+\n)++")
# Blanks must not push a text out of sight.
_MANY_BLANKS = re.compile(r"(?<![ \t])([ \t]{80})[ \t]++")
_MANY_LINES = re.compile(r"(?:\n[ \t]*+){4,}+")
_ADDRESS = re.compile(r"(?<![a-zA-Z0-9])(?:https?:[/\\]{2}|www\.|mailto:)[^\s<>\"]++", re.IGNORECASE)
_TRAILING_PUNCTUATION = ".,;:!?'*_)]}|…”’»。，、"
_WITH_HOSTS = ("", "http", "https", "mailto")
_LONGEST_MARK = 120
_LONGEST_SCHEME = 20


class TextSpan(NamedTuple):
    """A span of a shown text: plain text, a link or a mark."""

    kind: Literal["text", "link", "mark"]
    """A mark is a word for something that is no text, such as a picture."""
    text: str
    host: str | None = None
    """The host that a link really leads to, in ASCII."""
    url: str | None = None
    """The address of a link that may be opened: http or https."""


class SpanBuilder:
    """Collects the spans of a mail within the bounds; adds nothing more once something was left out."""

    def __init__(self) -> None:
        self.cut = False
        # Something was left out, but more may follow.
        self.shortened = False
        self.room = MAX_SHOWN
        self._spans: list[TextSpan] = []
        self._last_mark = ""
        self._mark_count = 0
        self._needs_gap = False
        self._after_mark = False

    def spans(self) -> tuple[TextSpan, ...]:
        """All spans that were added."""
        return tuple(self._spans)

    def start_paragraph(self) -> None:
        """Put a blank line before the next span."""
        self._needs_gap = bool(self._spans)

    def add_text(self, text: str) -> None:
        """Add a plain text; the addresses in it become links."""
        lines = _MANY_BLANKS.sub(r"\1", text.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n"))
        self._add_text(_MANY_LINES.sub("\n\n\n", _FIRST_LINES.sub("", lines)))

    def add_runs(self, runs: Iterable[TextRun]) -> None:
        """Add the runs of an HTML text."""
        for run in runs:
            if self.cut:
                return
            self.shortened = self.shortened or run is TRUNCATED
            if run.kind == "mark":
                self.room -= 1
                self.cut = self.room < 0
                self._add_mark(visible(run.text, _LONGEST_MARK))
            elif run.target:
                self._add_link(run.text, run.target)
            else:
                self._add_text(run.text)

    def add_line(self, mark: str) -> None:
        """Add a mark on a line of its own, after a blank line."""
        self.start_paragraph()
        self.room -= len("\n\n\n")
        self._append(TextSpan("mark", mark))
        self._append(TextSpan("text", "\n"))

    def add_spans(self, spans: Iterable[TextSpan], share: int = 1) -> None:
        """Add spans of another builder, within `1 / share` of the room that is left."""
        room = max(self.room, 0) // share
        places = (MAX_SPANS - len(self._spans)) // share
        for number, span in enumerate(spans):
            prefix = span._replace(text=span.text[: max(room, 0)])
            fits = number < places and prefix == span
            size = 1 if span.kind == "mark" else len(prefix.text)
            if fits or (number < places and span.kind != "mark"):
                self._append(prefix)
                room = room - size
                self.room = self.room - size
            if not fits:
                self.shortened = True
                self._append(TextSpan("mark", "the rest is left out"))
                return

    def _add_mark(self, text: str) -> None:
        """Add a mark with blanks around it."""
        if self._spans and self._spans[-1].kind != "mark" and self._spans[-1].text[-1].isalnum():
            self.room -= 1
            self._append(TextSpan("text", " "))
        self._append(TextSpan("mark", text))
        self._after_mark = True

    def _add_text(self, text: str) -> None:
        prefix = text[: max(self.room, 0)]
        place = 0
        for found in _ADDRESS.finditer(prefix):
            address = _trim_address(found[0])
            goal = target(address)
            # An address that was cut may name another host.
            if goal.host and (found.end() < len(prefix) or prefix == text):
                self._add_plain(prefix[place : found.start()])
                self._add_link(address, goal)
                place = found.start() + len(address)
        self._add_plain(prefix[place:])
        self.cut = self.cut or prefix != text

    def _add_plain(self, text: str) -> None:
        self.room -= len(text)
        for run in sanitized_runs(text):
            if self.cut:
                return
            self._append(TextSpan("mark" if run.code else "text", run.text))

    def _add_link(self, text: str, goal: Target) -> None:
        """Add a link; a link without a host becomes its text and a mark with its scheme."""
        if not goal.host:
            self._add_text(text)
            scheme = goal.scheme[:_LONGEST_SCHEME]
            self._add_mark("link to nowhere" if scheme in _WITH_HOSTS else f"{scheme}: link")
            return
        if goal.address and goal.address.casefold() not in text.casefold():
            text = f"{text} ⟨{visible(goal.address, _LONGEST_MARK)}⟩"
        room = max(self.room, 0)
        words = escape_hidden(text[:room])
        self.room -= len(words)
        self._append(TextSpan("link", words[:room], goal.host, goal.url))
        self.cut = self.cut or max(len(text), len(words)) > room

    def _append(self, span: TextSpan) -> None:
        if self.cut or not span.text:
            return
        if self._needs_gap:
            self._needs_gap = False
            self._append(TextSpan("text", "\n\n"))
        if self._after_mark and span.kind != "mark":
            self._after_mark = False
            if span.text[0].isalnum():
                self.room -= 1
                self._append(TextSpan("text", " "))
        last = self._spans[-1].kind if self._spans else ""
        if span.kind == "text" == last:
            self._spans[-1] = TextSpan("text", self._spans[-1].text + span.text)
        elif span.kind == "mark" == last and span.text == self._last_mark:
            self._mark_count += 1
            self._spans[-1] = TextSpan("mark", f"{self._last_mark} ×{self._mark_count}")
        elif len(self._spans) == MAX_SPANS:
            self.cut = True
        else:
            self._spans.append(span)
            self._last_mark = span.text
            self._mark_count = 1


def _trim_address(address: str) -> str:
    """The address without the punctuation after it; a closing parenthesis of its own is kept."""
    trimmed = address.rstrip(_TRAILING_PUNCTUATION)
    return f"{trimmed})" if "(" in trimmed and address[len(trimmed) :][:1] == ")" else trimmed
