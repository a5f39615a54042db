"""`stream-bayes demo`."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import Json, exit_now, replace_unencodable_output
from stream_bayes.cli.startup import STOPPED
from stream_bayes.signals import handle_signals

if TYPE_CHECKING:
    from rich.console import Console

    from stream_bayes.demo.figures import DemoFigures
    from stream_bayes.demo.mail_sources import MailSource
    from stream_bayes.demo.scenario import ScenarioOptions
    from stream_bayes.demo.workspace import Workspace

_CORPUS = "Real labelled mail instead of generated mail; it is shuffled with --seed."
_WITH_WEB = "Answer the label requests yourself on the web page, until Ctrl-C; 5 mails per second."
_FOLDER = "Folder of the log, the checkpoints and the chart; by default a new temporary folder, which is kept."


def demo(
    mails: Annotated[int, typer.Option(min=20, metavar="N", help="Maximum number of mails.")] = 6000,
    budget: Annotated[int, typer.Option(min=0, metavar="N", help="Label budget.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated mailbox, or of the order of real mail.")] = 1,
    corpus: Annotated[Path | None, typer.Option(metavar="PATH", help=_CORPUS)] = None,
    folder: Annotated[Path | None, typer.Option(metavar="PATH", help=_FOLDER)] = None,
    fast: Annotated[bool, typer.Option("--fast", help="As fast as possible.")] = False,
    with_web: Annotated[bool, typer.Option("--with-web", help=_WITH_WEB)] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="N", help="Port of the page; 0: any.")] = 8765,
    as_json: Json = False,
) -> None:
    """Filter a mailbox live (about 70 seconds).

    A worker process reads unlabelled mails from a log, predicts each, and requests the labels of uncertain ones. Half
    way it is killed with SIGKILL, restarted, and recovers. With --with-web it is not killed, and you answer the label
    requests yourself.
    """
    from rich.console import Console

    from stream_bayes.demo.startup_screen import StartupScreen

    replace_unencodable_output()
    with StartupScreen(Console(stderr=True), exit_now):
        from stream_bayes.demo.mail_sources import corpus_mails, generated_mails
        from stream_bayes.demo.scenario import ScenarioOptions
        from stream_bayes.demo.workspace import Workspace

        source = generated_mails(seed, mails) if corpus is None else corpus_mails(corpus, mails, seed)
        workspace = Workspace(folder)
    console = Console(stderr=True) if as_json else Console()
    if with_web:
        _run_with_labeller(source, workspace, budget, port, console, as_json=as_json)
        return
    figures = _run_scenario(source, workspace, ScenarioOptions(budget, fast), console, quiet=as_json)
    if figures is None:
        if workspace.temporary:
            shutil.rmtree(workspace.folder, ignore_errors=True)
        raise typer.Exit(STOPPED)
    if as_json:
        typer.echo(json.dumps({**figures.as_dict(), "picture": str(workspace.picture)}, indent=2))
        return
    from stream_bayes.demo.summary import commands, summary

    console.print(summary(figures, workspace), highlight=False)
    console.print(commands(figures, workspace, _this_program()), markup=False, highlight=False, soft_wrap=True)


def _run_scenario(
    source: MailSource, workspace: Workspace, options: ScenarioOptions, console: Console, *, quiet: bool
) -> DemoFigures | None:
    from stream_bayes.demo.display import open_display
    from stream_bayes.demo.picture import learning_picture
    from stream_bayes.demo.scenario import Scenario

    stopped = _stop_requested()
    with (
        open_display(console, quiet=quiet) as display,
        Scenario(source, workspace, options, display.show, stopped) as scenario,
    ):
        figures = scenario.run()
    if figures is not None:
        picture = learning_picture(*scenario.scores.arrays(), source.campaigns, figures.crash)
        workspace.picture.write_text(picture, encoding="utf-8")
    return figures


def _run_with_labeller(
    source: MailSource, workspace: Workspace, budget: int, port: int, console: Console, *, as_json: bool
) -> None:
    from stream_bayes.demo.live_labelling import run_with_web

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    workspace.write_settings(budget)
    result = run_with_web(source, workspace, port, say, _stop_requested())
    if as_json:
        typer.echo(json.dumps({**result._asdict(), "folder": str(workspace.folder)}, indent=2))
        return
    console.print(
        f"{result.mails:,} mails, {result.requested:,} label requests, {result.answered:,} of them answered.",
        highlight=False,
    )
    console.print(f"Everything is in {workspace.folder}. To go on:", highlight=False, soft_wrap=True)
    for command in ("run", "web"):
        console.print(f"  {_this_program()} {command} --config {workspace.settings}", highlight=False, soft_wrap=True)


def _this_program() -> str:
    """Return the command that runs this program."""
    if shutil.which("stream-bayes"):
        return "stream-bayes"
    program = Path(sys.argv[0])
    return str(program) if program.name == "stream-bayes" else f"{sys.executable} -m stream_bayes.cli"


def _stop_requested() -> Callable[[], bool]:
    """Install signal handlers; return whether a signal has arrived. They stay until the worker has ended."""
    signals: list[int] = []
    handle_signals(lambda number, _: signals.append(number), signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return lambda: bool(signals)
