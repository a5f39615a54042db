"""`stream-bayes config`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import Json

if TYPE_CHECKING:
    from stream_bayes.config import Loaded


def config(
    path: Annotated[
        Path | None,
        typer.Option("--config", help="A TOML file; otherwise ./stream_bayes.toml if it exists.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the settings that hold, and where each came from.

    What the environment says goes before what the file says: STREAM_BAYES__COMMIT__EVENTS=500 sets `events` in the
    section `commit`.
    """
    from stream_bayes.config import load_settings

    loaded = load_settings(path, os.environ, {})
    typer.echo(_as_json(loaded) if as_json else _as_text(loaded))


def _as_json(loaded: Loaded) -> str:
    from pydantic_core import to_json

    content = {key: {"value": value, "origin": loaded.origins[key]} for key, value in loaded.values().items()}
    return to_json(content, indent=2, inf_nan_mode="strings").decode()


def _as_text(loaded: Loaded) -> str:
    from pydantic_core import to_json

    values = {
        key: "(not set)" if value is None else to_json(value, inf_nan_mode="strings").decode()
        for key, value in loaded.values().items()
    }
    key_width, value_width = (max(map(len, texts)) for texts in (values.keys(), values.values()))
    return "\n".join(
        f"{key:<{key_width}} = {value:<{value_width}}   ({loaded.origins[key]})" for key, value in values.items()
    )
