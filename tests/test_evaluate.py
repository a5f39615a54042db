from __future__ import annotations

import gzip
import json
import math
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes.cli import main
from stream_bayes.errors import ParameterError
from stream_bayes.evaluate.bootstrap import summarise
from stream_bayes.evaluate.corpora import Mail
from stream_bayes.evaluate.filters import Filter
from stream_bayes.evaluate.metrics import all_metrics, one_minus_roca_percent
from stream_bayes.evaluate.opening import filter_names, open_filter
from stream_bayes.evaluate.order import Stream
from stream_bayes.evaluate.protocol import Run
from stream_bayes.evaluate.protocol import run as run_filter
from stream_bayes.evaluate.tables import pass_table
from tests.filters import RiverFilter, generated_mails

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100", "LINES": "24"}
RIVER = "tests.filters:RiverFilter"
PATIENCE = 60.0
KEYS = {
    *("messages", "spam", "one_minus_roca_percent", "ham_error_percent", "spam_error_percent", "lam_percent"),
    *("spam_error_at_ham_0_1_percent", "log_loss", "brier", "calibration_error", "labels_used"),
    *("messages_per_second", "cpu_microseconds_per_message", "peak_memory_mb"),
}

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def evaluate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`stream-bayes evaluate` in this process: exit code, output, errors."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["stream-bayes", "evaluate", *map(str, arguments)])
        monkeypatch.setattr(sys, "path", [*sys.path])
        with pytest.raises(SystemExit) as ending:
            main()
        assert isinstance(ending.value.code, int)
        return ending.value.code, *capsys.readouterr()

    return call


def write(path: Path, mails: Sequence[Mail]) -> Path:
    """The mails as JSON lines; those without a label say so."""
    lines = [{"id": mail.id, "label": mail.label or "unlabelled", "text": mail.raw.decode()} for mail in mails]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "generated.jsonl.gz", generated_mails(300))


def passed(mails: Sequence[Mail], feedback: str = "immediate") -> Run:
    return run_filter(RiverFilter(), Stream("generated", mails), feedback=feedback)


@pytest.mark.parametrize("feedback", ["immediate", "delayed:20", "first:100", "partial:0.5"])
def test_json_has_the_figures_of_the_pass(evaluate: Command, corpus: Path, feedback: str) -> None:
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--feedback", feedback, "--json")
    assert (code, errors) == (0, "")
    found, expected = json.loads(output), passed(generated_mails(300), feedback)
    assert set(found) >= KEYS
    for name, value in all_metrics(expected.spam, expected.log_odds)._asdict().items():
        assert found[name] == pytest.approx(value, rel=1e-12)
        low, high = found["intervals"][name]
        assert low <= value <= high
    assert (found["messages"], found["spam"]) == (300, int(expected.spam.sum()))
    assert found["labels_used"] == {"immediate": 300, "delayed:20": 280, "first:100": 100}.get(
        feedback, int(expected.learned.sum())
    )
    assert (found["filter"], found["corpus"], found["feedback"]) == ("river", "generated", feedback)
    assert found["members_one_minus_roca_percent"]["negative"] == pytest.approx(100 - found["one_minus_roca_percent"])
    assert found["cpu_microseconds_per_message"] > 0.0
    assert list(found["stages"]) == ["read", "features", "predict and learn"]


def test_shuffle_limit_and_prefix(evaluate: Command, tmp_path: Path) -> None:
    mails = [mail._replace(id=f"{'ab'[place % 2]}/{place}") for place, mail in enumerate(generated_mails(200))]
    path = write(tmp_path / "two.jsonl.gz", mails)
    options = ("--prefix", "b/", "--shuffle", "7", "--limit", "60", "--filter", RIVER, "--json")
    found = json.loads(evaluate(path, *options)[1])
    kept = mails[1::2]
    expected = passed([kept[place] for place in np.random.default_rng(7).permutation(100)[:60]])
    assert found["messages"] == 60
    assert found["log_loss"] == all_metrics(expected.spam, expected.log_odds).log_loss


def test_the_table_for_people(evaluate: Command, corpus: Path) -> None:
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--feedback", "first:50")
    expected = passed(generated_mails(300), "first:50")
    summary = summarise(expected.spam, expected.log_odds)
    assert (code, errors) == (0, "")
    assert output.startswith(f"generated: 300 messages, {summary.spam} spam ({summary.spam / 3:.1f} %)\n")
    assert "filter river, feedback first:50, 50 labels learned\n" in output
    value, low, high = summary.values[0], summary.low[0], summary.high[0]
    assert re.search(rf"^ +\(1-ROCA\)% +{value:.4f} +{low:.4f} to {high:.4f}$", output, re.MULTILINE)
    for name in ("ham mis", "spam mis", "lam %", "spam lost at 0.1 %", "log loss", "Brier", "calibration error"):
        assert name in output
    assert re.search(r"^ +predict and learn +[0-9.]+ +[0-9.]+$", output, re.MULTILINE)
    assert re.search(r"^ +peak memory, MB +[0-9]+ +[+-][0-9]+ after the first tenth$", output, re.MULTILINE)
    assert "half" not in output


