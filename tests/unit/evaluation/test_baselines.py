from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from stream_bayes.evaluation.baselines import available, missing
from stream_bayes.evaluation.filters import MailFilter
from tests.support.baseline_mails import mails

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


@pytest.fixture(params=EVERY_PEER)
def peer(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailFilter]:
    """A new filter of each kind that is installed, its temporary files in `tmp_path`."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if request.param not in available():
        pytest.skip(f"{request.param}: {missing()[request.param]}")
    made = available()[request.param]()
    yield made
    made.close()


def test_every_peer_is_either_here_or_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted([*available(), *missing()]) == sorted(EVERY_PEER)
    monkeypatch.setenv("PATH", "")
    assert missing()["bogofilter"] == "apt-get install bogofilter"
    assert missing()["crm114"] == "apt-get install crm114"
    assert "river-logistic" in available()


@pytest.mark.slow
def test_libraries_are_imported_when_a_peer_is_made() -> None:
    code = (
        "import sys, stream_bayes.evaluation.baselines as peers; peers.available();"
        "print({'sklearn', 'vowpalwabbit'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
def test_a_peer_learns(peer: MailFilter) -> None:
    texts, labels = mails(80)
    predictions = peer.test_then_train(peer.features(texts), labels).log_odds
    later = predictions[40:]
    spam = np.arange(40) % 2 == 1
    assert np.isfinite(predictions).all()
    assert later[spam].min() > later[~spam].max()
    assert peer.name in EVERY_PEER
    assert isinstance(peer, MailFilter)


@pytest.mark.slow
def test_a_peer_predicts_before_it_learns(peer: MailFilter) -> None:
    texts, labels = mails(20)
    other = available()[peer.name]()
    swapped = ["ham" if label == "spam" else "spam" for label in labels[-1:]]
    try:
        predictions = peer.test_then_train(peer.features(texts), labels).log_odds
        assert (
            predictions.tolist()
            == other.test_then_train(other.features(texts), labels[:-1] + swapped).log_odds.tolist()
        )
    finally:
        other.close()


@pytest.mark.slow
def test_size_of_pieces_changes_nothing_and_no_label_teaches_nothing(peer: MailFilter) -> None:
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


def test_any_mail_has_a_finite_score(peer: MailFilter) -> None:
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
        predictions = peer.test_then_train(peer.features(hostile), labels).log_odds
        assert predictions.shape == (len(hostile),)
        assert np.isfinite(predictions).all()


def test_nothing_is_left_behind(peer: MailFilter, tmp_path: Path) -> None:
    texts, labels = mails(4)
    peer.test_then_train(peer.features(texts), labels)
    peer.close()
    assert list(tmp_path.iterdir()) == []


def test_vowpal_wabbit_as_worked_out_with_its_own_interface() -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    texts, labels = mails(12)
    peer = available()["vowpal-wabbit-2-grams"]()
    predictions = peer.test_then_train(peer.features(texts), labels).log_odds
    peer.close()
    workspace = vowpalwabbit.Workspace("--loss_function logistic -b 22 --ngram 2 --quiet")
    for text, label, score in zip(texts, labels, predictions.tolist(), strict=True):
        line = text.decode().replace(":", " ").replace("\n", " ")
        assert workspace.predict(f"| {line}") == pytest.approx(score, abs=1e-6)
        workspace.learn(f"{1 if label == 'spam' else -1} | {line}")
    workspace.finish()


def test_the_step_of_river_by_hand() -> None:
    # One word has TFIDF 1; the gradient at log-odds 0 is 1/2, the step 10 for the weight and 0.01 for the intercept.
    peer = available()["river-logistic"]()
    assert peer.test_then_train(peer.features([b"prize", b"prize"]), ["spam", None]).log_odds.tolist() == pytest.approx(
        [0.0, 10.0 / 2 + 0.01 / 2]
    )
