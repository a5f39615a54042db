"""Whether the style of an element hides what is in it."""

from __future__ import annotations

import re

from stream_bayes.features.tags import attributes_of

_HINT = re.compile(r"style|hidden", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBER = re.compile(r"([0-9]*+(?:\.[0-9]++)?+)([a-z%]*+)")
# The largest numbers that nobody sees; of font sizes by their unit.
_SMALLEST_FONT = {"": 1.0, "px": 1.0, "pt": 1.0, "em": 0.1, "rem": 0.1, "%": 10.0}
_FAINTEST = 0.05


def conceals(rest: str) -> bool:
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