def test_members_and_how_far_the_fusion_is_from_the_best(evaluate: Command, corpus: Path) -> None:
    output = evaluate(corpus, "--filter", RIVER, "--members")[1]
    expected = passed(generated_mails(300))
    area = one_minus_roca_percent(expected.spam, expected.log_odds)
    assert re.search(rf"^ +half +{area:.4f}\n +negative +{100 - area:.4f}$", output, re.MULTILINE)
    assert "level with its best member, half" in output


@pytest.mark.parametrize(
    ("better", "words"), [(2.0, "behind its best member, better"), (-2.0, "ahead of its best member, better")]
)
def test_the_fusion_beside_its_best_member(better: float, words: str) -> None:
    done = passed(generated_mails(300))
    done.members.clear()
    done.members["better"] = done.log_odds + better * done.spam
    shown = pass_table(done, summarise(done.spam, done.log_odds, replicates=2), members=True)
    area, own = (one_minus_roca_percent(done.spam, scores) for scores in (done.members["better"], done.log_odds))
    assert f"the fusion is {100 * abs(own / area - 1):.1f} % {words}" in shown


@pytest.mark.parametrize(("label", "absent"), [("ham", "spam"), ("spam", "ham")])
def test_one_class_only(evaluate: Command, tmp_path: Path, label: str, absent: str) -> None:
    path = write(tmp_path / "one.jsonl.gz", [mail._replace(label=label) for mail in generated_mails(40)])
    code, output, _ = evaluate(path, "--filter", RIVER, "--members")
    assert code == 0
    assert re.search(r"^ +\(1-ROCA\)% +- +-$", output, re.MULTILINE)
    assert f"note: no {absent} came" in output
    found = json.loads(evaluate(path, "--filter", RIVER, "--json")[1])
    assert found["one_minus_roca_percent"] is found["lam_percent"] is found[f"{absent}_error_percent"] is None
    assert found["intervals"]["lam_percent"] == [None, None]
    assert found[f"{label}_error_percent"] >= 0.0
    assert math.isfinite(found["log_loss"])


def test_nothing_to_evaluate(evaluate: Command, corpus: Path) -> None:
    code, output, _ = evaluate(corpus, "--filter", RIVER, "--prefix", "nobody/", "--json")
    found = json.loads(output)
    assert (code, found["messages"], found["log_loss"], found["messages_per_second"]) == (0, 0, None, None)
    code, output, _ = evaluate(corpus, "--filter", RIVER, "--prefix", "nobody/", "--members")
    assert code == 0
    assert "no messages with a label" in output


def test_messages_without_a_label_are_counted(evaluate: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "some.jsonl.gz", generated_mails(90, unlabelled=3))
    found = json.loads(evaluate(path, "--filter", RIVER, "--json")[1])
    assert (found["messages"], found["unlabelled"], found["labels_used"]) == (60, 30, 60)
    assert "30 messages without a label were scored but not evaluated" in evaluate(path, "--filter", RIVER)[1]


def test_problems_of_a_corpus(evaluate: Command, tmp_path: Path) -> None:
    mails = generated_mails(30)
    path = write(tmp_path / "twice.jsonl.gz", [*mails, mails[4]])
    code, output, errors = evaluate(path, "--filter", RIVER)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "line 31" in errors
    found = json.loads(evaluate(path, "--filter", RIVER, "--problems", "count", "--json")[1])
    assert (found["messages"], found["problems"]) == (30, {"duplicate-id": 1})
    assert "note: 1 left out as duplicate-id, such as " in evaluate(path, "--filter", RIVER, "--problems", "count")[1]


def test_another_threshold(evaluate: Command, corpus: Path) -> None:
    found = json.loads(evaluate(corpus, "--filter", RIVER, "--threshold", "0.9", "--json")[1])
    done = passed(generated_mails(300))
    assert found["threshold"] == 0.9
    assert found["ham_error_percent"] == all_metrics(done.spam, done.log_odds, threshold=0.9).ham_error_percent


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--filter", "nobody"), "there is no filter 'nobody'; there are default, light"),
        (("--filter", "no.such:thing"), "there is no filter at no.such:thing"),
        (("--filter", "tests.filters:Nothing"), "there is no filter at tests.filters:Nothing"),
        (("--filter", "collections:Counter"), "made a Counter, which is no filter"),
        (("--filter", RIVER, "--feedback", "sometimes"), "feedback must be immediate"),
        (("--filter", RIVER, "--threshold", "1"), "threshold must lie between 0 and 1"),
        (("--filter", RIVER, "--problems", "maybe"), "problems must be"),
    ],
)
def test_what_cannot_work_gets_one_line(
    evaluate: Command, corpus: Path, arguments: tuple[str, ...], problem: str
) -> None:
    code, output, errors = evaluate(corpus, *arguments)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("stream-bayes: ")
    assert problem in errors


