"""Settings from a file, from the environment and from the command line: the later of these decides."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from stream_bayes.config.problems import Given, explained, not_a_section, unknown
from stream_bayes.config.settings import Section, Settings
from stream_bayes.errors import ConfigError

FILE = Path("stream_bayes.toml")
"""Read where it exists and no other is named."""
PREFIX = "STREAM_BAYES__"


class Loaded(NamedTuple):
    """Settings, and for each where it came from."""

    settings: Settings
    origins: dict[str, str]
    """By `section.key`: "default", the path of the file, "environment STREAM_BAYES__..." or "command line"."""

    def values(self) -> dict[str, Any]:
        """Each setting by `section.key`, as JSON has it."""
        content = self.settings.model_dump(mode="json")
        return {
            ".".join(place): content[place[0]][place[1]] if len(place) > 1 else content[place[0]]
            for place in (key.split(".") for key in self.origins)
        }


def load_settings(path: Path | None, environment: Mapping[str, str], overrides: Mapping[str, Any]) -> Loaded:
    """The settings that hold: of the defaults, the file, the environment and the overrides the last that says so.

    The file is the one named, else ./stream_bayes.toml if there is one. Overrides are named `section.key`; those that
    are None do not count. Raises `ConfigError`, which names the setting, where it was given and what is allowed.
    """
    given = {**_from_file(path), **_from_environment(environment), **_from_overrides(overrides)}
    nested: dict[str, Any] = {}
    for key, (value, _) in given.items():
        section, _, name = key.rpartition(".")
        (nested.setdefault(section, {}) if section else nested)[name] = value
    try:
        settings = Settings.model_validate(nested)
    except ValidationError as problem:
        raise explained(problem.errors(include_url=False)[0], given) from None
    return Loaded(settings, {key: given[key].origin if key in given else "default" for key in KINDS})


def _kinds() -> Iterator[tuple[str, Any]]:
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            yield from ((f"{name}.{key}", inner.annotation) for key, inner in section.model_fields.items())
        else:
            yield name, section


KINDS: dict[str, Any] = dict(_kinds())
"""The type of each setting by `section.key`, in the order in which they stand in `Settings`."""
_SECTIONS = {key.partition(".")[0] for key in KINDS if "." in key}


def _from_file(path: Path | None) -> dict[str, Given]:
    if path is None and not FILE.exists():
        return {}
    path = path or FILE
    origin = str(path)
    given = {}
    for name, content in _parsed(path).items():
        if name in KINDS:
            given[name] = Given(content, origin)
        elif name not in _SECTIONS:
            what = "section" if isinstance(content, dict) else "setting"
            raise unknown(name, origin, (*_SECTIONS, *KINDS), what)
        elif not isinstance(content, dict):
            raise not_a_section(name, Given(content, origin))
        else:
            given.update({f"{name}.{key}": _known(f"{name}.{key}", value, origin) for key, value in content.items()})
    return given


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as problem:
        message = f"cannot read the settings in {path}: {(problem.strerror or str(problem)).lower()}"
    except UnicodeDecodeError:
        message = f"{path} is no TOML: it is not UTF-8"
    except tomllib.TOMLDecodeError as problem:
        message = f"{path} is no TOML: {problem}"
    except RecursionError:
        message = f"{path} is no TOML of settings: it is nested too deep"
    raise ConfigError(message)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    given = {}
    for variable, text in environment.items():
        if variable.startswith(PREFIX):
            key = variable.removeprefix(PREFIX).lower().replace("__", ".")
            origin = f"environment {variable}"
            given[key] = _known(key, text if KINDS.get(key) is str else _as_toml(text), origin)
    return given


def _as_toml(text: str) -> Any:
    """What the text means as a value in TOML; the text itself where it means nothing."""
    try:
        content = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return content["value"] if len(content) == 1 else text


def _from_overrides(overrides: Mapping[str, Any]) -> dict[str, Given]:
    return {key: _known(key, value, "command line") for key, value in overrides.items() if value is not None}


def _known(key: str, value: Any, origin: str) -> Given:
    if key not in KINDS:
        raise unknown(key, origin, KINDS)
    return Given(value, origin)
