"""Hooks of mkdocs: the reference, written from the code, links to files outside the documentation, and heads of cells.

A page of the reference holds a marker such as `<!-- generated: settings -->`. When the site is built, the marker is
replaced by tables made from the code itself: the typer application, the settings and their docstrings, the JSON Schemas
of the events, the metrics of the page, and the codes of dead letters.

Links of a page to files of the repository that are no pages, such as `../examples/coin.py`, become links to the source.
Cells of tables of text get their head as an attribute: on a narrow screen they stand below each other.
"""

from __future__ import annotations

import ast
import html
import inspect
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from typer.main import get_command

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# The paragraph after a marker is for those who read the page in the repository.
_MARKER = re.compile(r"^<!-- generated: ([a-z-]+) -->$(?:\n[^\n]+)*", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")
# Longer bounds are those of the integer type, which tell a reader nothing.
_MAX_BOUND = 2**52
_TABLE = re.compile(r"<table>(.*?)</table>", re.DOTALL)
_ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<(t[hd])>(.*?)</t[hd]>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_BAR = re.compile(r"`[^`]*`|\|")
# What a user types: options, variables of the environment, and addresses of logs.
_OPTION = re.compile(r"(?<![\w`-])(--[a-z][a-z-]*|STREAM_BAYES\w+|[a-z]+://[^\s;,]+(?:,[a-z]+:[a-z]+)?(?=[.;,\s]|$))")

Schema = Mapping[str, Any]


# Hooks


def on_config(config: Any) -> None:
    """Take the addresses of the project from pyproject.toml, where they are stated once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.site_url = project["urls"]["Documentation"]
    config.repo_url = project["urls"]["Source"]
    config.repo_name = project["name"]


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Fill in what is generated, and turn links to other files of the repository into links to the source."""
    markdown = _MARKER.sub(lambda found: GENERATORS[found[1]](), markdown)
    folder = (DOCS / page.file.src_uri).parent

    def to_source(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / found[1]))
        if target.is_relative_to(DOCS) or not target.is_relative_to(ROOT) or not target.exists():
            return found[0]
        return f"{config.repo_url}/blob/main/{target.relative_to(ROOT).as_posix()}{found[2] or ''}"

    return _LINK.sub(to_source, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Mark the tables of text, whose rows are stacked on a narrow screen; those of numbers scroll there."""
    return _TABLE.sub(lambda found: found[0] if _is_numeric(found[1]) else _stacked(found[1]), content)


# Tables


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *([_cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    """A text on one line, in which a bar does not end the cell; within code it does not anyway."""
    return " ".join(_BAR.sub(lambda found: "\\|" if found[0] == "|" else found[0], text).split())


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


# Tables on a narrow screen


def _is_numeric(rows: str) -> bool:
    """Whether most cells beside the first of each row begin with a digit."""
    texts = [text for row in _ROW.findall(rows)[1:] for text in _plain_cells(row)[1:] if text]
    return 2 * sum(text[0].isdigit() for text in texts) > len(texts)


def _stacked(rows: str) -> str:
    """A table of these rows, in which each cell beside the first names its head."""
    heads = ["", *_plain_cells(_ROW.findall(rows)[0])[1:]]

    def with_heads(row: re.Match[str]) -> str:
        names = iter(heads)
        return _CELL.sub(lambda cell: _with_head(cell, next(names)), row[0])

    return f"<table data-stacked>{_ROW.sub(with_heads, rows)}</table>"


def _with_head(cell: re.Match[str], head: str) -> str:
    has_head = cell[1] == "td" and head and cell[2].strip()
    return f'<td data-head="{html.escape(head)}">{cell[2]}</td>' if has_head else cell[0]


def _plain_cells(row: str) -> list[str]:
    return [html.unescape(_TAG.sub("", content)).strip() for _, content in _CELL.findall(row)]


# Python API

_SECTIONS = {
    "learners": "Learners",
    "posteriors": "Posteriors",
    "mail": "Mail",
    "features": "Features",
    "active": "Active learning",
    "engine": "Engine and worker",
    "runtime": "Engine and worker",
}


def api() -> str:
    """Return the directives of mkdocstrings for every public name, by subject."""
    package = import_module("stream_bayes")
    by_section: dict[str, list[str]] = {title: [] for title in _SECTIONS.values()}
    for name in package.__all__:
        module = getattr(package, name).__module__
        by_section[_SECTIONS[module.split(".")[1]]].append(f"{module}.{name}")
    base = "stream_bayes.learners.base"
    contracts = ("learner.Learner", "learner.Additive", "classifier.Classifier", "regressor.Regressor")
    by_section["Learners"] = _unique([*(f"{base}.{name}" for name in contracts), *by_section["Learners"]])
    by_section["Active learning"] = _unique([*by_section["Active learning"], *_public_names("stream_bayes.active")])
    adapters = ("ClassifierAdapter", "RegressorAdapter")
    by_section["scikit-learn"] = [f"stream_bayes.sklearn.{name}" for name in adapters]
    by_section["Event log"] = ["stream_bayes.eventlog.base.Log", "stream_bayes.eventlog.factory.open_log"]
    by_section["Tools for tests"] = _unique(_public_names("stream_bayes.testing"))
    contract = inspect.cleandoc(import_module(f"{base}.learner").__doc__ or "")
    parts = [_api_section(title, paths) for title, paths in by_section.items()]
    return "\n\n".join(("## Contract of a learner", contract, *parts, "## Errors", *_errors()))


def _api_section(title: str, paths: Iterable[str]) -> str:
    return "\n\n".join((f"## {title}", *(f"::: {path}" for path in paths)))


def _errors() -> Iterator[str]:
    """The tree of the exceptions, and each of them."""
    module = import_module("stream_bayes.errors")
    yield inspect.cleandoc(module.__doc__ or "")
    for name, value in vars(module).items():
        if isinstance(value, type) and issubclass(value, module.StreamBayesError):
            yield f"::: {module.__name__}.{name}"


def _public_names(package: str) -> Iterator[str]:
    """The full names of what a package exports; of a value without a module of its own the name in the package."""
    module = import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        home = getattr(value, "__module__", None)
        is_ours = isinstance(home, str) and home.startswith("stream_bayes") and getattr(value, "__name__", None) == name
        yield f"{home if is_ours else package}.{name}"


def _unique(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


# Command line


def command_line() -> str:
    """Return every command with its options, from the typer application."""
    import_module("stream_bayes.cli.commands")
    app = get_command(import_module("stream_bayes.cli.app").app)
    context = typer.Context(app, info_name="stream-bayes", **app.context_settings)
    return "\n\n".join(_commands(app, context, 2))


def _commands(group: Any, context: typer.Context, level: int) -> Iterator[str]:
    for name, command in group.commands.items():
        inner = typer.Context(command, info_name=name, parent=context)
        usage = " ".join((inner.command_path, *command.collect_usage_pieces(inner)))
        yield f"{'#' * level} {name}"
        yield f"```text\n{usage}\n```"
        yield _OPTION.sub(r"`\g<0>`", inspect.cleandoc(command.help or ""))
        if hasattr(command, "commands"):
            yield from _commands(command, inner, level + 1)
        else:
            yield table(("option", "meaning"), _parameters(command, inner))


def _parameters(command: Any, context: typer.Context) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield _code(record[0]), _OPTION.sub(r"`\g<0>`", html.escape(record[1], quote=False))


# Settings


def settings() -> str:
    """Return every setting with its type, default and docstring."""
    model = import_module("stream_bayes.config").Settings
    schema = model.model_json_schema()
    rows = []
    sections = []
    for key, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            sections.append((key, kind))
        else:
            rows.append(_setting(key, model, key, schema))
    heads = ("setting", "type", "default", "meaning")
    parts = ["## Top level", table(heads, rows)]
    for name, kind in sections:
        inner = kind.model_json_schema()
        parts += [f"## {name}", inspect.cleandoc(kind.__doc__ or "")]
        parts.append(table(heads, (_setting(f"{name}.{key}", kind, key, inner) for key in kind.model_fields)))
    return "\n\n".join(parts)


def _setting(name: str, model: type[BaseModel], key: str, schema: Schema) -> tuple[str, str, str, str]:
    field = model.model_fields[key]
    default = field.get_default(call_default_factory=True)
    shown = "" if default is None or default == () else json.dumps(default, default=str)
    return _code(name), type_of(schema["properties"][key]), _code(shown), attribute_docstrings(model).get(key, "")


def attribute_docstrings(kind: type) -> dict[str, str]:
    """Return the literals beneath the fields of a class, by the name of the field."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            value = getattr(below.value, "value", None)
            if isinstance(value, str):
                found[field.target.id] = inspect.cleandoc(value)
    return found


# JSON Schema in words

_TYPES = {"integer": "integer", "number": "number", "string": "text", "boolean": "boolean", "object": "object"}
_NOT_FINITE = ["Infinity", "-Infinity", "NaN"]
_FORMATS = {"path": "path", "password": "secret text", "date-time": "date and time", "base64": "base64"}
_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
}


