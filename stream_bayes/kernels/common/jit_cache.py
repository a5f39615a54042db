"""Where compiled kernels are kept on disk: numba's cache with several folders, of which some may be read-only.

Machine code is looked for in all of these folders, in this order:

1. the package's own `__pycache__`, where `stream-bayes warm-up` leaves it at installation;
2. the folder that the environment variable `NUMBA_CACHE_DIR` names;
3. `stream_bayes` in `XDG_CACHE_HOME`, or in `~/.cache`;
4. a private folder in the temporary directory.

New machine code goes to `NUMBA_CACHE_DIR` where that is set, else to the first of these that can be written. Where none
can, nothing is kept, each process compiles again, and a warning names the variable.

A cache file is a pickle: to read one that another user wrote is to run that user's code. Folders 3 and 4 are therefore
used only if they belong to this user and no other user can write to them or replace them.

Each file begins with a checksum of the rest. One that is not as it was written, as after a power loss, is not unpickled
and counts as missing: the kernel is compiled again and the file replaced.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    NullCache,
)

logger = logging.getLogger("stream_bayes.kernels")

VARIABLE = "NUMBA_CACHE_DIR"
_PACKAGE = Path(__file__).parents[1]
_NAME = "stream_bayes"
_TEMPORARY_PREFIX = f"{_NAME}-kernels-"
_DIGEST = hashlib.sha256


def _sources_checksum() -> int:
    checksum = 0
    for path in sorted(_PACKAGE.rglob("*.py")):
        checksum = zlib.crc32(path.read_bytes(), checksum)
    return checksum


# numba's cache notices a change in a kernel's own file only, and would go on using machine code that has an old
# helper of another file inlined. So every kernel is stamped with the sources of all of them.
SOURCES_CHECKSUM = _sources_checksum()


class CacheFolders:
    """The folders of this process: found when the first kernel is loaded, chosen for writing when one is compiled."""

    def __init__(self) -> None:
        # The notice that kernels are compiled asks for the folder in a thread of its own.
        self._lock = Lock()
        self._readable: list[Path] | None = None
        self._writable: Path | None = None
        self._chosen = False
        self.used: dict[Path, int] = {}
        """How many kernels were loaded from each folder."""

    @property
    def chosen(self) -> Path | None:
        """The folder for new machine code, if one was needed by now."""
        return self._writable

    def readable(self) -> list[Path]:
        """Folders in which there may be machine code that can be trusted, the package's own first."""
        if self._readable is None:
            self._readable = [folder for folder in _existing_folders() if _is_folder(folder)]
        return self._readable

    def writable(self) -> Path | None:
        """The folder that new machine code goes to, made if need be; None, after a warning, where there is none."""
        with self._lock:
            if not self._chosen:
                self._writable = next(_writable_folders(), None)
                self._chosen = True
                if self._writable is None:
                    _warn("no folder for compiled kernels can be written")
            return self._writable

    def stop_writing(self, problem: Exception) -> None:
        """Keep nothing more on disk, such as after the disk became full."""
        reason = getattr(problem, "strerror", None) or repr(problem)
        with self._lock:
            if self._writable is not None:
                _warn(f"compiled kernels cannot be written to {self._writable} ({reason})")
            self._writable = None


def _warn(reason: str) -> None:
    logger.warning("%s: each process compiles them again; set %s to a folder that can be written", reason, VARIABLE)


FOLDERS = CacheFolders()


class KernelCache(NullCache):
    """The cache of one kernel over all folders; a cache that fails costs time, never an error."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._layers: dict[Path, FunctionCache] = {}

    @property
    def cache_path(self) -> str:
        """The folder that new machine code goes to, once something was compiled; before, the package's own."""
        return str(FOLDERS.chosen or _own_folder())

    def layer(self, folder: Path) -> FunctionCache:
        """The cache of this kernel in one folder."""
        if folder not in self._layers:
            self._layers[folder] = _FolderCache(self._function, folder)
        return self._layers[folder]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Machine code for a signature from the first folder that has it; None if none has."""
        for folder in FOLDERS.readable():
            try:
                found = self.layer(folder).load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            except Exception as problem:
                # Whatever is wrong with a cache, the kernel can be compiled.
                logger.debug("the cache in %s cannot be read: %r", folder, problem)
                continue
            if found is not None:
                FOLDERS.used[folder] = FOLDERS.used.get(folder, 0) + 1
                return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code for a signature, if there is a folder for it."""
        folder = FOLDERS.writable()
        if folder is None:
            return
        try:
            self.layer(folder).save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as problem:
            # A damaged index was replaced by now; this is a folder that takes nothing.
            FOLDERS.stop_writing(problem)


