"""Where compiled kernels are kept: every user can run the package, whatever folders that user has or lacks."""

from __future__ import annotations

import logging
import os
import resource
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from stream_bayes.kernels import cache
from stream_bayes.kernels.cache import CacheFolders
from stream_bayes.kernels.counting import CompilationNotice
from tests.installations import (
    installation,
    make_read_only,
    make_writable,
    open_folder,
    own_folder,
    run_as_service,
)

__all__ = ["installation", "open_folder"]

# A kernel of one line: how often its machine code was on disk, and where the package is.
USE_A_KERNEL = """
from stream_bayes.kernels.sigmoid import sigmoid
sigmoid(0.5)
print(sum(sigmoid.stats.cache_hits.values()), __import__("stream_bayes").__file__)
"""
# As under systemd with ProtectSystem=strict and no private temporary folder.
READ_ONLY_MACHINE = """
for folder in /tmp /var/tmp "$TMPDIR"; do
  mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder"
done
exec "$@"
"""


class Use(NamedTuple):
    """What came of using a kernel."""

    hits: int
    errors: str


def use_a_kernel(site: Path, *before: str, **environment: str) -> Use:
    done = run_as_service(site, ["-c", USE_A_KERNEL], environment, before)
    assert done.returncode == 0, done.stderr.decode()
    hits, place = done.stdout.decode().split()
    assert place.startswith(str(site))
    return Use(int(hits), done.stderr.decode())


def cache_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in {".nbi", ".nbc"})


@pytest.fixture
def temporary(open_folder: Path) -> Iterator[Path]:
    """A temporary directory of the service user."""
    folder = own_folder(open_folder / "temporary")
    yield folder
    shutil.rmtree(folder)


def test_item13_kernels_compiled_at_installation_need_no_other_folder(
    installation: Path, open_folder: Path, temporary: Path
) -> None:
    site = open_folder / "compiled"
    shutil.copytree(installation, site)
    make_writable(site)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    environment.pop("NUMBA_CACHE_DIR", None)
    subprocess.run([sys.executable, "-c", USE_A_KERNEL], env=environment, cwd="/", check=True, capture_output=True)
    assert cache_files(site)
    make_read_only(site)
    other = own_folder(open_folder / "other")
    assert use_a_kernel(site, TMPDIR=str(temporary), NUMBA_CACHE_DIR=str(other)) == Use(1, "")
    assert use_a_kernel(site, TMPDIR=str(temporary)) == Use(1, "")
    assert not list(other.iterdir())
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_item13_kernels_are_kept_where_a_variable_says(
    installation: Path, open_folder: Path, temporary: Path, variable: str
) -> None:
    folder = own_folder(open_folder / variable)
    environment = {"TMPDIR": str(temporary), variable: str(folder)}
    assert use_a_kernel(installation, **environment) == Use(0, "")
    assert use_a_kernel(installation, **environment) == Use(1, "")
    assert cache_files(folder)
    assert not list(temporary.iterdir())
    assert not cache_files(installation)


def test_item13_numba_cache_dir_goes_before_xdg_cache_home(
    installation: Path, open_folder: Path, temporary: Path
) -> None:
    named = own_folder(open_folder / "named")
    user_cache = own_folder(open_folder / "xdg")
    use_a_kernel(installation, TMPDIR=str(temporary), NUMBA_CACHE_DIR=str(named), XDG_CACHE_HOME=str(user_cache))
    assert cache_files(named)
    assert not list(user_cache.iterdir())


def test_item13_a_variable_that_names_a_folder_of_others_is_no_error(
    installation: Path, open_folder: Path, temporary: Path
) -> None:
    environment = {"TMPDIR": str(temporary), "NUMBA_CACHE_DIR": str(installation), "XDG_CACHE_HOME": "/proc"}
    assert use_a_kernel(installation, **environment) == Use(0, "")
    assert cache_files(temporary)


def test_item13_without_a_home_kernels_are_kept_in_a_private_temporary_folder(
    installation: Path, temporary: Path
) -> None:
    assert use_a_kernel(installation, TMPDIR=str(temporary)) == Use(0, "")
    (folder,) = temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    before = cache_files(temporary)
    assert before
    assert use_a_kernel(installation, TMPDIR=str(temporary)) == Use(1, "")
    assert cache_files(temporary) == before


def test_item13_a_disk_that_takes_nothing_is_one_warning(installation: Path, temporary: Path) -> None:
    def take_nothing() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    environment = {"TMPDIR": str(temporary)}
    done = run_as_service(installation, ["-c", USE_A_KERNEL], environment, preexec_fn=take_nothing)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(b"\n") == 1
    assert b"NUMBA_CACHE_DIR" in done.stderr


def test_item13_a_machine_that_is_all_read_only_is_one_warning(installation: Path, temporary: Path) -> None:
    options = () if os.geteuid() == 0 else ("--map-root-user",)
    before = ("unshare", *options, "--mount", "sh", "-euc", READ_ONLY_MACHINE, "sh")
    found = use_a_kernel(installation, *before, TMPDIR=str(temporary))
    assert found.hits == 0
    assert found.errors.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in found.errors
    assert not list(temporary.iterdir())


def test_item13_folders_that_others_could_write_to_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache file is a pickle: one that somebody else planted would be run."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    private = tmp_path / "stream_bayes-kernels-private"
    shared = tmp_path / "stream_bayes-kernels-shared"
    link = tmp_path / "stream_bayes-kernels-link"
    foreign = tmp_path / "stream_bayes-kernels-foreign"
    for folder in (private, shared, foreign):
        (folder / cache._subfolder()).mkdir(parents=True)
        folder.chmod(0o700)
    shared.chmod(0o777)
    link.symlink_to(private)
    if os.geteuid() == 0:
        os.chown(foreign, 65534, 65534)
    else:
        foreign.chmod(0o720)
    found = [folder.parent for folder in CacheFolders().readable()]
    assert private in found
    assert not {shared, link, foreign} & set(found)
    tmp_path.chmod(0o777)  # now anybody could put another folder in its place
    assert private not in [folder.parent for folder in CacheFolders().readable()]
    tmp_path.chmod(0o700)


def test_item14_the_notice_says_what_is_compiled_and_where_it_is_kept() -> None:
    said: list[str] = []
    arrived = threading.Event()

    def announce(text: str) -> None:
        said.append(text)
        arrived.set()

    notice = CompilationNotice(seconds=0.0)
    notice.announce = announce
    notice.folder = lambda: Path("/folder")
    notice.start("mail_fold")
    assert arrived.wait(60.0)
    notice.start("mail_tokens")
    notice.end()
    notice.end()
    notice.start("sigmoid")
    notice.end()
    assert len(said) == 1
    assert "mail_fold" in said[0]
    assert "kept in /folder" in said[0]


def test_item14_short_compilations_are_not_announced() -> None:
    def announce(text: str) -> None:
        raise AssertionError(text)

    notice = CompilationNotice(seconds=1e6)
    notice.announce = announce
    for _ in range(3):
        notice.start("sigmoid")
        notice.end()
    waiting = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    assert all(thread.finished.is_set() for thread in waiting)


def test_item14_in_the_library_the_notice_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stream_bayes.kernels")
    CompilationNotice().announce("compiling")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("stream_bayes.kernels", "INFO")
