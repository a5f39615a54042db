"""The command line, `stream-bayes`.

Only typer is imported until a command runs, so that `stream-bayes --help` is there at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from stream_bayes import __version__
from stream_bayes.errors import SnapshotDamaged, StreamBayesError

if TYPE_CHECKING:
    from stream_bayes.snapshot import Arrays

FAILED = 2
STOPPED = 130
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

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


def main() -> None:
    """Run the command line; errors of this package end it with one line and code 2, Ctrl-C with code 130."""
    try:
        app(prog_name="stream-bayes")
    except StreamBayesError as problem:
        _say(str(problem))
        sys.exit(FAILED)
    except SystemExit as ending:
        if ending.code == STOPPED:
            _say(_LAST_WORD)
        raise


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


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Which random data to draw.")] = 1,
    fast: Annotated[bool, typer.Option("--fast", help="Leave out the pauses.")] = False,
    as_json: Json = False,
) -> None:
    """Watch three learners learn (20 seconds).

    Each event is predicted first and learned second; the intervals close on the truth as they should.
    """
    from rich.console import Console

    from stream_bayes.demo.waiting import Waiting

    _replace_what_cannot_be_written()
    with Waiting(Console(stderr=True), _stop_at_once):
        from stream_bayes.demo.findings import final_frames, report, warm_up

        warm_up()
    if as_json:
        typer.echo(json.dumps(report(seed, final_frames(seed)), indent=2))
        return
    from stream_bayes.demo.show import show

    # No exception: one raised while compiled code calls back into Python is lost, and the demo would go on.
    signal.signal(signal.SIGINT, lambda *_: _leave_the_screen())
    show(Console(), seed, fast=fast)


@app.command()
def inspect(
    snapshot: Annotated[Path, typer.Argument(help="A file written by a learner's save(path).", show_default=False)],
    as_json: Json = False,
) -> None:
    """Say what a saved learner is.

    Prints its class, its parameters, the evidence of each label, and its arrays with their shapes.
    """
    description = _describe(snapshot)
    typer.echo(json.dumps(description, indent=2) if as_json else _as_text(description))


def _describe(path: Path) -> dict[str, Any]:
    from stream_bayes.snapshot import read

    try:
        content: tuple[Any, Arrays] = read(path)
    except OSError as problem:
        _say(f"cannot read {path}: {(problem.strerror or str(problem)).lower()}")
        raise typer.Exit(FAILED) from problem
    header, arrays = content
    if not isinstance(header, dict) or not isinstance(header.get("parameters"), dict) or "class" not in header:
        message = f"{path}: the header does not describe a learner"
        raise SnapshotDamaged(message)
    return {
        "path": str(path),
        "class": header["class"],
        "parameters": header["parameters"],
        "labels": _labels(header["parameters"], arrays),
        "arrays": {name: {"dtype": str(array.dtype), "shape": array.shape} for name, array in arrays.items()},
    }


def _labels(parameters: dict[str, Any], arrays: Arrays) -> list[dict[str, Any]]:
    """Each label with the weight of the events learned for it."""
    if "labels" in arrays and "class_weight" in arrays:
        labels, evidence = json.loads(arrays["labels"].tobytes()), arrays["class_weight"]
    elif "counts" in arrays:  # a pair for each coin
        labels, evidence = parameters["classes"]["tuple"], arrays["counts"].sum(axis=0)
    else:
        return []
    return [{"label": label, "evidence": n} for label, n in zip(labels, evidence.tolist(), strict=True)]


def _as_text(description: dict[str, Any]) -> str:
    parameters = [f"{name} = {_plain(value)}" for name, value in description["parameters"].items()]
    labels = [f"{entry['label']!r}: {entry['evidence']:g}" for entry in description["labels"]]
    width = max(map(len, description["arrays"]), default=0)
    arrays = [
        f"{name:<{width}}  {array['dtype']:<8} {' x '.join(map(str, array['shape'])) or 'one number'}"
        for name, array in sorted(description["arrays"].items())
    ]
    sections = {"class": [description["class"]], "parameters": parameters, "evidence": labels, "arrays": arrays}
    rows = [(name if not place else "", text) for name, texts in sections.items() for place, text in enumerate(texts)]
    return "\n".join([description["path"], *(f"  {name:<12}{text}" for name, text in rows)])


def _plain(value: Any) -> str:
    """A parameter as one would write it in Python."""
    if isinstance(value, dict) and "posterior" in value:
        return f"{value['posterior']}({', '.join(f'{field:g}' for field in value['fields'])})"
    if isinstance(value, dict) and "tuple" in value:
        parts = [_plain(part) for part in value["tuple"]]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return repr(value)


def _replace_what_cannot_be_written() -> None:
    """Let an output that is not UTF-8 show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")


def _leave_the_screen() -> NoReturn:
    # Past the buffer, which may be in use right now.
    if sys.stdout.isatty():
        os.write(sys.stdout.fileno(), _SHOW_CURSOR)
    _stop_at_once()


def _stop_at_once() -> NoReturn:
    _say(_LAST_WORD)
    os._exit(STOPPED)


def _say(text: str) -> None:
    typer.echo(f"stream-bayes: {' '.join(text.split())}", err=True)


if __name__ == "__main__":
    main()
