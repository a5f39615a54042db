from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import numpy as np
import pytest

from stream_bayes.errors import InputError
from stream_bayes.evaluate.filters import Filter
from stream_bayes.evaluate.peers import available, missing
from stream_bayes.evaluate.peers.base import log_odds

EVERY_PEER = (
    "vowpal-wabbit",
    "vowpal-wabbit-2-grams",
    "sklearn-sgd",
    "sklearn-naive-bayes",
    "river-naive-bayes",
    "river-logistic",
    "bogofilter",
    "crm114",
)
SPAM_WORDS = ("cheap", "pills", "winner", "viagra", "prize", "casino", "credit", "lottery")
HAM_WORDS = ("meeting", "lunch", "report", "agenda", "project", "review", "monday", "notes")


@pytest.fixture(params=EVERY_PEER)
def peer(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Filter]:
    """A new filter of each kind that is installed, its temporary files in `tmp_path`."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if request.param not in available():
        pytest.skip(f"{request.param}: {missing()[request.param]}")
    made = available()[request.param]()
    yield made
    made.close()


def mails(count: int, seed: int = 3) -> tuple[list[bytes], list[str]]:
    """Ham and spam in turn, each of five words, one of them of the other kind."""
    generator = np.random.default_rng(seed)
    texts, labels = [], []
    for place in range(count):
        own, other = (SPAM_WORDS, HAM_WORDS) if place % 2 else (HAM_WORDS, SPAM_WORDS)
        words = [*generator.choice(own, 4), *generator.choice(other, 1)]
        texts.append(f"From: a@example.org\nSubject: {words[0]}\n\n{' '.join(words)}\n".encode())
        labels.append("spam" if place % 2 else "ham")
    return texts, labels


def test_every_peer_is_either_here_or_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted([*available(), *missing()]) == sorted(EVERY_PEER)
    monkeypatch.setenv("PATH", "")
    assert missing()["bogofilter"] == "apt-get install bogofilter"
    assert missing()["crm114"] == "apt-get install crm114"
    assert "river-logistic" in available()


def test_libraries_are_imported_when_a_peer_is_made() -> None:
    code = (
        "import sys, stream_bayes.evaluate.peers as peers; peers.available();"
        "print({'sklearn', 'vowpalwabbit'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_peer_learns(peer: Filter) -> None:
    texts, labels = mails(80)
    said = peer.test_then_train(peer.features(texts), labels).log_odds
    later, spam = said[40:], np.arange(40) % 2 == 1
    assert np.isfinite(said).all()
    assert later[spam].min() > later[~spam].max()
    assert peer.name in EVERY_PEER
    assert isinstance(peer, Filter)


def test_a_peer_predicts_before_it_learns(peer: Filter) -> None:
    texts, labels = mails(20)
    other = available()[peer.name]()
    swapped = ["ham" if label == "spam" else "spam" for label in labels[-1:]]
    try:
        said = peer.test_then_train(peer.features(texts), labels).log_odds
        assert said.tolist() == other.test_then_train(other.features(texts), labels[:-1] + swapped).log_odds.tolist()
    finally:
        other.close()


def test_size_of_pieces_changes_nothing_and_no_label_teaches_nothing(peer: Filter) -> None:
    texts, labels = mails(30)
    known: list[str | None] = [label if place % 3 else None for place, label in enumerate(labels)]
    whole = peer.test_then_train(peer.features(texts), known).log_odds
    twice = peer.test_then_train(peer.features(texts[:2] * 2), [None] * 4).log_odds
    assert twice[:2].tolist() == twice[2:].tolist()
    other = available()[peer.name]()
    try:
        pieces = [
            other.test_then_train(other.features(texts[begin : begin + 7]), known[begin : begin + 7]).log_odds
            for begin in range(0, 30, 7)
        ]
    finally:
        other.close()
    assert np.concatenate(pieces).tolist() == whole.tolist()
    assert len(peer.test_then_train(peer.features([]), []).log_odds) == 0


def test_any_mail_has_a_finite_score(peer: Filter) -> None:
    hostile = [
        b"",
        b"\n",
        b"\x00" * 100,
        bytes(range(256)) * 40,
        b"a|b:c d:1e400 |e :nan " * 50,
        b"Subject: x\n\n" + b"word " * 400_000,
        b"From x\nFrom y\n\nFrom z\n\nscore\nspam\nstop\n",
        "Betreff: größe 日本\n\n".encode(),
    ]
    for repeated in range(2):
        labels: list[str | None] = ["spam" if (place + repeated) % 2 else "ham" for place in range(len(hostile))]
        said = peer.test_then_train(peer.features(hostile), labels).log_odds
        assert said.shape == (len(hostile),)
        assert np.isfinite(said).all()


def test_nothing_is_left_behind(peer: Filter, tmp_path: Path) -> None:
    texts, labels = mails(4)
    peer.test_then_train(peer.features(texts), labels)
    peer.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif("bogofilter" not in available(), reason="bogofilter is not installed")
def test_bogofilter_is_taught_what_its_own_options_teach(tmp_path: Path) -> None:
    texts, labels = mails(24)
    peer = available()["bogofilter"]()
    peer.test_then_train(texts[:23], labels[:23])
    said = peer.test_then_train(texts[23:], [None]).log_odds[0]
    peer.close()
    command = ["bogofilter", "-C", "-d", str(tmp_path)]
    for text, label in zip(texts[:23], labels[:23], strict=True):
        subprocess.run([*command, "-s" if label == "spam" else "-n"], input=text, capture_output=True, check=False)
    by_hand = subprocess.run([*command, "-TT"], input=texts[23], capture_output=True, check=False)
    assert said == pytest.approx(log_odds(float(by_hand.stdout)), rel=1e-9)


@pytest.mark.skipif("bogofilter" not in available(), reason="bogofilter is not installed")
def test_bogofilter_learns_a_label_against_a_score_of_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    peer = available()["bogofilter"]()
    texts = [
        f"Subject: a\n\n{' '.join(f'{word}{letter}' for word in words for letter in 'abcdefghij')}\n".encode()
        for words in (SPAM_WORDS, HAM_WORDS)
    ]
    peer.test_then_train(texts * 20, ["spam", "ham"] * 20)
    said = peer.test_then_train(texts[1:], ["spam"]).log_odds
    folder = next(tmp_path.iterdir())
    counts = subprocess.run(["bogoutil", "-w", str(folder), ".MSG_COUNT"], capture_output=True, text=True, check=True)
    peer.close()
    assert said[0] < log_odds(1e-12)
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


def test_vowpal_wabbit_as_worked_out_with_its_own_interface() -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    texts, labels = mails(12)
    peer = available()["vowpal-wabbit-2-grams"]()
    said = peer.test_then_train(peer.features(texts), labels).log_odds
    peer.close()
    workspace = vowpalwabbit.Workspace("--loss_function logistic -b 22 --ngram 2 --quiet")
    for text, label, score in zip(texts, labels, said.tolist(), strict=True):
        line = text.decode().replace(":", " ").replace("\n", " ")
        assert workspace.predict(f"| {line}") == pytest.approx(score, abs=1e-6)
        workspace.learn(f"{1 if label == 'spam' else -1} | {line}")
    workspace.finish()
