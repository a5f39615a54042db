"""What the commands share: the application, how it ends, and what it says then."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from stream_bayes import __version__
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import StreamBayesError, reason_of
from stream_bayes.kernels.common.jit_stats import NOTICE
from stream_bayes.kernels.common.jit_stats import logger as kernel_logger

FAILED = 2
_LAST_WORD = "stopped"
_SHOW_CURSOR = b"\x1b[?25h"

app = typer.Typer(
    help="Streaming Bayesian learning: exact posteriors one event at a time, with honest variance.",
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    # Without these, typer loads rich for every --help and every error.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def main() -> None:
    """Run the command line; errors of this package or of a file end it with one line and code 2, Ctrl-C with 130."""
    NOTICE.announce = _say_compiling
    try:
        app(prog_name="stream-bayes")
    except (StreamBayesError, OSError) as problem:
        give_up_output()
        say(reason_of(problem))
        sys.exit(FAILED)
    except SystemExit as ending:
        if ending.code == STOPPED:
            say(_LAST_WORD)
        raise


def _say_compiling(text: str) -> None:
    """Show the notice that kernels are compiled: as one of the lines that a worker or the page logs, or by itself."""
    if logging.getLogger("stream_bayes").handlers:
        kernel_logger.info(text)
    else:
        say(text)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stream-bayes {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that come before a command."""


def replace_what_cannot_be_written() -> None:
    """Let an output that is not UTF-8 show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")


def give_up_output() -> None:
    """Throw away what cannot be written: Python would try again at its end, and end with a code of its own."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def leave_the_screen() -> NoReturn:
    """End at once, from whatever is being drawn."""
    # Past the buffer, which may be in use right now.
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            os.write(stream.fileno(), _SHOW_CURSOR)
    stop_at_once()


def stop_at_once() -> NoReturn:
    """End the process as Ctrl-C does, with nothing left to be raised, caught or flushed."""
    say(_LAST_WORD)
    os._exit(STOPPED)


def say(text: str) -> None:
    """One line on the error output, whatever the text has in it; where it cannot be written it is not said."""
    with suppress(OSError, ValueError):
        typer.echo(f"stream-bayes: {' '.join(text.split())}", err=True)