def test_a_corpus_that_is_not_there(evaluate: Command, tmp_path: Path) -> None:
    code, output, errors = evaluate(tmp_path / "nowhere", "--filter", RIVER)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "nowhere" in errors


def test_a_filter_of_ones_own_beside_the_corpus(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "mine.py").write_text("from tests.filters import RiverFilter as Mine\n")
    done = subprocess.run(
        [sys.executable, "-m", "stream_bayes.cli", "evaluate", corpus.name, "--filter", "mine:Mine", "--json"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    )
    assert json.loads(done.stdout)["messages"] == 300
    assert done.stderr == b""


def test_a_report_names_the_worst_mistakes(evaluate: Command, tmp_path: Path) -> None:
    mails = generated_mails(300)
    texts = [f"Subject: about {place}\n\n{mail.raw.decode()}".encode() for place, mail in enumerate(mails)]
    path = write(tmp_path / "mails.jsonl.gz", [mail._replace(raw=raw) for mail, raw in zip(mails, texts, strict=True)])
    folder = tmp_path / "a" / "report"
    code, output, errors = evaluate(path, "--filter", RIVER, "--report", folder)
    assert (code, errors) == (0, "")
    assert output.endswith(f"\n\nreport: {folder / 'report.html'}\n")
    done = passed([mail._replace(raw=raw) for mail, raw in zip(mails, texts, strict=True)])
    page = (folder / "report.html").read_text()
    worst = [int(np.where(chosen, done.log_odds, -np.inf).argmax()) for chosen in (~done.spam, done.spam)]
    assert f"about {worst[0]}<" in page
    assert f"about {int(np.where(done.spam, done.log_odds, np.inf).argmin())}<" in page
    assert f"about {worst[1]}<" not in page, "the surest spam is no mistake"
    found = json.loads(evaluate(path, "--filter", RIVER, "--report", folder, "--json")[1])
    assert found["report"] == str(folder / "report.html")


def test_a_report_that_cannot_be_written_is_refused_before_the_work(evaluate: Command, corpus: Path) -> None:
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--report", corpus)
    assert (code, output) == (2, "")
    assert errors == f"stream-bayes: cannot write a report to {corpus}: file exists\n"


def test_names_of_filters() -> None:
    names = filter_names()
    assert names[:2] == ("default", "light")
    for name in names[2:]:
        with pytest.raises(ParameterError):
            open_filter(f"{name}?")
        peer = open_filter(name)
        assert isinstance(peer, Filter)
        assert peer.name == name
        peer.close()


def watched(arguments: Sequence[str | Path], *, stop_at: bytes | None = None) -> tuple[int, bytes, bytes]:
    """Run with a terminal as error output, sending Ctrl-C once it has shown something: code, output, errors."""
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "stream_bayes.cli", "evaluate", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=ENVIRONMENT) as process:
        os.close(terminal)
        shown = b""
        while part := read_some(screen):
            shown += part
            if stop_at is not None and stop_at in shown:
                process.send_signal(signal.SIGINT)
                stop_at = None
        assert process.stdout is not None
        output = process.stdout.read()
    os.close(screen)
    return process.returncode, output, shown


def read_some(screen: int) -> bytes:
    ready, _, _ = select.select([screen], [], [], PATIENCE)
    assert ready, "the program has fallen silent"
    try:
        return os.read(screen, 65536)
    except OSError:  # Linux's way of saying that the other end is closed
        return b""


@pytest.fixture(scope="module")
def long_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30,000 mails: some seconds of work."""
    mails = generated_mails(300)
    many = [mails[place % 300]._replace(id=str(place)) for place in range(30_000)]
    return write(tmp_path_factory.mktemp("long") / "long.jsonl.gz", many)


def test_a_terminal_sees_how_far_it_is(corpus: Path) -> None:
    code, output, shown = watched([corpus, "--filter", RIVER, "--limit", "300"])
    assert code == 0
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", shown)
    assert re.search(rb"256/300 \(1-ROCA\)% [0-9.]+ +[0-9,]+ messages/s", plain)
    assert output.startswith(b"generated, first 300: 300 messages")
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l"), "the cursor is visible again"


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_ends_with_what_was_measured_so_far(long_corpus: Path, as_json: bool) -> None:
    options = ["--json"] if as_json else []
    code, output, shown = watched([long_corpus, "--filter", RIVER, *options], stop_at=b"messages/s")
    assert code == 130
    assert shown.splitlines()[-1].endswith(b"stream-bayes: stopped")
    assert b"Traceback" not in shown
    if as_json:
        found: dict[str, Any] = json.loads(output)
        assert found["stopped"]
        assert 0 < found["messages"] < 30_000
        assert found["messages"] % 256 == 0
    else:
        assert b"note: ended before the end of the corpus: these are the figures so far" in output
