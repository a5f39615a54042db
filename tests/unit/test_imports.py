"""What loads when, and what is public."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import stream_bayes

HEAVY = ("numba", "river", "scipy.stats", "numpy", "pandas", "sklearn", "kafka", "pydantic", "rich")


def loaded_after(statement: str) -> set[str]:
    """Which of the heavy modules a fresh interpreter has loaded after a statement."""
    script = f"import sys\n{statement}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import stream_bayes") == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Beta", "StudentT"])
def test_posteriors_load_neither_numba_nor_river_nor_scipy_stats(name: str) -> None:
    loaded = loaded_after(f"from stream_bayes import {name}; {name}")
    assert not loaded & {"numba", "river", "scipy.stats", "pydantic"}


@pytest.mark.slow
def test_learners_load_neither_scipy_stats_nor_pydantic_nor_kafka() -> None:
    names = ", ".join(sorted(set(stream_bayes.__all__) - {"Engine", "Worker"}))
    assert not loaded_after(f"from stream_bayes import {names}") & {"scipy.stats", "pydantic", "kafka", "sklearn"}


def test_public_names_are_sorted_there_and_documented() -> None:
    assert list(stream_bayes.__all__) == sorted(stream_bayes.__all__)
    for name in stream_bayes.__all__:
        assert getattr(stream_bayes, name).__doc__, f"{name} has no docstring"
        assert name in dir(stream_bayes)


def test_public_classes_have_different_names() -> None:
    """One name, one class: a reader who searches for it finds what was meant."""
    modules: dict[str, list[str]] = {}
    root = Path(stream_bayes.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, []).append(str(path.relative_to(root)))
    assert {name: places for name, places in modules.items() if len(places) > 1} == {}


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Betta'"):
        _ = stream_bayes.Betta
