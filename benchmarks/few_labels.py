"""Few labels on long streams: the default strategy beside chance at the same pace, the first messages and its members.

A cell is a stream, a seed, a strategy and a budget. The features of all mails of a stream are read once and used in all
of its passes. `python -m benchmarks.few_labels tuning --budgets 100 --seeds 1,2` runs some of the cells.
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
from typing import Any

import numpy as np

from benchmarks.streams import RECIPES, MadeStream, Pools, Recipe, recipes
from stream_bayes.evaluation.corpora.listing import CORPORA_VARIABLE
from stream_bayes.evaluation.factory import SpamFilterAdapter
from stream_bayes.evaluation.feedback import DEFAULT_STRATEGY, FIRST, PACED, FeedbackRegime
from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.evaluation.protocol import run
from stream_bayes.evaluation.stream import Stream
from stream_bayes.kernels.mail.features import VIEWS
from stream_bayes.mail.features.batch import MailBatch
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.typing import BoolArray, FloatArray

BUDGETS = (100, 350, 1000, 5000)
SCARCE = 0.05
"""Budgets above this share of the stream are left out."""
SEEDS = tuple(range(1, 9))
STRATEGIES = (DEFAULT_STRATEGY, PACED, FIRST)
PROCESSES = 2


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
        rows = [self._rows[raw] for raw in raws]
        parts = []
        lengths = np.zeros(len(rows) * VIEWS + 1, dtype=np.int64)
        for at, (batch, place) in enumerate(rows):
            starts = batch.view_starts[VIEWS * place : VIEWS * (place + 1) + 1]
            lengths[VIEWS * at + 1 : VIEWS * (at + 1) + 1] = np.diff(starts)
            parts.append(batch.hashed[starts[0] : starts[-1]])
        view_starts = np.cumsum(lengths)
        hashed = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)
        ones = np.broadcast_to(1.0, len(hashed))
        cut = tuple(raw[: SpamFilter.max_bytes] for raw in raws)
        any_batch = rows[0][0]
        return replace(
            any_batch,
            row_starts=view_starts[::VIEWS],
            columns=hashed,
            values=ones,
            view_starts=view_starts,
            hashed=hashed,
            raws=cut,
        )


class CachedFilter(SpamFilterAdapter):
    """The default filter with features from a cache."""

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

    @property
    def best_member(self) -> float:
        """The area of the best member."""
        return min(self.members.values())


def run_cell(
    stream: MadeStream, cache: FeatureCache, regime: FeedbackRegime, make: Callable[[], SpamFilter] = SpamFilter
) -> CellResult:
    """One pass over a stream."""
    done = run(lambda: CachedFilter(make(), cache), Stream(stream.name, stream.as_told()), feedback=regime)
    spam = np.array([mail.label == "spam" for mail in stream.mails])
    late = stream.late_sources
    is_late = np.array([mail.source in late for mail in stream.mails])
    wrong = (done.log_odds > 0.0) != spam
    against = np.where(spam, -done.log_odds, done.log_odds)
    return CellResult(
        stream=stream.name,
        strategy=regime.strategy_name if regime.is_active else regime.feedback,
        budget=regime.budget if regime.is_active else 0,
        seed=regime.seed,
        mails=len(spam),
        area=one_minus_roca_percent(spam, done.log_odds),
        members={name: one_minus_roca_percent(spam, odds) for name, odds in done.members.items()},
        late_error=_mean(wrong, is_late),
        labels=int(done.learned.sum()),
        spam_asked=_mean(spam, done.learned),
        spam=float(spam.mean()),
        log_loss=float(np.logaddexp(0.0, against).mean()),
    )


def _mean(values: BoolArray, where: BoolArray) -> float:
    return float(values[where].mean()) if where.any() else math.nan


def run_seed(
    recipe: Recipe,
    folder: Path,
    seed: int,
    strategies: Sequence[str],
    budgets: Sequence[int],
    most_share: float = SCARCE,
    make: Callable[[], SpamFilter] = SpamFilter,
) -> list[CellResult]:
    """All passes over the stream of one seed."""
    stream = recipe.stream(Pools(folder), seed)
    cache = FeatureCache()
    cache.add(make(), (mail.raw for mail in stream.mails))
    delay = str(stream.delay) if stream.delay else None
    results = []
    for budget in budgets:
        if budget > most_share * len(stream.mails):
            continue
        for strategy in strategies:
            regime = FeedbackRegime(f"active:{budget}", strategy, delay, seed)
            results.append(run_cell(stream, cache, regime, make))
    return results


def run_all(
    chosen: Sequence[Recipe],
    folder: Path,
    seeds: Sequence[int],
    strategies: Sequence[str],
    budgets: Sequence[int],
    most_share: float = SCARCE,
) -> Iterator[CellResult]:
    """All cells, on two cores."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        jobs = [
            pool.submit(run_seed, recipe, folder, seed, strategies, budgets, most_share)
            for recipe in chosen
            for seed in seeds
        ]
        for job in jobs:
            yield from job.result()


