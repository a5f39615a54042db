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
    from stream_bayes.demo.mail_sources import LabelledMails
    from stream_bayes.demo.scenario import ScenarioOptions
    from stream_bayes.demo.workspace import Workspace

_CORPUS = "Real mail with labels instead of generated mail; it is shuffled, in an order that --seed chooses."
_WITH_WEB = "You are the labeller: open the page, and go on until Ctrl-C; 5 mails come in a second."
_FOLDER = "Where the log, the checkpoints and the picture go; by default a new temporary folder, which is kept."


def demo(
    mails: Annotated[int, typer.Option(min=20, metavar="N", help="How many mails, at most.")] = 6000,
    budget: Annotated[int, typer.Option(min=0, metavar="N", help="How many labels may be asked for.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Which mailbox is made up, or which order real mail has.")] = 1,
    corpus: Annotated[Path | None, typer.Option(metavar="PATH", help=_CORPUS)] = None,
    folder: Annotated[Path | None, typer.Option(metavar="PATH", help=_FOLDER)] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Leave out the pacing.")] = False,
    with_web: Annotated[bool, typer.Option("--with-web", help=_WITH_WEB)] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="N", help="Of the page; 0: any.")] = 8765,
    as_json: Json = False,
) -> None:
    """Watch a mailbox being filtered live (about 70 seconds).

    A worker in a process of its own reads mails without labels from a log, predicts each, and asks for the labels of
    those it is unsure of. In the middle it is killed, and goes on as if nothing had happened. With --with-web nobody is
    killed, and what it asks you answer yourself.
    """
    from rich.console import Console

    from stream_bayes.demo.startup_screen import StartupScreen

    replace_unencodable_output()
    with StartupScreen(Console(stderr=True), exit_now):
        from stream_bayes.demo.mail_sources import corpus_mails, generated_mails
        from stream_bayes.demo.scenario import ScenarioOptions
        from stream_bayes.demo.workspace import Workspace

        post = generated_mails(seed, mails) if corpus is None else corpus_mails(corpus, mails, seed)
        place = Workspace(folder)
    console = Console(stderr=True) if as_json else Console()
    if with_web:
        _label(post, place, budget, port, console, as_json=as_json)
        return
    figures = _play(post, place, ScenarioOptions(budget, fast), console, quiet=as_json)
    if figures is None:
        if place.temporary:
            shutil.rmtree(place.folder, ignore_errors=True)
        raise typer.Exit(STOPPED)
    if as_json:
        typer.echo(json.dumps({**figures.described(), "picture": str(place.picture)}, indent=2))
        return
    from stream_bayes.demo.summary import commands, summary

    console.print(summary(figures, place), highlight=False)
    console.print(commands(figures, place, _this_program()), markup=False, highlight=False, soft_wrap=True)


def _play(
    post: LabelledMails, place: Workspace, terms: ScenarioOptions, console: Console, *, quiet: bool
) -> DemoFigures | None:
    from stream_bayes.demo.display import open_display
    from stream_bayes.demo.picture import learning_picture
    from stream_bayes.demo.scenario import Scenario

    stopped = _told_to_stop()
    with open_display(console, quiet=quiet) as stage, Scenario(post, place, terms, stage.show, stopped) as play:
        figures = play.run()
    if figures is not None:
        picture = learning_picture(*play.scores.arrays(), post.campaigns, figures.crash)
        place.picture.write_text(picture, encoding="utf-8")
    return figures


def _label(post: LabelledMails, place: Workspace, budget: int, port: int, console: Console, *, as_json: bool) -> None:
    from stream_bayes.demo.live_labelling import play_with_page

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    place.write_settings(budget)
    done = play_with_page(post, place, port, say, _told_to_stop())
    if as_json:
        typer.echo(json.dumps({**done._asdict(), "folder": str(place.folder)}, indent=2))
        return
    console.print(
        f"{done.mails:,} mails, {done.asked:,} questions, {done.answered:,} of them answered.", highlight=False
    )
    console.print(f"Everything is in {place.folder}. To go on:", highlight=False, soft_wrap=True)
    for command in ("run", "web"):
        console.print(f"  {_this_program()} {command} --config {place.settings}", highlight=False, soft_wrap=True)


def _this_program() -> str:
    """How this command line is called from here."""
    if shutil.which("stream-bayes"):
        return "stream-bayes"
    called = Path(sys.argv[0])
    return str(called) if called.name == "stream-bayes" else f"{sys.executable} -m stream_bayes.cli"


def _told_to_stop() -> Callable[[], bool]:
    """Whether Ctrl-C was pressed or somebody ends the process; it stays until the worker has ended too."""
    told: list[int] = []
    handle_signals(lambda given, _: told.append(given), signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return lambda: bool(told)
