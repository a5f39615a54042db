"""How a report looks, in a light and a dark window, wide and narrow."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMES = ("paper", "card", "ink", "soft", "edge", *(f"s{place}" for place in range(10)))


def _palette(*values: str) -> dict[str, str]:
    return dict(zip(_NAMES, values, strict=True))


_LIGHT = _palette(
    *("fbfaf8", "ffffff", "1c1b19", "66625c", "e2dfd9"),
    *("1f5fbf", "d9480f", "15803d", "a21caf", "0891b2", "a16207", "e11d48", "6d28d9", "4d7c0f", "57534e"),
)
_DARK = _palette(
    *("141414", "1d1d1c", "eceae6", "a5a19a", "35332f"),
    *("6ea8ff", "fb923c", "4ade80", "e879f9", "22d3ee", "facc15", "fb7185", "a78bfa", "a3e635", "a8a29e"),
)


def _variables(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:#{value};" for name, value in colours.items())


def _literal(rules: str, colours: Mapping[str, str]) -> str:
    return re.sub(r"var\(--(\w+)\)", lambda found: f"#{colours[found[1]]}", rules)


_SERIES = "".join(f".{name}{{color:var(--{name})}}" for name in _NAMES if name[1:].isdigit())
_MARKS = """svg text{fill:var(--soft);font-size:13px}
svg .axis{fill:var(--ink)}
svg .count{font-size:11px}
svg .grid{stroke:var(--edge);stroke-width:1}
svg .rule{stroke:var(--soft);stroke-width:1;stroke-dasharray:4 4}
svg .line{fill:none;stroke:currentColor;stroke-width:1.5;stroke-linejoin:round;opacity:.85}
svg .line.first{stroke-width:2.5;opacity:1}
svg .again{stroke-dasharray:6 3}
svg .whisker{stroke:currentColor;stroke-width:1.5;opacity:.6}
svg circle{fill:currentColor;stroke:var(--card);stroke-width:1}
svg .bar{fill:currentColor;opacity:.55}
"""

STYLE = f"""
:root{{color-scheme:light dark;{_variables(_LIGHT)}}}
@media (prefers-color-scheme:dark){{
:root{{{_variables(_DARK)}}}
}}
*{{box-sizing:border-box}}
body{{margin:0 auto;padding:24px 20px 64px;max-width:1240px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}}
h1{{font-size:26px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}}
h2{{font-size:18px;margin:0 0 2px}}
h3{{font-size:15px;margin:20px 0 4px}}
header p,.lead{{margin:0 0 12px;color:var(--soft)}}
section{{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:18px 20px;
margin:16px 0 0;min-width:0}}
.charts{{display:grid;grid-template-columns:1fr 1fr;gap:16px;margin:16px 0 0}}
.charts section{{margin:0}}
.tiles{{display:grid;grid-template-columns:repeat(4,1fr);gap:12px;margin:16px 0 0}}
.tile{{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:12px 14px;margin:0}}
.tile dt{{color:var(--soft);font-size:13px}}
.tile dd{{margin:0}}
.tile .value{{font-size:26px;line-height:1.25;font-variant-numeric:tabular-nums}}
.note{{display:block;color:var(--soft);font-size:12px;white-space:nowrap;font-variant-numeric:tabular-nums}}
.legend{{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:16px 0 0}}
.swatch{{display:inline-block;width:18px;height:4px;border-radius:2px;margin-right:7px;
vertical-align:middle;background:currentColor}}
.scroll{{overflow-x:auto;margin:8px 0 0}}
.scroll:focus-visible{{outline:2px solid var(--s0);outline-offset:2px}}
table{{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}}
caption{{text-align:left;color:var(--soft);font-size:13px;padding:0 0 4px;white-space:nowrap}}
th,td{{text-align:right;padding:6px 12px 6px 0;border-bottom:1px solid var(--edge);vertical-align:top}}
thead th{{font-weight:500;color:var(--soft);font-size:13px;vertical-align:bottom}}
th:first-child{{text-align:left;font-weight:500;white-space:nowrap}}
.mistakes th:first-child{{width:80%;white-space:normal;overflow-wrap:anywhere;font-weight:400}}
.mistakes .note{{white-space:normal}}
.best{{color:var(--s0)}}
.gauge{{display:block;height:4px;min-width:1px;border-radius:2px;background:var(--s0);margin:4px 0 0 auto}}
details{{margin:8px 0 0}}
.notes{{margin:12px 0 0;padding:10px 14px 10px 32px;border:1px solid var(--edge);border-left:4px solid var(--s1);
border-radius:6px;background:var(--card);overflow-wrap:anywhere}}
summary{{cursor:pointer;color:var(--soft)}}
svg{{display:block;width:100%;height:auto;margin:8px 0 0}}
{_MARKS}{_SERIES}
footer{{color:var(--soft);font-size:13px;margin:20px 0 0}}
@media (max-width:900px){{.charts{{grid-template-columns:1fr}}.tiles{{grid-template-columns:repeat(2,1fr)}}}}
@media (max-width:520px){{
body{{padding:16px 12px 48px}}section{{padding:14px 12px}}.tile .value{{font-size:22px}}
svg text{{font-size:17px}}svg .count{{font-size:11px}}.tile{{padding:10px}}
}}
@media print{{body{{max-width:none}}section,.tile{{break-inside:avoid}}}}
"""
"""Of a page."""
_PICTURE = f"""{_MARKS}{_SERIES}
.back{{fill:var(--card)}}
.heading{{font-size:16px;font-weight:600}}
"""
PICTURE_STYLE = f"""
text{{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}}
{_literal(_PICTURE, _LIGHT)}@media (prefers-color-scheme:dark){{
{_literal(_PICTURE, _DARK)}}}
"""
"""Of a picture in a file of its own: without variables, which not everything that shows SVG knows."""
