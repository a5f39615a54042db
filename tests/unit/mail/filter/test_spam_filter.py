"""The mail filter as a whole: what it learns, decides, keeps and refuses."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import BernoulliNB, SpamFilter
from stream_bayes.decisions import ASK, DELIVER, QUARANTINE
from stream_bayes.errors import InputError, ParameterError, SnapshotDamaged
from stream_bayes.mail.filter.composition import ALL_MEMBERS
from stream_bayes.testing import frozen
from tests.support.spam_mails import SMALL, area, stream


@pytest.mark.parametrize(
    "model", [SpamFilter(buckets=SMALL), SpamFilter.light(buckets=SMALL)], ids=["default", "light"]
)
def test_learns_to_tell_them_apart(model: SpamFilter) -> None:
    mails, labels = stream(300, 1)
    model = model.clone()
    said = model.test_then_train(mails, labels)
    assert area(labels[100:], said.spam_log_odds[100:]) > 0.98
    assert said.members == model.members
    assert said.member_log_odds.shape == (300, len(model.members))
    assert not said.member_log_odds[0].any()
    np.testing.assert_allclose(said.probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(said.spam_log_odds > 0.0, said.probabilities[:, 1] > 0.5)


def test_the_variance_is_larger_for_unseen_mails() -> None:
    mails, labels = stream(200, 2)
    model = SpamFilter(buckets=SMALL)
    model.learn_many(mails, labels)
    known = model.predictive_one(mails[0])
    new = model.predictive_one("zzqx vfrt \xe9\xe8 plokij")
    assert new.epistemic_variance > known.epistemic_variance
    assert known.variance == pytest.approx(known.epistemic_variance + known.aleatoric_variance)
    low, high = new.interval(0.95)
    assert 0.0 <= low < new.mean < high <= 1.0


@pytest.mark.parametrize(
    "model", [SpamFilter(buckets=SMALL), SpamFilter.light(buckets=SMALL)], ids=["default", "light"]
)
def test_before_any_label_all_mails_are_equally_uncertain(model: SpamFilter) -> None:
    mails = [
        b"hi",
        b"shall we meet at noon? " * 50,
        b"From: ann@example.org\nSubject: lunch\n\nat noon?",
        *stream(20, 4)[0],
    ]
    found = model.clone().predictive_many(mails)
    assert set(found.epistemic_variance) == {found.epistemic_variance[0]}


def test_a_weight_is_a_number_of_times() -> None:
    mails, labels = stream(20, 3)
    one = SpamFilter(buckets=SMALL)
    other = SpamFilter(buckets=SMALL)
    said = one.test_then_train(mails, labels, [1, 3, 0, *[1] * 17])
    before = []
    for place, (mail, label) in enumerate(zip(mails, labels, strict=True)):
        before.append(other.predictive_many([mail]).spam_log_odds[0])
        for _ in range({1: 3, 2: 0}.get(place, 1)):
            other.learn_one(mail, label)
    assert frozen(one) == frozen(other)
    np.testing.assert_array_equal(said.spam_log_odds, before)
    for weight in (0.5, 1001):
        with pytest.raises(InputError, match="whole number of times"):
            one.learn_one(mails[0], labels[0], w=weight)


def test_costs_change_the_action_and_not_the_probability() -> None:
    mails, labels = stream(150, 4)
    strict = SpamFilter(buckets=SMALL, false_positive_cost=1e6)
    lax = SpamFilter(buckets=SMALL, false_positive_cost=0.01)
    for model in (strict, lax):
        model.learn_many(mails, labels)
    spam = mails[labels.index("spam")]
    assert lax.predict_proba_one(spam)["spam"] > 0.5
    assert lax.decide_one(mails[labels.index("ham")], price=None).risks[QUARANTINE] < 0.01
    assert strict.predict_proba_one(spam) == lax.predict_proba_one(spam)
    assert (strict.decide_one(spam).action, lax.decide_one(spam).action) == (DELIVER, QUARANTINE)
    assert strict.decide_one(spam, price=0.0).action == ASK


@pytest.mark.slow
def test_a_snapshot_has_only_the_seen_features(tmp_path: Path) -> None:
    mails, labels = stream(30, 5)
    model = SpamFilter()
    model.learn_many(mails, labels)
    assert model.memory_bytes == 48 * 2**22 + 3 * 16 * 2**18
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 5e6
    again = SpamFilter.load(tmp_path / "model")
    assert frozen(again) == frozen(model)
    assert (again.false_positive_cost, again.members) == (model.false_positive_cost, ALL_MEMBERS)


def test_a_model_at_war_with_itself_can_be_saved() -> None:
    """Sums of squared gradients grow without bound where labels contradict each other."""
    model = SpamFilter(buckets=SMALL)
    model.learn_one("a b c", "spam")
    state = model.state()
    state.arrays["word.weights"][:, 1] = 1e9
    again = SpamFilter.from_state(state)
    again.learn_one("a b c", "ham")
    assert frozen(SpamFilter.from_state(again.state())) == frozen(again)


def test_a_mail_learned_often_takes_no_more_memory_than_its_features() -> None:
    mail = b"Subject: x\n\n" + b"word " * 10_000
    model = SpamFilter.light(buckets=SMALL)
    said = model.test_then_train([mail] * 20, ["spam", "ham"] * 10, [1000] * 20)
    assert len(said) == 20
    assert model.predictive_many([mail]).probabilities.sum() == pytest.approx(1.0)


def test_a_large_mail_is_not_kept() -> None:
    model = SpamFilter(buckets=SMALL)
    model.predict_one(b"x " * 1_000_000)
    assert len(pickle.dumps(model)) < 30e6


def test_touching_the_tables_changes_nothing() -> None:
    mails, labels = stream(30, 8)
    model = SpamFilter(buckets=SMALL)
    model.prefault()
    model.learn_many(mails, labels)
    before = frozen(model)
    model.prefault()
    assert frozen(model) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gram.buckets", np.array([SMALL], np.uint32)),
        ("word.buckets", np.array([5, 5], np.uint32)),
        ("word.weights", np.array([[np.nan, 0.0]], np.float32)),
        ("structure.counts", np.zeros((1, 2), np.uint32)),
        ("totals", np.array([-1.0, 2.0])),
        ("novelties", np.array([2.0, 1.0])),
        ("novelties", np.array([-1.0, 1.0])),
        ("biases", np.array([[0.0, -1.0]] * 3)),
        ("gram.weights", np.array([[0.0, 0.0, 0.0, 1.5, 0.0, 0.0]], np.float32)),
        ("gram.weights", np.array([[0.0, -1.0, 0.0, 0.0, 0.0, 0.0]], np.float32)),
        ("word.weights", np.array([[1e7, 0.0]], np.float32)),
        ("hosts.counts", np.array([[2**31, 0]], np.uint32)),
        ("fusion_factor", np.eye(3)),
    ],
)
def test_a_damaged_snapshot_is_refused(name: str, value: Any) -> None:
    model = SpamFilter(buckets=SMALL)
    model.learn_one("cheap pills", "spam")
    state = model.state()
    table, _, _ = name.partition(".")
    for part in ("buckets", "counts", "weights"):
        if "." in name:
            old = state.arrays[f"{table}.{part}"]
            state.arrays[f"{table}.{part}"] = np.resize(old, (len(value), *old.shape[1:]))
    state.arrays[name] = value
    with pytest.raises(SnapshotDamaged):
        SpamFilter.from_state(state)


@pytest.mark.parametrize(
    "parameters",
    [
        {"members": ()},
        {"members": ("gram counts", "gram counts")},
        {"members": "gram counts"},
        {"members": ("magic",)},
        {"buckets": 1000},
        {"buckets": 2**27},
        {"buckets": 512},
        {"head_bytes": -1},
        {"text_bytes": 16_001},
        {"tail_bytes": 1.5},
        {"false_positive_cost": 0.0},
        {"false_negative_cost": float("nan")},
        {"classes": ("spam", "spam")},
        {"external_members": (("x", 5),)},
        {"external_members": (("x", BernoulliNB(), "pictures"),)},
        {"external_members": (("intercept", BernoulliNB()),)},
        {"external_members": (("x", BernoulliNB()), ("x", BernoulliNB()))},
        {"external_members": 5},
    ],
)
def test_parameters_that_cannot_work(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        SpamFilter(**parameters)


def test_a_batch_made_for_other_features_is_refused() -> None:
    batch = SpamFilter.light(buckets=SMALL).batch(["a"])
    with pytest.raises(InputError, match="batch"):
        SpamFilter(buckets=SMALL).predictive_many(batch)


def test_threads_read_their_mails_apart() -> None:
    mails, labels = stream(120, 7)
    expected = SpamFilter(buckets=SMALL).test_then_train(mails, labels).spam_log_odds
    said: dict[int, Any] = {}

    def work(number: int) -> None:
        said[number] = SpamFilter(buckets=SMALL).test_then_train(mails, labels).spam_log_odds

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == [0, 1, 2, 3]
    for odds in said.values():
        np.testing.assert_array_equal(odds, expected)


@pytest.mark.slow
def test_any_learner_loads_a_filter(tmp_path: Path) -> None:
    """In a process that has never heard of mail."""
    SpamFilter(buckets=SMALL).save(tmp_path / "model")
    script = f"from stream_bayes import Learner; print(type(Learner.load({str(tmp_path / 'model')!r})).__name__)"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert shown == "SpamFilter\n"
