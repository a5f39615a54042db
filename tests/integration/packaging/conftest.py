"""Fixtures of an installation that belongs to another user."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installations import build_wheel, make_read_only, make_writable


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """A folder that every user can look into, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="stream-bayes-tests-"))
    folder.chmod(0o755)
    yield folder
    make_writable(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def installation(open_folder: Path) -> Path:
    """A folder for PYTHONPATH with the wheel unpacked, read-only and without compiled kernels."""
    site = open_folder / "site"
    with zipfile.ZipFile(build_wheel(open_folder / "dist")) as wheel:
        wheel.extractall(site)
    make_read_only(site)
    return site
