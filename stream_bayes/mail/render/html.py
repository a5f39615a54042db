"""HTML as the text that people read of it, in lines, with its links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from stream_bayes.mail.parse.parts import unescaped
from stream_bayes.mail.render.html_tokens import Token, attributes_of, tokens
from stream_bayes.mail.render.links import Target, base_of, target

_BLANK = re.compile(r"[ \t\n\r\f\xa0]+")
_LINES = (
    "address article aside body caption center dd div dt fieldset figcaption figure footer form header hr legend li"
    " main nav ol option section table tr ul"
)
_GAPS = {
    **dict.fromkeys(("td", "th"), "\t"),
    **dict.fromkeys(_LINES.split(), "\n"),
    **dict.fromkeys(("p", "h1", "h2", "h3", "h4", "h5", "h6", "dl", "blockquote", "pre"), "\n\n"),
}
_WEAKER_FIRST = ("", " ", "\t", "\n", "\n\n")
_MARKS = {"img": "picture", "area": "picture", "input": "field", "textarea": "field", "select": "field"}
_TOLD = {"script": "script", "iframe": "frame"}
_CAPTIONS = ("alt", "value", "placeholder")
_LONGEST_CAPTION = 100
_WITHOUT_CONTENT = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
# They end where the next one begins.
_ENDED_BY_THE_NEXT = ("dd", "dt", "li", "option", "p")


# Finding out where a link leads takes as long as this number of other tokens.
_TOKENS_FOR_LINK = 6
# To find out whether a style hides something, to tell of a picture or a form, and where hidden text begins and ends.
_TOKENS_FOR_STYLE = 1
_TOKENS_FOR_MARK = 4
_TOKENS_FOR_HIDDEN = 12
_WITH_LINK = ("a", "area", "base", "form")
MAX_TOKENS = 10_000
"""Tags of a mail and texts between them that are read: a bound of the time that a mail can take."""


class TokenLimit:
    """How many more tokens of a mail are read, over all of its parts."""

    def __init__(self, left: int = MAX_TOKENS) -> None:
        self.left = left


class TextRun(NamedTuple):
    """A run of what is read: text, the text of a link, or a word for what cannot be shown as text."""

    kind: Literal["text", "link", "mark"]
    text: str
    target: Target | None = None


LEFT_OUT = TextRun("mark", "the rest is left out: it has too many tags")
"""Stands at the end where the limit of tokens was reached."""


def html_to_runs(markup: str, most: int, whole: bool = True, limit: TokenLimit | None = None) -> list[TextRun]:
    """What people read of it, until there are so many characters or tokens; `whole` unless the markup was cut.

    What follows a script or a title without an end is not read, nor are pictures that nobody sees, unless there is
    nothing else to read.

    >>> [run.text for run in read_markup("<p>Lunch &amp;<a href='http://x.example'>tea</a><p>at <b>noon", 99)]
    ['Lunch &', 'tea', '\\n\\nat noon']
    """
    limit = limit or TokenLimit()
    runs = _Page(most, everything=False).read(tokens(markup, hiding=True), limit)
    nothing_to_read = all(run.kind == "mark" or run.text.isspace() for run in runs)
    if whole and limit.left > 0 and nothing_to_read:
        return _Page(most, everything=True).read(tokens(markup, hiding=False), limit) or runs
    return runs


def _cost_of(token: Token) -> int:
    """As how many tokens it counts."""
    if token.kind != "start":
        return 1
    cost = _TOKENS_FOR_LINK if token.text in _WITH_LINK else 1
    if token.text in _MARKS or token.text == "form":
        cost += _TOKENS_FOR_MARK
    if "style" in token.rest.lower():
        cost += _TOKENS_FOR_STYLE
    return cost


class _Page:
    """What was read so far; blanks and line breaks wait until something follows them."""

    def __init__(self, most: int, everything: bool) -> None:
        self.room = most
        self.everything = everything
        self.runs: list[TextRun] = []
        self.buffer: list[str] = []
        self.target: Target | None = None
        self.base = ""
        self.gap = ""
        self.bullet = ""
        self.preformatted = 0
        self.concealed = ""
        self.depth = 0
        self.told = False
        # Elements that were found to be hidden.
        self.hidden = 0

    def read(self, tokens: Iterator[Token], limit: TokenLimit) -> list[TextRun]:
        """All that the tokens say, as far as there is room and the limit allows."""
        for token in tokens:
            limit.left -= _cost_of(token)
            if token.kind == "text":
                self._write(unescaped(token.text))
            elif token.kind == "hidden":
                self._hide(token.text, token.rest)
            elif token.kind == "start":
                hidden = self.hidden
                self._start(token.text, token.rest)
                limit.left -= _TOKENS_FOR_HIDDEN * (self.hidden - hidden)
            else:
                self._end(token.text)
            if self.room < 0:
                break
            if limit.left <= 0:
                self._flush()
                self.runs.append(LEFT_OUT)
                break
        self._flush()
        return self.runs

    def _hide(self, name: str, rest: str) -> None:
        if rest or name in _TOLD:
            self._mark(_TOLD.get(name, name) + rest)

    def _start(self, name: str, rest: str) -> None:
        self._conceal(name, rest)
        self._part(_GAPS.get(name, ""))
        if name == "a":
            self._link(attributes_of(rest).get("href", ""))
        elif name == "br":
            self._part("\n\n" if "\n" in self.gap else "\n")
        elif name == "li":
            self.bullet = "• "
        elif name == "pre":
            self.preformatted += 1
        elif name == "base":
            self.base = self.base or base_of(attributes_of(rest).get("href", ""))
        elif name == "form":
            self._form(attributes_of(rest).get("action", ""))
        elif name in _MARKS:
            self._picture(name, attributes_of(rest))

    def _end(self, name: str) -> None:
        self._part(_GAPS.get(name, "") if name not in ("td", "th") else " ")
        if name == "a":
            self._link("")
        elif name == "pre":
            self.preformatted = max(self.preformatted - 1, 0)
        if name == self.concealed:
            self._reveal()

    def _conceal(self, name: str, rest: str) -> None:
        """What an element has in it is told to be hidden, where its style hides it, until that element ends."""
        if name == self.concealed and name in _ENDED_BY_THE_NEXT:
            self._reveal()
        if name == self.concealed:
            self.depth += 1
        elif not self.concealed and name not in _WITHOUT_CONTENT and hides_content(rest):
            self.concealed = name
            self.depth = 1
            self.told = False
            self.hidden += 1

    def _reveal(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.concealed = ""
            if self.told:
                # The gap that waits comes behind the mark.
                gap = self.gap
                self.gap = ""
                self._mark("end of hidden text")
                self._part(gap)

    def _part(self, gap: str) -> None:
        self.gap = max(self.gap, gap, key=_WEAKER_FIRST.index)

    def _link(self, href: str) -> None:
        self._flush()
        self.target = target(href, self.base) if href and href.strip()[:1] != "#" else None

    def _form(self, action: str) -> None:
        host = target(action, self.base).host
        self._mark(f"form to {host}" if host else "form")

    def _picture(self, name: str, attributes: dict[str, str]) -> None:
        """A picture or a field of a form, unless nobody would see it; a map's areas are links."""
        tiny = {attributes.get("width"), attributes.get("height")} & {"0", "1"}
        empty = attributes.get("alt") == ""
        if ((tiny or empty) and not self.everything) or attributes.get("type", "").lower() == "hidden":
            return
        caption = next((attributes[key] for key in _CAPTIONS if attributes.get(key)), "")
        mark = f"{_MARKS[name]}: {caption[:_LONGEST_CAPTION]}" if caption else _MARKS[name]
        if name == "area":
            self._link(attributes.get("href", ""))
            self._mark(mark)
            self._link("")
        else:
            self._mark(mark)

    def _mark(self, text: str) -> None:
        if self.target:
            self._say(f"⟨{text}⟩")
            return
        self._say("")
        self._flush()
        self.runs.append(TextRun("mark", text))
        self.room -= 1

    def _write(self, text: str) -> None:
        if self.concealed and not self.told and not text.isspace() and text:
            self.told = True
            self._mark("hidden text")
        if self.preformatted:
            self._say(text.replace("\r\n", "\n").replace("\r", "\n"))
            return
        line = _BLANK.sub(" ", text)
        if line[:1] == " ":
            self._part(" ")
        if words := line.strip(" "):
            self._say(words)
            self._part(" " if line[-1] == " " else "")

    def _say(self, text: str) -> None:
        """Text behind the gap that waits; a gap before a link is not part of the link."""
        before = (self.gap if self.runs or self.buffer else "") + self.bullet
        self.gap = self.bullet = ""
        if self.target and not self.buffer and before:
            self.runs.append(TextRun("text", before))
            before = ""
        self.buffer.append(before + text)
        self.room -= len(before) + len(text)

    def _flush(self) -> None:
        text = "".join(self.buffer)
        self.buffer.clear()
        if text:
            self.runs.append(TextRun("link", text, self.target) if self.target else TextRun("text", text))


