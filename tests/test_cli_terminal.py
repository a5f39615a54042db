"""The command line on a terminal, on a full disk, and with nobody to read what it says."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.commands import COMMAND, ENVIRONMENT, PATIENCE, Run, on_a_terminal, run
from tests.corpora import put

__all__ = ["run"]


def test_ctrl_c_ends_the_demo_cleanly() -> None:
    code, shown, errors = on_a_terminal("demo", stop_at=b"1 of 3")
    assert code == 130
    assert errors.splitlines()[-1] == b"stream-bayes: stopped"
    assert b"Traceback" not in errors
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l"), "the cursor is visible again"


def test_a_terminal_without_colour_gets_none() -> None:
    code, shown, _ = on_a_terminal("demo", "--fast", variables={"NO_COLOR": "1"})
    assert code == 0
    codes = {int(number) for styles in re.findall(rb"\x1b\[([0-9;]+)m", shown) for number in styles.split(b";")}
    assert codes <= {0, 1, 2}, "bold and dim at most"
    assert b"What was learned" in shown


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"COLUMNS": "60"}, {"LINES": "20"}])
def test_a_terminal_too_small_or_too_simple_gets_lines(variables: dict[str, str]) -> None:
    code, shown, _ = on_a_terminal("demo", variables=variables)
    assert code == 0
    assert b"\x1b[1A" not in shown, "nothing is drawn over"
    assert b"point 60" in shown


def test_a_reader_who_leaves_early_causes_no_traceback() -> None:
    with subprocess.Popen(
        [*COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 1


def test_the_demo_can_be_written_in_any_encoding() -> None:
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, "demo"], env=environment, capture_output=True, check=True, timeout=PATIENCE)
    assert b"What was learned" in done.stdout


def test_ctrl_c_ends_the_demo_cleanly_while_it_compiles(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        [*COMMAND, "demo", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"Compiling the learners")
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"stream-bayes: stopped\n"
    assert process.returncode == 130


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
    code, output, errors = run("evaluate", path, "--filter", "tests.filters:RiverFilter", "--report", tmp_path / "out")
    assert code == 2
    assert output.startswith("c: 2 messages, 1 spam")
    assert errors == f"stream-bayes: Is a directory ({tmp_path / 'out' / 'report.html'})\n"
