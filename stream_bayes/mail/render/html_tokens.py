"""HTML as texts and tags, as browsers find them.

The time taken grows as the text: what was scanned is either passed, or never looked for again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from stream_bayes.mail.parse.parts import unescaped

_NAME = r"<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)"
_VALUE = r"=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]++)?+"
_TAG = re.compile(rf"{_NAME}(?P<rest>(?:[^>=]++|{_VALUE})*+)(?P<close>>?)")
# Where no end of a tag comes, browsers take all that follows into it; here the next tag ends it.
_BROKEN_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z][^\s/<>]*+)(?P<rest>[^<>]*+)(?P<close>>?)")
_ODD_TAG = re.compile(r"<[!?/][^<>]*+>?")
_ATTRIBUTE = re.compile(r"([^\s=/>]++)\s*+(?:=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?+")
_COMMENT_END = re.compile(r"--!?>")
HIDDEN = ("script", "style", "title", "template", "iframe", "noembed", "noframes")
"""Elements whose content is not read."""
_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in HIDDEN}


class Token(NamedTuple):
    """Text, a tag with its attributes, or an element that is not read."""

    kind: Literal["text", "start", "end", "hidden"]
    text: str
    rest: str = ""


def tokens(markup: str, hiding: bool) -> Iterator[Token]:
    """The tokens; `hiding`: an element that is not read hides all that follows if it has no end."""
    place = 0
    tag = _TAG
    endless = set[str]()
    while (begin := markup.find("<", place)) >= 0:
        yield Token("text", markup[place:begin])
        found = tag.match(markup, begin)
        if found and not found["close"]:
            tag = _BROKEN_TAG
            found = tag.match(markup, begin)
        if not found:
            place = _behind(markup, begin, endless)
            yield Token("text", "<" if place == begin + 1 else "")
            continue
        name = found["name"].lower()
        place = found.end()
        yield Token("end" if found["end"] else "start", name, found["rest"])
        if name in HIDDEN and not found["end"]:
            end = _search(_ENDS[name], markup, place, endless)
            if end or hiding:
                yield Token("hidden", name, "" if end else " without an end")
                place = end.start() if end else len(markup)
    yield Token("text", markup[place:])


def _behind(markup: str, begin: int, endless: set[str]) -> int:
    """Where a comment ends, or something else that is no tag; of a comment without an end only its first tag is one."""
    if markup.startswith("<!--", begin):
        # <!--> and <!---> are comments too.
        end = _search(_COMMENT_END, markup, begin + 2, endless)
        if end:
            return end.end()
    odd = _ODD_TAG.match(markup, begin)
    return odd.end() if odd else begin + 1


def _search(pattern: re.Pattern[str], markup: str, place: int, endless: set[str]) -> re.Match[str] | None:
    """Like search, but what was not found once is not looked for again: it is not found further on."""
    found = None if pattern.pattern in endless else pattern.search(markup, place)
    if not found:
        endless.add(pattern.pattern)
    return found


def attributes_of(rest: str) -> dict[str, str]:
    """The attributes of a tag; of two with one name the first counts."""
    attributes: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(rest):
        attributes.setdefault(name.lower(), unescaped("".join(values)))
    return attributes
