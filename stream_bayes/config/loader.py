"""Loading of settings: defaults, TOML file, environment and command line, in order of precedence.

pydantic-settings is not used: it knows neither the origin of a value nor TOML in environment variables, and both are
promised to users.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import SecretStr, ValidationError

from stream_bayes.config.fields import Section
from stream_bayes.config.messages import SettingValue, error_message, not_a_section_message, unknown_name_message
from stream_bayes.config.settings import Settings
from stream_bayes.errors import ConfigError

DEFAULT_FILE = Path("stream_bayes.toml")
"""Read if it exists and no other file is named."""
ENV_PREFIX = "STREAM_BAYES__"
_UNIONS = Union, UnionType


class LoadedSettings(NamedTuple):
    """Settings and the origin of each value."""

    settings: Settings
    origins: dict[str, str]
    """By `section.key`: "default", the path of the file, "environment STREAM_BAYES__..." or "command line"."""

    def values(self) -> dict[str, Any]:
        """Each setting by `section.key`."""
        content = self.settings.model_dump()
        return {
            ".".join(path): content[path[0]][path[1]] if len(path) > 1 else content[path[0]]
            for path in (key.split(".") for key in self.origins)
        }


def load_settings(path: Path | None, environment: Mapping[str, str], overrides: Mapping[str, Any]) -> LoadedSettings:
    """Load the settings; the environment takes precedence over the file, and overrides over both.

    The file is the one named, else ./stream_bayes.toml if it exists. Overrides are named `section.key`; those that are
    None are ignored. Raises `ConfigError` with the name, the origin and the allowed values of each invalid setting.
    """
    builder = _SettingsBuilder({}, [])
    builder.add_file(path)
    builder.add_environment(environment)
    for key, value in overrides.items():
        if value is not None:
            builder.add(key, SettingValue(value, "command line"))
    settings = builder.build()
    if settings is None or builder.problems:
        raise ConfigError("; ".join(builder.problems))
    values = builder.values
    return LoadedSettings(settings, {key: values[key].origin if key in values else "default" for key in SETTING_TYPES})


def _setting_types() -> Iterator[tuple[str, Any]]:
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            yield from ((f"{name}.{key}", inner.annotation) for key, inner in section.model_fields.items())
        else:
            yield name, section


def _member_types(kind: Any) -> set[Any]:
    """Return the members of a union without None, each without its Annotated metadata."""
    parts = {part for part in get_args(kind) if part is not NoneType} if get_origin(kind) in _UNIONS else {kind}
    return {get_args(part)[0] if get_origin(part) is Annotated else part for part in parts}


SETTING_TYPES: dict[str, Any] = dict(_setting_types())
"""The type of each setting by `section.key`, in the order of `Settings`."""
SECRET_KEYS = frozenset(key for key, kind in SETTING_TYPES.items() if SecretStr in _member_types(kind))
"""Settings that are never shown."""
_TEXT_KEYS = {key for key, kind in SETTING_TYPES.items() if _member_types(kind) <= {str, SecretStr, Path}}
_SECTIONS = {key.partition(".")[0] for key in SETTING_TYPES if "." in key}
_TABLE_KEYS = [key for key, kind in SETTING_TYPES.items() if get_origin(kind) is dict]


class _SettingsBuilder(NamedTuple):
    """Collects values from the sources, and the problems with them."""

    values: dict[str, SettingValue]
    problems: list[str]

    def add(self, key: str, setting: SettingValue) -> None:
        """Add a setting, or an entry of a setting that is a table."""
        table = next((table for table in _TABLE_KEYS if key.startswith(f"{table}.")), None)
        if key in SETTING_TYPES:
            self.values[key] = setting
        elif table is None:
            self.problems.append(unknown_name_message(key, setting.origin, SETTING_TYPES))
        else:
            before = self.values.get(table)
            entries = dict(before.value) if before and isinstance(before.value, dict) else {}
            origins = [before.origin] if entries and before else []
            merged = {**entries, key.removeprefix(f"{table}."): setting.value}
            self.values[table] = SettingValue(merged, " and ".join([*origins, setting.origin]))

    def add_file(self, path: Path | None) -> None:
        """Add the settings of a file."""
        if path is None and not DEFAULT_FILE.exists():
            return
        origin = str(path or DEFAULT_FILE)
        for name, content in _parse_file(path or DEFAULT_FILE).items():
            if name in SETTING_TYPES:
                self.add(name, SettingValue(content, origin))
            elif name not in _SECTIONS:
                what = "section" if isinstance(content, dict) else "setting"
                self.problems.append(unknown_name_message(name, origin, (*_SECTIONS, *SETTING_TYPES), what))
            elif not isinstance(content, dict):
                hint = f"write [{name}] above its keys"
                self.problems.append(not_a_section_message(name, SettingValue(content, origin), hint))
            else:
                for key, value in content.items():
                    # A quoted key may contain dots; it is not an entry of a table.
                    self.add(f"{name}.{key}" if "." not in key else f"{name}.{key!r}", SettingValue(value, origin))

    def add_environment(self, environment: Mapping[str, str]) -> None:
        """Add the variables with our prefix; sorted, so that a whole table comes before its entries."""
        for variable, text in sorted(environment.items()):
            if not variable.startswith(ENV_PREFIX):
                continue
            key = variable.removeprefix(ENV_PREFIX).lower().replace("__", ".")
            setting = SettingValue(text if key in _TEXT_KEYS else _parse_value(text), f"environment {variable}")
            if key in _SECTIONS:
                first = next(known for known in SETTING_TYPES if known.startswith(f"{key}."))
                hint = f"give its keys, such as {ENV_PREFIX}{first.upper().replace('.', '__')}"
                self.problems.append(not_a_section_message(key, setting, hint))
            else:
                self.add(key, setting)

    def build(self) -> Settings | None:
        """Validate the values; None if one is invalid."""
        nested: dict[str, Any] = {}
        for key, (value, _) in self.values.items():
            section, _, name = key.rpartition(".")
            (nested.setdefault(section, {}) if section else nested)[name] = value
        try:
            return Settings.model_validate(nested)
        except ValidationError as problem:
            errors = problem.errors(include_url=False)
            self.problems.extend(error_message(each, self.values, SECRET_KEYS) for each in errors)
            return None


def _parse_file(path: Path) -> dict[str, Any]:
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


def _parse_value(text: str) -> Any:
    """Parse a text as a TOML value; return the text itself if it is none."""
    try:
        content = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return content["value"] if len(content) == 1 else text