class _CheckedCacheFile(IndexDataCacheFile):
    """numba's index and data files with checksums: what is not as it was written counts as missing.

    Machine code with a flipped bit would end the process or, worse, compute something else, and no exception would say
    so. numba writes the index before the data and reuses the names of data files, so that an index can also name the
    data of another signature or of older sources: each data file says whose it is.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: object) -> None:
        super().__init__(cache_path, filename_base, source_stamp)  # type: ignore[no-untyped-call]
        # numba itself, and versions of this package before the checksums, find another version of numba here and
        # replace the file.
        self._header = pickle.dumps(f"{self._version} with checksums")

    def save(self, key: Any, data: Any) -> None:
        """Keep an entry, in place of a damaged one if need be."""
        super().save(key, (self._source_stamp, key, data))  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        """The data of an entry; None if it is missing or damaged."""
        entry = super().load(key)  # type: ignore[no-untyped-call]
        if entry is None:
            return None
        stamp, own_key, data = entry
        return data if (stamp, own_key) == (self._source_stamp, key) else None

    def _load_index(self) -> dict[Any, str]:
        try:
            content = self._read_checked(self._index_path)
            if content is None:
                return {}
            stamp, overloads = pickle.loads(content)
        except Exception as problem:
            # Also when a kernel is saved: the index is then written again.
            logger.debug("the index %s cannot be read: %r", self._index_path, problem)
            return {}
        return dict(overloads) if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write_checked(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        content = self._read_checked(self._data_path(name))  # type: ignore[no-untyped-call]
        return None if content is None else pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        self._write_checked(self._data_path(name), data)  # type: ignore[no-untyped-call]

    def _read_checked(self, path: str) -> bytes | None:
        """The pickle in a file; None if the file is missing or not as it was written."""
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        begin = len(self._header) + _DIGEST().digest_size
        pickled = content[begin:]
        if content[:begin] != self._header + _DIGEST(pickled).digest():
            logger.debug("%s is damaged or of another version", path)
            return None
        return pickled

    def _write_checked(self, path: str, data: Any) -> None:
        pickled = self._dump(data)  # type: ignore[no-untyped-call]
        with self._open_for_write(path) as file:
            file.write(self._header + _DIGEST(pickled).digest() + pickled)


class _FolderCache(FunctionCache):
    def __init__(self, function: Callable[..., object], folder: Path) -> None:
        self._impl_class = _implementation_in(folder)
        super().__init__(function)  # type: ignore[no-untyped-call]
        # numba names the files after the last part of the module's name only: two packages may have the same one.
        package = function.__module__.rpartition(".")[0].rpartition(".")[2]
        name = f"{package}.{self._impl.filename_base}"
        self._cache_file = _CheckedCacheFile(self._cache_path, name, SOURCES_CHECKSUM)


@cache
def _implementation_in(folder: Path) -> type[CompileResultCacheImpl]:
    """numba's cache of compiled functions, in a folder that need not be writable."""

    class Locator(InTreeCacheLocator):
        def get_cache_path(self) -> str:
            return str(folder)

        def ensure_cache_path(self) -> None:
            """Nothing: to read is enough, and who writes has made the folder."""

    class Implementation(CompileResultCacheImpl):
        _locator_classes = [Locator]  # noqa: RUF012

    return Implementation


