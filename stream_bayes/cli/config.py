"""`stream-bayes config`."""

from __future__ import annotations

import json
import os
import re
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from stream_bayes.cli.app import Json
from stream_bayes.cli.run import Checkpoints, Config, Group, LogUrl

if TYPE_CHECKING:
    from stream_bayes.config import LoadedSettings

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def config(
    config: Config = None,
    log: LogUrl = None,
    group: Group = None,
    checkpoints: Checkpoints = None,
    as_json: Json = False,
) -> None:
    """Print the effective settings and their origins, as a valid TOML file.

    The environment takes precedence over the file: STREAM_BAYES__COMMIT__EVENTS=500 sets `events` in the section
    `commit`, STREAM_BAYES__LEARNER__PARAMETERS__BUCKETS=4096 an entry of the table `learner.parameters`. Passwords are
    not shown.
    """
    from stream_bayes.config import load_settings
    from stream_bayes.engine.label_requests import strategy_of
    from stream_bayes.engine.model_adapter import learner_kind

    loaded = load_settings(config, os.environ, {"log": log, "group": group, "checkpoint.folder": checkpoints})
    typer.echo(_format_json(loaded) if as_json else _format_text(loaded))
    # After printing: the settings are valid, and show where these names come from.
    learner_kind(loaded.settings.learner)
    strategy_of(loaded.settings.labels)


def _format_json(loaded: LoadedSettings) -> str:
    from pydantic_core import to_json

    content = {key: {"value": value, "origin": loaded.origins[key]} for key, value in loaded.values().items()}
    return to_json(content, indent=2, inf_nan_mode="strings").decode()


def _format_text(loaded: LoadedSettings) -> str:
    from stream_bayes.config import SECRET_KEYS

    values = {key: value for key, value in loaded.values().items() if value is not None}
    shown = {key: _toml(value) for key, value in values.items() if key not in SECRET_KEYS}
    key_width, value_width = (max(map(len, texts)) for texts in (shown.keys(), shown.values()))
    return "\n".join(
        f"{key:<{key_width}} = {shown[key]:<{value_width}}   # {_one_line(origin)}"
        if key in shown
        else f"# {key} is {f'set, and not shown   # {_one_line(origin)}' if key in values else 'not set'}"
        for key, origin in loaded.origins.items()
    )


def _toml(value: Any) -> str:
    """Format a value as TOML.

    >>> _toml({"buckets": 4096, "a b": [True, 0.5, "x"]})
    '{ buckets = 4096, "a b" = [true, 0.5, "x"] }'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, Path)):
        return _quote(str(value))
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        entries = (f"{key if _BARE_KEY.fullmatch(key) else _quote(key)} = {_toml(value[key])}" for key in value)
        return f"{{ {', '.join(entries)} }}" if value else "{}"
    return repr(value)


def _quote(text: str) -> str:
    # JSON strings are TOML strings, except for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
