"""Few labels, chosen: what the default strategy makes of them, beside random choice and the first messages.

Every figure is that of `stream-bayes evaluate --feedback active:BUDGET`, over seeds 1 to 5, of the six mailboxes alone
over seeds 1 to 3. The selector does not know how long a stream is; only "random" does.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_bayes.errors import StreamBayesError
from stream_bayes.evaluation.corpora.listing import CORPORA_VARIABLE
from stream_bayes.evaluation.feedback import DEFAULT_STRATEGY, FIRST, PACED, RANDOM
from stream_bayes.evaluation.process_pool import Failure
from stream_bayes.evaluation.strategy_comparison import BUDGETS
from stream_bayes.evaluation.stream import StreamSource
from stream_bayes.evaluation.sweep import AreaSpread, Job, SweepResult, regimes_by_seed, spread, sweep

SEEDS = (1, 2, 3, 4, 5)
RIVALS = (DEFAULT_STRATEGY, RANDOM, PACED, FIRST)
BOX_SEEDS = SEEDS[:3]
BOX_RIVALS = (DEFAULT_STRATEGY, RANDOM, FIRST)
BOX_BUDGETS = (50, 100)
LATE = "100"
# Cells with more labels than that, as a share of the stream, are not counted in the mean ratio.
SCARCE = 0.05
LEAST_RATIO = 4.0
ENRON = "enron1..6 concatenated"
INTERLEAVED = "enron1..6 interleaved"
SPAMASSASSIN = "spamassassin as given"
SHUFFLED = "spamassassin shuffled"
SMS = "sms as given"
BOXES = tuple(f"enron{number}" for number in range(1, 7))


class Mark(NamedTuple):
    """(1-ROCA)% to reach with this number of labels."""

    stream: str
    budget: int
    floor: float
    goal: float


MARKS = (
    Mark(SPAMASSASSIN, 350, 0.25, 0.17),
    Mark(ENRON, 1000, 0.085, 0.060),
    Mark(ENRON, 5000, 0.030, 0.022),
    Mark(INTERLEAVED, 1000, 0.15, 0.10),
    Mark(INTERLEAVED, 5000, 0.050, 0.036),
    Mark(SMS, 350, 2.0, 1.6),
)


class Cell(NamedTuple):
    """One strategy on one stream with one budget."""

    stream: str
    strategy: str
    budget: int
    delay: str | None = None


def run(console: Console) -> None:
    """Print all tables; without corpora, one line."""
    folder = os.environ.get(CORPORA_VARIABLE)
    streams = sources(Path(folder)) if folder else {}
    if not streams:
        console.print(
            f"Label requests are not measured: {CORPORA_VARIABLE} names no folder with the corpora they are measured on"
        )
        return
    lengths = {name: count(source) for name, source in streams.items()}
    marks = [Cell(mark.stream, DEFAULT_STRATEGY, mark.budget) for mark in MARKS if mark.stream in streams]
    results = measured(marks, streams)
    console.print(marks_table(results))
    for name in streams:
        budgets = budgets_of(lengths[name])
        cells = [Cell(name, rival, budget) for rival in RIVALS for budget in budgets]
        cells += [Cell(name, DEFAULT_STRATEGY, budget, LATE) for budget in budgets]
        results |= measured([cell for cell in cells if cell not in results], streams)
        console.print(cells_table(name, lengths[name], results))
    boxes = boxes_of(streams)
    lengths |= {name: count(source) for name, source in boxes.items()}
    cells = [Cell(name, rival, budget) for name in boxes for rival in BOX_RIVALS for budget in BOX_BUDGETS]
    results |= measured(cells, boxes, BOX_SEEDS)
    if boxes:
        console.print(boxes_table(results, lengths))
    for line in (*ratio_lines(results, lengths), *behind_lines(results)):
        console.print(line)


def sources(folder: Path) -> dict[str, StreamSource]:
    """The streams whose corpora are there."""
    enron, assassin, sms = (
        folder / f"{name}.jsonl.gz" for name in ("enron_spam", "spamassassin", "sms_spam_collection")
    )
    streams = {
        SPAMASSASSIN: StreamSource(assassin),
        SHUFFLED: StreamSource(assassin, shuffle=1),
        ENRON: StreamSource(enron),
        INTERLEAVED: StreamSource(enron, interleave=True),
        SMS: StreamSource(sms),
    }
    return {name: source for name, source in streams.items() if source.path.exists()}


def boxes_of(streams: Mapping[str, StreamSource]) -> dict[str, StreamSource]:
    """Each mailbox as a stream of its own."""
    return {name: StreamSource(streams[ENRON].path, prefix=f"{name}/") for name in BOXES if ENRON in streams}


def count(source: StreamSource) -> int:
    return sum(1 for _ in source.open())


def budgets_of(messages: int) -> tuple[int, ...]:
    return tuple(budget for budget in BUDGETS if budget < messages)


def measured(
    cells: Iterable[Cell], streams: Mapping[str, StreamSource], seeds: Sequence[int] = SEEDS
) -> dict[Cell, AreaSpread]:
    """Every cell over the seeds, on all cores."""
    jobs: dict[Job, Cell] = {}
    for cell in cells:
        for regime in regimes_by_seed(cell.strategy, cell.budget, seeds, cell.delay):
            jobs[Job(streams[cell.stream], "default", regime)] = cell
    outcomes: dict[Cell, list[SweepResult]] = {}
    for outcome in sweep(list(jobs)):
        if isinstance(outcome, Failure):
            message = f"{outcome.item}: {outcome.reason}"
            raise StreamBayesError(message)
        outcomes.setdefault(jobs[outcome.job], []).append(outcome)
    return {cell: spread(own) for cell, own in outcomes.items()}


def marks_table(results: Mapping[Cell, AreaSpread]) -> Table:
    table = new_table(
        f"(1-ROCA)% with few labels, strategy {DEFAULT_STRATEGY}, seeds {SEEDS[0]} to {SEEDS[-1]}, unknown length",
        ("stream", "budget", "labels learned", "mean", "deviation", "range", "floor", "goal", "reached"),
    )
    for mark in MARKS:
        over = results.get(Cell(mark.stream, DEFAULT_STRATEGY, mark.budget))
        if over is None:
            continue
        reached = "goal" if over.mean <= mark.goal else "floor" if over.mean <= mark.floor else "no"
        spread_of = f"{over.deviation:.4f}", f"{over.least:.4f} to {over.greatest:.4f}"
        figures = f"{over.labels:,.0f}", f"{over.mean:.4f}", *spread_of, f"{mark.floor:g}", f"{mark.goal:g}", reached
        table.add_row(mark.stream, f"{mark.budget:,}", *figures)
    return table


def cells_table(name: str, messages: int, results: Mapping[Cell, AreaSpread]) -> Table:
    columns = ("budget", "share", *RIVALS, "random / default", f"default, {LATE} late")
    table = new_table(f"{name}, {messages:,} mails: mean (1-ROCA)%, deviation", columns)
    for budget in budgets_of(messages):
        rivals = [written(results[Cell(name, rival, budget)]) for rival in RIVALS]
        late = written(results[Cell(name, DEFAULT_STRATEGY, budget, LATE)])
        table.add_row(
            f"{budget:,}", f"{100 * budget / messages:.1f} %", *rivals, f"{ratio(name, budget, results):.2f}", late
        )
    return table


def boxes_table(results: Mapping[Cell, AreaSpread], lengths: Mapping[str, int]) -> Table:
    columns = ("stream", "mails", "budget", *BOX_RIVALS, "random / default")
    table = new_table(f"each mailbox as its own stream: mean (1-ROCA)%, deviation, {len(BOX_SEEDS)} seeds", columns)
    for name in BOXES:
        for budget in BOX_BUDGETS:
            rivals = [written(results[Cell(name, rival, budget)]) for rival in BOX_RIVALS]
            table.add_row(name, f"{lengths[name]:,}", f"{budget:,}", *rivals, f"{ratio(name, budget, results):.2f}")
    return table


def written(over: AreaSpread) -> str:
    return f"{over.mean:.4f}" if over.passes == 1 else f"{over.mean:.4f} ±{over.deviation:.3f}"


def ratio(name: str, budget: int, results: Mapping[Cell, AreaSpread]) -> float:
    """Of random choice to the default; of two without a mistake 1."""
    ours, chance = (results[Cell(name, strategy, budget)].mean for strategy in (DEFAULT_STRATEGY, RANDOM))
    return chance / ours if ours else (math.inf if chance else 1.0)


def ratio_lines(results: Mapping[Cell, AreaSpread], lengths: Mapping[str, int]) -> list[str]:
    """The geometric mean of random / default over the cells with few labels."""
    own = [name for name in lengths if name not in BOXES]
    as_given = [name for name in own if name != SHUFFLED]
    boxes = [name for name in lengths if name in BOXES]
    sets = {
        "with the shuffle": own,
        "without it": as_given,
        "without it and with each mailbox as its own stream": [*as_given, *boxes] if boxes else [],
    }
    lines = []
    for title, names in ((title, names) for title, names in sets.items() if names):
        pairs = [(name, budget) for name in names for budget in BUDGETS]
        cells = [(name, budget) for name, budget in pairs if Cell(name, DEFAULT_STRATEGY, budget) in results]
        ratios = [ratio(name, budget, results) for name, budget in cells if budget <= SCARCE * lengths[name]]
        mean = math.exp(float(np.mean(np.log(ratios))))
        lines.append(
            f"random / default over the {len(ratios)} cells with labels for at most {100 * SCARCE:g} % of the stream, "
            f"{title}: geometric mean {mean:.2f}, least {min(ratios):.2f} (target: a mean of at least {LEAST_RATIO:g})"
        )
    return lines


def behind_lines(results: Mapping[Cell, AreaSpread]) -> list[str]:
    """Every cell in which the first messages do better than the default."""
    lines = []
    for cell, over in results.items():
        rival = results.get(cell._replace(strategy=FIRST))
        if cell.strategy == DEFAULT_STRATEGY and rival is not None and over.mean > rival.mean:
            lines.append(f"behind the first {cell.budget:,}: {cell.stream}, {over.mean:.4f} against {rival.mean:.4f}")
    return lines or ["The default is behind the first messages in no cell."]


def new_table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column in ("stream", "reached") else "right")
    return table
