"""The peers that are programs of their own: bogofilter and CRM114."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import numpy as np
import pytest

from stream_bayes.errors import InputError
from stream_bayes.evaluation.baselines import available, missing
from stream_bayes.evaluation.baselines.base import log_odds
from tests.support.baseline_mails import HAM_WORDS, SPAM_WORDS, mails


@pytest.mark.skipif("bogofilter" not in available(), reason="bogofilter is not installed")
def test_bogofilter_learns_as_by_its_own_options(tmp_path: Path) -> None:
    texts, labels = mails(24)
    peer = available()["bogofilter"]()
    peer.test_then_train(texts[:23], labels[:23])
    predictions = peer.test_then_train(texts[23:], [None]).log_odds[0]
    peer.close()
    command = ["bogofilter", "-C", "-d", str(tmp_path)]
    for text, label in zip(texts[:23], labels[:23], strict=True):
        subprocess.run([*command, "-s" if label == "spam" else "-n"], input=text, capture_output=True, check=False)
    by_hand = subprocess.run([*command, "-TT"], input=texts[23], capture_output=True, check=False)
    assert predictions == pytest.approx(log_odds(float(by_hand.stdout)), rel=1e-9)


@pytest.mark.skipif("bogofilter" not in available(), reason="bogofilter is not installed")
def test_bogofilter_learns_a_label_against_a_score_of_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    peer = available()["bogofilter"]()
    texts = [
        f"Subject: a\n\n{' '.join(f'{word}{letter}' for word in words for letter in 'abcdefghij')}\n".encode()
        for words in (SPAM_WORDS, HAM_WORDS)
    ]
    peer.test_then_train(texts * 20, ["spam", "ham"] * 20)
    predictions = peer.test_then_train(texts[1:], ["spam"]).log_odds
    folder = next(tmp_path.iterdir())
    counts = subprocess.run(["bogoutil", "-w", str(folder), ".MSG_COUNT"], capture_output=True, text=True, check=True)
    peer.close()
    assert predictions[0] < log_odds(1e-12)
    assert counts.stdout.split()[-2:] == ["21", "20"]


@pytest.mark.skipif(which("crm") is None, reason="crm114 is not installed")
def test_a_crm_that_has_ended_is_an_error_and_can_be_closed() -> None:
    peer = available()["crm114"]()
    process = peer._process  # type: ignore[attr-defined]
    process.terminate()
    process.wait()
    with pytest.raises(InputError, match="crm has ended"):
        peer.test_then_train([b"a", b"b"], [None, None])
    peer.close()


@pytest.mark.parametrize("name", ["bogofilter", "crm114"])
def test_programs_run_where_no_ctrl_c_reaches_them(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name not in available():
        pytest.skip(f"{name}: {missing()[name]}")
    for program in ("bogofilter", "crm", "cssutil"):
        code = f"import os, sys; print(os.getsid(0), file=open({str(tmp_path / 'sessions')!r}, 'a'))"
        path = tmp_path / program
        path.write_text(f"#!{sys.executable}\n{code}\nos.execv({which(program)!r}, [{program!r}, *sys.argv[1:]])\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    peer = available()[name]()
    peer.test_then_train(*mails(2))
    peer.close()
    sessions = (tmp_path / "sessions").read_text().split()
    assert len(sessions) == 3, "bogofilter once and for each mail; crm once and its tool for both tables"
    assert str(os.getsid(0)) not in sessions


def learned(folder: Path) -> dict[str, int]:
    """How many mails CRM114's tables of both labels have learned."""
    counts = {}
    for label in ("spam", "ham"):
        output = subprocess.run(["cssutil", "-b", "-r", f"{label}.css"], cwd=folder, capture_output=True, check=True)
        counts[label] = int(output.stdout.partition(b"Documents learned")[2].split()[1])
    return counts


@pytest.mark.skipif("crm114" not in available(), reason="crm114 is not installed")
def test_crm_learns_errors_and_uncertain_mails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    peer = available()["crm114"]()
    texts = {
        label: f"Subject: a\n\n{' '.join(f'{word}{letter}' for word in words for letter in 'abcdefghij')}\n".encode()
        for label, words in (("spam", SPAM_WORDS), ("ham", HAM_WORDS))
    }
    peer.test_then_train([*texts.values()] * 10, [*texts] * 10)
    folder = next(tmp_path.iterdir())
    for label, other in (("spam", "ham"), ("ham", "spam")):
        before = learned(folder)
        sure = peer.test_then_train([texts[label]], [label]).log_odds[0] / np.log(10.0)
        assert (sure if label == "spam" else -sure) > 10.0
        assert learned(folder) == before, "right and sure: nothing to learn"
        peer.test_then_train([texts[label]], [other])
        assert learned(folder) == {**before, other: before[other] + 1}, "sure and wrong"
        peer.test_then_train([b"words that never came"], [label])
        assert learned(folder)[label] == before[label] + 1, "not sure"
    peer.close()


@pytest.mark.skipif("crm114" not in available(), reason="crm114 is not installed")
def test_crm_ends_when_its_pipe_is_closed() -> None:
    peer = available()["crm114"]()
    process = peer._process  # type: ignore[attr-defined]
    process.stdin.close()
    assert process.wait(timeout=300.0) == 0
    peer.close()
