"""Frames as plain lines, for a file, a pipe or a small terminal; and the table at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stream_bayes.demo.coin import CoinFrame
from stream_bayes.demo.findings import Finding
from stream_bayes.demo.line import LineFrame
from stream_bayes.demo.weather import WeatherFrame

_NEXT = (
    ("The same with other data", ".venv/bin/stream-bayes demo --seed 7"),
    ("The figures for machines", ".venv/bin/stream-bayes demo --json"),
    ("An example to read and change", ".venv/bin/python examples/coin.py"),
    ("The tests, as CI runs them", "make test"),
    ("The benchmarks", "make bench"),
)
_HOLDS = {True: Text("yes", style="green"), False: Text("no", style="red"), None: Text("-")}
_SESSION = (
    "from stream_bayes import Beta",
    "belief = Beta(1, 1).update_counts(successes=7, failures=3)",
    "print(belief.mean, belief.interval(0.95))",
)


def coin_line(frame: CoinFrame) -> str:
    """One line about the coin."""
    low, high = frame.interval
    return (
        f"toss {frame.step:3d}   heads {frame.heads:3d}   mean {frame.mean:.4f}   "
        f"95 % [{low:.4f}, {high:.4f}]   truth {frame.true_bias:.4f}"
    )


def weather_line(frame: WeatherFrame) -> str:
    """One line about the weather."""
    low, high = frame.answer.interval
    return (
        f"day {frame.step:2d}   predicted right {frame.right:2d}   "
        f"P(yes), asked day {frame.answer.mean:.3f}   95 % [{low:.3f}, {high:.3f}]"
    )


def line_line(frame: LineFrame) -> str:
    """One line about the straight line."""
    intercept, slope = ((weight.mean, weight.interval[1] - weight.mean) for weight in frame.weights)
    return (
        f"point {frame.step:2d}   intercept {intercept[0]:+.3f} +- {intercept[1]:.3f}   "
        f"slope {slope[0]:+.3f} +- {slope[1]:.3f}   entropy {frame.entropies[-1]:+.3f}"
    )


def paragraph(text: str) -> str:
    """A text of several lines, set in under the line above it."""
    return textwrap.fill(text, width=78, initial_indent="  ", subsequent_indent="  ")


def closing(rows: Sequence[Finding], events: int, seconds: float) -> RenderableType:
    """The table of what was found, and what to do next."""
    speed = f"{events} events in {seconds:.1f} s, each predicted first and learned second."
    steps = (Text.assemble(f"  {what:<32}", (command, "cyan")) for what, command in _NEXT)
    session = (Text(f"  {line}", style="cyan") for line in _SESSION)
    return Group(
        Text("\nWhat was learned", style="bold"),
        _table(rows),
        Text(f"  {_verdict(rows)}"),
        Text(f"  {speed}"),
        Text("\nWhat next", style="bold"),
        *steps,
        Text("\nIn Python (.venv/bin/python)", style="bold"),
        *session,
    )


def _table(rows: Sequence[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("  unknown", no_wrap=True)
    for name in ("true value", "mean", "95 % interval", "holds truth"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        low, high = row.interval
        truth = "not known" if row.truth is None else f"{row.truth:.4f}"
        table.add_row(f"  {row.name}", truth, f"{row.mean:.4f}", f"[{low:7.4f}, {high:7.4f}]", _HOLDS[row.holds])
    return table


def _verdict(rows: Sequence[Finding]) -> str:
    known = [row for row in rows if row.holds is not None]
    held = sum(bool(row.holds) for row in known)
    return f"{held} of {len(known)} intervals hold the truth; over many seeds about 95 in 100 do."
