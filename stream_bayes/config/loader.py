"""Settings from a file, from the environment and from the command line: the later of these decides."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import SecretStr, ValidationError

from stream_bayes.config.fields import Section
from stream_bayes.config.messages import SettingValue, explained, not_a_section, unknown
from stream_bayes.config.settings import Settings
from stream_bayes.errors import ConfigError

FILE = Path("stream_bayes.toml")
"""Read where it exists and no other is named."""
PREFIX = "STREAM_BAYES__"
_UNIONS = Union, UnionType


class Loaded(NamedTuple):
    """Settings, and for each where it came from."""

    settings: Settings
    origins: dict[str, str]
    """By `section.key`: "default", the path of the file, "environment STREAM_BAYES__..." or "command line"."""

    def values(self) -> dict[str, Any]:
        """Each setting by `section.key`."""
        content = self.settings.model_dump()
        return {
            ".".join(place): content[place[0]][place[1]] if len(place) > 1 else content[place[0]]
            for place in (key.split(".") for key in self.origins)
        }


def load_settings(path: Path | None, environment: Mapping[str, str], overrides: Mapping[str, Any]) -> Loaded:
    """The settings that hold: of the defaults, the file, the environment and the overrides the last that says so.

    The file is the one named, else ./stream_bayes.toml if there is one. Overrides are named `section.key`; those that
    are None do not count. Raises `ConfigError`, which names each setting that cannot be, where it was given and what is
    allowed.
    """
    heap = _Heap({}, [])
    heap.add_file(path)
    heap.add_environment(environment)
    for key, value in overrides.items():
        if value is not None:
            heap.add(key, SettingValue(value, "command line"))
    settings = heap.settings()
    if settings is None or heap.problems:
        raise ConfigError("; ".join(heap.problems))
    given = heap.given
    return Loaded(settings, {key: given[key].origin if key in given else "default" for key in KINDS})


def _kinds() -> Iterator[tuple[str, Any]]:
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            yield from ((f"{name}.{key}", inner.annotation) for key, inner in section.model_fields.items())
        else:
            yield name, section


def _parts(kind: Any) -> set[Any]:
    """What a setting may be besides None; of Annotated the type alone."""
    parts = {part for part in get_args(kind) if part is not NoneType} if get_origin(kind) in _UNIONS else {kind}
    return {get_args(part)[0] if get_origin(part) is Annotated else part for part in parts}


KINDS: dict[str, Any] = dict(_kinds())
"""The type of each setting by `section.key`, in the order in which they stand in `Settings`."""
SECRETS = frozenset(key for key, kind in KINDS.items() if SecretStr in _parts(kind))
"""The settings that are never shown."""
_TEXTS = {key for key, kind in KINDS.items() if _parts(kind) <= {str, SecretStr, Path}}
_SECTIONS = {key.partition(".")[0] for key in KINDS if "." in key}
_TABLES = [key for key, kind in KINDS.items() if get_origin(kind) is dict]


class _Heap(NamedTuple):
    """What was given so far, and what was wrong with it."""

    given: dict[str, SettingValue]
    problems: list[str]

    def add(self, key: str, given: SettingValue) -> None:
        """One setting, or one entry of a setting that is a table."""
        table = next((table for table in _TABLES if key.startswith(f"{table}.")), None)
        if key in KINDS:
            self.given[key] = given
        elif table is None:
            self.problems.append(unknown(key, given.origin, KINDS))
        else:
            before = self.given.get(table)
            entries = dict(before.value) if before and isinstance(before.value, dict) else {}
            origins = [before.origin] if entries and before else []
            merged = {**entries, key.removeprefix(f"{table}."): given.value}
            self.given[table] = SettingValue(merged, " and ".join([*origins, given.origin]))

    def add_file(self, path: Path | None) -> None:
        """All that a file says."""
        if path is None and not FILE.exists():
            return
        origin = str(path or FILE)
        for name, content in _parsed(path or FILE).items():
            if name in KINDS:
                self.add(name, SettingValue(content, origin))
            elif name not in _SECTIONS:
                what = "section" if isinstance(content, dict) else "setting"
                self.problems.append(unknown(name, origin, (*_SECTIONS, *KINDS), what))
            elif not isinstance(content, dict):
                hint = f"write [{name}] above its keys"
                self.problems.append(not_a_section(name, SettingValue(content, origin), hint))
            else:
                for key, value in content.items():
                    # A key in quotes may have dots in it; it is no entry of a table.
                    self.add(f"{name}.{key}" if "." not in key else f"{name}.{key!r}", SettingValue(value, origin))

    def add_environment(self, environment: Mapping[str, str]) -> None:
        """All variables that are meant for this; those of whole tables first."""
        for variable, text in sorted(environment.items()):
            if not variable.startswith(PREFIX):
                continue
            key = variable.removeprefix(PREFIX).lower().replace("__", ".")
            given = SettingValue(text if key in _TEXTS else _as_toml(text), f"environment {variable}")
            if key in _SECTIONS:
                first = next(known for known in KINDS if known.startswith(f"{key}."))
                hint = f"give its keys, such as {PREFIX}{first.upper().replace('.', '__')}"
                self.problems.append(not_a_section(key, given, hint))
            else:
                self.add(key, given)

    def settings(self) -> Settings | None:
        """All of it checked; None where something cannot be."""
        nested: dict[str, Any] = {}
        for key, (value, _) in self.given.items():
            section, _, name = key.rpartition(".")
            (nested.setdefault(section, {}) if section else nested)[name] = value
        try:
            return Settings.model_validate(nested)
        except ValidationError as problem:
            self.problems.extend(explained(each, self.given, SECRETS) for each in problem.errors(include_url=False))
            return None


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


def _as_toml(text: str) -> Any:
    """What the text means as a value in TOML; the text itself where it means nothing."""
    try:
        content = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return content["value"] if len(content) == 1 else text
