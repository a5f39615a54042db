"""The results of passes as text tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.feedback import FIRST, PACED
from stream_bayes.evaluation.formatting import format_number, format_percent, format_ratio, format_stream
from stream_bayes.evaluation.metrics import NAMES, MetricsSummary
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.evaluation.serialization import member_areas
from stream_bayes.evaluation.strategy_comparison import ComparedCell, ComparisonResult, comparison_legend
from stream_bayes.evaluation.sweep import AreaSpread
from stream_bayes.evaluation.timing import MAKE

_WIDTH = 32
_COLUMNS = (9, 18, 8, 7, 14, 10)


def pass_table(run: PassResult, summary: MetricsSummary, *, per_member: bool, notes: Sequence[str] = ()) -> str:
    """The metrics of one pass with their intervals, its requests, its costs, and notes."""
    parts = [_heading(run, summary), _metrics(summary), *_requests(run), _costs(run)]
    if per_member:
        parts.append(_members(run, summary))
    if notes:
        parts.append([f"  note: {note}" for note in notes])
    return "\n\n".join("\n".join(lines) for lines in parts)


def comparison_table(
    runs: Sequence[PassResult],
    summaries: Sequence[MetricsSummary],
    missing: Mapping[str, str],
    notes: Sequence[str] = (),
) -> str:
    """The passes of several filters over one stream, and how to install the filters that are missing.

    The best comes first. Passes that were stopped come last, since they are evaluated on other messages.
    """
    pairs = sorted(zip(runs, summaries, strict=True), key=lambda pair: _rank(*pair))
    width = max(len("filter"), *(len(_name(run)) for run in runs))
    titles = ("(1-ROCA)%", "95 % interval", "log loss", "lam %", "CPU us/message", "messages/s")
    rows = [(_name(run), _comparison(run, summary)) for run, summary in pairs]
    lines = [f"  {name:<{width}}  {_columns(cells)}" for name, cells in (("filter", titles), *rows)]
    absent = [f"  not here: {name} ({how})" for name, how in missing.items()]
    remarks = [f"  note: {note}" for note in notes]
    parts = [[format_stream(*pairs[0]), f"  feedback {runs[0].feedback}"], lines, absent, remarks]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _heading(run: PassResult, summary: MetricsSummary) -> list[str]:
    return [
        format_stream(run, summary),
        f"  filter {run.filter_name}, feedback {run.feedback}, {counted(int(run.learned.sum()), 'label')} learned",
    ]


def _metrics(summary: MetricsSummary) -> list[str]:
    columns = zip(summary.values._fields, summary.values, summary.low, summary.high, strict=True)
    rows = [
        f"  {NAMES[name]:<{_WIDTH}}{_decimal(value):>10}   {_interval(low, high)}" for name, value, low, high in columns
    ]
    return [f"  {'':<{_WIDTH}}{'':>10}   95 % interval", *rows]


def _requests(run: PassResult) -> list[list[str]]:
    """The counts of label requests, and the accuracy with the estimate of the audit."""
    if run.requests is None:
        return []
    counts = run.requests.counts
    audit = run.requests.audit
    names = ("requested", "audited", "answered", "suppressed", "covered", "expired", "late")
    rows = [f"  {name:<{_WIDTH}}{counts.get(name, 0):>10,}" for name in names if counts.get(name) or name in names[:4]]
    rows.append(f"  {'accuracy %':<{_WIDTH}}{_decimal(100.0 * run.accuracy, 2):>10}")
    if audit is None:
        return [["  labels", *rows, "  no audited answer came: the accuracy cannot be estimated without all labels"]]
    interval = f"{100.0 * audit.low:.2f} to {100.0 * audit.high:.2f}"
    estimate = f"  {'estimated by the audit':<{_WIDTH}}{_decimal(100.0 * audit.accuracy, 2):>10}   {interval}"
    return [["  labels", *rows, f"{estimate}, of {counted(audit.answers, 'answer')}"]]


def _costs(run: PassResult) -> list[str]:
    number = max(run.messages, 1)
    stages = [
        f"  {name:<{_WIDTH}}{1e6 * cpu / number:>10.1f}   {1e6 * wall / number:.1f}"
        for name, (cpu, wall) in run.stages.items()
        if name != MAKE
    ]
    made = [1e3 * seconds for seconds in run.stages.get(MAKE, (0.0, 0.0))]
    grown = run.memory_mb[-1] - run.memory_mb[1]
    return [
        f"  {'microseconds a message':<{_WIDTH}}{'CPU':>10}   wall",
        *stages,
        f"  {'in the filter (not reading)':<{_WIDTH}}{_whole(run.cpu_microseconds):>10}   "
        f"{_whole(run.messages_per_second)} messages a second",
        f"  {'make the filter, ms, once':<{_WIDTH}}{made[0]:>10.1f}   {made[1]:.1f}",
        f"  {'peak memory, MB':<{_WIDTH}}{run.peak_memory_mb:>10.0f}   {grown:+.0f} after the first tenth",
    ]


def _members(run: PassResult, summary: MetricsSummary) -> list[str]:
    areas = {name: area for name, area in member_areas(run).items() if not math.isnan(area)}
    if not areas:
        return ["  this filter has no members to show" if not run.members else "  no member has a (1-ROCA)%"]
    rows = [f"  {name:<{_WIDTH}}{_decimal(area):>10}" for name, area in sorted(areas.items(), key=lambda pair: pair[1])]
    best = min(areas, key=lambda name: areas[name])
    return ["  (1-ROCA)% of each member alone", *rows, f"  {_lead(summary.values[0], areas[best], best)}"]


def _lead(fused: float, best: float, name: str) -> str:
    if fused == best:
        return f"the fusion is level with its best member, {name}"
    if not best:
        return f"the fusion is behind its best member, {name}, which made no mistake"
    side = "ahead of" if fused < best else "behind"
    return f"the fusion is {100.0 * abs(fused / best - 1.0):.1f} % {side} its best member, {name}"


def _comparison(run: PassResult, summary: MetricsSummary) -> tuple[str, ...]:
    values = summary.values
    return (
        _decimal(values.one_minus_roca_percent),
        _interval(summary.low[0], summary.high[0]),
        _decimal(values.log_loss),
        _decimal(values.lam_percent, 3),
        _whole(run.cpu_microseconds),
        _whole(run.messages_per_second),
    )


def _columns(cells: Sequence[str]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, _COLUMNS, strict=True))


def _name(run: PassResult) -> str:
    return f"{run.filter_name}, {counted(run.messages, 'message')}" if run.stopped else run.filter_name


def _rank(run: PassResult, summary: MetricsSummary) -> tuple[bool, bool, float]:
    area = summary.values.one_minus_roca_percent
    return run.stopped, math.isnan(area), area


def _interval(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{_decimal(low)} to {_decimal(high)}"


def _decimal(value: float, digits: int = 4) -> str:
    """A metric as text; a dash if it does not exist."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _whole(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:,.0f}"


