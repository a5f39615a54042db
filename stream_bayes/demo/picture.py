"""The learning curve of a demo as an SVG picture that stands by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_bayes.demo.accuracy import WINDOW
from stream_bayes.demo.figures import Crash
from stream_bayes.demo.mailbox import Span
from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.evaluation.report.curves import Curve
from stream_bayes.evaluation.report.rendering import render_svg
from stream_bayes.evaluation.report.svg import (
    Axis,
    Chart,
    SvgMark,
    axis_marks,
    decade_above,
    decade_below,
    line_marks,
    mark,
    text_mark,
)
from stream_bayes.typing import BoolArray, FloatArray

_WIDTH = 960.0
_HEIGHT = 470.0
_LEFT = 78.0
_RIGHT = 936.0
_TOP = 118.0
_BOTTOM = 396.0
_POINTS = 240
_LOWEST = 0.01
_STYLE = """
svg{--paper:#fff;--ink:#1c1b19;--soft:#66625c;--edge:#e2dfd9;--s0:#1f5fbf;--s1:#d9480f;--s6:#e11d48;
background:var(--paper);font:13px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
@media (prefers-color-scheme:dark){svg{--paper:#141414;--ink:#eceae6;--soft:#a5a19a;--edge:#35332f;
--s0:#6ea8ff;--s1:#fb923c;--s6:#fb7185}}
text{fill:var(--soft)}.axis,.heading{fill:var(--ink)}.heading{font-size:17px}
.grid{stroke:var(--edge)}.line{fill:none;stroke:currentColor;stroke-width:1.5;stroke-linejoin:round}
.line.first{stroke-width:2.5}.s0{color:var(--s0)}.s1{color:var(--s1)}
.campaign{stroke:var(--soft);stroke-dasharray:3 4}.kill{stroke:var(--s6);stroke-width:2}
.name{font-size:11px}.of-s0{fill:var(--s0)}.of-s1{fill:var(--s1)}.of-kill{fill:var(--s6)}
"""


def learning_picture(spam: BoolArray, log_odds: FloatArray, campaigns: Sequence[Span], crash: Crash | None) -> str:
    """(1-ROCA)% over the mails: of the last 1,000 and of all, with the starts of campaigns and the kill."""
    recent, overall = (_areas(spam, log_odds, window) for window in (WINDOW, max(len(spam), 1)))
    values = np.concatenate([recent.y, overall.y])
    values = values[values > 0.0]
    low = max(decade_below(float(values.min())), _LOWEST) if len(values) else 0.1
    high = max(decade_above(float(values.max())), 10.0 * low) if len(values) else 100.0
    x = Axis("mails", 0.0, float(max(len(spam), 1)), _LEFT, _RIGHT)
    y = Axis("(1-ROCA)%", low, high, _BOTTOM, _TOP, logarithmic=True)
    lines = [
        *line_marks(x.positions(overall.x), y.positions(overall.y), 1, "all mails so far"),
        *line_marks(x.positions(recent.x), y.positions(recent.y), 0, f"the last {WINDOW:,} mails"),
    ]
    description = f"(1-ROCA)% over {len(spam):,} mails, on a logarithmic scale; smaller is better."
    marks = [*axis_marks(x, y), *_campaigns(x, campaigns), *_kill(x, crash), *lines, *_legend()]
    attributes = {"xmlns": "http://www.w3.org/2000/svg", "width": f"{_WIDTH:g}", "height": f"{_HEIGHT:g}"}
    return render_svg(Chart("learning", "Learning curve", description, marks, _HEIGHT, _WIDTH, attributes), _STYLE)


def _areas(spam: BoolArray, log_odds: FloatArray, window: int) -> Curve:
    """(1-ROCA)% of the mails in a window up to some places of the stream, where both labels have come."""
    ends = np.unique(np.linspace(1, max(len(spam), 1), _POINTS).round().astype(np.int64)).tolist()
    parts = [slice(max(end - window, 0), end) for end in ends]
    areas = np.array([one_minus_roca_percent(spam[part], log_odds[part]) for part in parts])
    known = ~np.isnan(areas)
    return Curve(np.array(ends, dtype=np.float64)[known], areas[known])


def _campaigns(x: Axis, campaigns: Sequence[Span]) -> list[SvgMark]:
    marks: list[SvgMark] = []
    for span in campaigns:
        if span.start > 0:
            position = x.position(float(span.start))
            marks.append(_upright(position, "campaign"))
            marks.append(_slanted(position, span.name))
    return marks


def _kill(x: Axis, crash: Crash | None) -> list[SvgMark]:
    if crash is None:
        return []
    position = x.position(float(crash.mail))
    return [_upright(position, "kill"), text_mark(position + 6.0, _BOTTOM - 8.0, "SIGKILL", kind="name of-kill")]


def _upright(position: float, kind: str) -> SvgMark:
    return mark("line", x1=position, x2=position, y1=_TOP - 4.0, y2=_BOTTOM, class_=kind)


def _slanted(position: float, name: str) -> SvgMark:
    turned = f"translate({position:.1f} {_TOP - 8.0:g}) rotate(-40)"
    return mark("text", text=name, class_="name", transform=turned)


def _legend() -> list[SvgMark]:
    return [
        text_mark(_LEFT, 30.0, "Learning curve: (1-ROCA)%, smaller is better", kind="heading"),
        text_mark(_RIGHT, 24.0, f"the last {WINDOW:,} mails", anchor="end", kind="of-s0"),
        text_mark(_RIGHT, 42.0, "all mails so far", anchor="end", kind="of-s1"),
    ]
