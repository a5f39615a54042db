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
from functools import cache as cached
from pathlib import Path
from typing import NamedTuple

import pytest

from stream_bayes.kernels.common import jit_cache
from stream_bayes.kernels.common.jit_cache import CacheFolders
from stream_bayes.kernels.common.jit_stats import NOTICE_BEGINNING, CompilationNotice
from tests.support.installations import make_read_only, make_writable, own_folder, run_as_service
from tests.support.tiers import short_first

# A kernel of one line: how often its machine code was on disk, and where the package is.
USE_A_KERNEL = """
from stream_bayes.kernels.common.sigmoid import sigmoid
sigmoid(0.5)
print(sum(sigmoid.stats.cache_hits.values()), __import__("stream_bayes").__file__)
"""
# Damages the files of one kernel's cache in many ways, one after the other, and uses the kernel after each.
USE_DAMAGED_FILES = """
import sys
from pathlib import Path
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import sigmoid

def hits():
    loaded_again = kernel(sigmoid.py_func)
    assert abs(loaded_again(0.5) - sigmoid.py_func(0.5)) < 1e-15
    return sum(loaded_again.stats.cache_hits.values())

def damaged(content):
    yield b""
    yield bytes(len(content))
    yield content[: len(content) // 2]
    yield content + content
    step = max(len(content) // 16, 1)
    for position in [*range(10), *range(10, len(content), step), len(content) - 1]:
        for bit in (0x01, 0x80):
            flipped = bytearray(content)
            flipped[position] ^= bit
            yield bytes(flipped)

assert hits() == 1
count = 0
for suffix in (".nbi", ".nbc"):
    (path,) = Path(sys.argv[1]).rglob(f"*{suffix}")
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        assert hits() == 0, (suffix, count)
        assert hits() == 1, (suffix, count)
        count += 1
"""
# Leaves data of another signature, and of other sources, where the index names them.
USE_MIXED_FILES = """
import sys
from pathlib import Path
from stream_bayes.kernels.common import jit_cache
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import sigmoid

def hits(value):
    loaded_again = kernel(sigmoid.py_func)
    assert abs(loaded_again(value) - sigmoid.py_func(value)) < 1e-15
    return sum(loaded_again.stats.cache_hits.values())

hits(0.5)
hits(1)
first, second = sorted(Path(sys.argv[1]).rglob("*.nbc"))
content = first.read_bytes()
first.write_bytes(second.read_bytes())
assert hits(0.5) == 0
assert hits(0.5) == 1
jit_cache.SOURCES_CHECKSUM += 1
hits(0.5)
first.write_bytes(content)
assert hits(0.5) == 0
"""
# As under systemd with ProtectSystem=strict and no private temporary folder.
READ_ONLY_MACHINE = """
for folder in /tmp /var/tmp "$TMPDIR"; do
  mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder"
done
exec "$@"
"""


class Use(NamedTuple):
    """The result of a kernel call."""

    hits: int
    errors: str


def use_a_kernel(site: Path, *before: str, **environment: str) -> Use:
    done = run_as_service(site, ["-c", USE_A_KERNEL], environment, before)
    assert done.returncode == 0, done.stderr.decode()
    hits, place = done.stdout.decode().split()
    assert place.startswith(str(site))
    return Use(int(hits), done.stderr.decode())


@cached
def cannot_make_read_only() -> str:
    """Why the temporary folders cannot be made read-only for one process; empty where they can."""
    command = [*in_read_only_machine(), sys.executable, "-c", ""]
    try:
        environment = {"TMPDIR": "/tmp", **os.environ}
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    except FileNotFoundError as problem:
        return str(problem)
    return "" if done.returncode == 0 else done.stderr.strip() or f"code {done.returncode}"


def in_read_only_machine() -> tuple[str, ...]:
    """What to put before a command."""
    options = () if os.geteuid() == 0 else ("--map-root-user",)
    return ("unshare", *options, "--mount", "sh", "-euc", READ_ONLY_MACHINE, "sh")


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


@pytest.mark.parametrize("variable", short_first(["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"]))
def test_item13_kernels_are_cached_in_the_folder_of_a_variable(
    installation: Path, open_folder: Path, temporary: Path, variable: str
) -> None:
    folder = own_folder(open_folder / variable)
    environment = {"TMPDIR": str(temporary), variable: str(folder)}
    assert use_a_kernel(installation, **environment) == Use(0, "")
    assert use_a_kernel(installation, **environment) == Use(1, "")
    assert cache_files(folder)
    assert not list(temporary.iterdir())
    assert not cache_files(installation)


