"""Installations of the package that belong to another user, and users without a home who run them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 900.0
_AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# Root may read everything, so Python itself may lie where others cannot look.
_READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
# Root that may not write where it has no right to.
_WEAK_ROOT = ("setpriv", "--bounding-set=-dac_override")


def build_wheel(folder: Path) -> Path:
    """The wheel of this repository, built without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_read_only(folder: Path) -> None:
    """Make a folder read-only."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def make_writable(folder: Path) -> None:
    """Let the owner write into a folder again."""
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def own_folder(path: Path) -> Path:
    """A folder that belongs to the service user."""
    path.mkdir(mode=0o700)
    if os.geteuid() == 0 and service_user()[:1] == _AS_NOBODY[:1] and "--reuid=65534" in service_user():
        os.chown(path, 65534, 65534)
    return path


_service_user: tuple[str, ...] | None = None


def service_user() -> tuple[str, ...]:
    """What to put before a command so that it runs as a user without rights: nobody, where this is root."""
    global _service_user  # noqa: PLW0603
    if _service_user is None:
        prefixes = [_AS_NOBODY, (*_AS_NOBODY, *_READING), _WEAK_ROOT] if os.geteuid() == 0 else []
        _service_user = next((prefix for prefix in prefixes if _can_run(prefix)), ())
    return _service_user


def _can_run(prefix: tuple[str, ...]) -> bool:
    command = [*prefix, sys.executable, "-c", "import numba"]
    return subprocess.run(command, cwd="/", check=False, capture_output=True).returncode == 0


def run_as_service(
    site: Path, arguments: list[str], environment: Mapping[str, str], before: tuple[str, ...] = (), **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run Python with an installation as the service user, whose home does not exist."""
    given = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(site), **environment}
    command = [*before, *service_user(), sys.executable, *arguments]
    return subprocess.run(
        command, cwd="/", env=given, check=False, capture_output=True, timeout=PATIENCE, **{"input": b"", **options}
    )
