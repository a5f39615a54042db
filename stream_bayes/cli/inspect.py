"""`stream-bayes inspect`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_bayes.cli.app import FAILED, Json, say
from stream_bayes.errors import SnapshotDamaged

if TYPE_CHECKING:
    from stream_bayes.checkpoint import Checkpoint
    from stream_bayes.snapshot import Arrays

# How an engine's checkpoint names the arrays of its learner.
_LEARNER = "learner."
_MOST_ENTRIES = 8


def inspect(
    path: Annotated[
        Path,
        typer.Argument(
            help="A file written by a learner's save(path), a checkpoint, or a folder of checkpoints, whose newest "
            "is taken.",
            show_default=False,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Say what a saved learner or a checkpoint is.

    Prints its class, its parameters, the evidence of each label, and its arrays with their shapes; of a checkpoint
    also the place in the journal that it stands for, positions, counters and the settings that shape it.
    """
    try:
        description = _describe(path)
    except OSError as problem:
        say(f"cannot read {path}: {(problem.strerror or str(problem)).lower()}")
        raise typer.Exit(FAILED) from problem
    typer.echo(json.dumps(description, indent=2) if as_json else _as_text(description))


def _describe(path: Path) -> dict[str, Any]:
    from stream_bayes.checkpoint import CHECKPOINT, read_checkpoint
    from stream_bayes.snapshot import format_of, read

    if path.is_dir():
        return _describe_newest(path)
    if format_of(path) == CHECKPOINT.format:
        return _describe_checkpoint(path, *read_checkpoint(path))
    header, arrays = read(path)
    if not _is_learner(header):
        message = f"{path}: the header does not describe a learner"
        raise SnapshotDamaged(message)
    return {"path": str(path), **_describe_learner(header, arrays), "arrays": _shapes(arrays)}


def _describe_newest(path: Path) -> dict[str, Any]:
    """That of the folder itself or, where it has none, of the one below it that has some."""
    from stream_bayes.checkpoint import CheckpointFolder

    folders = sorted({found.parent for found in path.rglob("checkpoint-*.safetensors")})
    if len(folders) > 1 and path not in folders:
        say(f"{path} has checkpoints in several folders, name one of them: {', '.join(map(str, folders))}")
        raise typer.Exit(FAILED)
    folder = CheckpointFolder(folders[0] if len(folders) == 1 else path)
    newest = folder.newest()
    if newest is None:
        say(f"{path} has no checkpoint that is whole; `stream-bayes run` writes them")
        raise typer.Exit(FAILED)
    return _describe_checkpoint(folder.path_of(newest[0]), *newest)


def _describe_checkpoint(path: Path, number: int, checkpoint: Checkpoint) -> dict[str, Any]:
    own = {name.removeprefix(_LEARNER): a for name, a in checkpoint.arrays.items() if name.startswith(_LEARNER)}
    learner: Any = checkpoint.scalars.get("learner")
    return {
        "path": str(path),
        "journal_offset": number,
        **(_describe_learner(learner, own) if _is_learner(learner) else {}),
        "state": {name: value for name, value in checkpoint.scalars.items() if name != "learner"},
        "settings": checkpoint.shaping,
        "arrays": _shapes(checkpoint.arrays),
    }


def _is_learner(header: Any) -> bool:
    return isinstance(header, dict) and isinstance(header.get("parameters"), dict) and "class" in header


def _describe_learner(header: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    parameters = header["parameters"]
    return {"class": header["class"], "parameters": parameters, "labels": _labels(parameters, arrays)}


def _shapes(arrays: Arrays) -> dict[str, Any]:
    return {name: {"dtype": str(array.dtype), "shape": array.shape} for name, array in arrays.items()}


def _labels(parameters: dict[str, Any], arrays: Arrays) -> list[dict[str, Any]]:
    """Each label with the weight of the events learned for it."""
    if "labels" in arrays and "class_weight" in arrays:
        labels, evidence = json.loads(arrays["labels"].tobytes()), arrays["class_weight"]
    elif "counts" in arrays:  # a pair for each coin
        labels, evidence = parameters["classes"]["tuple"], arrays["counts"].sum(axis=0)
    elif "word.buckets" in arrays:  # mails of both kinds
        labels, evidence = parameters["classes"]["tuple"], arrays["totals"]
    else:
        return []
    return [{"label": label, "evidence": n} for label, n in zip(labels, evidence.tolist(), strict=True)]


def _as_text(description: dict[str, Any]) -> str:
    width = max(map(len, description["arrays"]), default=0)
    settings = {name: value for name, value in description.get("settings", {}).items() if name != "learner"}
    sections = {
        "journal": [
            f"what came before record {offset}" for offset in (description.get("journal_offset"),) if offset is not None
        ],
        "class": [description[name] for name in ("class",) if name in description],
        "parameters": [f"{name} = {_plain(value)}" for name, value in description.get("parameters", {}).items()],
        "evidence": [f"{entry['label']!r}: {entry['evidence']:g}" for entry in description.get("labels", ())],
        "state": list(_lines("", description.get("state", {}))),
        "settings": list(_lines("", settings)),
        "arrays": [
            f"{name:<{width}}  {array['dtype']:<8} {' x '.join(map(str, array['shape'])) or 'one number'}"
            for name, array in sorted(description["arrays"].items())
        ],
    }
    rows = [(name if not place else "", text) for name, texts in sections.items() for place, text in enumerate(texts)]
    return "\n".join([description["path"], *(f"  {name:<12}{text}" for name, text in rows)])


def _lines(path: str, value: Any) -> Iterator[str]:
    """A line for each value of nested tables, by its path."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _lines(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list) and len(value) > _MOST_ENTRIES:
        yield f"{path} = {len(value)} entries, from {_plain(value[0])} to {_plain(value[-1])}"
    elif path == "clock" and isinstance(value, int) and 0 <= value < 2**47:
        yield f"{path} = {value} ({datetime.fromtimestamp(value // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC)"
    else:
        yield f"{path} = {_plain(value)}"


def _plain(value: Any) -> str:
    """A parameter as one would write it in Python."""
    if isinstance(value, dict) and "posterior" in value:
        return f"{value['posterior']}({', '.join(f'{field:g}' for field in value['fields'])})"
    if isinstance(value, dict) and "tuple" in value:
        parts = [_plain(part) for part in value["tuple"]]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return repr(value)
