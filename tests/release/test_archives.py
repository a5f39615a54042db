"""The checks of a release find what is wrong. The whole of it is run by `make release`."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.release.archives import (
    ReleaseError,
    check_same_bytes,
    check_sdist,
    check_version,
    check_wheel,
    run,
    tracked_files,
)

TRACKED = {"README.md", "stream_bayes/__init__.py", "stream_bayes/py.typed", "tests/test_x.py"}
METADATA = {
    f"stream_bayes-1.2.3.dist-info/{name}"
    for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
}
WHEEL = METADATA | {"stream_bayes/__init__.py", "stream_bayes/py.typed"}


def test_archives_with_the_tracked_files_are_accepted() -> None:
    check_wheel(WHEEL, TRACKED, "1.2.3")
    check_sdist(TRACKED | {"PKG-INFO"}, TRACKED)


def test_a_stray_and_a_missing_file_are_named() -> None:
    with pytest.raises(ReleaseError, match=r"wheel(.|\n)*not in git: stream_bayes/notes.txt\nmissing: .*py.typed"):
        check_wheel(WHEEL - {"stream_bayes/py.typed"} | {"stream_bayes/notes.txt"}, TRACKED, "1.2.3")
    with pytest.raises(ReleaseError, match=r"source distribution(.|\n)*not in git: .env\nmissing: tests/test_x.py"):
        check_sdist(TRACKED - {"tests/test_x.py"} | {"PKG-INFO", ".env"}, TRACKED)


def test_a_wheel_of_another_version_is_refused() -> None:
    with pytest.raises(ReleaseError, match=r"not in git: stream_bayes-1\.2\.3\.dist-info"):
        check_wheel(WHEEL, TRACKED, "1.2.4")


@pytest.mark.parametrize(
    ("version", "changelog", "reason"),
    [
        ("1.2.3.dev0", "## [1.2.3.dev0] - 2026-01-02\n", "not a version of a release"),
        ("1.2.3", "# Changelog\n", "no heading of a version"),
        ("1.2.3", "## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n", r"starts with '## \[Unreleased\]'"),
        ("1.2.3", "## [1.2.2] - 2026-01-02\n", r"needs '## \[1\.2\.3\] - YYYY-MM-DD'"),
        ("1.2.3", "## [1.2.3]\n", "YYYY-MM-DD"),
    ],
)
def test_a_version_without_its_heading_in_the_changelog_is_refused(version: str, changelog: str, reason: str) -> None:
    with pytest.raises(ReleaseError, match=reason):
        check_version(version, changelog)


def test_the_newest_version_of_the_changelog_is_accepted() -> None:
    check_version("1.2.3", "# Changelog\n\n## [1.2.3] - 2026-01-02\n\n## [1.2.2] - 2026-01-01\n")


def test_wheels_that_differ_are_refused_with_the_names_of_the_files(tmp_path: Path) -> None:
    for name, content in (("first", "1"), ("same", "1"), ("other", "2")):
        with zipfile.ZipFile(tmp_path / name, "w") as wheel:
            wheel.writestr(zipfile.ZipInfo("a.py"), content)
            wheel.writestr(zipfile.ZipInfo("b.py"), "")
    check_same_bytes(tmp_path / "first", tmp_path / "same")
    with pytest.raises(ReleaseError, match=r"another wheel(.|\n)*differ:\na\.py$"):
        check_same_bytes(tmp_path / "first", tmp_path / "other")


def test_files_that_are_not_committed_are_named(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example"]
    (tmp_path / "a.py").touch()
    for arguments in (["init", "-q"], ["add", "a.py"], ["commit", "-q", "-m", "Add a"]):
        subprocess.run([*git, *arguments], cwd=tmp_path, check=True)
    assert tracked_files(tmp_path) == {"a.py"}
    (tmp_path / "b.py").touch()
    with pytest.raises(ReleaseError, match=r"not committed(.|\n)*b\.py"):
        tracked_files(tmp_path)


def test_a_command_that_fails_is_named_with_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"The demo failed with code 3: (.|\n)*no disk"):
        run(["sh", "-c", "echo no disk >&2; exit 3"], tmp_path, "The demo")
