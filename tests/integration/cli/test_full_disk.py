"""The command line on a full disk, and where it cannot write."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE, Run
from tests.support.corpora import put


@pytest.mark.parametrize("arguments", [["--version"], ["corpus", "{path}"], ["corpus", "{path}", "--json"]])
def test_a_full_disk_gets_one_line(tmp_path: Path, arguments: list[str]) -> None:
    path = put(tmp_path / "c.csv", "label,text\nham,x\n")
    command = [*COMMAND, *(word.format(path=path) for word in arguments)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, check=False, timeout=PATIENCE
        )
    assert (done.returncode, done.stderr) == (2, b"stream-bayes: No space left on device\n")


def test_a_report_that_cannot_be_written_does_not_take_the_figures_with_it(run: Run, tmp_path: Path) -> None:
    path = put(tmp_path / "c.csv", "label,text\nham,x\nspam,y\n")
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    code, output, errors = run(
        "evaluate", path, "--filter", "tests.support.mail_filters:RiverFilter", "--report", tmp_path / "out"
    )
    assert code == 2
    assert output.startswith("c: 2 messages, 1 spam")
    assert errors == f"stream-bayes: Is a directory ({tmp_path / 'out' / 'report.html'})\n"
