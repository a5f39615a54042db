"""`stream-bayes inspect`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_bayes.cli.app import FAILED, Json, print_error
from stream_bayes.cli.inspect_requests import describe_requests, label_settings, request_lines
from stream_bayes.errors import SnapshotDamaged, SnapshotError, reason_of

if TYPE_CHECKING:
    from stream_bayes.persistence.checkpoint import Checkpoint
    from stream_bayes.persistence.snapshot import Arrays

_MAX_ENTRIES = 8


def inspect(
    path: Annotated[
        Path,
        typer.Argument(
            help="A file written by save(path) of a learner, a checkpoint, or a folder of checkpoints: the newest of "
            "each partition is shown.",
            show_default=False,
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Settings of the worker, to show the remaining label budget."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Describe a saved learner or a checkpoint.

    Prints the class, the parameters, the evidence of each label, and the shapes of the arrays; for a checkpoint also
    its journal offset, the metrics of the predictions, the outcomes of label requests, the agreement of labellers,
    positions, counters and the settings that it depends on. For several partitions --json prints a list of objects.
    """
    try:
        descriptions = _describe_newest(path, config) if path.is_dir() else [_describe(path, config)]
    except OSError as problem:
        print_error(f"cannot read {problem.filename or path}: {(problem.strerror or str(problem)).lower()}")
        raise typer.Exit(FAILED) from problem
    if as_json:
        found = _with_lists(descriptions)
        typer.echo(json.dumps(found if len(found) > 1 else found[0], indent=2))
    else:
        typer.echo("\n\n".join(map(_format_text, descriptions)))


def _describe(path: Path, config: Path | None) -> dict[str, Any]:
    from stream_bayes.persistence.checkpoint import CHECKPOINT, read_checkpoint
    from stream_bayes.persistence.snapshot import format_of, read

    if format_of(path) == CHECKPOINT.format:
        return _describe_checkpoint(path, *read_checkpoint(path), config)
    header, arrays = read(path)
    if not _is_learner(header):
        message = f"{path}: the header does not describe a learner"
        raise SnapshotDamaged(message)
    return {"path": str(path), **_describe_learner(header, arrays), "arrays": _shapes(arrays)}


def _describe_newest(path: Path, config: Path | None) -> list[dict[str, Any]]:
    """Describe the newest checkpoint of the folder or, if it has none, of each folder below it.

    What cannot be read below the folder is said, and is the error if there is no other checkpoint.
    """
    from stream_bayes.persistence.checkpoint_store import CheckpointStore, checkpoint_folders

    problems: list[OSError] = []
    below = checkpoint_folders(path, problems.append)
    folders = [CheckpointStore(folder) for folder in ([path] if path in below else below)]
    newest = [(folder, found) for folder in folders if (found := folder.newest()) is not None]
    if problems and not newest:
        raise problems[0]
    for problem in problems:
        print_error(f"{reason_of(problem)}: a checkpoint there is not shown")
    if not newest:
        print_error(f"{path} has no intact checkpoint; `stream-bayes run` writes them")
        raise typer.Exit(FAILED)
    return [_describe_checkpoint(folder.path_of(number), number, found, config) for folder, (number, found) in newest]


def _describe_checkpoint(path: Path, number: int, checkpoint: Checkpoint, config: Path | None) -> dict[str, Any]:
    from stream_bayes.engine.state import learner_arrays

    learner: Any = checkpoint.scalars.get("learner")
    own = learner_arrays(checkpoint.arrays)
    return {
        "path": str(path),
        "journal_offset": number,
        **(_describe_learner(learner, own) if _is_learner(learner) else {}),
        "metrics": _metrics(learner, checkpoint.arrays) if _is_learner(learner) else {},
        **describe_requests(checkpoint, label_settings(path, config)),
        "state": {name: value for name, value in checkpoint.scalars.items() if name not in ("learner", "selector")},
        "settings": checkpoint.compatibility_key,
        "arrays": _shapes(checkpoint.arrays),
    }


