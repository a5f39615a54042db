"""The tables of the reference, which are made from the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import generate_reference
from stream_bayes.config.loader import SETTING_TYPES
from stream_bayes.events import CODES, DEAD_LETTER_CODES, schemas
from tests.support.commands import ROOT

_ROW = re.compile(r"^\| `([^`]+)` \|(?:.* \|)? (.*?) ?\|$", re.MULTILINE)


def _rows(text: str) -> dict[str, str]:
    """The last cell of each row by the first."""
    return {found[1]: found[2].strip() for found in _ROW.finditer(text)}


def test_every_setting_is_described() -> None:
    rows = _rows(generate_reference.settings())
    assert list(rows) == list(SETTING_TYPES)
    assert [name for name, meaning in rows.items() if not meaning] == []


def test_every_event_has_its_fields_and_its_topic() -> None:
    text = generate_reference.events()
    for name, schema in schemas().items():
        section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert "Topic: `" in section
        assert set(schema["properties"]) <= set(_rows(section))


def test_every_command_and_option_is_described() -> None:
    text = generate_reference.command_line()
    for command in ("run", "web", "produce", "evaluate", "classify", "requeue"):
        assert re.search(rf"^#+ {command}$", text, re.MULTILINE), command
    assert [name for name, meaning in _rows(text).items() if not meaning] == []


def test_metrics_of_status_events_and_of_the_page_are_described() -> None:
    rows = _rows(generate_reference.metrics())
    assert {
        "stream_bayes_worker_up",
        "stream_bayes_events_total",
        "stream_bayes_dead_letters_total",
        "stream_bayes_metric_log_loss",
        "stream_bayes_metric_mean_absolute_error",
        "stream_bayes_web_log_up",
    } <= rows.keys()
    assert all(rows.values())


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 2**63}, "integer, at least 1"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text"),
        ({"anyOf": [{"type": "number"}, {"type": "boolean"}]}, "number or boolean"),
        ({"type": "array", "items": {"type": "integer"}}, "list of integer"),
        ({"enum": ["fail", "earliest"]}, '`"fail"` or `"earliest"`'),
        ({"type": "string", "contentEncoding": "base64"}, "base64"),
    ],
)
def test_types_are_put_into_words(schema: dict[str, object], words: str) -> None:
    assert generate_reference.type_of(schema) == words


# Tables on a narrow screen


def _table(*rows: tuple[str, ...]) -> str:
    """A table in HTML; the first row holds the heads."""
    kinds = ("th", *("td",) * len(rows[1:]))
    lines = ("".join(f"<{kind}>{text}</{kind}>" for text in row) for kind, row in zip(kinds, rows, strict=True))
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def test_cells_of_a_table_of_text_name_their_heads() -> None:
    text = generate_reference.on_page_content(_table(("a", "<b>b</b>", 'c "d"'), ("1", "x", "2"), ("3", "y", "")))
    assert text.startswith("<table data-stacked>")
    assert '<td>1</td><td data-head="b">x</td><td data-head="c &quot;d&quot;">2</td>' in text
    assert '<td>3</td><td data-head="b">y</td><td></td>' in text


def test_a_table_of_numbers_is_left_alone() -> None:
    table = _table(("a", "b", "c"), ("x", "<b>1.5</b>", "2 %"), ("y", "", "none"))
    assert generate_reference.on_page_content(table) == table


# Dead letters


def _codes_in(path: Path) -> Iterator[str]:
    """The codes that a module rejects records with, where they are literals."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        values = [*node.args[:1]] if name in ("EventError", "rejection") else []
        values += [keyword.value for keyword in node.keywords if name == "DeadLetter" and keyword.arg == "code"]
        for value in values:
            if isinstance(value, ast.Constant):
                yield str(value.value)


@pytest.mark.slow
def test_every_code_of_a_dead_letter_has_a_meaning() -> None:
    package = ROOT / "stream_bayes"
    found = {code for path in package.rglob("*.py") for code in _codes_in(path)}
    assert found > CODES - {"unknown-content-type"}
    assert found - DEAD_LETTER_CODES.keys() == set()
    assert set(_rows(generate_reference.dead_letters())) == DEAD_LETTER_CODES.keys()
