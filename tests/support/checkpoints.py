"""Checkpoints for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from stream_bayes.persistence.checkpoint import Checkpoint
from stream_bayes.persistence.snapshot import Arrays

SHAPING: dict[str, Any] = {"learner": {"name": "SpamFilter", "parameters": {"buckets": 1024, "pairs": True}}, "ids": 7}


def made(number: int, size: int = 100) -> Checkpoint:
    """A checkpoint in which everything says its number."""
    arrays: Arrays = {
        "table": np.full((size, 2), number, dtype=np.float64),
        "ids": np.arange(number % 7, dtype=np.uint8),
    }
    return Checkpoint(SHAPING, {"events": number, "open": [f"id-{number}", None], "random": {"state": 2**100}}, arrays)


def assert_same(found: Checkpoint, expected: Checkpoint) -> None:
    """The two are equal to the last bit."""
    assert found.compatibility_key == expected.compatibility_key
    assert found.scalars == expected.scalars
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)


def names(folder: Path) -> list[str]:
    """All that is in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def name_of(number: int) -> str:
    """The file of a checkpoint."""
    return f"checkpoint-{number:020}.safetensors"
