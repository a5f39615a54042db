"""HTML for notebooks: a card with a title, a small figure and a table, for posteriors, learners and label selectors.

A card is one `div` with inline styles and inline SVG. It loads nothing, has no script, and takes its colours from the
text around it, so that it fits light and dark notebooks. All texts are escaped, and MathJax is set to leave them
alone: names of features and labels may come from strangers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, NewType, Protocol

import numpy as np

from stream_bayes.typing import BoolArray, FloatArray

Html = NewType("Html", str)
"""A text that is HTML already; every other text is escaped."""

MASS = 0.9
"""The probability within the credible interval that a card shows."""

_MAX_TEXT = 120
_MAX_ENTRIES = 8
# A blue with a contrast of 3 or more against white and against the black of dark notebooks.
_BLUE = "#3f83c8"
_WIDTH = 240
_HEIGHT = 64
_POINTS = 161
_MAX_BARS = 60
_CARD = (
    "display:inline-block;box-sizing:border-box;max-width:100%;overflow-x:auto;padding:8px 12px;margin:2px 0;"
    "border:1px solid rgba(128,128,128,0.45);border-radius:6px;font-size:13px;line-height:1.45"
)
_TABLE = "border-collapse:collapse;border:none;margin:4px 0 0 0;font-size:13px;color:inherit"
_ROW = "background:none"
_NAME = "border:none;padding:1px 14px 1px 0;text-align:left;vertical-align:top;font-weight:normal;opacity:0.75"
_VALUE = "border:none;padding:1px 0;text-align:left;vertical-align:top;overflow-wrap:anywhere"


class Distribution(Protocol):
    """A distribution of one number, as a figure needs it; it also has `density`, or `pmf` where it is discrete."""

    @property
    def mean(self) -> float:
        """The expected value."""

    def interval(self, mass: float = ...) -> tuple[float, float]:
        """The equal-tailed credible interval."""


def card(
    title: str, rows: Mapping[str, object], figure: Html = Html(""), details: Mapping[str, object] | None = None
) -> Html:
    """Return a card: a title, a figure and a table of names and values; `details` are a table that can be opened."""
    folded = ""
    if details:
        folded = f'<details style="margin-top:4px"><summary>all parameters</summary>{_table(details)}</details>'
    # The classes are those by which MathJax 2 and 3 leave an element alone: a name with $ in it is no formula.
    return Html(
        f'<div class="tex2jax_ignore mathjax_ignore" style="{_CARD}">'
        f'<div style="font-weight:600;overflow-wrap:anywhere">{_text(title)}</div>'
        f"{figure}{_table(rows)}{folded}</div>"
    )


def one_line(title: str, rows: Mapping[str, object]) -> str:
    """Return what a card shows as one line of plain text, for a terminal.

    >>> one_line("LabelBudget", {"labels requested": "3 of 100", "reserve": 0.1})
    'LabelBudget(labels requested: 3 of 100, reserve: 0.1)'
    """
    shown = [f"{name}: {number(value) if isinstance(value, float) else value}" for name, value in rows.items()]
    return f"{title}({', '.join(shown)})"


def number(value: float) -> str:
    """Return a number to four digits; whole ones below a billion with all of theirs."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.4g}"


def interval_text(ends: tuple[float, float]) -> str:
    """Return the two ends of an interval."""
    low, high = ends
    return f"[{number(low)}, {number(high)}]"


class DensityCurve(NamedTuple):
    """What is drawn of a distribution of one number."""

    points: FloatArray
    """The numbers, or counts, at which it is drawn."""
    heights: FloatArray
    """The density at each, or the probability of each count."""
    interval: tuple[float, float]
    """The interval that is filled."""


def density_curve(distribution: Distribution) -> DensityCurve | None:
    """Return the curve of a density or of the probabilities of a count; None where numbers are too coarse for it."""
    with np.errstate(all="ignore"):
        low, high = distribution.interval(MASS)
        points = _grid(distribution, low, high)
        heights = _heights(distribution, points)
    finite = heights[np.isfinite(heights)]
    if np.isnan(heights).any() or not finite.max(initial=0.0) > 0.0:
        return None
    # A density that is infinite at a border is cut off, so that the rest of it can be seen.
    heights = np.minimum(heights, 3.0 * np.quantile(finite, 0.9)) if hasattr(distribution, "density") else heights
    return DensityCurve(points, heights, (low, high)) if heights.max() > 0.0 else None


