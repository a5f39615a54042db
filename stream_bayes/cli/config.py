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
    """Print the settings that hold, and where each came from; as TOML that can be their file.

    What the environment says goes before what the file says: STREAM_BAYES__COMMIT__EVENTS=500 sets `events` in the
    section `commit`, STREAM_BAYES__LEARNER__PARAMETERS__BUCKETS=4096 an entry of the table `learner.parameters`.
    Passwords are not shown.
    """
    from stream_bayes.config import load_settings
    from stream_bayes.engine.label_requests import strategy_of
    from stream_bayes.engine.model_adapter import learner_kind

    loaded = load_settings(config, os.environ, {"log": log, "group": group, "checkpoint.folder": checkpoints})
    typer.echo(_as_json(loaded) if as_json else _as_text(loaded))
    # After them: they are good, and say where the names came from.
    learner_kind(loaded.settings.learner)
    strategy_of(loaded.settings.labels)


def _as_json(loaded: LoadedSettings) -> str:
    from pydantic_core import to_json

    content = {key: {"value": value, "origin": loaded.origins[key]} for key, value in loaded.values().items()}
    return to_json(content, indent=2, inf_nan_mode="strings").decode()


def _as_text(loaded: LoadedSettings) -> str:
    from stream_bayes.config import SECRET_KEYS

    given = {key: value for key, value in loaded.values().items() if value is not None}
    set_ones = {key: _toml(value) for key, value in given.items() if key not in SECRET_KEYS}
    key_width, value_width = (max(map(len, texts)) for texts in (set_ones.keys(), set_ones.values()))
    return "\n".join(
        f"{key:<{key_width}} = {set_ones[key]:<{value_width}}   # {_one_line(origin)}"
        if key in set_ones
        else f"# {key} is {f'set, and not shown   # {_one_line(origin)}' if key in given else 'not set'}"
        for key, origin in loaded.origins.items()
    )


def _toml(value: Any) -> str:
    """A value as TOML has it.

    >>> _toml({"buckets": 4096, "a b": [True, 0.5, "x"]})
    '{ buckets = 4096, "a b" = [true, 0.5, "x"] }'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, Path)):
        return _quoted(str(value))
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        entries = (f"{key if _BARE_KEY.fullmatch(key) else _quoted(key)} = {_toml(value[key])}" for key in value)
        return f"{{ {', '.join(entries)} }}" if value else "{}"
    return repr(value)


def _quoted(text: str) -> str:
    # A string of JSON is one of TOML, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
