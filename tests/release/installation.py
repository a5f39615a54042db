"""The wheel in an empty virtual environment outside the source tree, and the demo that runs there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
import venv
from pathlib import Path
from typing import Any

from tests.release.archives import ReleaseError, run

PAGE_SECONDS = 180.0
_ADDRESS = re.compile(r"The page is at (http://[\w.:]+)")
# One of each kind; no import would notice that they are missing.
_PAGE_FILES = ("/", "/static/core/main.js", "/static/core/base.css", "/static/favicon.svg")


class Environment:
    """A virtual environment that sees neither the source tree nor the packages of the calling Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=True, symlinks=True)

    def program(self, name: str) -> str:
        """The path of a program of the environment."""
        return str(self.folder / "bin" / name)

    def install(self, *requirements: str) -> None:
        """Install from the package index that pip is set to."""
        pip = [self.program("python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input"]
        run([*pip, "install", *requirements], self.folder, "The installation")
        run([*pip, "check"], self.folder, "pip check")

    def variables(self) -> dict[str, str]:
        """The variables of the shell, without those that set Python or the package."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STREAM_BAYES"))}
        return {**kept, "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def check_metadata(environment: Environment, archives: list[Path]) -> None:
    """The metadata and the long description must be such that an index takes them; warnings count."""
    environment.install("twine")
    command = [environment.program("twine"), "check", "--strict", *map(str, archives)]
    run(command, environment.folder, "twine check")


def check_installed(environment: Environment, version: str) -> None:
    """The command must answer with the version, from the environment."""
    program = "import stream_bayes; print(stream_bayes.__file__)"
    place = run([environment.program("python"), "-I", "-c", program], environment.folder, "The import").strip()
    if not Path(place).is_relative_to(environment.folder):
        message = f"stream_bayes was imported from {place} and not from the environment {environment.folder}"
        raise ReleaseError(message)
    printed = run([environment.program("stream-bayes"), "--version"], environment.folder, "--version").strip()
    if printed != f"stream-bayes {version}":
        message = f"stream-bayes --version prints {printed!r}; the version is {version}"
        raise ReleaseError(message)


def run_demo(environment: Environment, folder: Path) -> dict[str, Any]:
    """Run the demo to its end in an empty folder; return its figures."""
    command = [environment.program("stream-bayes"), "demo", "--fast", "--json", "--folder", "demo"]
    figures: dict[str, Any] = json.loads(run(command, folder, "The demo", environment.variables()))
    if not figures["exactly_once"] or not (folder / "demo" / figures["picture"]).exists():
        message = f"The demo ended without one prediction for each mail, or without its picture: {figures}"
        raise ReleaseError(message)
    if {path.name for path in folder.iterdir()} != {"demo"}:
        message = f"The demo wrote files outside of its folder: {sorted(folder.iterdir())}"
        raise ReleaseError(message)
    return figures


def check_page(environment: Environment, folder: Path) -> None:
    """Start the demo with the page, load the page and its files, and stop both with Ctrl-C."""
    command = [environment.program("stream-bayes"), "demo", "--with-web", "--port", "0", "--folder", "page"]
    output = folder / "page.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment.variables(), stdout=file, stderr=subprocess.STDOUT
        )
    try:
        address = _wait_for_address(process, output)
        for path in _PAGE_FILES:
            with urllib.request.urlopen(address + path, timeout=30) as answer:
                if not answer.read():
                    message = f"The page answers {path} with an empty file"
                    raise ReleaseError(message)
        process.send_signal(signal.SIGINT)
        code = process.wait(PAGE_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if code:
        message = f"The demo with the page ended with code {code} after Ctrl-C:\n{output.read_text(encoding='utf-8')}"
        raise ReleaseError(message)


def _wait_for_address(process: subprocess.Popen[bytes], output: Path) -> str:
    """The address that the demo prints once the page answers."""
    end = time.monotonic() + PAGE_SECONDS
    while process.poll() is None and time.monotonic() < end:
        found = _ADDRESS.search(output.read_text(encoding="utf-8"))
        if found:
            return found[1]
        time.sleep(0.1)
    message = f"The page did not start within {PAGE_SECONDS:.0f} seconds:\n{output.read_text(encoding='utf-8')}"
    raise ReleaseError(message)
