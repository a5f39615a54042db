"""Frames as panels for a terminal of 80 columns and 24 rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from stream_bayes.demo import drawing
from stream_bayes.demo.coin import CoinFrame
from stream_bayes.demo.line import LineFrame, Weight
from stream_bayes.demo.weather import DAYS, Belief, Day, WeatherFrame, said_right

WIDTH = 78
HEIGHT = 23
"""Rows of the highest screen."""

_STYLES = {
    drawing.OUTSIDE: "dim",
    drawing.INSIDE: "cyan",
    drawing.LOW: "cyan",
    drawing.HIGH: "cyan",
    drawing.MEAN: "bold cyan",
    drawing.TRUTH: "bold green",
    drawing.BAND: "dim cyan",
    drawing.BOTH: "bold green",
    drawing.LINE: "bold cyan",
    drawing.POINT: "yellow",
}


class Pace(NamedTuple):
    """How far a part has come, and how fast."""

    step: int
    total: int
    events: str
    """What the events are called."""
    seconds: float


def page(title: str, body: RenderableType, notice: str, pace: Pace) -> RenderableType:
    """A part of the demo: its panel, what to notice, and how far it is."""
    caption = Text.assemble(("Notice: ", "bold"), notice)
    panel = Panel(Group(body, "", caption), title=f"[bold]{title}[/]", title_align="left", width=WIDTH)
    return Group(panel, _footer(pace))


def coin_screen(frame: CoinFrame) -> RenderableType:
    """The belief about a coin, as a hill over 0 to 1."""
    width, (low, high) = len(frame.density), frame.interval
    last = f"last {frame.outcome}, given P(heads) {frame.said:.3f} before" if frame.said is not None else "the prior"
    hill = [Text("  " + row, style="cyan") for row in drawing.columns(frame.density, 5)]
    scale = drawing.interval_on((0.0, 1.0), width, frame.interval, frame.mean)
    truth = " " * drawing.cell(frame.true_bias, 0.0, 1.0, width) + drawing.TRUTH
    heads, tails = frame.posterior
    return Group(
        Text.assemble(
            "  The coin's true P(heads) is ", (f"{frame.true_bias:.4f}", "green"), "; the learner is not told."
        ),
        Text(f"  {frame.step:3d} tosses, {frame.heads:3d} heads   ({last})"),
        "",
        *hill,
        _marked("  " + scale),
        _marked("  " + truth),
        Text(f"  {'0':<17}{'0.25':<17}{'0.5':^4}{'0.75':>16}{'1':>16}", style="dim"),
        _pair("posterior", f"Beta({heads:g}, {tails:g})", "● mean  ├──┤ 95 %  ▲ truth"),
        _pair("mean", f"{frame.mean:.4f}", f"off by {abs(frame.mean - frame.true_bias):.4f}"),
        _pair("95 % interval", f"[{low:.4f}, {high:.4f}]", f"width {high - low:.4f}"),
        _pair("next toss", _split(frame.noise, frame.ignorance)),
        _pair("log loss", f"{frame.log_loss:.4f} a toss", f"{frame.best_log_loss:.4f} for one who knows the bias"),
    )


def weather_screen(frame: WeatherFrame) -> RenderableType:
    """The table of days as it fills, and beside it what was learned from it."""
    sides = Table.grid(padding=(0, 2))
    sides.add_row(_days(frame), _lessons(frame))
    return sides


def line_screen(frame: LineFrame) -> RenderableType:
    """The points, the line with its band, both weights, and the forecast at one x."""
    heights = (-1.2, 0.8)
    rows = drawing.scatter(frame.band, frame.points, heights, 9)
    labels = {0: f"{heights[1]:+.1f}", len(rows) - 1: f"{heights[0]:+.1f}"}
    forecast = frame.forecast
    held = f"{frame.held} of {frame.step} points lay in the 95 % interval said before"
    return Group(
        *(_marked(f" {labels.get(number, ''):>4} {row}") for number, row in enumerate(rows)),
        Text(f"      {'x = -1':<30}{'0':^6}{'+1':>30}", style="dim"),
        *map(_weight_row, frame.weights),
        _pair("entropy", f"{frame.entropies[-1]:+.3f} nats", drawing.sparkline(frame.entropies, 35)),
        _pair(f"y at x = {forecast.x}", f"{forecast.mean:+.3f} {_ends(forecast.interval)}"),
        _pair("", _split(forecast.noise, forecast.ignorance)),
        _pair("predicted first", held),
    )


def _footer(pace: Pace) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    speed = pace.step / pace.seconds if pace.seconds > 0.0 else 0.0
    grid.add_row(
        ProgressBar(total=pace.total, completed=pace.step, width=30, complete_style="cyan", finished_style="cyan"),
        f"{pace.step:3d} of {pace.total} {pace.events}",
        f"{pace.seconds:5.1f} s",
        f"{speed:5.1f} events/s",
    )
    return grid


def _marked(line: str) -> Text:
    text = Text(no_wrap=True)
    for character in line:
        text.append(character, style=_STYLES.get(character))
    return text


def _pair(name: str, value: str, remark: str = "") -> Text:
    return Text.assemble((f"  {name:<17}", "dim"), (f"{value:<18} ", "bold"), (remark, "dim"), no_wrap=True)


def _split(noise: float, ignorance: float) -> str:
    return f"variance {noise + ignorance:.5f} = noise {noise:.5f} + ignorance {ignorance:.5f}"


def _ends(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"[{low:+.3f}, {high:+.3f}]"


def _weight_row(weight: Weight) -> Text:
    scale = drawing.interval_on((-1.0, 1.0), 29, weight.interval, weight.mean, weight.truth)
    return Text.assemble(
        (f"  {weight.name:<17}", "dim"), (f"{weight.mean:+.3f} {_ends(weight.interval)}", "bold"), "  ", _marked(scale)
    )


def _days(frame: WeatherFrame) -> Text:
    said = dict(enumerate(frame.said))
    header = Text("   outlook  temp humid  wind   said was\n", style="dim")
    rows = (_day_row(place, day, said.get(place)) for place, day in enumerate(DAYS))
    return header + Text("\n").join(rows)


def _day_row(place: int, day: Day, said: float | None) -> Text:
    wind = "windy" if day.windy else "calm"
    row = Text(f"{place + 1:2d} {day.outlook:<8} {day.temperature:<4} {day.humidity:<6} {wind:<5} ", no_wrap=True)
    if said is None:
        row.stylize("dim")
        return row.append(" " * 11)
    right = said_right(day, said)
    row.append(f"{said:.3f}", style="cyan")
    return row.append(f" {day.play:<3} ").append(*(("✓", "green") if right else ("✗", "red")))


def _lessons(frame: WeatherFrame) -> Text:
    lines = [
        Text("P(yes | sunny cool high windy)", style="bold"),
        *_belief_rows("", frame.answer),
        Text(),
        Text("outlook on days of play", style="bold"),
        *(row for value, belief in frame.outlook_given_yes.items() for row in _belief_rows(value, belief)),
    ]
    while len(lines) < 12:
        lines.append(Text())
    lines.append(Text(f"predicted first: {frame.right} of {frame.step} right"))
    lines.append(Text(f"log loss {frame.log_loss:.3f} (a coin: 0.693)"))
    return Text("\n").join(lines)


def _belief_rows(name: str, belief: Belief) -> Iterable[Text]:
    low, high = belief.interval
    yield Text.assemble(f"{name:<9}" if name else "", (f"{belief.mean:.3f}", "cyan"), f" [{low:.3f}, {high:.3f}]")
    yield _marked(drawing.interval_on((0.0, 1.0), 28, belief.interval, belief.mean))
