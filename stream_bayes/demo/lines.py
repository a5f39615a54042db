"""Frames as plain lines, for a file, a pipe or a small terminal; and the table at the end."""

from __future__ import annotations

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
    ("The same with other data", "stream-bayes demo --seed 7"),
    ("The figures for machines", "stream-bayes demo --fast --json"),
    ("An example to read and change", ".venv/bin/python examples/coin.py"),
    ("The tests, as CI runs them", "make test"),
    ("The benchmarks", "make bench"),
)
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
        f"day {frame.step:2d}   predicted first: {frame.right:2d} right   "
        f"asked day: P(yes) {frame.answer.mean:.3f}   95 % [{low:.3f}, {high:.3f}]"
    )


def line_line(frame: LineFrame) -> str:
    """One line about the straight line."""
    intercept, slope = ((weight.mean, weight.interval[1] - weight.mean) for weight in frame.weights)
    return (
        f"point {frame.step:2d}   intercept {intercept[0]:+.3f} +- {intercept[1]:.3f}   "
        f"slope {slope[0]:+.3f} +- {slope[1]:.3f}   entropy {frame.entropies[-1]:+.3f}"
    )


def closing(rows: Sequence[Finding], events: int, seconds: float) -> RenderableType:
    """The table of what was found, and what to do next."""
    speed = f"{events} events in {seconds:.1f} s, each predicted first and learned second."
    return Group("", _table(rows), Text(_verdict(rows)), Text(speed), "", _next_steps())


def _table(rows: Sequence[Finding]) -> Table:
    table = Table(title="What was learned", title_justify="left", title_style="bold", box=box.ASCII2, width=78)
    table.add_column("unknown", no_wrap=True)
    for name in ("true", "mean", "95 % interval", "holds it"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        low, high = row.interval
        truth = "unknown" if row.truth is None else f"{row.truth:.4f}"
        holds = {None: "-", True: "yes", False: "no"}[row.holds]
        table.add_row(row.name, truth, f"{row.mean:.4f}", f"[{low:7.4f}, {high:7.4f}]", holds)
    return table


def _verdict(rows: Sequence[Finding]) -> str:
    known = [row for row in rows if row.holds is not None]
    held = sum(bool(row.holds) for row in known)
    return f"{held} of {len(known)} intervals hold the truth; in the long run 95 of 100 should, no more and no fewer."


def _next_steps() -> RenderableType:
    steps = Table.grid(padding=(0, 3))
    for what, command in _NEXT:
        steps.add_row(f"  {what}", Text(command, style="cyan"))
    session = (Text(f"  {line}", style="cyan") for line in _SESSION)
    return Group(Text("What next", style="bold"), steps, "", Text("In Python", style="bold"), *session)
