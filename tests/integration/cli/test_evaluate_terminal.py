"""`stream-bayes evaluate` on a terminal: how far it is, and Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.evaluation import baselines
from tests.support.commands import COMMAND, ENVIRONMENT, on_a_terminal, read_some
from tests.support.mail_filters import RIVER, generated_mails, write
from tests.support.tiers import short_first

WIDE = {"COLUMNS": "100"}
# The terminal at its input becomes the one that sends Ctrl-C to all that runs in front, as under a shell.
IN_FRONT = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def typed(*arguments: str | Path, stop_at: bytes) -> tuple[int, bytes, bytes]:
    """Run in front of a terminal and press Ctrl-C there once it has shown something: code, errors, output."""
    screen, terminal = pty.openpty()
    command = [sys.executable, "-c", IN_FRONT, *COMMAND, "evaluate", *map(str, arguments)]
    environment = {**ENVIRONMENT, **WIDE}
    with subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env=environment) as process:
        os.close(terminal)
        shown = b""
        pressed = False
        while part := read_some(screen):
            shown += part
            if not pressed and stop_at in shown:
                pressed = os.write(screen, b"\x03") == 1
        assert process.stdout is not None
        output = process.stdout.read()
    os.close(screen)
    return process.returncode, shown, output


@pytest.fixture(scope="module")
def three_chunks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough mails for two whole chunks and part of a third."""
    mails = generated_mails(600)
    return write(tmp_path_factory.mktemp("chunks") / "three.jsonl.gz", mails)


@pytest.mark.long
def test_a_terminal_sees_how_far_it_is(corpus: Path) -> None:
    options = ("--filter", RIVER, "--limit", "300")
    code, shown, output = on_a_terminal("evaluate", corpus, *options, errors=True, variables=WIDE)
    assert code == 0
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", shown)
    assert re.search(rb"256/300 \(1-ROCA\)% [0-9.]+ +[0-9,]+ messages/s", plain)
    assert output.startswith(b"generated, first 300: 300 messages")
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l"), "the cursor is visible again"


@pytest.mark.long
@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_prints_the_results_so_far(three_chunks: Path, as_json: bool) -> None:
    options = ["--filter", "tests.support.mail_filters:RiverUntilCtrlC", *(["--json"] if as_json else [])]
    code, shown, output = on_a_terminal(
        "evaluate", three_chunks, *options, errors=True, stop_at=b"messages/s", variables=WIDE
    )
    assert code == 130
    assert shown.splitlines()[-1].endswith(b"stream-bayes: stopped")
    assert b"Traceback" not in shown
    if as_json:
        found: dict[str, Any] = json.loads(output)
        assert found["stopped"]
        assert found["messages"] in (256, 512), "one chunk or two: the bar is drawn before the end is looked for"
    else:
        note = rb"note: river was stopped before the end of the corpus, after (256|512) messages: its figures are those"
        assert re.search(note, output)


@pytest.mark.parametrize(
    ("name", "slow"), short_first([("bogofilter", "BogofilterUntilCtrlC"), ("crm114", "Crm114UntilCtrlC")])
)
def test_ctrl_c_on_the_keyboard_does_not_reach_the_programs_of_peers(three_chunks: Path, name: str, slow: str) -> None:
    if name not in baselines.available():
        pytest.skip(f"{name}: {baselines.missing()[name]}")
    code, shown, output = typed(
        three_chunks, "--filter", f"tests.support.mail_filters:{slow}", "--json", stop_at=b"messages/s"
    )
    assert code == 130
    assert shown.splitlines()[-1].endswith(b"stream-bayes: stopped")
    found = json.loads(output)
    assert found["stopped"]
    assert found["messages"] in (256, 512)


def test_the_second_ctrl_c_ends_at_once(corpus: Path) -> None:
    options = ("--filter", "tests.support.mail_filters:Impatient")
    code, shown, output = on_a_terminal("evaluate", corpus, *options, errors=True)
    assert (code, output) == (130, b"")
    assert shown.splitlines()[-1].endswith(b"stream-bayes: stopped")
