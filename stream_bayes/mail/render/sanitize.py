"""Sanitizing of text: invisible and direction-changing characters are made visible.

Hidden are control characters except tab and newline, Unicode format characters, fillers and blanks that are no spaces,
halves of pairs, private characters, noncharacters, and variation selectors. What a script needs stays: a variation
selector after an emoji, a joiner between two emoji, a single joiner or non-joiner between two letters of a script whose
letters join (Arabic, Syriac, those of India and its neighbours, Mongolian).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import accumulate, groupby, takewhile
from typing import NamedTuple

LONGEST = 500
"""Characters of a line that are shown."""

HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001345f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
) + "".join(chr((plane << 16) | last) for plane in range(1, 14) for last in (0xFFFE, 0xFFFF))
"""The hidden characters, as they stand between the brackets of a regular expression."""

_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001faff"
)
_JOINING = "\u0620-\u074f\u0750-\u077f\u08a0-\u08e1\u08e3-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa"
_NEEDED = (
    rf"(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
    rf"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
)
_RUN = re.compile(rf"(?P<needed>{_NEEDED})|[{HIDDEN}](?:[ \t]*+[{HIDDEN}])*+")
# Accents and vowel signs are beyond; a run that could hold too many of them has no other characters.
_STACK = re.compile(r"[^\x00-\u02ff]{9,}")
_MAX_STACKED = 8
_MAX_NAMED = 8
_BLANK = re.compile(r"[ \t\r\n]+")
_LONGEST_CODE = 20
_UNIT = re.compile(rf"⟨[^⟨⟩]{{1,{_LONGEST_CODE}}}⟩|.", re.DOTALL)
_NAMES = {
    "\x00": "NUL",
    "\x07": "BELL",
    "\x08": "BACKSPACE",
    "\x0c": "FORM FEED",
    "\x0d": "CARRIAGE RETURN",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x85": "NEXT LINE",
    "\ufeff": "BYTE ORDER MARK",
}
_KINDS = {"Cc": "CONTROL", "Cs": "HALF OF A PAIR", "Co": "PRIVATE USE", "Cn": "NO CHARACTER"}


class SanitizedRun(NamedTuple):
    """A run of unchanged text, or the name of hidden characters."""

    text: str
    code: str = ""
    """The code points of hidden characters."""


def sanitized_runs(text: str) -> Iterator[SanitizedRun]:
    """The text in runs, with the name of each hidden character in its place; equal ones in a row are one run.

    More than eight different ones in a row become one run, so that hidden characters cannot bury a text. So do more
    than eight accents on a letter.

    >>> [run.text for run in sanitized_runs("pay\\u200b\\u200bpal\\x00")]
    ['pay', 'U+200B ZERO WIDTH SPACE ×2', 'pal', 'U+0000 NUL']
    """
    place = 0
    for found in _RUN.finditer(text):
        if not found["needed"]:
            yield from _without_stacks(text[place : found.start()])
            yield from _name_hidden(found[0])
            place = found.end()
    yield from _without_stacks(text[place:])


def escape_hidden(text: str) -> str:
    """The text with the code point of each hidden character in its place.

    >>> escape_hidden("cod\\u202eexe.gpj")
    'cod⟨U+202E⟩exe.gpj'
    """
    return "".join(f"⟨{run.code}⟩" if run.code else run.text for run in sanitized_runs(text))


def visible(text: str, characters: int = LONGEST) -> str:
    """The text in one line of at most `characters`, with the code point of each hidden character in its place.

    >>> visible("soon:\\n\\u202egpj.exe\\u202c now", characters=21)
    'soon: ⟨U+202E⟩gpj.ex…'
    """
    line = escape_hidden(_BLANK.sub(" ", text).strip(" ")[: characters + 1])
    if len(line) <= characters:
        return line
    line = line[: max(characters - 1, 0)]
    broken = line.rfind("⟨", max(len(line) - _LONGEST_CODE, 0))
    return f"{line[:broken] if broken > line.rfind('⟩') else line}…"


def visible_ends(text: str, characters: int) -> str:
    """Like `visible`, but a long text is cut in its middle, so that its end is seen.

    >>> visible_ends("a-very-long-name.pdf.exe", characters=15)
    'a-very-…pdf.exe'
    """
    line = escape_hidden(_BLANK.sub(" ", text).strip(" "))
    if len(line) <= characters:
        return line
    units = _UNIT.findall(line)
    half = (characters - 1) // 2
    return f"{_fitting(units, half)}…{_fitting(units[::-1], half, -1)}"


def printable(text: str, characters: int = LONGEST) -> str:
    """The text as one printable line of at most that many characters; others are replaced by U+FFFD.

    That covers control characters, halves of pairs, and all that change the direction of the text around them.

    >>> printable("pay\\n me\\u202e now\\x1b[2J")
    'pay me� now�[2J'
    """
    line = " ".join(text.split())
    if len(line) > characters:
        line = f"{line[: max(characters - 1, 0)]}…"
    if line.isprintable():
        return line
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


def _fitting(units: list[str], characters: int, step: int = 1) -> str:
    """The first units that fit into a number of characters; in reverse order where the step is -1."""
    lengths = accumulate(map(len, units))
    return "".join(units[: sum(1 for _ in takewhile(lambda length: length <= characters, lengths))][::step])


def _name_hidden(run: str) -> Iterator[SanitizedRun]:
    """The runs for hidden characters, and the blanks between them."""
    groups = [(character, len(list(same))) for character, same in groupby(run)]
    hidden = [group for group in groups if group[0] not in " \t"]
    if len(hidden) > _MAX_NAMED:
        count = sum(number for _, number in hidden)
        codes = ", ".join(list(dict.fromkeys(_code(character) for character, _ in hidden))[:3])
        yield SanitizedRun(f"{count} hidden characters: {codes}, …", f"{count} hidden")
        return
    for character, number in groups:
        times = f" ×{number}" if number > 1 else ""
        blank = character in " \t"
        yield (
            SanitizedRun(character * number)
            if blank
            else SanitizedRun(_name(character) + times, _code(character) + times)
        )


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"


def _name(character: str) -> str:
    name = _NAMES.get(character) or unicodedata.name(character, "") or _KINDS[unicodedata.category(character)]
    return f"{_code(character)} {name}"


def _without_stacks(text: str) -> Iterator[SanitizedRun]:
    """The runs of a text without hidden characters; stacks of accents, or those without a letter, are named."""
    place = 0
    for begin, end in _find_stacks(text):
        if begin > place:
            yield SanitizedRun(text[place:begin])
        yield SanitizedRun(f"{end - begin} combining marks", f"{end - begin} marks")
        place = end
    if place < len(text):
        yield SanitizedRun(text[place:])


def _find_stacks(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of accents that are too many on one letter, or that precede the first letter."""
    start = next((place for place, character in enumerate(text) if not _is_accent(character)), len(text))
    if start:
        yield 0, start
    for run in _STACK.finditer(text, start):
        for accents, group in groupby(range(*run.span()), key=lambda place: _is_accent(text[place])):
            places = list(group)
            if accents and len(places) > _MAX_STACKED:
                yield places[_MAX_STACKED], places[-1] + 1


def _is_accent(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")
