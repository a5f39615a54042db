"""The commands of a tutorial, run as a reader runs them: what they print is what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.support.commands import ENVIRONMENT, PATIENCE, ROOT

_BLOCK = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)
_CHANGING = re.compile(r"\d\d:\d\d:\d\d|seconds=\S+")
_PROGRAMS = """
python() { "$PYTHON" "$@"; }
stream-bayes() { "$PYTHON" -m stream_bayes.cli "$@"; }
"""
_MARK = "-- command"


class Step(NamedTuple):
    """A command of a page, and the lines that the page shows below it."""

    command: str
    shown: list[str]


def steps_of(page: Path) -> list[Step]:
    """The commands of a page in order, without those that only name a variation in a comment."""
    text = page.read_text(encoding="utf-8")
    lines = [line.removeprefix("    ") for block in _BLOCK.findall(text) for line in block.splitlines()]
    begins = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    steps = []
    for begin, end in pairwise([*begins, len(lines)]):
        length = 1
        if "<<'END'" in lines[begin]:
            length = lines.index("END", begin) + 1 - begin
        command = "\n".join(lines[begin : begin + length]).removeprefix("$ ")
        if "  # " not in command:
            steps.append(Step(command, [_normal(line) for line in lines[begin + length : end] if line]))
    return steps


def _normal(line: str) -> str:
    """A line without what differs from run to run; spaces count once."""
    return " ".join(_CHANGING.sub("-", line).split())


def outputs_of(steps: list[Step], folder: Path) -> list[list[str]]:
    """What each command prints, run one after the other in one shell."""
    script = _PROGRAMS + "".join(
        f"{step.command}\n{{ set -- $?; echo; echo '{_MARK}'; (exit $1); }}\n" for step in steps
    )
    environment = {**ENVIRONMENT, "PYTHON": sys.executable, "XDG_DATA_HOME": str(folder / "data")}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return [[_normal(line) for line in part.splitlines()] for part in done.stdout.split(f"{_MARK}\n")]


def test_the_spam_filter_tutorial_shows_what_its_commands_print(tmp_path: Path) -> None:
    steps = steps_of(ROOT / "docs" / "tutorials" / "spam-filter.md")
    outputs = outputs_of(steps, tmp_path)
    assert len(steps) > 15
    assert len(outputs) == len(steps) + 1
    for step, output in zip(steps, outputs[:-1], strict=True):
        missing = [line for line in step.shown if line not in output]
        assert not missing, (step.command, output)
