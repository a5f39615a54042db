"""Few labels on long streams: the default strategy beside chance at the same pace, the first messages and its members.

A cell is a stream, a strategy and a budget, over several seeds. Chance at the same pace is the same selector with a
random score. The features of a stream are read once and used in all passes over it. Constants are chosen on the tuning
streams; the judging streams show what they are worth (`benchmarks.streams`).

`python -m benchmarks.few_labels tuning --budgets 100 --seeds 1,2` runs some of the cells.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.streams import JUDGING, RECIPES, TUNING, MadeStream, Pools, Recipe, recipes
from stream_bayes.evaluation.corpora.listing import CORPORA_VARIABLE
from stream_bayes.evaluation.factory import SpamFilterAdapter
from stream_bayes.evaluation.feedback import DEFAULT_STRATEGY, FIRST, PACED, FeedbackRegime
from stream_bayes.evaluation.pass_figures import BestMember, best_member, is_within_noise, pass_figures
from stream_bayes.evaluation.process_pool import available_cores
from stream_bayes.evaluation.protocol import run as run_pass
from stream_bayes.evaluation.stream import Stream
from stream_bayes.kernels.mail.features import VIEWS
from stream_bayes.mail.features.batch import MailBatch
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.typing import FloatArray, IntArray

BUDGETS = (100, 350, 1000, 5000)
SCARCE = 0.05
"""Budgets above this share of the stream are left out."""
SEEDS = tuple(range(1, 9))
STRATEGIES = (DEFAULT_STRATEGY, PACED, FIRST)


class Plan(NamedTuple):
    """Which cells to run."""

    recipes: tuple[Recipe, ...]
    folder: Path
    budgets: tuple[int, ...] = BUDGETS
    seeds: tuple[int, ...] = SEEDS
    strategies: tuple[str, ...] = STRATEGIES
    most_share: float = SCARCE
    """Of the stream that a budget may be."""


class FeatureCache:
    """The features of mails, each read once."""

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[MailBatch, int]] = {}

    def add(self, model: SpamFilter, raws: Iterable[bytes]) -> None:
        """Read the mails that are not known yet."""
        new = [raw for raw in dict.fromkeys(raws) if raw not in self._rows]
        batch = model.batch(new)
        self._rows.update((raw, (batch, place)) for place, raw in enumerate(new))

    def batch(self, raws: Sequence[bytes]) -> MailBatch:
        """Mails in order, as `SpamFilter.batch` gives them."""
        parts = []
        lengths = np.zeros(len(raws) * VIEWS + 1, dtype=np.int64)
        for at, raw in enumerate(raws):
            batch, place = self._rows[raw]
            starts = batch.view_starts[VIEWS * place : VIEWS * (place + 1) + 1]
            lengths[VIEWS * at + 1 : VIEWS * (at + 1) + 1] = np.diff(starts)
            parts.append(batch.hashed[starts[0] : starts[-1]])
        view_starts = np.cumsum(lengths)
        hashed = np.concatenate(parts)
        return replace(
            self._rows[raws[0]][0],
            row_starts=view_starts[::VIEWS],
            columns=cast(IntArray, hashed),
            values=np.broadcast_to(1.0, len(hashed)),
            view_starts=view_starts,
            hashed=hashed,
            raws=tuple(raw[: SpamFilter.max_bytes] for raw in raws),
        )


class CachedFilter(SpamFilterAdapter):
    """A filter with features from a cache."""

    def __init__(self, model: SpamFilter, cache: FeatureCache) -> None:
        super().__init__("default", model)
        self._cache = cache
        # Mails are looked up by all of their bytes.
        self.max_bytes = None

    def prepare(self) -> None:
        """Leave the memory of the tables to the mails: time is not measured here."""

    def features(self, mails: Sequence[bytes]) -> Any:
        """Look the features up."""
        return self._cache.batch(mails)


@dataclass(frozen=True)
class CellResult:
    """The figures of one pass."""

    stream: str
    strategy: str
    budget: int
    seed: int
    mails: int
    area: float
    """(1-ROCA)% over the stream."""
    members: dict[str, float]
    """That of each member, from the same pass."""
    late_error: float
    """The share of misclassified mails among those of late sources; NaN without such mails."""
    labels: int
    spam_asked: float
    """The share of spam among the labels."""
    spam: float
    """The share of spam in the stream."""
    log_loss: float


def run_cell(
    stream: MadeStream, cache: FeatureCache, regime: FeedbackRegime, make: Callable[[], SpamFilter] = SpamFilter
) -> CellResult:
    """One pass over a stream."""
    done = run_pass(lambda: CachedFilter(make(), cache), Stream(stream.name, stream.with_answers()), feedback=regime)
    spam = np.array([mail.label == "spam" for mail in stream.mails])
    # The answers of people may be wrong: predictions are compared with the true labels.
    figures = pass_figures(replace(done, spam=spam), stream.late)
    against = np.where(spam, -done.log_odds, done.log_odds)
    return CellResult(
        stream=stream.name,
        strategy=regime.strategy_name if regime.is_active else regime.feedback,
        budget=regime.budget if regime.is_active else 0,
        seed=regime.seed,
        mails=len(spam),
        area=figures.one_minus_roca_percent,
        members=figures.members,
        late_error=figures.late_error,
        labels=figures.labels,
        spam_asked=figures.spam_in_labels,
        spam=figures.spam,
        log_loss=float(np.logaddexp(0.0, against).mean()),
    )


def run_seed(plan: Plan, recipe: Recipe, seed: int, make: Callable[[], SpamFilter] = SpamFilter) -> list[CellResult]:
    """All passes over the stream of one seed."""
    stream = recipe.stream(Pools(plan.folder), seed)
    cache = FeatureCache()
    cache.add(make(), (mail.raw for mail in stream.mails))
    delay = str(stream.delay) if stream.delay else None
    budgets = [budget for budget in plan.budgets if budget <= plan.most_share * len(stream.mails)]
    regimes = [
        FeedbackRegime(f"active:{budget}", strategy, delay, seed) for budget in budgets for strategy in plan.strategies
    ]
    return [run_cell(stream, cache, regime, make) for regime in regimes]


def run_plan(plan: Plan) -> Iterator[CellResult]:
    """All cells, on all cores."""
    with ProcessPoolExecutor(available_cores()) as pool:
        jobs = [pool.submit(run_seed, plan, recipe, seed) for recipe in plan.recipes for seed in plan.seeds]
        for job in jobs:
            yield from job.result()


class Cell:
    """The passes of all strategies over one stream with one budget."""

    def __init__(self, results: Sequence[CellResult]) -> None:
        self.own = [result for result in results if result.strategy == DEFAULT_STRATEGY]
        self.paced = [result for result in results if result.strategy == PACED]
        self.first = [result for result in results if result.strategy == FIRST]

    def ratio(self, rivals: Sequence[CellResult]) -> float:
        """The mean area of a rival over the mean of the default."""
        return mean_of(rivals, "area") / max(mean_of(self.own, "area"), 1e-9)

    def is_noise(self, rivals: Sequence[CellResult]) -> bool:
        """Whether the difference of the means is within noise."""
        return bool(rivals) and is_within_noise([one.area for one in self.own], [one.area for one in rivals])

    def best_member(self) -> BestMember:
        """The member with the smallest mean area."""
        best = best_member([one.members for one in self.own])
        assert best is not None  # the filter has members, and streams have both classes
        return best

    def over_member(self) -> float:
        """The mean area of the default over that of its best member."""
        return mean_of(self.own, "area") / max(self.best_member().one_minus_roca_percent, 1e-9)

    def row(self) -> list[str]:
        """The cells of a table."""
        best = self.best_member()
        mix = f"{mean_of(self.own, 'spam_asked'):.2f} / {mean_of(self.own, 'spam'):.2f}"
        return [
            f"{mean_of(self.own, 'area'):.3f}",
            f"{max(one.area for one in self.own):.3f}",
            self._rival(self.paced),
            self._rival(self.first),
            f"{best.name} {best.one_minus_roca_percent:.3f}",
            f"{self.over_member():.2f}",
            f"{mean_of(self.own, 'late_error'):.3f}",
            f"{mean_of(self.paced, 'late_error'):.3f}",
            f"{mean_of(self.own, 'labels'):.0f}",
            mix,
        ]

    def _rival(self, rivals: Sequence[CellResult]) -> str:
        mark = " ~" if self.is_noise(rivals) else ""
        return f"{mean_of(rivals, 'area'):.3f}{mark}"


def mean_of(results: Sequence[CellResult], name: str) -> float:
    """The mean of a figure over passes; NaN without passes."""
    values: FloatArray = np.array([getattr(result, name) for result in results], dtype=np.float64)
    return float(values.mean()) if len(values) else math.nan


def cells_of(results: Iterable[CellResult]) -> dict[tuple[str, int], Cell]:
    """The passes by stream and budget."""
    grouped: dict[tuple[str, int], list[CellResult]] = {}
    for result in results:
        grouped.setdefault((result.stream, result.budget), []).append(result)
    return {key: Cell(own) for key, own in grouped.items()}


def cells_table(title: str, cells: dict[tuple[str, int], Cell]) -> Table:
    """A row for each stream and budget: means over the seeds; ~ marks what is within noise."""
    table = Table(title=title)
    for column in ("stream", "budget", "(1-ROCA)%", "worst", "chance, same pace", "first", "best member", "over it"):
        table.add_column(column, justify="left" if column in ("stream", "best member") else "right")
    for column in ("late error", "by chance", "labels", "spam asked / all"):
        table.add_column(column, justify="right")
    for (stream, budget), cell in cells.items():
        table.add_row(stream, f"{budget:,}", *cell.row())
    return table


def summary_lines(cells: dict[tuple[str, int], Cell]) -> list[str]:
    """What is demanded of all cells together."""
    chance = [cell.ratio(cell.paced) for cell in cells.values() if cell.paced]
    first = [cell.ratio(cell.first) for cell in cells.values() if cell.first]
    members = [cell.over_member() for cell in cells.values()]
    lines = [f"fusion / best member: geometric mean {_geometric(members):.2f}, worst {max(members):.2f}"]
    if chance:
        lines.append(f"chance / default: geometric mean {_geometric(chance):.2f}, least {min(chance):.2f}")
    if first:
        lines.append(f"first / default: geometric mean {_geometric(first):.2f}, least {min(first):.2f}")
    return lines


def _geometric(ratios: Sequence[float]) -> float:
    return math.exp(float(np.mean(np.log(np.maximum(ratios, 1e-9)))))


def run(console: Console) -> None:
    """Print the tables of both halves; without corpora, one line."""
    folder = os.environ.get(CORPORA_VARIABLE)
    if not folder:
        console.print(f"Few labels are not measured: {CORPORA_VARIABLE} names no folder with corpora")
        return
    for half in (TUNING, JUDGING):
        cells = cells_of(run_plan(Plan(tuple(recipes(half)), Path(folder))))
        console.print(cells_table(f"{half} streams, {len(SEEDS)} seeds", cells))
        for line in summary_lines(cells):
            console.print(line)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def main() -> None:
    """Run some cells and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels", description=__doc__)
    parser.add_argument("half", choices=(TUNING, JUDGING, "all"))
    parser.add_argument("--streams", default="", help="only streams whose names contain one of these, by commas")
    parser.add_argument("--budgets", type=_numbers, default=BUDGETS)
    parser.add_argument("--seeds", type=_numbers, default=SEEDS)
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--most-share", type=float, default=SCARCE, help="of the stream that a budget may be")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    chosen = RECIPES if options.half == "all" else tuple(recipes(options.half))
    wanted = tuple(recipe for recipe in chosen if any(part in recipe.name for part in options.streams.split(",")))
    strategies = tuple(options.strategies.split(","))
    folder = Path(os.environ[CORPORA_VARIABLE])
    plan = Plan(wanted, folder, options.budgets, options.seeds, strategies, options.most_share)
    results: list[CellResult] = []
    for result in run_plan(plan):
        results.append(result)
        if options.json:
            options.json.write_text(json.dumps([asdict(one) for one in results]))
    cells = cells_of(results)
    console = Console(width=180, file=sys.stdout)
    console.print(cells_table(f"{options.half} streams, seeds {options.seeds}", cells))
    for line in summary_lines(cells):
        console.print(line)


if __name__ == "__main__":
    main()
