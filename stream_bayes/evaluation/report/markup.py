"""Elements of a page as text, with everything that comes from outside made printable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from stream_bayes.mail.render.sanitize import printable

_VOID = ("meta",)
_LONGEST = 160


def text(value: str, longest: int = _LONGEST) -> str:
    """Words from outside, such as a subject, in one line that is nothing but words.

    >>> text("<b>win</b>\\u202e")
    '&lt;b&gt;win&lt;/b&gt;�'
    """
    return escape(printable(value, longest))


def element(tag: str, *children: str, **attributes: str | float) -> str:
    """One element; children are markup already, attributes are not. `class_` and `aria_label` stand for both spellings.

    >>> element("td", text("5 > 4"), class_="number")
    '<td class="number">5 &gt; 4</td>'
    """
    names = (name.rstrip("_").replace("_", "-") for name in attributes)
    written = "".join(f' {name}="{_value(value)}"' for name, value in zip(names, attributes.values(), strict=True))
    if tag in _VOID:
        return f"<{tag}{written} />"
    return f"<{tag}{written}>{''.join(children)}</{tag}>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table of markup that scrolls by itself where the window is narrow; the first column names the row."""
    head = element("tr", *(element("th", cell, scope="col") for cell in heads))
    lines = (
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    )
    body = element("tbody", *lines)
    whole = element("table", element("caption", caption), element("thead", head), body)
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def figure(value: float, digits: int = 3) -> str:
    """A number with so many digits that count; a dash where there is none.

    >>> figure(0.08613), figure(12.5), figure(98765.4), figure(float("nan")), figure(0.0)
    ('0.0861', '12.5', '98,765', '–', '0')
    """
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1000.0:
        return f"{value:,.0f}"
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{min(max(places, 0), 8)}f}"


def short(count: float) -> str:
    """A count in few characters.

    >>> short(7), short(3812), short(12_345), short(2_500_000)
    ('7', '3.8k', '12k', '2.5M')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.{1 if count < 10 * size else 0}f}{letter}"
    return f"{count:.0f}"


def _value(value: str | float) -> str:
    return escape(value if isinstance(value, str) else f"{value:g}")