_CELL = 20


def strategies_table(result: ComparisonResult, notes: Sequence[str] = ()) -> str:
    """(1-ROCA)% of every strategy with every budget, and the number of labels that were learned."""
    plan = result.plan
    heading = f"{result.corpus}: {counted(result.messages, 'message')}"
    late = f", labels {plan.delay} late" if plan.delay else ""
    seeds = f"seed {plan.seeds[0]}" if len(plan.seeds) == 1 else f"seeds {plan.seeds[0]} to {plan.seeds[-1]}"
    lead = f"  filter {plan.filter_name}, {seeds}{late}\n  (1-ROCA)% by the number of labels: mean, deviation (range)"
    width = max(map(len, plan.strategies))
    areas = [_strategy_rows(result, strategy, width) for strategy in plan.strategies]
    titles = "".join(f"{f'{budget:,} labels':>{_CELL}}" for budget in plan.budgets)
    full = [] if result.full is None else [f"  all labels: {format_number(result.full.mean)}"]
    rows = [f"  {'':<{width}}{titles}", *(line for lines in areas for line in lines), *full]
    learned = [f"  {name:<{width}}{_cells(result, name, _labels)}" for name in plan.strategies]
    remarks = [f"  note: {note}" for note in notes]
    parts = [[heading, lead], rows, ["  labels learned, on average", *learned], *_compared(result, width), remarks]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _strategy_rows(result: ComparisonResult, strategy: str, width: int) -> list[str]:
    first = f"  {strategy:<{width}}{_cells(result, strategy, _mean)}"
    if len(result.plan.seeds) == 1 or strategy == FIRST:
        return [first]
    return [first, f"  {'':<{width}}{_cells(result, strategy, _range)}"]


