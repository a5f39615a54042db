"""`stream-bayes evaluate --strategies` and `--repeat`: many passes, one table, one picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console

from stream_bayes.cli.app import FAILED, say
from stream_bayes.cli.evaluate_runs import Task
from stream_bayes.cli.interruption import interruption
from stream_bayes.cli.progress import CountBar
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.feedback import ACTIVE, MAX_SEED, SEED, FeedbackRegime
from stream_bayes.evaluation.process_pool import Failure
from stream_bayes.evaluation.report.strategy_report import PAGE_FILE, PICTURE_FILE, write_strategies
from stream_bayes.evaluation.strategy_comparison import (
    BUDGETS,
    REPEAT,
    ComparisonPlan,
    ComparisonResult,
    comparison_to_dict,
    parse_budgets,
    parse_strategies,
)
from stream_bayes.evaluation.sweep import Job, SweepResult, sweep
from stream_bayes.evaluation.tables import strategies_table

FOLDER = Path("label-report")
"""Where the picture of strategies goes unless somebody says otherwise."""


class SweepOptions(NamedTuple):
    """The options that ask for many passes, as they were given."""

    strategies: str | None
    budgets: str | None
    repeat: int | None
    others: tuple[str, ...]
    """Options that were given and are for one pass only."""

    @property
    def is_one_pass(self) -> bool:
        """Whether there is only one pass to run after all."""
        return self.strategies is None and (self.repeat or 1) == 1

    def regime(self, feedback: str | None, strategy: str | None, delay: str | None, seed: int | None) -> FeedbackRegime:
        """What is told to the filter; with several strategies, what is common to them."""
        several = self.strategies is not None
        _refuse_first(
            {
                "--budgets goes with --strategies; for one budget there is --feedback active:BUDGET": (
                    self.budgets is not None and not several
                ),
                "--strategies says which labels are told: leave --feedback and --strategy away": (
                    several and (feedback is not None or strategy is not None)
                ),
            }
        )
        told = f"{ACTIVE}:1" if several else "immediate" if feedback is None else feedback
        regime = FeedbackRegime(told, strategy, delay, SEED if seed is None else seed)
        _refuse_first(
            {
                "--seed goes with --strategies or --feedback active:BUDGET or partial:FRACTION: "
                "elsewhere nothing is drawn by chance": seed is not None and not regime.uses_seed
            }
        )
        return regime

    def plan(self, task: Task, filter_name: str) -> ComparisonPlan:
        """The passes that are wished for."""
        regime = task.regime
        _refuse_first(
            {
                f"{''.join(self.others[:1])} is for one pass, not for --strategies or --repeat": bool(self.others),
                "--repeat goes with --feedback active:BUDGET or --strategies": not regime.is_active,
                f"--seed and --repeat together must stay below {MAX_SEED}": (
                    regime.seed + (self.repeat or REPEAT) > MAX_SEED
                ),
            }
        )
        seeds = tuple(range(regime.seed, regime.seed + (self.repeat or REPEAT)))
        if self.strategies is None:
            return ComparisonPlan(
                task.source, filter_name, (regime.strategy_name,), (regime.budget,), seeds, regime.delay, full=False
            )
        budgets = BUDGETS if self.budgets is None else parse_budgets(self.budgets)
        return ComparisonPlan(task.source, filter_name, parse_strategies(self.strategies), budgets, seeds, regime.delay)


def _refuse_first(problems: Mapping[str, bool]) -> None:
    for message, holds in problems.items():
        if holds:
            raise ParameterError(message)


class Comparison:
    """The passes of a plan, and what is printed of them."""

    def __init__(self, plan: ComparisonPlan, folder: Path | None) -> None:
        self._notes: list[str] = []
        corpus = plan.source.open()
        stream = plan.source.stream(corpus)
        self._corpus = stream.corpus
        self._messages = sum(1 for _ in stream)
        self._plan = plan.within(self._messages) if plan.full else plan
        if self._plan.budgets != plan.budgets:
            large = ", ".join(f"{budget:,}" for budget in plan.budgets if budget not in self._plan.budgets)
            self._notes.append(f"left out, since the stream has no more than {self._messages:,} messages: {large}")
        self._notes += [f"{count} left out as {kind}" for kind, count in corpus.counts.problems.items()]
        self.folder = FOLDER if folder is None and plan.full else folder

    def perform(self, console: Console, as_json: bool) -> None:
        """Run all passes and print what they gave: all that are done, whether others fail or Ctrl-C ends them."""
        jobs = self._plan.jobs()
        done = list[SweepResult]()
        failed = list[Failure[Job]]()
        with interruption() as pressed, CountBar(console, len(jobs)) as tally:
            for outcome in sweep(jobs, stop=lambda: bool(pressed)):
                if isinstance(outcome, Failure):
                    failed.append(outcome)
                else:
                    done.append(outcome)
                tally.add()
        if len(done) + len(failed) < len(jobs):
            self._notes.append(f"stopped: figures are those of {len(done)} of {len(jobs)} passes")
        if done:
            self._show(ComparisonResult(self._plan, self._corpus, self._messages, tuple(done), tuple(failed)), as_json)
        if failed:
            say(f"{len(failed)} of {len(jobs)} passes failed, the first of them {failed[0].item}: {failed[0].reason}")
        if pressed or failed:
            raise typer.Exit(STOPPED if pressed else FAILED)

    def _show(self, found: ComparisonResult, as_json: bool) -> None:
        notes = [*self._notes, *found.notes()]
        folder = self.folder
        paths = {} if folder is None else {"report": str(folder / PAGE_FILE), "picture": str(folder / PICTURE_FILE)}
        if as_json:
            shown = {**comparison_to_dict(found), "notes": notes, "report": None, "picture": None, **paths}
            typer.echo(json.dumps(shown, indent=2))
        else:
            files = "\n".join(f"{kind}: {path}" for kind, path in paths.items())
            typer.echo("\n\n".join(part for part in (strategies_table(found, notes), files) if part))
        if folder is not None:  # after the figures, which are not to be lost if this fails
            write_strategies(folder, found, notes)
