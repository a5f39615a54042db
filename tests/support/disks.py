"""Real disks that are small or read-only, mounted for one test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def mount(*arguments: str | Path) -> None:
    """Mount something, or skip the test where that is not allowed."""
    result = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"only root may mount a disk for this test: {result.stderr.strip()}")


def fill(folder: Path, but: int = 0) -> Path:
    """Fill a disk except this number of bytes; remove the file to free the space."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            file.truncate(max(0, file.tell() - but))
    return ballast
