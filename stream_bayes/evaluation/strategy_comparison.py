"""Strategies side by side: which passes that takes, and what they gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.feedback import STRATEGIES, FeedbackRegime, check_strategy
from stream_bayes.evaluation.label_delay import is_whole
from stream_bayes.evaluation.process_pool import Failure
from stream_bayes.evaluation.serialization import number
from stream_bayes.evaluation.stream import StreamSource
from stream_bayes.evaluation.sweep import AreaSpread, Job, SweepResult, spread, trials

BUDGETS = (50, 100, 350, 1000, 5000)
REPEAT = 5
# Of the passes that failed; all of them are in the JSON.
_SHOWN = 5


class ComparisonPlan(NamedTuple):
    """Every strategy with every budget, once for each seed."""

    source: StreamSource
    filter_name: str
    strategies: tuple[str, ...]
    budgets: tuple[int, ...]
    seeds: tuple[int, ...]
    delay: str | None = None
    full: bool = True
    """Whether the pass with all labels belongs to it."""

    def jobs(self) -> list[Job]:
        """The passes."""
        regimes = [FeedbackRegime()] if self.full else []
        for budget in self.budgets:
            for strategy in self.strategies:
                regimes += trials(strategy, budget, self.seeds, self.delay)
        return [Job(self.source, self.filter_name, regime) for regime in regimes]

    def within(self, messages: int) -> ComparisonPlan:
        """Without the budgets that a stream of so many messages cannot use up."""
        budgets = tuple(budget for budget in self.budgets if budget < messages)
        if not budgets:
            message = f"the stream has {messages:,} messages: name smaller budgets than {min(self.budgets):,}"
            raise ParameterError(message)
        return self._replace(budgets=budgets)


class ComparisonResult(NamedTuple):
    """What the passes gave."""

    plan: ComparisonPlan
    corpus: str
    """What the stream is called."""
    messages: int
    outcomes: tuple[SweepResult, ...]
    failed: tuple[Failure[Job], ...] = ()

    @property
    def full(self) -> AreaSpread | None:
        """With all labels."""
        return self._over([one for one in self.outcomes if not one.job.regime.is_active])

    def cell(self, strategy: str, budget: int) -> AreaSpread | None:
        """One strategy with one budget, over the seeds; None if no pass has ended."""
        return self._over([one for one in self.outcomes if _is_in(one, strategy, budget)])

    def notes(self) -> list[str]:
        """What one should know of the passes."""
        waiting = max((one.waiting for one in self.outcomes), default=0)
        late = [f"up to {counted(waiting, 'label')} of a pass had not come by the end of the stream"] if waiting else []
        failed = [f"failed and left out: {one.item}: {one.reason}" for one in self.failed[:_SHOWN]]
        more = [f"failed and left out: {len(self.failed) - _SHOWN} more"] if len(self.failed) > _SHOWN else []
        return [*late, *failed, *more]

    @staticmethod
    def _over(outcomes: Sequence[SweepResult]) -> AreaSpread | None:
        return spread(outcomes) if outcomes else None


def described(found: ComparisonResult) -> dict[str, Any]:
    """All figures, not rounded; None for a metric that does not exist."""
    plan = found.plan
    cells = [(strategy, budget) for strategy in plan.strategies for budget in plan.budgets]
    return {
        "filter": plan.filter_name,
        "corpus": found.corpus,
        "messages": found.messages,
        "delay": plan.delay,
        "seeds": list(plan.seeds),
        "all_labels": _described(found.full),
        "cells": [
            {
                "strategy": strategy,
                "budget": budget,
                **(_described(found.cell(strategy, budget)) or {"passes": 0}),
                "runs": [_run(one) for one in found.outcomes if _is_in(one, strategy, budget)],
            }
            for strategy, budget in cells
        ],
        "failed": [{"pass": str(one.item), "reason": one.reason} for one in found.failed],
    }


def parse_strategies(text: str) -> tuple[str, ...]:
    """Strategies as they are written on a command line: all, or a list.

    >>> parse_strategies("margin,first")
    ('margin', 'first')
    """
    if text == "all":
        return STRATEGIES
    return tuple(dict.fromkeys(check_strategy(name.strip()) for name in text.split(",")))


def parse_budgets(text: str) -> tuple[int, ...]:
    """Budgets as they are written on a command line.

    >>> parse_budgets("100,50")
    (50, 100)
    """
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not is_whole(part) or not int(part):
            message = f"budgets must be numbers of labels, at least 1, such as 50,100,350; got {text!r:.100}"
            raise ParameterError(message)
    return tuple(sorted({int(part) for part in parts}))


def _is_in(one: SweepResult, strategy: str, budget: int) -> bool:
    regime = one.job.regime
    return regime.is_active and (regime.named, regime.budget) == (strategy, budget)


def _described(over: AreaSpread | None) -> dict[str, Any] | None:
    if over is None:
        return None
    return {name: number(value) for name, value in over._asdict().items()}


def _run(one: SweepResult) -> dict[str, Any]:
    area, *counts = one[1:]
    names = SweepResult._fields[2:]
    own = dict(zip(names, counts, strict=True))
    return {"seed": one.job.regime.seed, "one_minus_roca_percent": number(area), **own}
