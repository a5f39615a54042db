"""`stream-bayes evaluate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import FAILED, ORDER, Json, exit_now, print_error, replace_unencodable_output
from stream_bayes.cli.startup import STOPPED

if TYPE_CHECKING:
    from rich.console import Console

    from stream_bayes.cli.evaluate_runs import PassRunner

_FILTER = "default, light, the name of a baseline, or package.module:factory, such as stream_bayes:BernoulliNB."
_FEEDBACK = "Which labels the filter gets: immediate, delayed:N, first:N, partial:FRACTION or active:BUDGET."
_COMPARE = "Run default, light and every installed baseline, and print one table."
_ON_ERROR = "A message that cannot be used ends the run (fail) or is skipped and counted (skip)."
_STRATEGY = "The query strategy of active:BUDGET: epistemic, variance, margin, random, first, ..."
_DELAY = "Delay of the answers of active:BUDGET: messages (100), or time by the dates of the mails (12h, 1d)."
_SEED = "Seed of the random choices of active:BUDGET and partial:FRACTION."
_REPEAT = "Number of runs of active:BUDGET, each with its own seed; with --strategies 5 by default."
_STRATEGIES = "all, or names separated by commas: several budgets, beside chance at the same pace."
_BUDGETS = "Label budgets for --strategies; by default 50,100,350,1000,5000."
_LAST_SEED = 2**53 - 1
_MAX_REPEATED = 10_000
_INTERLEAVE = "Take one message of each mailbox in turn; a mailbox is the id up to the first /."


def evaluate(
    corpus: Annotated[Path, typer.Argument(help="A file or a folder of mail with labels.", show_default=False)],
    name: Annotated[str, typer.Option("--filter", help=_FILTER)] = "default",
    feedback: Annotated[str | None, typer.Option(help=_FEEDBACK, show_default="immediate")] = None,
    strategy: Annotated[str | None, typer.Option(metavar="NAME", help=_STRATEGY)] = None,
    delay: Annotated[str | None, typer.Option(metavar="N|SPAN", help=_DELAY)] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=_LAST_SEED, help=_SEED, show_default="1")] = None,
    repeat: Annotated[int | None, typer.Option(min=1, max=_MAX_REPEATED, metavar="K", help=_REPEAT)] = None,
    strategies: Annotated[str | None, typer.Option(metavar="all|NAMES", help=_STRATEGIES)] = None,
    budgets: Annotated[str | None, typer.Option(metavar="N,N,..", help=_BUDGETS)] = None,
    shuffle: Annotated[int | None, typer.Option(min=0, metavar="SEED", help="Shuffle the messages.")] = None,
    interleave: Annotated[bool, typer.Option("--interleave", help=_INTERLEAVE)] = False,
    order: Annotated[str, typer.Option(metavar="auto|time|mixed|stored", help=ORDER)] = "auto",
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N messages.")] = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only messages whose id begins with this.")] = "",
    on_error: Annotated[str, typer.Option(metavar="fail|skip", help=_ON_ERROR)] = "fail",
    threshold: Annotated[float, typer.Option(metavar="P", help="Probability above which it counts as spam.")] = 0.5,
    per_member: Annotated[bool, typer.Option("--per-member", help="Show each member of the filter alone.")] = False,
    as_json: Json = False,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write an HTML report there.")] = None,
    compare: Annotated[bool, typer.Option("--compare", help=_COMPARE)] = False,
) -> None:
    """Run a spam filter over a corpus and measure it.

    Each message in order is scored first and learned second, as in the TREC spam track.
    """
    from stream_bayes.demo.startup_screen import StartupScreen

    single_run_options = {"--compare": compare, "--per-member": per_member, "--threshold": threshold != 0.5}
    console = _prepare_console()
    with StartupScreen(console, exit_now):
        from stream_bayes.cli.evaluate_runs import (
            EvaluationTask,
            PassRunner,
            report_path,
            select_filters,
            write_evaluation_report,
        )
        from stream_bayes.cli.evaluate_strategies import StrategyComparison, SweepOptions
        from stream_bayes.evaluation.stream import StreamSource

        single_run_only = tuple(option for option, is_given in single_run_options.items() if is_given)
        options = SweepOptions(strategies, budgets, repeat, single_run_only)
        source = StreamSource(corpus, prefix, on_error, shuffle, limit, interleave, order)
        task = EvaluationTask(source, options.regime(feedback, strategy, delay, seed), threshold)
        task.check()
        comparison = None if options.is_one_pass else StrategyComparison(options.plan(task, name), report)
        runner = PassRunner(select_filters(name, everything=compare))
        runner.warm_up(task.regime)
        _make_folder(report if comparison is None else comparison.folder)
    if comparison is not None:
        comparison.run(console, as_json)
    else:
        runner.run(task, console)
        if runner.done:
            path = None if report is None else report_path(report)
            typer.echo(
                _format_json(runner, path, compare) if as_json else _format_text(runner, path, compare, per_member)
            )
            # After the figures: they must not be lost if the report fails.
            if report is not None:
                write_evaluation_report(report, runner, task)
        if runner.stopped:
            raise typer.Exit(STOPPED)


def _prepare_console() -> Console:
    """Return the console for progress; factories in the working directory become importable."""
    from rich.console import Console

    replace_unencodable_output()
    sys.path.append(str(Path.cwd()))
    return Console(stderr=True)


def _make_folder(path: Path | None) -> None:
    """Create the folder before the evaluation, so that it fails early."""
    try:
        if path is not None:
            path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        print_error(f"cannot write a report to {path}: {(problem.strerror or str(problem)).lower()}")
        raise typer.Exit(FAILED) from problem


def _format_json(runner: PassRunner, path: Path | None, compare: bool) -> str:
    from stream_bayes.evaluation import baselines
    from stream_bayes.evaluation.serialization import pass_to_dict

    found = [{**pass_to_dict(*done), "report": None if path is None else str(path)} for done in runner.done]
    together = {"filters": found, "failed": runner.failed, "missing": baselines.missing()}
    return json.dumps(together if compare else found[0], indent=2)


def _format_text(runner: PassRunner, path: Path | None, compare: bool, per_member: bool) -> str:
    from stream_bayes.evaluation import baselines
    from stream_bayes.evaluation.tables import comparison_table, pass_table

    runs, summaries, _ = zip(*runner.done, strict=True)
    if compare:
        text = comparison_table(runs, summaries, baselines.missing(), runner.notes())
    else:
        text = pass_table(runs[0], summaries[0], per_member=per_member, notes=runner.notes())
    return text if path is None else f"{text}\n\nreport: {path}"