def type_of(schema: Schema) -> str:
    """Return the type of a field in words."""
    if "anyOf" in schema:
        kinds = [type_of(option) for option in schema["anyOf"] if option.get("type") != "null"]
        return " or ".join(_unique(kind for kind in kinds if kind))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return _code(json.dumps(schema["const"]))
    if schema.get("enum") == _NOT_FINITE:
        return ""
    if "enum" in schema:
        return " or ".join(_code(json.dumps(value)) for value in schema["enum"])
    return _plain_type(schema)


def _plain_type(schema: Schema) -> str:
    kind = schema.get("type", "any")
    if kind == "array":
        items = schema.get("items") or {}
        members = schema.get("prefixItems") or ([items] if items else [])
        return f"list of {', '.join(type_of(member) for member in members)}" if members else "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {type_of(schema['additionalProperties'])}"
    name = _FORMATS.get(schema.get("format") or schema.get("contentEncoding", ""), _TYPES.get(kind, str(kind)))
    bounds = [
        text.format(f"{schema[key]:,g}" if isinstance(schema[key], float) else f"{schema[key]:,}")
        for key, text in _BOUNDS.items()
        if key in schema and abs(schema[key]) < _MAX_BOUND
    ]
    return ", ".join((name, *bounds))


# Events

_TOPICS = {
    "observation": "observations",
    "label": "labels",
    "prediction": "predictions",
    "label-request": "label_requests",
    "label-outcome": "label_requests",
    "dead-letter": "dead_letters",
    "status": "status",
}