@pytest.mark.long
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
    if problem := cannot_make_read_only():
        pytest.skip(
            f"no mount namespace ({problem}): needs unshare and mount (Debian: util-linux) and root with CAP_SYS_ADMIN "
            "(docker run --cap-add SYS_ADMIN), or a kernel that lets users make namespaces "
            "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)"
        )
    found = use_a_kernel(installation, *in_read_only_machine(), TMPDIR=str(temporary))
    assert found.hits == 0
    assert found.errors.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in found.errors
    assert not list(temporary.iterdir())


def test_item13_folders_that_others_could_write_to_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache file is a pickle: one that another user planted would be run."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    private = tmp_path / "stream_bayes-kernels-private"
    shared = tmp_path / "stream_bayes-kernels-shared"
    link = tmp_path / "stream_bayes-kernels-link"
    foreign = tmp_path / "stream_bayes-kernels-foreign"
    # Of this user's own group, in which there may be others.
    of_group = tmp_path / "stream_bayes-kernels-of-group"
    within_of_group = tmp_path / "stream_bayes-kernels-within-of-group"
    for folder in (private, shared, foreign, of_group, within_of_group):
        for path in (folder, folder / jit_cache._subfolder()):
            path.mkdir(mode=0o700)
            os.chown(path, -1, os.getegid())
    shared.chmod(0o777)
    link.symlink_to(private)
    of_group.chmod(0o720)
    (within_of_group / jit_cache._subfolder()).chmod(0o720)
    if os.geteuid() == 0:
        os.chown(foreign, 65534, 65534)
    else:
        foreign.chmod(0o702)
    found = [folder.parent for folder in CacheFolders().readable()]
    assert private in found
    assert not {shared, link, foreign, of_group, within_of_group} & set(found)
    os.chown(tmp_path, -1, os.getegid())
    tmp_path.chmod(0o770)  # as homes are where each user has a group of its own
    assert private in [folder.parent for folder in CacheFolders().readable()]
    tmp_path.chmod(0o777)  # now anybody could put another folder in its place
    assert private not in [folder.parent for folder in CacheFolders().readable()]
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("script", [pytest.param(USE_DAMAGED_FILES, marks=pytest.mark.long), USE_MIXED_FILES])
def test_damaged_cache_files_are_compiled_again_and_replaced(installation: Path, temporary: Path, script: str) -> None:
    folder = own_folder(temporary / "named")
    environment = {"TMPDIR": str(temporary), "NUMBA_CACHE_DIR": str(folder)}
    use_a_kernel(installation, **environment)
    done = run_as_service(installation, ["-c", script, str(folder)], environment)
    assert (done.returncode, done.stderr.decode()) == (0, "")


@pytest.mark.long
@pytest.mark.parametrize("suffixes", [{".nbi"}, {".nbc"}, {".nbi", ".nbc"}])
def test_emptied_cache_files_cost_one_compilation(installation: Path, temporary: Path, suffixes: set[str]) -> None:
    """As a power loss leaves them."""
    environment = {"TMPDIR": str(temporary)}
    use_a_kernel(installation, **environment)
    for path in cache_files(temporary):
        if path.suffix in suffixes:
            path.write_bytes(b"")
    assert use_a_kernel(installation, **environment) == Use(0, "")
    assert use_a_kernel(installation, **environment) == Use(1, "")


@pytest.mark.long
def test_an_index_that_cannot_be_replaced_is_one_warning(installation: Path, temporary: Path) -> None:
    environment = {"TMPDIR": str(temporary)}
    use_a_kernel(installation, **environment)
    (index,) = temporary.rglob("*.nbi")
    index.unlink()
    index.mkdir()
    found = use_a_kernel(installation, **environment)
    assert found.hits == 0
    assert found.errors.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in found.errors


def test_a_relative_folder_in_a_working_directory_that_is_gone_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "kernels")
    gone.rmdir()
    assert CacheFolders().readable()


def test_threads_that_ask_for_the_folder_at_once_get_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = CacheFolders()
    found: list[Path | None] = []
    second = threading.Thread(target=lambda: found.append(folders.writable()))

    def writable_folders() -> Iterator[Path]:
        second.start()
        # It ends here only if it did not wait for the choice.
        second.join(1.0)
        yield tmp_path

    monkeypatch.setattr(jit_cache, "_writable_folders", writable_folders)
    assert folders.writable() == tmp_path
    second.join()
    assert found == [tmp_path]


def test_item14_the_notice_names_the_kernels_and_the_cache_folder() -> None:
    result: list[str] = []
    arrived = threading.Event()

    def announce(text: str) -> None:
        result.append(text)
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
    assert len(result) == 1
    assert result[0].startswith(NOTICE_BEGINNING)
    assert "mail_fold" in result[0]
    assert "kept in /folder" in result[0]


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