def distribution_figure(distribution: Distribution) -> Html:
    """Return the density of one number, or the probabilities of a count, with its interval filled and its mean marked.

    Nothing is drawn where the density is too narrow for numbers, or has no scale.
    """
    curve = density_curve(distribution)
    if curve is None:
        return Html("")
    points = curve.points
    tops = _HEIGHT - (_HEIGHT - 4.0) / float(curve.heights.max()) * curve.heights
    low, high = curve.interval
    within = (points >= low) & (points <= high)
    bars = not hasattr(distribution, "density") and len(points) <= _MAX_BARS
    # A bar needs half a count more on both sides.
    start = float(points[0]) - 0.5 * bars
    width = float(points[-1]) + 0.5 * bars - start
    places = _WIDTH * (points - start) / width
    shape = _bars(places, tops, within) if bars else _curve(places, tops, within)
    mean = _WIDTH * (distribution.mean - start) / width
    mark = ""
    if 0.0 <= mean <= _WIDTH:
        mark = (
            f'<line x1="{mean:.1f}" y1="0" x2="{mean:.1f}" y2="{_HEIGHT}" '
            'stroke="currentColor" stroke-dasharray="3 3" opacity="0.7"/>'
        )
    described = f"density with the mean {number(distribution.mean)} and the interval {interval_text((low, high))}"
    # The ends of the axis to a hundredth of its width.
    digits = 2 - math.floor(math.log10(width))
    first = round(float(points[0]), digits)
    last = round(float(points[-1]), digits)
    return _figure(f"{shape}{mark}", described, (number(first), number(last)))


def bars_figure(shares: Mapping[Any, float]) -> Html:
    """Return a horizontal bar for each of the largest shares, which lie between 0 and 1, with its name and number."""
    largest = sorted(shares.items(), key=lambda pair: -pair[1])[:_MAX_ENTRIES]
    lines = [
        f'<tr style="{_ROW}"><td style="{_NAME}">{_text(name)}</td><td style="{_VALUE}">'
        f'<svg width="140" height="10" role="img" aria-label="{share:.3f}" style="vertical-align:middle">'
        f'<rect width="140" height="10" fill="currentColor" opacity="0.12"/>'
        f'<rect width="{140 * min(max(share, 0.0), 1.0):.1f}" height="10" fill="{_BLUE}"/></svg> {share:.3f}</td></tr>'
        for name, share in largest
    ]
    if len(shares) > len(largest):
        lines.append(f'<tr style="{_ROW}"><td style="{_NAME}">and {len(shares) - len(largest):,} more</td></tr>')
    return Html(f'<table style="{_TABLE}"><tbody>{"".join(lines)}</tbody></table>') if lines else Html("")


def interval_figure(low: float, point: float, high: float) -> Html:
    """Return an estimate between 0 and 1 as a point on a line, with its interval as a bar."""
    middle = 10
    content = (
        f'<rect x="{_WIDTH * low:.1f}" y="{middle - 4}" width="{max(_WIDTH * (high - low), 1.0):.1f}" height="8" '
        f'fill="{_BLUE}" opacity="0.5"/>'
        f'<circle cx="{_WIDTH * point:.1f}" cy="{middle}" r="4" fill="{_BLUE}"/>'
    )
    described = f"{number(point)} with the interval {interval_text((low, high))}"
    return _figure(content, described, ("0", "1"), height=2 * middle)


def entries_text(entries: Mapping[Any, float]) -> str:
    """Return names with their numbers in one line, the first few of many."""
    shown = [f"{name}: {number(value)}" for name, value in list(entries.items())[:_MAX_ENTRIES]]
    more = len(entries) - len(shown)
    return ", ".join([*shown, f"and {more:,} more"] if more else shown)


def coordinates(means: Sequence[float], intervals: Sequence[tuple[float, float]]) -> dict[str, object]:
    """Return a row for each of the first coordinates of a vector: its mean and its interval."""
    pairs = list(zip(means, intervals, strict=True))
    rows: dict[str, object] = {
        f"[{place}]": f"{number(mean)}  {interval_text(ends)}"
        for place, (mean, ends) in enumerate(pairs[:_MAX_ENTRIES])
    }
    if len(pairs) > _MAX_ENTRIES:
        rows["…"] = f"and {len(pairs) - _MAX_ENTRIES:,} more"
    return rows