def events() -> str:
    """Return the fields of every event, its topic, and its JSON Schema."""
    return "\n\n".join(_event(name, schema) for name, schema in import_module("stream_bayes.events").schemas().items())


def _event(name: str, schema: Schema) -> str:
    key = _TOPICS[name]
    topic = getattr(import_module("stream_bayes.config").TopicSettings(), key)
    parts = [f"## {name}", schema["description"], f"Topic: `{topic}` (setting `topics.{key}`).", _fields(schema)]
    for part, inner in schema.get("$defs", {}).items():
        parts += [f"### {part}", inner["description"], _fields(inner)]
    text = textwrap.indent(json.dumps(schema, indent=2), "    ")
    parts.append(f'??? note "JSON Schema of {name}"\n    ```json\n{text}\n    ```')
    return "\n\n".join(parts)


def _fields(schema: Schema) -> str:
    required = schema.get("required", ())
    rows = (
        (_code(name), type_of(field), "required" if name in required else "", field.get("description", ""))
        for name, field in schema["properties"].items()
    )
    return table(("field", "type", "presence", "meaning"), rows)


# Metrics


def metrics() -> str:
    """Return every metric of the exposition, from the collector of the page with a status event of each kind."""
    module = import_module("stream_bayes.web.api.metrics")
    page = module.PageMetrics(dict.fromkeys(module.PAGE_COUNTERS, 0), 0, 0, True)
    collector = module.StateCollector([_example_status(False), _example_status(True)], 60.0, page)
    rows = []
    for metric in collector.collect():
        labels = _unique(label for sample in metric.samples for label in sample.labels)
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        rows.append((_code(name), metric.type, ", ".join(map(_code, labels)), metric.documentation))
    return table(("metric", "type", "labels", "meaning"), rows)


def _example_status(numbers: bool) -> Any:
    """A status event with a value in every field that is a metric; of a regressor if `numbers`."""
    event = import_module("stream_bayes.events")
    running = import_module("stream_bayes.engine.metrics").RunningMetrics(1)
    figures = running.target_figures() if numbers else running.label_figures()
    now = datetime.now(UTC)
    counts = dict.fromkeys(
        (name for name, field in event.Status.model_fields.items() if field.annotation in (int, int | None)), 0
    )
    return event.Status(
        **{**counts, "partition": int(numbers)},
        at=now,
        group="",
        started_at=now,
        label_outcomes={"answered": 0},
        audit=event.AuditFigures(accuracy=1.0, low=0.0, high=1.0, answers=0),
        dead_letters_by_code={"not-json": 0},
        stage_seconds={"read": 0.0},
        metrics=dict.fromkeys(figures, 0.0),
        checkpoint_age_seconds=0.0,
    )


# Dead letters


def dead_letters() -> str:
    """Return the codes of dead letters and their meanings."""
    codes = import_module("stream_bayes.events").DEAD_LETTER_CODES
    return table(("code", "meaning"), ((_code(code), meaning) for code, meaning in codes.items()))


GENERATORS: dict[str, Callable[[], str]] = {
    "api": api,
    "command-line": command_line,
    "settings": settings,
    "events": events,
    "metrics": metrics,
    "dead-letters": dead_letters,
}
"""What each marker is replaced by."""
