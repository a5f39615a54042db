"""The comparison of strategies of active learning: the plan of passes, and their results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.feedback import FIRST, PACED, STRATEGIES, FeedbackRegime, check_strategy
from stream_bayes.evaluation.formatting import format_percent
from stream_bayes.evaluation.label_delay import is_count
from stream_bayes.evaluation.pass_figures import NOISE, BestMember, best_member, is_within_noise, ratio
from stream_bayes.evaluation.process_pool import Failure
from stream_bayes.evaluation.serialization import finite_or_none
from stream_bayes.evaluation.stream import StreamSource
from stream_bayes.evaluation.sweep import AreaSpread, Job, SweepResult, regimes_by_seed, spread

BUDGETS = (50, 100, 350, 1000, 5000)
REPEAT = 5
# The number of failed passes in the notes; the JSON has all of them.
_MAX_FAILURES = 5


class ComparisonPlan(NamedTuple):
    """Every strategy with every budget, once for each seed."""

    source: StreamSource
    filter_name: str
    strategies: tuple[str, ...]
    budgets: tuple[int, ...]
    seeds: tuple[int, ...]
    delay: str | None = None
    full: bool = True
    """Whether to run a pass with all labels too."""

    def jobs(self) -> list[Job]:
        """The passes to run."""
        regimes = [FeedbackRegime()] if self.full else []
        for budget in self.budgets:
            for strategy in self.strategies:
                regimes += regimes_by_seed(strategy, budget, self.seeds, self.delay)
        return [Job(self.source, self.filter_name, regime) for regime in regimes]

    def with_chance(self) -> ComparisonPlan:
        """The plan with chance at the same pace among its strategies, last unless it is named."""
        return self._replace(strategies=tuple(dict.fromkeys((*self.strategies, PACED))))

    def within(self, messages: int) -> ComparisonPlan:
        """The plan without budgets that are not below this number of messages."""
        budgets = tuple(budget for budget in self.budgets if budget < messages)
        if not budgets:
            message = f"the stream has {messages:,} messages: name smaller budgets than {min(self.budgets):,}"
            raise ParameterError(message)
        return self._replace(budgets=budgets)


class ComparedCell(NamedTuple):
    """One strategy with one budget: means over the seeds, and what they are compared with. NaN: it does not exist."""

    strategy: str
    budget: int
    area: AreaSpread
    chance: float
    """(1-ROCA)% of chance at the same pace."""
    over_chance: float
    """(1-ROCA)% divided by that of chance: below 1 the strategy is better."""
    is_chance_noise: bool | None
    """Whether the difference to chance is within noise; None without chance or with one seed."""
    member: BestMember | None
    """The best fusion member in the same passes; None without members."""
    over_member: float
    """(1-ROCA)% divided by that of the best member: below 1 the fusion is better."""
    late_error: float
    """The share of misclassified messages among those of late sources."""
    spam_in_labels: float
    """The share of spam among the labels."""
    is_best: bool
    """Whether no strategy has a smaller mean with this budget."""
    is_best_noise: bool | None
    """Whether the difference to the best strategy is within noise; None with one seed."""


class ComparisonResult(NamedTuple):
    """The results of the passes."""

    plan: ComparisonPlan
    corpus: str
    """The name of the stream."""
    messages: int
    outcomes: tuple[SweepResult, ...]
    failed: tuple[Failure[Job], ...] = ()

    @property
    def full(self) -> AreaSpread | None:
        """The result with all labels."""
        return self._over(self._full_passes)

    def cell(self, strategy: str, budget: int) -> AreaSpread | None:
        """The result of one strategy with one budget over the seeds; None without passes."""
        return self._over(self.passes(strategy, budget))

    def passes(self, strategy: str, budget: int) -> list[SweepResult]:
        """The results of one strategy with one budget, one for each seed."""
        return [one for one in self.outcomes if _matches(one, strategy, budget)]

    def compared(self, budget: int) -> list[ComparedCell]:
        """The strategies with one budget, beside what they are compared with; those without passes are left out."""
        passes = {strategy: self.passes(strategy, budget) for strategy in self.plan.strategies}
        known = {strategy: own for strategy, own in passes.items() if own}
        means = {strategy: spread(own).mean for strategy, own in known.items()}
        ranked = {strategy: mean for strategy, mean in means.items() if not math.isnan(mean)}
        best = known[min(ranked, key=lambda strategy: ranked[strategy])] if ranked else []
        return [_compared(strategy, budget, own, known.get(PACED, []), best) for strategy, own in known.items()]

    @property
    def full_late_error(self) -> float:
        """The error on late sources with all labels; NaN without such a pass."""
        return _mean(one.figures.late_error for one in self._full_passes)

    @property
    def spam(self) -> float:
        """The share of spam in the stream."""
        return self.outcomes[0].figures.spam if self.outcomes else math.nan

    @property
    def late(self) -> int:
        """The number of messages of late sources."""
        return self.outcomes[0].figures.late if self.outcomes else 0

    @property
    def _full_passes(self) -> list[SweepResult]:
        return [one for one in self.outcomes if not one.job.regime.is_active]

    def notes(self) -> list[str]:
        """Remarks on the passes."""
        waiting = max((one.waiting for one in self.outcomes), default=0)
        late = [f"up to {counted(waiting, 'label')} of a pass had not come by the end of the stream"] if waiting else []
        failed = [f"failed and left out: {one.item}: {one.reason}" for one in self.failed[:_MAX_FAILURES]]
        others = len(self.failed) - _MAX_FAILURES
        more = [f"failed and left out: {others} more"] if others > 0 else []
        return [*late, *failed, *more]

    @staticmethod
    def _over(outcomes: Sequence[SweepResult]) -> AreaSpread | None:
        return spread(outcomes) if outcomes else None


def _compared(
    strategy: str, budget: int, own: list[SweepResult], chance: list[SweepResult], best: list[SweepResult]
) -> ComparedCell:
    area = spread(own)
    rival = spread(chance).mean if chance else math.nan
    member = best_member([one.figures.members for one in own])
    return ComparedCell(
        strategy,
        budget,
        area,
        chance=rival,
        over_chance=ratio(area.mean, rival),
        is_chance_noise=_is_noise(own, chance),
        member=member,
        over_member=math.nan if member is None else ratio(area.mean, member.one_minus_roca_percent),
        late_error=_mean(one.figures.late_error for one in own),
        spam_in_labels=_mean(one.figures.spam_in_labels for one in own),
        is_best=own is best,
        is_best_noise=_is_noise(own, best),
    )


def _is_noise(own: list[SweepResult], rival: list[SweepResult]) -> bool | None:
    """Whether the difference of the means is within noise; None if the spread over the seeds is not known."""
    areas = [[one.figures.one_minus_roca_percent for one in passes] for passes in (own, rival)]
    # `first` does not depend on the seed: its only pass has no noise.
    alone = [passes for passes in (own, rival) if len(passes) == 1 and passes[0].job.regime.strategy_name != FIRST]
    if alone or not own or not rival or np.isnan([*areas[0], *areas[1]]).any():
        return None
    return is_within_noise(*areas)


def _mean(values: Iterable[float]) -> float:
    """The mean of the values that exist; NaN if there are none."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def comparison_legend(result: ComparisonResult) -> list[str]:
    """The legend of a table of compared cells: its marks and ratios, and the figures of the stream."""
    late = "no late sources by List-Id or From"
    if result.late:
        full = "" if result.full is None else f", error with all labels {format_percent(result.full_late_error)}"
        late = f"late sources: {counted(result.late, 'message')}{full}"
    noise = f"~ noise: within {NOISE:g} standard errors of the best, or of chance"
    alone = "one seed, so it is not known which differences are noise"
    return [
        f"over: the ratio to chance at the same pace ({PACED}), or to the member",
        f"* the best; {alone if len(result.plan.seeds) == 1 else noise}",
        f"spam in the stream: {format_percent(result.spam)}; {late}",
    ]