def _metrics(learner: dict[str, Any], arrays: Arrays) -> dict[str, float | None]:
    """Return the metrics of the predictions; empty for an unknown learner class."""
    from stream_bayes.engine.metrics import RunningMetrics
    from stream_bayes.learners import Learner
    from stream_bayes.learners.base.regressor import Regressor

    try:
        kind = Learner.find_class(learner["class"])
    except SnapshotError:
        return {}
    metrics = RunningMetrics(max(len(arrays.get("metric_scores", ())), 1))
    if not metrics.arrays().keys() <= arrays.keys():
        return {}
    metrics.restore(arrays)
    return metrics.target_figures() if issubclass(kind, Regressor) else metrics.label_figures()


def _is_learner(header: Any) -> bool:
    return isinstance(header, dict) and isinstance(header.get("parameters"), dict) and "class" in header


def _describe_learner(header: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    parameters = header["parameters"]
    return {"class": header["class"], "parameters": parameters, "labels": _labels(parameters, arrays)}


def _shapes(arrays: Arrays) -> dict[str, Any]:
    return {name: {"dtype": str(array.dtype), "shape": array.shape} for name, array in arrays.items()}


def _labels(parameters: dict[str, Any], arrays: Arrays) -> list[dict[str, Any]]:
    """Return each label with the weight of its learned events."""
    if "labels" in arrays and "class_weight" in arrays:
        labels = json.loads(arrays["labels"].tobytes())
        evidence = arrays["class_weight"]
    elif "counts" in arrays:  # a pair for each key
        labels = parameters["classes"]["tuple"]
        evidence = arrays["counts"].sum(axis=0)
    elif "word.buckets" in arrays:  # mails of both kinds
        labels = parameters["classes"]["tuple"]
        evidence = arrays["totals"]
    else:
        return []
    return [{"label": label, "evidence": n} for label, n in zip(labels, evidence.tolist(), strict=True)]


def _with_lists(value: Any) -> Any:
    """Replace encoded tuples by lists."""
    if isinstance(value, dict):
        return (
            _with_lists(value["tuple"]) if value.keys() == {"tuple"} else {k: _with_lists(v) for k, v in value.items()}
        )
    return [_with_lists(part) for part in value] if isinstance(value, (list, tuple)) else value


def _format_text(description: dict[str, Any]) -> str:
    width = max(map(len, description["arrays"]), default=0)
    settings = {name: value for name, value in description.get("settings", {}).items() if name != "learner"}
    metrics = {name: value for name, value in description.get("metrics", {}).items() if value is not None}
    sections = {
        "journal": [
            f"what came before record {offset}" for offset in (description.get("journal_offset"),) if offset is not None
        ],
        "class": [description[name] for name in ("class",) if name in description],
        "parameters": [f"{name} = {_format_value(value)}" for name, value in description.get("parameters", {}).items()],
        "evidence": [f"{entry['label']!r}: {entry['evidence']:g}" for entry in description.get("labels", ())],
        "metrics": [f"{name} = {value:g}" for name, value in metrics.items()],
        **request_lines(description),
        "state": list(_format_nested("", description.get("state", {}))),
        "settings": list(_format_nested("", settings)),
        "arrays": [
            f"{name:<{width}}  {array['dtype']:<8} {' x '.join(map(str, array['shape'])) or 'one number'}"
            for name, array in sorted(description["arrays"].items())
        ],
    }
    rows = [(name if not place else "", text) for name, texts in sections.items() for place, text in enumerate(texts)]
    return "\n".join([description["path"], *(f"  {name:<12}{text}" for name, text in rows)])


def _format_nested(path: str, value: Any) -> Iterator[str]:
    """Yield a line for each value of nested tables, with its path."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _format_nested(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list) and len(value) > _MAX_ENTRIES:
        yield f"{path} = {len(value)} entries, from {_format_value(value[0])} to {_format_value(value[-1])}"
    elif path == "clock" and isinstance(value, int) and 0 <= value < 2**47:
        yield f"{path} = {value} ({datetime.fromtimestamp(value // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC)"
    else:
        yield f"{path} = {_format_value(value)}"


def _format_value(value: Any) -> str:
    """Format a parameter as Python source."""
    if isinstance(value, dict) and "posterior" in value:
        return f"{value['posterior']}({', '.join(f'{field:g}' for field in value['fields'])})"
    if isinstance(value, dict) and "tuple" in value:
        parts = [_format_value(part) for part in value["tuple"]]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return repr(value)
