"""Glossary, CONTRIBUTING and the map of the code name only modules, settings, options and names that exist."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

import stream_bayes.cli.commands  # noqa: F401 - adds the commands to the app
from stream_bayes.cli.app import app
from stream_bayes.config import Settings

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "stream_bayes"
GLOSSARY = ROOT / "docs" / "glossary.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
README = ROOT / "README.md"

_CODE = re.compile(r"`([^`\n]+)`")
_TERM = re.compile(r"\*\*(.+?)\*\*")
_SETTING = re.compile(r"[a-z]+\.[a-z_]+")
_CLASS = re.compile(r"[A-Z][a-z]\w+")


def _quoted(path: Path) -> list[str]:
    return sorted(set(_CODE.findall(path.read_text(encoding="utf-8"))))


def _is_path(text: str) -> bool:
    return text.endswith((".py", "/"))


def _paths(path: Path) -> list[str]:
    """The modules and folders that a page names, without those in which a part is to be filled in."""
    return [text for text in _quoted(path) if _is_path(text) and "<" not in text]


@cache
def _source() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")))


def _options() -> Iterator[str]:
    for command in getattr(get_command(app), "commands", {}).values():
        for parameter in command.params:
            yield from parameter.opts


@pytest.mark.parametrize("path", _paths(GLOSSARY))
def test_modules_of_the_glossary_exist(path: str) -> None:
    assert (PACKAGE / path).exists() or path == "stream_bayes/"


@pytest.mark.parametrize("path", sorted({*_paths(CONTRIBUTING)} - {"dist/"}))
def test_paths_of_contributing_exist(path: str) -> None:
    assert (ROOT / path).exists() or (PACKAGE / path).exists()


def _map_of_the_code() -> list[str]:
    text = README.read_text(encoding="utf-8").partition("## Where things are")[2].partition("\n## ")[0]
    return sorted({path for path in _CODE.findall(text) if _is_path(path)})


@pytest.mark.parametrize("path", _map_of_the_code())
def test_paths_of_the_map_of_the_code_exist(path: str) -> None:
    assert (PACKAGE / path).exists() or path == "stream_bayes/"


def _exists(name: str) -> bool:
    if _SETTING.fullmatch(name):
        section, key = name.split(".")
        return key in Settings().model_dump().get(section, {})
    if name.startswith("--"):
        return name in set(_options())
    pattern = rf"^class {name}\b" if _CLASS.fullmatch(name) else rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    return re.search(pattern, _source(), re.MULTILINE) is not None


@pytest.mark.parametrize("name", [text for text in _quoted(GLOSSARY) if not _is_path(text)])
def test_names_of_the_glossary_exist(name: str) -> None:
    assert _exists(name)


def test_terms_of_the_glossary_are_defined_once() -> None:
    terms = Counter(_TERM.findall(GLOSSARY.read_text(encoding="utf-8")))
    assert len(terms) > 60
    assert [term for term, count in terms.items() if count > 1] == []