def comparison_to_dict(result: ComparisonResult) -> dict[str, Any]:
    """The comparison as a dict: all figures, not rounded; None for a metric that does not exist."""
    plan = result.plan
    compared = {(cell.strategy, cell.budget): cell for budget in plan.budgets for cell in result.compared(budget)}
    cells = [(strategy, budget) for strategy in plan.strategies for budget in plan.budgets]
    return {
        "filter": plan.filter_name,
        "corpus": result.corpus,
        "messages": result.messages,
        "spam": finite_or_none(result.spam),
        "late_messages": result.late,
        "delay": plan.delay,
        "seeds": list(plan.seeds),
        "all_labels": _full_to_dict(result),
        "cells": [
            {
                "strategy": strategy,
                "budget": budget,
                **_cell_to_dict(compared.get((strategy, budget))),
                "runs": [_result_to_dict(one) for one in result.passes(strategy, budget)],
            }
            for strategy, budget in cells
        ],
        "failed": [{"pass": str(one.item), "reason": one.reason} for one in result.failed],
    }


def parse_strategies(text: str) -> tuple[str, ...]:
    """Parse a list of strategies: "all", or names separated by commas.

    >>> parse_strategies("margin,first")
    ('margin', 'first')
    """
    if text == "all":
        return STRATEGIES
    return tuple(dict.fromkeys(check_strategy(name.strip()) for name in text.split(",")))


def parse_budgets(text: str) -> tuple[int, ...]:
    """Parse a list of budgets, separated by commas, and sort it.

    >>> parse_budgets("100,50")
    (50, 100)
    """
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not is_count(part) or not int(part):
            message = f"budgets must be numbers of labels, at least 1, such as 50,100,350; got {text!r:.100}"
            raise ParameterError(message)
    return tuple(sorted({int(part) for part in parts}))


def _matches(one: SweepResult, strategy: str, budget: int) -> bool:
    regime = one.job.regime
    return regime.is_active and (regime.strategy_name, regime.budget) == (strategy, budget)


def _full_to_dict(result: ComparisonResult) -> dict[str, Any] | None:
    if result.full is None:
        return None
    return {**_finite(result.full._asdict()), "late_error": finite_or_none(result.full_late_error)}


def _cell_to_dict(cell: ComparedCell | None) -> dict[str, Any]:
    if cell is None:
        return {"passes": 0}
    member = None if cell.member is None else _finite({**cell.member._asdict(), "ratio": cell.over_member})
    return {
        **_finite(cell.area._asdict()),
        "chance": {
            **_finite({"one_minus_roca_percent": cell.chance, "ratio": cell.over_chance}),
            "within_noise": cell.is_chance_noise,
        },
        "best_member": member,
        "late_error": finite_or_none(cell.late_error),
        "spam_in_labels": finite_or_none(cell.spam_in_labels),
        "best": cell.is_best,
        "within_noise_of_best": cell.is_best_noise,
    }


def _result_to_dict(one: SweepResult) -> dict[str, Any]:
    figures = one.figures._asdict()
    members = _finite(figures.pop("members"))
    for shared in ("spam", "late"):
        del figures[shared]
    counts = {"audited": one.audited, "waiting": one.waiting}
    return {"seed": one.job.regime.seed, **_finite(figures), **counts, "members_one_minus_roca_percent": members}


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: finite_or_none(value) if isinstance(value, float) else value for name, value in values.items()}
