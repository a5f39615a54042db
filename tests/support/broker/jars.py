"""The jars of the test broker: fetched once by Maven into the user's cache, shared by all checkouts."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterator

POM = Path(__file__).with_name("pom.xml")
DOWNLOAD_SECONDS = 600
INSTALL_SECONDS = 600
PACKAGES = ["openjdk-17-jre-headless", "maven", "openssl"]


class JarsError(RuntimeError):
    """The jars could not be fetched; the message holds what Maven said."""


def kafka_version() -> str:
    """Return the version of Kafka that the pom names."""
    version = ElementTree.parse(POM).findtext("properties/kafka.version")
    if version is None:
        message = f"{POM} names no kafka.version"
        raise JarsError(message)
    return version


def jars_folder() -> Path:
    """Return where the jars are kept, whether or not they are there yet: another folder for every other pom."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(POM.read_bytes()).hexdigest()[:8]
    return cache / "stream_bayes" / f"kafka-{kafka_version()}-{digest}"


def missing_tools(*besides: str) -> list[str]:
    """Return the programs that the test broker needs, and those named besides, as far as this machine lacks them.

    Maven is needed only until the jars are in the cache.
    """
    needed = ["java"] if jars_folder().exists() else ["java", "mvn"]
    return [tool for tool in (*needed, *besides) if shutil.which(tool) is None]


def install_missing_tools(*besides: str) -> None:
    """Install what is missing from Debian's packages, where this is root on Debian."""
    if not missing_tools(*besides) or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print(f"installing {' and '.join(PACKAGES)} for the Kafka tests (apt-get) ...", flush=True)
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            ["apt-get", "--quiet", *arguments], check=False, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
        if done.returncode != 0:
            print(f"apt-get {arguments[0]} failed: {done.stderr.strip()[-500:]}", flush=True)


def kafka_jars() -> Path:
    """Return the folder of jars, filling it first if this machine has none."""
    folder = jars_folder()
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            _download(folder)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, so that two test runs do not download at once."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _download(folder: Path) -> None:
    """Fetch the jars into a neighbour of the folder and rename it: the folder is complete or absent."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as temporary:
        jars = Path(temporary) / "jars"
        _run_maven(jars)
        jars.rename(folder)


def _run_maven(jars: Path) -> None:
    command = ["mvn", "--quiet", "--batch-mode", f"--file={POM}", "dependency:copy-dependencies"]
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    done = subprocess.run(
        [*command, *options],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DOWNLOAD_SECONDS,
    )
    if done.returncode != 0:
        message = f"Maven could not fetch Kafka {kafka_version()}:\n{done.stdout}"
        raise JarsError(message)