_HINT = re.compile(r"style|hidden", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBER = re.compile(r"([0-9]*+(?:\.[0-9]++)?+)([a-z%]*+)")
# The largest numbers that nobody sees; of font sizes by their unit.
_SMALLEST_FONT = {"": 1.0, "px": 1.0, "pt": 1.0, "em": 0.1, "rem": 0.1, "%": 10.0}
_FAINTEST = 0.05


def hides_content(rest: str) -> bool:
    """Whether these attributes of a tag hide its content.

    >>> conceals(" style='color: red; font-size: 1px'"), conceals(" style='font-size: 10px'")
    (True, False)
    """
    if not _HINT.search(rest):
        return False
    attributes = attributes_of(rest)
    return "hidden" in attributes or _is_unseen(_declarations(attributes.get("style", "")))


def _declarations(style: str) -> dict[str, str]:
    """The values of a style by their names; of two with one name the last counts."""
    pairs = (declaration.partition(":") for declaration in _COMMENT.sub("", style).lower().split(";"))
    return {name.strip(): value.replace("!important", "").strip() for name, _, value in pairs}


def _is_unseen(style: dict[str, str]) -> bool:
    size, unit = _number(style.get("font-size", ""))
    opacity, percent = _number(style.get("opacity", ""))
    heights = (_number(style.get(name, ""))[0] for name in ("height", "max-height"))
    return (
        style.get("display") == "none"
        or style.get("visibility") in ("hidden", "collapse")
        or size <= _SMALLEST_FONT.get(unit, 0.0)
        or opacity <= _FAINTEST * (100 if percent else 1)
        or ("hidden" in style.get("overflow", "") and 0.0 in heights)
    )


def _number(value: str) -> tuple[float, str]:
    """A number and its unit; without one, a number that is never small."""
    found = _NUMBER.fullmatch(value)
    return (float(found[1]), found[2]) if found and found[1] else (float("inf"), "")
