"""The wheel and the source distribution: how they are built, and what must be in them."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

PACKAGE = "stream_bayes"
# The newest version in the changelog, which may follow changes that are not released.
_HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)
_FINAL = re.compile(r"\d+\.\d+\.\d+")


class ReleaseError(Exception):
    """The release cannot be made as it is; the message says what is wrong."""


def run(command: list[str], folder: Path, what: str, variables: Mapping[str, str] | None = None) -> str:
    """The output of a command, or ReleaseError with the end of what it printed."""
    done = subprocess.run(command, cwd=folder, env=variables, check=False, capture_output=True, text=True)
    if done.returncode:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        message = f"{what} failed with code {done.returncode}: {' '.join(command)}\n{end}"
        raise ReleaseError(message)
    return done.stdout


def tracked_files(root: Path) -> set[str]:
    """The files that git tracks. Everything must be committed: an archive of anything else could not be made again."""
    changed = run(["git", "status", "--porcelain"], root, "git status")
    if changed:
        message = f"These files are not committed, so the release could not be made again:\n{changed.rstrip()}"
        raise ReleaseError(message)
    return set(run(["git", "ls-files", "-z"], root, "git ls-files").split("\0")) - {""}


def check_version(version: str, changelog: str) -> None:
    """The version must be final, and the newest one in the changelog, with its date."""
    if not _FINAL.fullmatch(version):
        message = f"{version} is not a version of a release; set __version__ in {PACKAGE}/__init__.py to X.Y.Z"
        raise ReleaseError(message)
    newest = _HEADING.search(changelog)
    found = newest.group(0) if newest else "no heading of a version"
    if newest is None or newest["version"] != version or newest["date"] is None:
        message = f"CHANGELOG.md starts with {found!r}; the release needs '## [{version}] - YYYY-MM-DD'"
        raise ReleaseError(message)


def build(root: Path, folder: Path, target: str) -> Path:
    """Build the wheel or the source distribution (`sdist`) of a source tree into an empty folder."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    run(command, root, f"Building the {target}")
    (archive,) = folder.iterdir()
    return archive


def unpack_sdist(archive: Path, folder: Path) -> Path:
    """Unpack a source distribution; return its root."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


def wheel_names(archive: Path) -> set[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(archive) as wheel:
        return set(wheel.namelist())


def sdist_names(archive: Path) -> set[str]:
    """The files in a source distribution, relative to its root."""
    with tarfile.open(archive) as tar:
        return {Path(*Path(entry.name).parts[1:]).as_posix() for entry in tar if not entry.isdir()}


def check_wheel(names: set[str], tracked: Iterable[str], version: str) -> None:
    """A wheel holds the tracked files of the package, its metadata, and nothing else."""
    about = f"{PACKAGE}-{version}.dist-info"
    metadata = {f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    package = {name for name in tracked if name.startswith(f"{PACKAGE}/")}
    _compare("wheel", names, package | metadata)


def check_sdist(names: set[str], tracked: Iterable[str]) -> None:
    """A source distribution holds all tracked files, its metadata, and nothing else."""
    _compare("source distribution", names, {*tracked, "PKG-INFO"})


def _compare(archive: str, names: set[str], expected: set[str]) -> None:
    problems = [f"not in git: {name}" for name in sorted(names - expected)]
    problems += [f"missing: {name}" for name in sorted(expected - names)]
    if problems:
        message = f"The {archive} has other files than it should:\n" + "\n".join(problems)
        raise ReleaseError(message)


def check_same_bytes(first: Path, second: Path) -> None:
    """Two wheels must be equal byte for byte; hatchling gives all files the same time."""
    if first.read_bytes() == second.read_bytes():
        return
    with zipfile.ZipFile(first) as ours, zipfile.ZipFile(second) as theirs:
        names = sorted({*ours.namelist(), *theirs.namelist()})
        both = {*ours.namelist()} & {*theirs.namelist()}
        differing = [name for name in names if name not in both or ours.read(name) != theirs.read(name)]
    message = "The source distribution builds another wheel. Files that differ:\n" + "\n".join(differing or ["none"])
    raise ReleaseError(message)
