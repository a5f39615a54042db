"""`stream-bayes schemas`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from stream_bayes.cli.app import FAILED, print_error


def schemas(
    name: Annotated[
        str | None, typer.Argument(help="One event only, such as observation or label.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="No effect: schemas are JSON.")] = False,
) -> None:
    """Print the JSON Schemas of all events.

    One JSON object with the schema of each event by its type; with NAME only that schema.
    """
    from stream_bayes.events import schemas as known

    found = known()
    if name is None:
        typer.echo(json.dumps(found, indent=2))
    elif name in found:
        typer.echo(json.dumps(found[name], indent=2))
    else:
        print_error(f"there is no event {name!r}; there are {', '.join(found)}")
        raise typer.Exit(FAILED)