def summary_lines(results: Sequence[CellResult]) -> list[str]:
    """A line for each stream and budget: means over the seeds, and the worst."""
    cells: dict[tuple[str, int], dict[str, list[CellResult]]] = {}
    for result in results:
        cells.setdefault((result.stream, result.budget), {}).setdefault(result.strategy, []).append(result)
    lines = [
        f"{'stream':22} {'budget':>6} {'area':>7} {'worst':>7} {'paced':>7} {'first':>7} {'best member':>24} "
        f"{'ratio':>6} {'late':>6} {'paced':>6} {'labels':>6} {'asked':>6} {'spam':>5}"
    ]
    ratios = []
    for (stream, budget), by_strategy in cells.items():
        own = by_strategy[DEFAULT_STRATEGY]
        mean = _mean_of(own, "area")
        paced = _mean_of(by_strategy.get(PACED, []), "area")
        first = _mean_of(by_strategy.get(FIRST, []), "area")
        ratios.append(paced / mean)
        members = {name: float(np.mean([one.members[name] for one in own])) for name in own[0].members}
        best = min(members, key=lambda name: members[name])
        lines.append(
            f"{stream:22} {budget:6} {mean:7.3f} {max(one.area for one in own):7.3f} {paced:7.3f} {first:7.3f} "
            f"{best:>16} {members[best]:7.3f} {mean / members[best]:6.2f} {_mean_of(own, 'late_error'):6.3f} "
            f"{_mean_of(by_strategy.get(PACED, []), 'late_error'):6.3f} {_mean_of(own, 'labels'):6.0f} "
            f"{_mean_of(own, 'spam_asked'):6.2f} {_mean_of(own, 'spam'):5.2f}"
        )
    mean_ratio = math.exp(float(np.nanmean(np.log(ratios))))
    lines.append(f"chance at the same pace / default: geometric mean {mean_ratio:.2f}, least {min(ratios):.2f}")
    return lines


def _mean_of(results: Sequence[CellResult], name: str) -> float:
    values: FloatArray = np.array([getattr(result, name) for result in results], dtype=np.float64)
    return float(values.mean()) if len(values) else math.nan


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def main() -> None:
    """Run cells and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels", description=__doc__)
    parser.add_argument("half", choices=("tuning", "judging", "all"))
    parser.add_argument("--streams", default="", help="only streams whose names contain one of these, by commas")
    parser.add_argument("--budgets", type=_numbers, default=BUDGETS)
    parser.add_argument("--seeds", type=_numbers, default=SEEDS)
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--most-share", type=float, default=SCARCE, help="of the stream that a budget may be")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    folder = Path(os.environ[CORPORA_VARIABLE])
    chosen = list(RECIPES) if options.half == "all" else recipes(options.half)
    parts = options.streams.split(",")
    chosen = [recipe for recipe in chosen if any(part in recipe.name for part in parts)]
    strategies = tuple(options.strategies.split(","))
    results = []
    for result in run_all(chosen, folder, options.seeds, strategies, options.budgets, options.most_share):
        results.append(result)
        if options.json:
            options.json.write_text(json.dumps([asdict(one) for one in results]))
    sys.stdout.write("\n".join(summary_lines(results)) + "\n")


if __name__ == "__main__":
    main()
