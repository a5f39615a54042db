"""Running an example as a user does, looking at its picture, and reading the figures it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from matplotlib.image import imread

ROOT = Path(__file__).parents[2]


# Of the Kafka client, as in pyproject.toml.
_IGNORED = ("ignore:read_text is deprecated", "ignore:open_text is deprecated")


def run(name: str, folder: Path, *arguments: str) -> str:
    """Run an example inside a folder, with warnings as errors; return what it printed."""
    warnings = [part for rule in ("error", *_IGNORED) for part in ("-W", rule)]
    command = [sys.executable, *warnings, str(ROOT / "examples" / f"{name}.py"), *arguments]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def checked(name: str, folder: Path) -> list[str]:
    """Run an example with a folder for its picture, look at the picture, return the lines printed before it."""
    target = folder / "deep" / "down"
    lines = run(name, folder, "--out", str(target)).rstrip().splitlines()
    assert lines[-1] == f"Picture: {target / f'{name}.png'}"
    assert [path.name for path in target.iterdir()] == [f"{name}.png"]
    assert_not_blank(target / f"{name}.png")
    return lines[:-1]


def assert_not_blank(picture: Path) -> None:
    pixels = np.asarray(imread(picture))[:, :, :3]
    assert pixels.shape[1] >= 1200
    darkness = 1 - pixels.min(axis=2)
    assert 0.01 < (darkness > 0.02).mean() < 0.9
    assert len(np.unique(darkness)) > 50
    # Something is drawn in every quarter.
    quarters = [part for half in np.array_split(darkness, 2) for part in np.array_split(half, 2, axis=1)]
    assert all((quarter > 0.02).any() for quarter in quarters)


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text)]


def rows(lines: list[str], pattern: str) -> list[list[float]]:
    """Return the numbers of each line that matches."""
    return [numbers(line) for line in lines if re.match(pattern, line)]
