"""The comparison of strategies of active learning: the plan of passes, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.feedback import STRATEGIES, FeedbackRegime, check_strategy
from stream_bayes.evaluation.label_delay import is_count
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

    def within(self, messages: int) -> ComparisonPlan:
        """The plan without budgets that are not below this number of messages."""
        budgets = tuple(budget for budget in self.budgets if budget < messages)
        if not budgets:
            message = f"the stream has {messages:,} messages: name smaller budgets than {min(self.budgets):,}"
            raise ParameterError(message)
        return self._replace(budgets=budgets)


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
        return self._over([one for one in self.outcomes if not one.job.regime.is_active])

    def cell(self, strategy: str, budget: int) -> AreaSpread | None:
        """The result of one strategy with one budget over the seeds; None without passes."""
        return self._over([one for one in self.outcomes if _matches(one, strategy, budget)])

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


def comparison_to_dict(result: ComparisonResult) -> dict[str, Any]:
    """The comparison as a dict: all figures, not rounded; None for a metric that does not exist."""
    plan = result.plan
    cells = [(strategy, budget) for strategy in plan.strategies for budget in plan.budgets]
    return {
        "filter": plan.filter_name,
        "corpus": result.corpus,
        "messages": result.messages,
        "delay": plan.delay,
        "seeds": list(plan.seeds),
        "all_labels": _spread_to_dict(result.full),
        "cells": [
            {
                "strategy": strategy,
                "budget": budget,
                **(_spread_to_dict(result.cell(strategy, budget)) or {"passes": 0}),
                "runs": [_result_to_dict(one) for one in result.outcomes if _matches(one, strategy, budget)],
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


def _spread_to_dict(area_spread: AreaSpread | None) -> dict[str, Any] | None:
    if area_spread is None:
        return None
    return {name: finite_or_none(value) for name, value in area_spread._asdict().items()}


def _result_to_dict(one: SweepResult) -> dict[str, Any]:
    area, *counts = one[1:]
    names = SweepResult._fields[2:]
    own = dict(zip(names, counts, strict=True))
    return {"seed": one.job.regime.seed, "one_minus_roca_percent": finite_or_none(area), **own}
