"""The demo on a terminal, in another encoding, and with a closed output."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE, on_a_terminal
from tests.support.demo_processes import start_demo, workers_of


def test_ctrl_c_on_a_terminal_leaves_it_in_order(tmp_path: Path) -> None:
    code, shown, errors = on_a_terminal(
        "demo", stop_at=b"newest label requests", variables={"TMPDIR": str(tmp_path), "TEMP": str(tmp_path)}
    )
    assert code == 130
    assert errors.splitlines()[-1] == b"stream-bayes: stopped"
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l"), "the cursor is visible again"
    assert not list(tmp_path.glob("stream-bayes-demo-*")), "no temporary folder is left"


@pytest.mark.long
def test_a_terminal_without_colour_gets_none_and_the_whole_story(tmp_path: Path) -> None:
    code, shown, _ = on_a_terminal(
        *("demo", "--fast", "--mails", "60", "--folder", tmp_path), variables={"NO_COLOR": "1"}
    )
    assert code == 0
    codes = {int(number) for styles in re.findall(rb"\x1b\[([0-9;]+)m", shown) for number in styles.split(b";")}
    assert codes <= {0, 1, 2}, "bold and dim at most"
    text = re.sub(rb"\s+", b" ", re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown))
    found = re.search(rb"killed with SIGKILL at mail (\d+); restarted; (\d+) events? replayed from the journal", text)
    assert found is not None
    assert b"every mail has exactly one prediction." in text
    for command in (b"inspect ", b"run --config ", b"produce your.mbox --labels none --config ", b"evaluate your.mbox"):
        assert command in text
    assert b"dead-letters" not in text, "there are none"


@pytest.mark.long
def test_the_demo_can_be_written_in_any_encoding_and_keeps_its_folder() -> None:
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    command = [*COMMAND, "demo", "--fast", "--mails", "40"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=PATIENCE)
    found = re.search(rb"Everything is in (\S+)\.", done.stdout)
    assert found is not None
    folder = Path(found[1].decode())
    assert folder.parent == Path(tempfile.gettempdir())
    assert (folder / "learning_curve.svg").exists()
    shutil.rmtree(folder)


@pytest.mark.long
def test_a_closed_output_pipe_causes_no_traceback(tmp_path: Path) -> None:
    with start_demo(tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 1
    assert not workers_of(tmp_path)