def _text(value: object) -> str:
    """Return a value as escaped text, cut where it is long, with characters that cannot be seen as escapes."""
    text = number(value) if isinstance(value, float) else str(value)
    text = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
    return escape("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text))


def _table(rows: Mapping[str, object]) -> str:
    if not rows:
        return ""
    lines = [
        f'<tr style="{_ROW}"><td style="{_NAME}">{_text(name)}</td><td style="{_VALUE}">{_text(value)}</td></tr>'
        for name, value in rows.items()
    ]
    return f'<table style="{_TABLE}"><tbody>{"".join(lines)}</tbody></table>'


def _grid(distribution: Distribution, low: float, high: float) -> FloatArray:
    """Return the numbers to draw at: from the interval on, half its width more on both sides, without empty tails."""
    first, last = distribution.interval(0.9995)
    reach = 0.6 * (high - low)
    start = max(first, low - reach)
    end = min(last, high + reach)
    if not (math.isfinite(start) and math.isfinite(end)):
        return np.empty(0)
    if not hasattr(distribution, "density"):
        counts = np.unique(np.rint(np.linspace(start, max(end, start + 1.0), _POINTS)))
        return counts if len(counts) > 1 else np.empty(0)
    points = np.linspace(start, end, _POINTS)
    return points if (np.diff(points) > 0.0).all() else np.empty(0)


def _heights(distribution: Any, points: FloatArray) -> FloatArray:
    if not points.size:
        return points
    if hasattr(distribution, "density"):
        return np.asarray(distribution.density(points))
    heights = np.exp(distribution.log_pmf(points))
    # At huge parameters rounding may leave logarithms that are no longer those of probabilities: these are not drawn.
    mass = float(heights.sum() * np.diff(points).mean())
    return heights if 0.8 < mass < 1.1 else np.empty(0)


def _curve(places: FloatArray, tops: FloatArray, within: BoolArray) -> str:
    line = _path(places, tops)
    inside = np.flatnonzero(within)
    filled = ""
    if len(inside) > 1:
        area = _path(places[inside], tops[inside])
        closed = f"L{places[inside[-1]]:.1f},{_HEIGHT}L{places[inside[0]]:.1f},{_HEIGHT}Z"
        filled = f'<path d="{area}{closed}" fill="{_BLUE}" opacity="0.35"/>'
    return f'{filled}<path d="{line}" fill="none" stroke="{_BLUE}" stroke-width="2"/>'


def _bars(places: FloatArray, tops: FloatArray, within: BoolArray) -> str:
    width = 0.7 * _WIDTH / len(places)
    return "".join(
        f'<rect x="{place - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{_HEIGHT - top:.1f}" fill="{_BLUE}" opacity="{1.0 if inside else 0.45}"/>'
        for place, top, inside in zip(places.tolist(), tops.tolist(), within.tolist(), strict=True)
    )


def _path(places: FloatArray, tops: FloatArray) -> str:
    pairs = zip(places.tolist(), tops.tolist(), strict=True)
    return "M" + "L".join(f"{place:.1f},{top:.1f}" for place, top in pairs)


def _figure(content: str, described: str, ends: tuple[str, str], height: int = _HEIGHT) -> Html:
    """Return an SVG with a base line and the two ends of its axis."""
    first, last = ends
    style = 'fill="currentColor" font-size="11" opacity="0.8"'
    return Html(
        f'<svg width="{_WIDTH + 8}" height="{height + 18}" viewBox="-4 -2 {_WIDTH + 8} {height + 18}" role="img" '
        f'aria-label="{_text(described)}" style="display:block;max-width:100%;margin-top:4px">{content}'
        f'<line x1="0" y1="{height}" x2="{_WIDTH}" y2="{height}" stroke="currentColor" opacity="0.35"/>'
        f'<text x="0" y="{height + 13}" {style}>{_text(first)}</text>'
        f'<text x="{_WIDTH}" y="{height + 13}" text-anchor="end" {style}>{_text(last)}</text></svg>'
    )