def _cells(result: ComparisonResult, strategy: str, format_cell: Callable[[AreaSpread], str]) -> str:
    cells = [result.cell(strategy, budget) for budget in result.plan.budgets]
    return "".join(f"{'-' if cell is None else format_cell(cell):>{_CELL}}" for cell in cells)


def _mean(cell: AreaSpread) -> str:
    return (
        format_number(cell.mean)
        if cell.passes == 1
        else f"{format_number(cell.mean)} +- {format_number(cell.deviation)}"
    )


def _range(cell: AreaSpread) -> str:
    return "" if cell.passes == 1 else f"({format_number(cell.least)} to {format_number(cell.greatest)})"


def _labels(cell: AreaSpread) -> str:
    return f"{cell.labels:,.0f}"


class _ComparedColumns(NamedTuple):
    """A line of the table of compared cells, as texts."""

    area: str
    chance: str
    member: str
    over_member: str
    late: str
    spam: str

    def line(self, member_width: int) -> str:
        return (
            f"{self.area:>10}{self.chance:>8}  {self.member:<{member_width}}{self.over_member:>7}{self.late:>8}"
            f"{self.spam:>8}"
        )


_TITLES_ABOVE = _ComparedColumns("", "over", "", "over", "late", "spam in")
_TITLES = _ComparedColumns("(1-ROCA)%", "chance", "best member", "member", "error", "labels")


def _compared(result: ComparisonResult, width: int) -> list[list[str]]:
    """The strategies of each budget beside chance at the same pace, the best member, late sources and the label mix."""
    blocks = [result.compared(budget) for budget in result.plan.budgets]
    members = [_member(cell) for cells in blocks for cell in cells]
    member_width = max(map(len, ["best member", *members]))
    width = max(width, *(len(f"{budget:,} labels") for budget in result.plan.budgets))

    def line(name: str, columns: _ComparedColumns) -> str:
        return f"  {name:<{width}}{columns.line(member_width)}".rstrip()

    parts = [[f"  {each}" for each in comparison_legend(result)]]
    for cells in filter(None, blocks):
        titles = [line("", _TITLES_ABOVE), line(f"{cells[0].budget:,} labels", _TITLES)]
        parts.append([*titles, *(line(cell.strategy, _compared_cells(cell)) for cell in cells)])
    return parts


def _compared_cells(cell: ComparedCell) -> _ComparedColumns:
    best = "*" if cell.is_best else _noise(cell.is_best_noise)
    chance = " " if cell.strategy == PACED else _noise(cell.is_chance_noise)
    return _ComparedColumns(
        area=f"{format_number(cell.area.mean)}{best}",
        chance=f"{format_ratio(cell.over_chance)}{chance}",
        member=_member(cell),
        over_member=format_ratio(cell.over_member),
        late=format_percent(cell.late_error),
        spam=format_percent(cell.spam_in_labels),
    )


def _noise(is_noise: bool | None) -> str:
    return "~" if is_noise else " "


def _member(cell: ComparedCell) -> str:
    return "-" if cell.member is None else f"{cell.member.name} {format_number(cell.member.one_minus_roca_percent)}"
