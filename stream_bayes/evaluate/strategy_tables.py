"""Strategies side by side, as text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stream_bayes.evaluate.corpora.mail import counted
from stream_bayes.evaluate.regime import FIRST
from stream_bayes.evaluate.report.markup import figure
from stream_bayes.evaluate.strategies import Found
from stream_bayes.evaluate.sweep import Spread

_CELL = 20


def strategies_table(found: Found, notes: Sequence[str] = ()) -> str:
    """(1-ROCA)% of every strategy with every quota, and how many labels each was told."""
    plan, heading = found.plan, f"{found.corpus}: {counted(found.messages, 'message')}"
    late = f", labels {plan.delay} late" if plan.delay else ""
    seeds = f"seed {plan.seeds[0]}" if len(plan.seeds) == 1 else f"seeds {plan.seeds[0]} to {plan.seeds[-1]}"
    lead = f"  filter {plan.filter_name}, (1-ROCA)% by the number of labels, {seeds}{late}: mean, deviation (range)"
    width = max(map(len, plan.strategies))
    areas = [_strategy_rows(found, strategy, width) for strategy in plan.strategies]
    titles = "".join(f"{f'{quota:,} labels':>{_CELL}}" for quota in plan.quotas)
    full = [] if found.full is None else [f"  all labels: {figure(found.full.mean)}"]
    rows = [f"  {'':<{width}}{titles}", *(line for lines in areas for line in lines), *full]
    told = [f"  {name:<{width}}{_cells(found, name, _told)}" for name in plan.strategies]
    remarks = [f"  note: {note}" for note in notes]
    parts = [[heading, lead], rows, ["  labels told, on average", *told], remarks]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _strategy_rows(found: Found, strategy: str, width: int) -> list[str]:
    first = f"  {strategy:<{width}}{_cells(found, strategy, _mean)}"
    if len(found.plan.seeds) == 1 or strategy == FIRST:
        return [first]
    return [first, f"  {'':<{width}}{_cells(found, strategy, _range)}"]


def _cells(found: Found, strategy: str, written: Callable[[Spread], str]) -> str:
    cells = [found.cell(strategy, quota) for quota in found.plan.quotas]
    return "".join(f"{'-' if cell is None else written(cell):>{_CELL}}" for cell in cells)


def _mean(cell: Spread) -> str:
    return figure(cell.mean) if cell.passes == 1 else f"{figure(cell.mean)} +- {figure(cell.deviation)}"


def _range(cell: Spread) -> str:
    return "" if cell.passes == 1 else f"({figure(cell.least)} to {figure(cell.greatest)})"


def _told(cell: Spread) -> str:
    return f"{cell.labels:,.0f}"