def _existing_folders() -> Iterator[Path]:
    yield _own_folder()
    named = _named_folder()
    if named is not None:
        yield named
    for base in [*_user_bases(), *_temporary_bases()]:
        if _is_private(base) and _is_private(base / _subfolder()):
            yield base / _subfolder()


def _writable_folders() -> Iterator[Path]:
    """Folders that can be written, made one by one when they are needed."""
    named = _named_folder()
    if named is not None and _make(named):
        yield named
    # Whoever may use the package may use its kernels: one who installs it compiles them for all.
    if _make(_own_folder(), mode=0o755):
        yield _own_folder()
    for base in [*_user_bases(), *_temporary_bases()]:
        folder = base / _subfolder()
        if _make(base) and _is_private(base) and _make(folder) and _is_private(folder):
            yield folder
    for directory in _temporary_directories():
        made = _new_temporary_folder(directory)
        if made is not None:
            yield made


def _own_folder() -> Path:
    return _PACKAGE / "__pycache__"


def _subfolder() -> str:
    """A name for this installation of the package, as numba gives it: several may share a folder."""
    source = str(_PACKAGE / "__init__.py")
    name: str = InTreeCacheLocator.get_suitable_cache_subpath(source)  # type: ignore[no-untyped-call]
    return name


def _named_folder() -> Path | None:
    name = os.environ.get(VARIABLE, "")
    try:
        return Path(name).absolute() / _subfolder() if name else None
    except OSError:
        # A relative path, and the working directory is gone.
        return None


def _user_bases() -> list[Path]:
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative path.
    if base.startswith("/"):
        return [Path(base) / _NAME]
    try:
        home = Path.home()
    except RuntimeError:
        return []
    # Who has no home has "/" or a folder that does not exist; no service makes one.
    return [home / ".cache" / _NAME] if home.is_absolute() and _is_folder(home) else []


def _temporary_directories() -> list[Path]:
    names = [os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp"]
    return [Path(name) for name in dict.fromkeys(names) if name.startswith("/") and _is_folder(Path(name))]


def _temporary_bases() -> list[Path]:
    """Private folders that earlier processes of this user made; their names cannot be guessed before."""
    found: list[Path] = []
    for directory in _temporary_directories():
        try:
            found += sorted(path for path in directory.glob(f"{_TEMPORARY_PREFIX}*") if _is_private(path))
        except OSError:
            continue
    return found


def _new_temporary_folder(directory: Path) -> Path | None:
    if not _is_protected(directory.resolve()):
        return None
    try:
        # With mode 0700 and a random name.
        base = Path(tempfile.mkdtemp(prefix=_TEMPORARY_PREFIX, dir=directory))
    except OSError:
        return None
    folder = base / _subfolder()
    return folder if _make(folder) else None


def _make(folder: Path, mode: int = 0o700) -> bool:
    """Make a folder, by default for this user alone, and its parents; False where it cannot be made or written into."""
    try:
        for path in [*reversed(folder.parents), folder]:
            if not path.exists():
                path.mkdir(mode=mode, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    """False also without permission to look, as below a protected home."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_private(folder: Path) -> bool:
    """Whether a folder belongs to this user, and no other user can write to it or replace it.

    No group may write to it, not even this user's own: on many machines all users are in one group.
    """
    try:
        own = folder.lstat()
        parent = folder.parent.resolve()
    except OSError:
        return False
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.geteuid() or own.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return _is_protected(parent)


def _is_protected(folder: Path) -> bool:
    """Whether entries of a folder, and of those above it, can be replaced by their owners, root and this user only."""
    try:
        levels = [path.lstat() for path in (folder, *folder.parents)]
    except OSError:
        return False
    return all(
        level.st_uid in (0, os.geteuid()) and (not _others_write(level) or bool(level.st_mode & stat.S_ISVTX))
        for level in levels
    )


def _others_write(status: os.stat_result) -> bool:
    """Whether others can write to a folder above a cache; this user's own group may, as in many homes."""
    own_group = status.st_uid == os.geteuid() and status.st_gid == os.getegid()
    return bool(status.st_mode & stat.S_IWOTH) or (bool(status.st_mode & stat.S_IWGRP) and not own_group)
