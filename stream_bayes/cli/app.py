"""The typer application: options common to all commands, exit codes and error output."""

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
_STOPPED_TEXT = "stopped"
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
ORDER = (
    "Order of the messages: time (by their dates), mixed (the classes spread evenly), stored (of files and rows), or "
    "auto: by time if files or folders are one class each, their mails have dates and the classes overlap in time; "
    "otherwise as stored if that mixes the classes, else mixed."
)


def main() -> None:
    """Run the command line; errors of this package or of files exit with one line and code 2, Ctrl-C with 130."""
    NOTICE.announce = _show_compile_notice
    try:
        app(prog_name="stream-bayes")
    except (StreamBayesError, OSError) as problem:
        discard_output()
        print_error(reason_of(problem))
        sys.exit(FAILED)
    except SystemExit as exit_:
        if exit_.code == STOPPED:
            print_error(_STOPPED_TEXT)
        raise


def _show_compile_notice(text: str) -> None:
    """Log the notice that kernels are being compiled, or print it if nothing is logged."""
    if logging.getLogger("stream_bayes").handlers:
        kernel_logger.info(text)
    else:
        print_error(text)


def _print_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"stream-bayes {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Handle the options before the command."""


def replace_unencodable_output() -> None:
    """Replace characters that the encoding of the output lacks by question marks."""
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")


def discard_output() -> None:
    """Discard output that cannot be written; else Python retries at exit and changes the exit code."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def exit_from_screen() -> NoReturn:
    """Restore the cursor and exit at once, even while the screen is being drawn."""
    # Not through the buffer, which may be in use at this moment.
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            os.write(stream.fileno(), _SHOW_CURSOR)
    exit_now()


def exit_now() -> NoReturn:
    """Exit with the code of Ctrl-C, without exceptions or flushing."""
    print_error(_STOPPED_TEXT)
    os._exit(STOPPED)


def print_error(text: str) -> None:
    """Print one line to standard error; line breaks become spaces, and write errors are ignored."""
    with suppress(OSError, ValueError):
        typer.echo(f"stream-bayes: {' '.join(text.split())}", err=True)
