"""`stream-bayes evaluate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Set
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import FAILED, Json, replace_what_cannot_be_written, say, stop_at_once
from stream_bayes.cli.evaluate_runs import Passes, Task
from stream_bayes.cli.startup import STOPPED
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.report import REPORT_FILE, worst_ids, write_report
from stream_bayes.mail.render.summary import subject

if TYPE_CHECKING:
    from rich.console import Console

    from stream_bayes.cli.evaluate_runs import Passes, Task

_FILTER = "default, light, the name of a peer, or package.module:factory."
_FEEDBACK = "Which labels are told: immediate, delayed:N, first:N, partial:FRACTION or active:BUDGET."
_COMPARE = "Run default, light and every peer that is installed, and print one table."
_ON_ERROR = "What is wrong in the corpus ends the pass (fail) or is left out and counted (skip)."
_STRATEGY = "Which labels active:BUDGET asks for: epistemic, variance, margin, random, first, ..."
_DELAY = "How late the answers of active:BUDGET come: messages (100), or time by the dates of the mails (12h, 1d)."
_SEED = "Of what active:BUDGET and partial:FRACTION draw by chance."
_REPEAT = "So many passes of active:BUDGET, each with a seed of its own; with --strategies 5 unless named."
_STRATEGIES = "all, or some separated by commas: a table and a picture of them with several budgets."
_BUDGETS = "For --strategies; 50,100,350,1000,5000 unless named."
_LAST_SEED = 2**53 - 1
_MAX_REPEATED = 10_000
_INTERLEAVE = "Mailboxes, which are ids up to the first /, message by message in turn."


def evaluate(
    corpus: Annotated[Path, typer.Argument(help="A file or a folder of mail with labels.", show_default=False)],
    name: Annotated[str, typer.Option("--filter", help=_FILTER)] = "default",
    feedback: Annotated[str | None, typer.Option(help=_FEEDBACK, show_default="immediate")] = None,
    strategy: Annotated[str | None, typer.Option(metavar="REPORT_FILE", help=_STRATEGY)] = None,
    delay: Annotated[str | None, typer.Option(metavar="N|SPAN", help=_DELAY)] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=_LAST_SEED, help=_SEED, show_default="1")] = None,
    repeat: Annotated[int | None, typer.Option(min=1, max=_MAX_REPEATED, metavar="K", help=_REPEAT)] = None,
    strategies: Annotated[str | None, typer.Option(metavar="all|NAMES", help=_STRATEGIES)] = None,
    budgets: Annotated[str | None, typer.Option(metavar="N,N,..", help=_BUDGETS)] = None,
    shuffle: Annotated[int | None, typer.Option(min=0, metavar="SEED", help="A random order of the messages.")] = None,
    interleave: Annotated[bool, typer.Option("--interleave", help=_INTERLEAVE)] = False,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N messages.")] = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only messages whose id begins like this.")] = "",
    on_error: Annotated[str, typer.Option(metavar="fail|skip", help=_ON_ERROR)] = "fail",
    threshold: Annotated[float, typer.Option(metavar="P", help="Called spam above this probability.")] = 0.5,
    per_member: Annotated[bool, typer.Option("--per-member", help="Show each part of the filter alone.")] = False,
    as_json: Json = False,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a page with curves there.")] = None,
    compare: Annotated[bool, typer.Option("--compare", help=_COMPARE)] = False,
) -> None:
    """Run a spam filter over a corpus and measure it.

    In order, each message is scored first and learned second, as in the spam track of TREC.
    """
    from stream_bayes.demo.startup_screen import StartupScreen

    given = {"--compare": compare, "--per-member": per_member, "--threshold": threshold != 0.5}
    console = _begin()
    with StartupScreen(console, stop_at_once):
        from stream_bayes.cli.evaluate_runs import Passes, Task, chosen_filters
        from stream_bayes.cli.evaluate_strategies import Comparison, SweepOptions
        from stream_bayes.evaluation.stream import StreamSource

        wish = SweepOptions(strategies, budgets, repeat, tuple(option for option, wanted in given.items() if wanted))
        source = StreamSource(corpus, prefix, on_error, shuffle, limit, interleave)
        task = Task(source, wish.regime(feedback, strategy, delay, seed), threshold)
        task.check()
        many = None if wish.is_one_pass else Comparison(wish.plan(task, name), report)
        passes = Passes(chosen_filters(name, everything=compare))
        passes.warm_up(task.regime)
        _make_folder(report if many is None else many.folder)
    if many is not None:
        many.perform(console, as_json)
    else:
        passes.run(task, console)
        _show(passes, task, report, as_json, compare, per_member)


def _begin() -> Console:
    """Make everything ready, and return where progress is shown."""
    from rich.console import Console

    replace_what_cannot_be_written()
    # Where `package.module:factory` is looked for besides what is installed.
    sys.path.append(str(Path.cwd()))
    return Console(stderr=True)


def _show(passes: Passes, task: Task, report: Path | None, as_json: bool, compare: bool, per_member: bool) -> None:
    from stream_bayes.cli.evaluate import page_in, write_page

    if passes.done:
        page = None if report is None else page_in(report)
        typer.echo(_for_machines(passes, page, compare) if as_json else _for_people(passes, page, compare, per_member))
        if report is not None:  # after the figures, which are not to be lost if this fails
            write_page(report, passes, task)
    if passes.stopped:
        raise typer.Exit(STOPPED)


def _make_folder(path: Path | None) -> None:
    """Before the work, not after it."""
    try:
        if path is not None:
            path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        say(f"cannot write a report to {path}: {(problem.strerror or str(problem)).lower()}")
        raise typer.Exit(FAILED) from problem


def _for_machines(passes: Passes, page: Path | None, compare: bool) -> str:
    from stream_bayes.evaluation import baselines
    from stream_bayes.evaluation.serialization import pass_to_dict

    found = [{**pass_to_dict(*done), "report": None if page is None else str(page)} for done in passes.done]
    together = {"filters": found, "failed": passes.failed, "missing": baselines.missing()}
    return json.dumps(together if compare else found[0], indent=2)


def _for_people(passes: Passes, page: Path | None, compare: bool, per_member: bool) -> str:
    from stream_bayes.evaluation import baselines
    from stream_bayes.evaluation.tables import comparison_table, pass_table

    runs, summaries, _ = zip(*passes.done, strict=True)
    if compare:
        text = comparison_table(runs, summaries, baselines.missing(), passes.notes())
    else:
        text = pass_table(runs[0], summaries[0], per_member=per_member, notes=passes.notes())
    return text if page is None else f"{text}\n\nreport: {page}"


def page_in(folder: Path) -> Path:
    """Where `write_page` writes to."""
    return folder / REPORT_FILE


def write_page(folder: Path, passes: Passes, task: Task) -> Path:
    """Write the report of these passes; the corpus is read again for the subjects of the worst mistakes."""
    runs, summaries, _ = zip(*passes.done, strict=True)
    wanted = worst_ids(runs, task.threshold)
    subjects = {mail.id: subject(mail.raw) for mail in _found(task, wanted)}
    return write_report(folder, runs, summaries, subjects, passes.notes())


def _found(task: Task, wanted: Set[str]) -> Iterator[Mail]:
    left = set(wanted)
    # What is wrong in the corpus has been said; it is no reason to lose the report now.
    mails = iter(task.source._replace(on_error="skip").open())
    while left:
        mail = next(mails, None)
        if mail is None:
            return
        if mail.id in left:
            left.remove(mail.id)
            yield mail
