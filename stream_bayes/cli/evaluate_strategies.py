"""`stream-bayes evaluate --strategies` and `--repeat`: many runs, one table, one chart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console

from stream_bayes.cli.app import FAILED, print_error
from stream_bayes.cli.evaluate_runs import EvaluationTask
from stream_bayes.cli.interruption import defer_interrupt
from stream_bayes.cli.progress import SweepProgressBar
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.feedback import ACTIVE, MAX_SEED, SEED, FeedbackRegime
from stream_bayes.evaluation.process_pool import Failure
from stream_bayes.evaluation.report.strategy_report import PAGE_FILE, PICTURE_FILE, write_strategies
from stream_bayes.evaluation.serialization import order_notes
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

DEFAULT_FOLDER = Path("label-report")
"""The default folder of the chart of strategies."""


class SweepOptions(NamedTuple):
    """The options that ask for several runs."""

    strategies: str | None
    budgets: str | None
    repeat: int | None
    single_run_options: tuple[str, ...]
    """Options that were given and are valid for a single run only."""

    @property
    def is_one_pass(self) -> bool:
        """Whether there is only one run."""
        return self.strategies is None and (self.repeat or 1) == 1

    def regime(self, feedback: str | None, strategy: str | None, delay: str | None, seed: int | None) -> FeedbackRegime:
        """Return the feedback of the filter; with several strategies, what they have in common."""
        several = self.strategies is not None
        _raise_first(
            {
                "--budgets goes with --strategies; for one budget there is --feedback active:BUDGET": (
                    self.budgets is not None and not several
                ),
                "--strategies says which labels are learned: leave --feedback and --strategy away": (
                    several and (feedback is not None or strategy is not None)
                ),
            }
        )
        name = f"{ACTIVE}:1" if several else "immediate" if feedback is None else feedback
        regime = FeedbackRegime(name, strategy, delay, SEED if seed is None else seed)
        _raise_first(
            {
                "--seed goes with --strategies or --feedback active:BUDGET or partial:FRACTION: "
                "elsewhere nothing is drawn by chance": seed is not None and not regime.uses_seed
            }
        )
        return regime

    def plan(self, task: EvaluationTask, filter_name: str) -> ComparisonPlan:
        """Return the runs that the options ask for."""
        regime = task.regime
        _raise_first(
            {
                f"{''.join(self.single_run_options[:1])} is for one pass, not for --strategies or --repeat": bool(
                    self.single_run_options
                ),
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
        strategies = parse_strategies(self.strategies)
        return ComparisonPlan(task.source, filter_name, strategies, budgets, seeds, regime.delay).with_chance()


def _raise_first(problems: Mapping[str, bool]) -> None:
    for message, holds in problems.items():
        if holds:
            raise ParameterError(message)


class StrategyComparison:
    """Runs the passes of a plan and prints the results."""

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
        self._notes += order_notes(corpus.counts)
        if corpus.counts.order_note and not plan.source.is_reordered:
            self._notes.append(corpus.counts.order_note)
        self._notes += [f"{count} left out as {kind}" for kind, count in corpus.counts.problems.items()]
        self.folder = DEFAULT_FOLDER if folder is None and plan.full else folder

    def run(self, console: Console, as_json: bool) -> None:
        """Run all passes and print the results of those that finished, also after failures or Ctrl-C."""
        jobs = self._plan.jobs()
        done = list[SweepResult]()
        failed = list[Failure[Job]]()
        with defer_interrupt() as interrupts, SweepProgressBar(console, len(jobs)) as progress_bar:
            for outcome in sweep(jobs, stop=lambda: bool(interrupts)):
                if isinstance(outcome, Failure):
                    failed.append(outcome)
                else:
                    done.append(outcome)
                progress_bar.advance()
        if len(done) + len(failed) < len(jobs):
            self._notes.append(f"stopped: figures are those of {len(done)} of {len(jobs)} passes")
        if done:
            result = ComparisonResult(self._plan, self._corpus, self._messages, tuple(done), tuple(failed))
            self._print(result, as_json)
        if failed:
            print_error(
                f"{len(failed)} of {len(jobs)} passes failed, the first of them {failed[0].item}: {failed[0].reason}"
            )
        if interrupts or failed:
            raise typer.Exit(STOPPED if interrupts else FAILED)

    def _print(self, result: ComparisonResult, as_json: bool) -> None:
        notes = [*self._notes, *result.notes()]
        folder = self.folder
        paths = {} if folder is None else {"report": str(folder / PAGE_FILE), "picture": str(folder / PICTURE_FILE)}
        if as_json:
            shown = {**comparison_to_dict(result), "notes": notes, "report": None, "picture": None, **paths}
            typer.echo(json.dumps(shown, indent=2))
        else:
            files = "\n".join(f"{kind}: {path}" for kind, path in paths.items())
            typer.echo("\n\n".join(part for part in (strategies_table(result, notes), files) if part))
        # After the figures: they must not be lost if the report fails.
        if folder is not None:
            write_strategies(folder, result, notes)
