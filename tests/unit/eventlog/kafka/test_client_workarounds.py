"""Private parts of the Kafka client are used in one module only: there a new version of it is checked."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import stream_bayes.eventlog.kafka

FOLDER = Path(stream_bayes.eventlog.kafka.__file__).parent
WORKAROUNDS = FOLDER / "client_workarounds.py"


def private_uses(path: Path) -> list[str]:
    """The private attributes of other objects than `self` that a module uses, each with its line."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [
        f"{path.name}:{node.lineno} {node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.endswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    ]


def test_the_workarounds_use_private_attributes_of_the_client() -> None:
    assert any(use.endswith("_coordinator") for use in private_uses(WORKAROUNDS))


@pytest.mark.parametrize("path", sorted(set(FOLDER.glob("*.py")) - {WORKAROUNDS}), ids=lambda path: path.name)
def test_no_other_module_uses_private_attributes_of_the_client(path: Path) -> None:
    assert private_uses(path) == []
