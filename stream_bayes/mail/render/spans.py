"""Texts and links as pieces that a page may show: bounded, with nothing hidden in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from stream_bayes.mail.render.html import LEFT_OUT, TextRun
from stream_bayes.mail.render.links import Target, target
from stream_bayes.mail.render.sanitize import inline, shown, visible

SHOWN = 20_000
MAX_PIECES = 4000
"""Characters and pieces that are shown; the words of marks come on top."""

_FIRST_LINES = re.compile(r"\A(?:[ \t]*+\n)++")
# No text is pushed out of sight by blanks.
_MANY_BLANKS = re.compile(r"(?<![ \t])([ \t]{80})[ \t]++")
_MANY_LINES = re.compile(r"(?:\n[ \t]*+){4,}+")
_ADDRESS = re.compile(r"(?<![a-zA-Z0-9])(?:https?:[/\\]{2}|www\.|mailto:)[^\s<>\"]++", re.IGNORECASE)
_BEHIND_ADDRESS = ".,;:!?'*_)]}|…”’»。，、"
_WITH_HOSTS = ("", "http", "https", "mailto")
_LONGEST_MARK = 120
_LONGEST_SCHEME = 20


class TextSpan(NamedTuple):
    """A run of a text as a person may see it."""

    kind: Literal["text", "link", "mark"]
    """A mark is a word for what cannot be shown as text."""
    text: str
    host: str | None = None
    """Of a link: where it really leads, in ASCII."""
    url: str | None = None
    """Of a link that may be opened: http or https."""


class SpanBuilder:
    """The pieces so far; nothing is added any more once something had to be left out."""

    def __init__(self) -> None:
        self.cut = False
        # Something was left out, and more may follow.
        self.shortened = False
        self.room = SHOWN
        self._pieces: list[TextSpan] = []
        self._mark = ""
        self._times = 0
        self._apart = self._behind_mark = False

    def all(self) -> tuple[TextSpan, ...]:
        """Those that were added."""
        return tuple(self._pieces)

    def set_apart(self) -> None:
        """What comes next stands behind a blank line."""
        self._apart = bool(self._pieces)

    def add_text(self, text: str) -> None:
        """A plain text; the addresses in it become links."""
        lines = _MANY_BLANKS.sub(r"\1", text.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n"))
        self._add_text(_MANY_LINES.sub("\n\n\n", _FIRST_LINES.sub("", lines)))

    def add_runs(self, runs: Iterable[TextRun]) -> None:
        """What was read of HTML."""
        for run in runs:
            if self.cut:
                return
            self.shortened = self.shortened or run is LEFT_OUT
            if run.kind == "mark":
                self.room -= 1
                self.cut = self.room < 0
                self._add_mark(visible(run.text, _LONGEST_MARK))
            elif run.target:
                self._add_link(run.text, run.target)
            else:
                self._add_text(run.text)

    def add_line(self, mark: str) -> None:
        """A mark on a line of its own, behind a blank line."""
        self.set_apart()
        self.room -= len("\n\n\n")
        self._put(TextSpan("mark", mark))
        self._put(TextSpan("text", "\n"))

    def add_pieces(self, pieces: Iterable[TextSpan], share: int = 1) -> None:
        """Pieces of another page, in this part of the room that is left."""
        room = max(self.room, 0) // share
        places = (MAX_PIECES - len(self._pieces)) // share
        for number, piece in enumerate(pieces):
            beginning = piece._replace(text=piece.text[: max(room, 0)])
            fits = number < places and beginning == piece
            size = 1 if piece.kind == "mark" else len(beginning.text)
            if fits or (number < places and piece.kind != "mark"):
                self._put(beginning)
                room = room - size
                self.room = self.room - size
            if not fits:
                self.shortened = True
                self._put(TextSpan("mark", "the rest is left out"))
                return

    def _add_mark(self, text: str) -> None:
        """A mark that words do not touch: in HTML it stands between elements."""
        if self._pieces and self._pieces[-1].kind != "mark" and self._pieces[-1].text[-1].isalnum():
            self.room -= 1
            self._put(TextSpan("text", " "))
        self._put(TextSpan("mark", text))
        self._behind_mark = True

    def _add_text(self, text: str) -> None:
        beginning = text[: max(self.room, 0)]
        place = 0
        for found in _ADDRESS.finditer(beginning):
            address = _trimmed(found[0])
            goal = target(address)
            # Of an address that was cut the host may be another.
            if goal.host and (found.end() < len(beginning) or beginning == text):
                self._add_plain(beginning[place : found.start()])
                self._add_link(address, goal)
                place = found.start() + len(address)
        self._add_plain(beginning[place:])
        self.cut = self.cut or beginning != text

    def _add_plain(self, text: str) -> None:
        self.room -= len(text)
        for run in shown(text):
            if self.cut:
                return
            self._put(TextSpan("mark" if run.code else "text", run.text))

    def _add_link(self, text: str, goal: Target) -> None:
        """The link; one that leads to no host is its text and what it is."""
        if not goal.host:
            self._add_text(text)
            scheme = goal.scheme[:_LONGEST_SCHEME]
            self._add_mark("link to nowhere" if scheme in _WITH_HOSTS else f"{scheme}: link")
            return
        if goal.address and goal.address.casefold() not in text.casefold():
            text = f"{text} ⟨{visible(goal.address, _LONGEST_MARK)}⟩"
        room = max(self.room, 0)
        words = inline(text[:room])
        self.room -= len(words)
        self._put(TextSpan("link", words[:room], goal.host, goal.url))
        self.cut = self.cut or max(len(text), len(words)) > room

    def _put(self, piece: TextSpan) -> None:
        if self.cut or not piece.text:
            return
        if self._apart:
            self._apart = False
            self._put(TextSpan("text", "\n\n"))
        if self._behind_mark and piece.kind != "mark":
            self._behind_mark = False
            if piece.text[0].isalnum():
                self.room -= 1
                self._put(TextSpan("text", " "))
        last = self._pieces[-1].kind if self._pieces else ""
        if piece.kind == "text" == last:
            self._pieces[-1] = TextSpan("text", self._pieces[-1].text + piece.text)
        elif piece.kind == "mark" == last and piece.text == self._mark:
            self._times += 1
            self._pieces[-1] = TextSpan("mark", f"{self._mark} ×{self._times}")
        elif len(self._pieces) == MAX_PIECES:
            self.cut = True
        else:
            self._pieces.append(piece)
            self._mark = piece.text
            self._times = 1


def _trimmed(address: str) -> str:
    """Without what follows an address in a sentence; a parenthesis that was opened within belongs to it."""
    trimmed = address.rstrip(_BEHIND_ADDRESS)
    return f"{trimmed})" if "(" in trimmed and address[len(trimmed) :][:1] == ")" else trimmed
