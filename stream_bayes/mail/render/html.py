"""HTML to text: the words that people read of a mail's markup, in lines, with its links.

Markup is tokenized as browsers do. The time grows linearly with the text: what was scanned is either consumed or never
searched again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Literal, NamedTuple

from stream_bayes.mail.render.links import Target, base_of, target

_MARKUP = re.compile(r"\s*<|.{0,1000}?<(!doctype|html|body|table|center|div|font|br|p)\b", re.IGNORECASE | re.DOTALL)
# A number may have more digits than Python reads; from the eighth on, leading zeros aside, it is no character.
_LONG_REFERENCE = re.compile(r"&#0*+([0-9]{0,8}+)[0-9]*+")
_TAG_NAME = r"<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)"
_ATTRIBUTE_VALUE = r"=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]++)?+"
_TAG = re.compile(rf"{_TAG_NAME}(?P<rest>(?:[^>=]++|{_ATTRIBUTE_VALUE})*+)(?P<close>>?)")
# Where no end of a tag comes, browsers take all that follows into it; here the next tag ends it.
_BROKEN_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z][^\s/<>]*+)(?P<rest>[^<>]*+)(?P<close>>?)")
_ODD_TAG = re.compile(r"<[!?/][^<>]*+>?")
_ATTRIBUTE = re.compile(r"([^\s=/>]++)\s*+(?:=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?+")
_COMMENT_END = re.compile(r"--!?>")
# Elements whose content is not read.
_RAW_TEXT_ELEMENTS = ("script", "style", "title", "template", "iframe", "noembed", "noframes")
_RAW_TEXT_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW_TEXT_ELEMENTS}
_BLANK = re.compile(r"[ \t\n\r\f\xa0]+")
_LINE_ELEMENTS = (
    "address article aside body caption center dd div dt fieldset figcaption figure footer form header hr legend li"
    " main nav ol option section table tr ul"
)
_GAPS = {
    **dict.fromkeys(("td", "th"), "\t"),
    **dict.fromkeys(_LINE_ELEMENTS.split(), "\n"),
    **dict.fromkeys(("p", "h1", "h2", "h3", "h4", "h5", "h6", "dl", "blockquote", "pre"), "\n\n"),
}
_WEAKER_FIRST = ("", " ", "\t", "\n", "\n\n")
_ELEMENT_MARKS = {"img": "picture", "area": "picture", "input": "field", "textarea": "field", "select": "field"}
_UNREAD_MARKS = {"script": "script", "iframe": "frame"}
_CAPTIONS = ("alt", "value", "placeholder")
_LONGEST_CAPTION = 100
_VOID_ELEMENTS = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
# Elements that end where the next one of the same name begins.
_ENDED_BY_NEXT = ("dd", "dt", "li", "option", "p")
# Costs in tokens, measured: resolving a link takes as long as this number of other tokens,
_TOKENS_FOR_LINK = 6
# parsing a style attribute, marking a picture or a form, and marking the begin and end of hidden text.
_TOKENS_FOR_STYLE = 1
_TOKENS_FOR_MARK = 4
_TOKENS_FOR_HIDDEN = 12
_WITH_LINK = ("a", "area", "base", "form")
MAX_TOKENS = 10_000
"""Tags of a mail and texts between them that are read: a bound on the time that a mail can take."""

_STYLE_HINT = re.compile(r"style|hidden", re.IGNORECASE)
_STYLE_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBER = re.compile(r"([0-9]*+(?:\.[0-9]++)?+)([a-z%]*+)")
# The largest values that cannot be seen; font sizes by unit.
_SMALLEST_FONT = {"": 1.0, "px": 1.0, "pt": 1.0, "em": 0.1, "rem": 0.1, "%": 10.0}
_FAINTEST = 0.05


def unescape_references(text: str) -> str:
    """The text with its character references replaced.

    >>> unescape_references("tea &amp; caf&#233;")
    'tea & café'
    """
    return unescape(_LONG_REFERENCE.sub(_shorten_reference, text) if "&#" in text else text)


def _shorten_reference(reference: re.Match[str]) -> str:
    return f"&#{reference[1] or 0}" if len(reference[0]) > 10 else reference[0]


def looks_like_html(text: str) -> bool:
    """Whether the text begins with a tag, or has a common one near its beginning."""
    return _MARKUP.match(text) is not None


class Token(NamedTuple):
    """A token of HTML: text, a tag with its attributes, or the content of an element that is not read."""

    kind: Literal["text", "start", "end", "unread"]
    text: str
    rest: str = ""


def tokenize(markup: str, unclosed_hides_rest: bool) -> Iterator[Token]:
    """The tokens of the markup, as browsers find them.

    `unclosed_hides_rest`: an element such as script that has no end tag hides all that follows.
    """
    place = 0
    tag = _TAG
    unmatched = set[str]()
    while (begin := markup.find("<", place)) >= 0:
        yield Token("text", markup[place:begin])
        found = tag.match(markup, begin)
        if found and not found["close"]:
            tag = _BROKEN_TAG
            found = tag.match(markup, begin)
        if not found:
            place = _end_of_comment(markup, begin, unmatched)
            yield Token("text", "<" if place == begin + 1 else "")
            continue
        name = found["name"].lower()
        place = found.end()
        yield Token("end" if found["end"] else "start", name, found["rest"])
        if name in _RAW_TEXT_ELEMENTS and not found["end"]:
            end = _search(_RAW_TEXT_ENDS[name], markup, place, unmatched)
            if end or unclosed_hides_rest:
                yield Token("unread", name, "" if end else " without an end")
                place = end.start() if end else len(markup)
    yield Token("text", markup[place:])


def _end_of_comment(markup: str, begin: int, unmatched: set[str]) -> int:
    """The end of a comment or another construct that is no tag; an unclosed comment ends with its first tag."""
    if markup.startswith("<!--", begin):
        # <!--> and <!---> are comments too.
        end = _search(_COMMENT_END, markup, begin + 2, unmatched)
        if end:
            return end.end()
    odd = _ODD_TAG.match(markup, begin)
    return odd.end() if odd else begin + 1


def _search(pattern: re.Pattern[str], markup: str, place: int, unmatched: set[str]) -> re.Match[str] | None:
    """Like `pattern.search`, but a pattern that failed once is not searched again: it would fail further on too."""
    found = None if pattern.pattern in unmatched else pattern.search(markup, place)
    if not found:
        unmatched.add(pattern.pattern)
    return found


def attributes_of(rest: str) -> dict[str, str]:
    """The attributes of a tag; the first of two with the same name counts."""
    attributes: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(rest):
        attributes.setdefault(name.lower(), unescape_references("".join(values)))
    return attributes


class TokenLimit:
    """A budget of tokens for all HTML parts of a mail together."""

    def __init__(self, left: int = MAX_TOKENS) -> None:
        self.left = left


class TextRun(NamedTuple):
    """A run of the text of HTML: plain text, the text of a link, or a mark, a word for what is no text."""

    kind: Literal["text", "link", "mark"]
    text: str
    target: Target | None = None


TRUNCATED = TextRun("mark", "the rest is left out: it has too many tags")
"""The last run where the limit of tokens was reached."""


def html_to_runs(
    markup: str, max_characters: int, whole: bool = True, limit: TokenLimit | None = None
) -> list[TextRun]:
    """HTML to text with its links and marks, up to a number of characters or tokens; `whole` unless the markup was cut.

    What follows a script or a title without an end is left out, and so are invisible pictures, unless there is nothing
    else to read.

    >>> [run.text for run in html_to_runs("<p>Lunch &amp;<a href='http://x.example'>tea</a><p>at <b>noon", 99)]
    ['Lunch &', 'tea', '\\n\\nat noon']
    """
    limit = limit or TokenLimit()
    runs = _TextBuilder(max_characters).read(tokenize(markup, unclosed_hides_rest=True), limit)
    nothing_to_read = all(run.kind == "mark" or run.text.isspace() for run in runs)
    if whole and limit.left > 0 and nothing_to_read:
        builder = _TextBuilder(max_characters, include_invisible=True)
        return builder.read(tokenize(markup, unclosed_hides_rest=False), limit) or runs
    return runs


def html_to_text(markup: str, max_characters: int) -> str:
    """HTML to plain text: what `html_to_runs` reads, without marks.

    >>> html_to_text("<p>Lunch<script>a()</script> at <img alt=clock><b>noon</b>?", 99)
    'Lunch at noon?'
    """
    for unclosed_hides_rest in (True, False):
        builder = _TextBuilder(max_characters, with_marks=False)
        runs = builder.read(tokenize(markup, unclosed_hides_rest), TokenLimit())
        text = "".join(run.text for run in runs if run.kind == "text")
        if text and not text.isspace():
            return text
    return ""


def _cost_of(token: Token) -> int:
    """The number of tokens that the token counts as."""
    if token.kind != "start":
        return 1
    cost = _TOKENS_FOR_LINK if token.text in _WITH_LINK else 1
    if token.text in _ELEMENT_MARKS or token.text == "form":
        cost += _TOKENS_FOR_MARK
    if "style" in token.rest.lower():
        cost += _TOKENS_FOR_STYLE
    return cost


class _TextBuilder:
    """Builds text runs from tokens; blanks and line breaks wait until text follows them."""

    def __init__(self, max_characters: int, include_invisible: bool = False, with_marks: bool = True) -> None:
        self.room = max_characters
        self.include_invisible = include_invisible
        # Without marks, links are plain text too, and hidden text looks like other text.
        self.with_marks = with_marks
        self.runs: list[TextRun] = []
        self.buffer: list[str] = []
        self.target: Target | None = None
        self.base = ""
        self.gap = ""
        self.bullet = ""
        self.preformatted = 0
        self.hidden_element = ""
        self.hidden_depth = 0
        self.hidden_marked = False
        self.hidden_count = 0

    def read(self, tokens: Iterator[Token], limit: TokenLimit) -> list[TextRun]:
        """The runs of all tokens, as far as there is room and the limit allows."""
        for token in tokens:
            limit.left -= _cost_of(token)
            if token.kind == "text":
                self._write(unescape_references(token.text))
            elif token.kind == "unread":
                self._mark_unread(token.text, token.rest)
            elif token.kind == "start":
                hidden = self.hidden_count
                self._start(token.text, token.rest)
                limit.left -= _TOKENS_FOR_HIDDEN * (self.hidden_count - hidden)
            else:
                self._end(token.text)
            if self.room < 0:
                break
            if limit.left <= 0:
                self._flush()
                self.runs.append(TRUNCATED)
                break
        self._flush()
        return self.runs

    def _mark_unread(self, name: str, rest: str) -> None:
        if rest or name in _UNREAD_MARKS:
            self._mark(_UNREAD_MARKS.get(name, name) + rest)

    def _start(self, name: str, rest: str) -> None:
        if self.with_marks:
            self._enter_hidden(name, rest)
        self._request_gap(_GAPS.get(name, ""))
        if name == "a":
            self._set_link(attributes_of(rest).get("href", ""))
        elif name == "br":
            self._request_gap("\n\n" if "\n" in self.gap else "\n")
        elif name == "li":
            self.bullet = "• "
        elif name == "pre":
            self.preformatted += 1
        elif name == "base":
            self.base = self.base or base_of(attributes_of(rest).get("href", ""))
        elif name == "form":
            self._mark_form(attributes_of(rest).get("action", ""))
        elif name in _ELEMENT_MARKS:
            self._mark_element(name, attributes_of(rest))

    def _end(self, name: str) -> None:
        self._request_gap(_GAPS.get(name, "") if name not in ("td", "th") else " ")
        if name == "a":
            self._set_link("")
        elif name == "pre":
            self.preformatted = max(self.preformatted - 1, 0)
        if name == self.hidden_element:
            self._leave_hidden()

    def _enter_hidden(self, name: str, rest: str) -> None:
        """Mark the content of an element as hidden text, where its style hides it, until that element ends."""
        if name == self.hidden_element and name in _ENDED_BY_NEXT:
            self._leave_hidden()
        if name == self.hidden_element:
            self.hidden_depth += 1
        elif not self.hidden_element and name not in _VOID_ELEMENTS and hides_content(rest):
            self.hidden_element = name
            self.hidden_depth = 1
            self.hidden_marked = False
            self.hidden_count += 1

    def _leave_hidden(self) -> None:
        self.hidden_depth -= 1
        if self.hidden_depth == 0:
            self.hidden_element = ""
            if self.hidden_marked:
                # The pending gap comes after the mark.
                gap = self.gap
                self.gap = ""
                self._mark("end of hidden text")
                self._request_gap(gap)

    def _request_gap(self, gap: str) -> None:
        self.gap = max(self.gap, gap, key=_WEAKER_FIRST.index)

    def _set_link(self, href: str) -> None:
        if not self.with_marks:
            return
        self._flush()
        self.target = target(href, self.base) if href and href.strip()[:1] != "#" else None

    def _mark_form(self, action: str) -> None:
        host = target(action, self.base).host
        self._mark(f"form to {host}" if host else "form")

    def _mark_element(self, name: str, attributes: dict[str, str]) -> None:
        """Mark a picture or a form field, unless it is invisible; the areas of an image map are links."""
        tiny = {attributes.get("width"), attributes.get("height")} & {"0", "1"}
        empty = attributes.get("alt") == ""
        if ((tiny or empty) and not self.include_invisible) or attributes.get("type", "").lower() == "hidden":
            return
        caption = next((attributes[key] for key in _CAPTIONS if attributes.get(key)), "")
        mark = f"{_ELEMENT_MARKS[name]}: {caption[:_LONGEST_CAPTION]}" if caption else _ELEMENT_MARKS[name]
        if name == "area":
            self._set_link(attributes.get("href", ""))
            self._mark(mark)
            self._set_link("")
        else:
            self._mark(mark)

    def _mark(self, text: str) -> None:
        if not self.with_marks:
            self._request_gap(" ")
            return
        if self.target:
            self._append(f"⟨{text}⟩")
            return
        self._append("")
        self._flush()
        self.runs.append(TextRun("mark", text))
        self.room -= 1

    def _write(self, text: str) -> None:
        if self.hidden_element and not self.hidden_marked and not text.isspace() and text:
            self.hidden_marked = True
            self._mark("hidden text")
        if self.preformatted:
            self._append(text.replace("\r\n", "\n").replace("\r", "\n"))
            return
        line = _BLANK.sub(" ", text)
        if line[:1] == " ":
            self._request_gap(" ")
        if words := line.strip(" "):
            self._append(words)
            self._request_gap(" " if line[-1] == " " else "")

    def _append(self, text: str) -> None:
        """Append text after the pending gap; a gap before a link is not part of the link."""
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


def hides_content(rest: str) -> bool:
    """Whether the attributes of a tag hide its content.

    >>> hides_content(" style='color: red; font-size: 1px'"), hides_content(" style='font-size: 10px'")
    (True, False)
    """
    if not _STYLE_HINT.search(rest):
        return False
    attributes = attributes_of(rest)
    return "hidden" in attributes or _is_invisible(_declarations(attributes.get("style", "")))


def _declarations(style: str) -> dict[str, str]:
    """The declarations of a style: values by property; the last of two with the same name counts."""
    pairs = (declaration.partition(":") for declaration in _STYLE_COMMENT.sub("", style).lower().split(";"))
    return {name.strip(): value.replace("!important", "").strip() for name, _, value in pairs}


def _is_invisible(style: dict[str, str]) -> bool:
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
    """A number and its unit; infinity where the value is no number."""
    found = _NUMBER.fullmatch(value)
    return (float(found[1]), found[2]) if found and found[1] else (float("inf"), "")
