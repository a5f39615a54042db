"""`stream-bayes inspect`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_bayes.cli.app import FAILED, Json, say
from stream_bayes.errors import SnapshotDamaged

if TYPE_CHECKING:
    from stream_bayes.snapshot import Arrays


def inspect(
    snapshot: Annotated[Path, typer.Argument(help="A file written by a learner's save(path).", show_default=False)],
    as_json: Json = False,
) -> None:
    """Say what a saved learner is.

    Prints its class, its parameters, the evidence of each label, and its arrays with their shapes.
    """
    description = _describe(snapshot)
    typer.echo(json.dumps(description, indent=2) if as_json else _as_text(description))


def _describe(path: Path) -> dict[str, Any]:
    from stream_bayes.snapshot import read

    try:
        content: tuple[Any, Arrays] = read(path)
    except OSError as problem:
        say(f"cannot read {path}: {(problem.strerror or str(problem)).lower()}")
        raise typer.Exit(FAILED) from problem
    header, arrays = content
    if not isinstance(header, dict) or not isinstance(header.get("parameters"), dict) or "class" not in header:
        message = f"{path}: the header does not describe a learner"
        raise SnapshotDamaged(message)
    return {
        "path": str(path),
        "class": header["class"],
        "parameters": header["parameters"],
        "labels": _labels(header["parameters"], arrays),
        "arrays": {name: {"dtype": str(array.dtype), "shape": array.shape} for name, array in arrays.items()},
    }


def _labels(parameters: dict[str, Any], arrays: Arrays) -> list[dict[str, Any]]:
    """Each label with the weight of the events learned for it."""
    if "labels" in arrays and "class_weight" in arrays:
        labels, evidence = json.loads(arrays["labels"].tobytes()), arrays["class_weight"]
    elif "counts" in arrays:  # a pair for each coin
        labels, evidence = parameters["classes"]["tuple"], arrays["counts"].sum(axis=0)
    else:
        return []
    return [{"label": label, "evidence": n} for label, n in zip(labels, evidence.tolist(), strict=True)]


def _as_text(description: dict[str, Any]) -> str:
    parameters = [f"{name} = {_plain(value)}" for name, value in description["parameters"].items()]
    labels = [f"{entry['label']!r}: {entry['evidence']:g}" for entry in description["labels"]]
    width = max(map(len, description["arrays"]), default=0)
    arrays = [
        f"{name:<{width}}  {array['dtype']:<8} {' x '.join(map(str, array['shape'])) or 'one number'}"
        for name, array in sorted(description["arrays"].items())
    ]
    sections = {"class": [description["class"]], "parameters": parameters, "evidence": labels, "arrays": arrays}
    rows = [(name if not place else "", text) for name, texts in sections.items() for place, text in enumerate(texts)]
    return "\n".join([description["path"], *(f"  {name:<12}{text}" for name, text in rows)])


def _plain(value: Any) -> str:
    """A parameter as one would write it in Python."""
    if isinstance(value, dict) and "posterior" in value:
        return f"{value['posterior']}({', '.join(f'{field:g}' for field in value['fields'])})"
    if isinstance(value, dict) and "tuple" in value:
        parts = [_plain(part) for part in value["tuple"]]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return repr(value)
