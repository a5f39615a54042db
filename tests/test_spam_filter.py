"""The mail filter as a whole: what it learns, decides, keeps and refuses."""

from __future__ import annotations

import pickle
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import feature_extraction, linear_model, neighbors, preprocessing, tree

from stream_bayes import BernoulliNB, Outsider, SpamFilter
from stream_bayes.checks import frozen
from stream_bayes.decisions import ASK, DELIVER, QUARANTINE
from stream_bayes.errors import InputError, ParameterError, SnapshotDamaged, SnapshotError
from stream_bayes.spam.composition import ALL_MEMBERS
from tests.mails import make_mail

SMALL = 2**14


def stream(count: int, seed: int) -> tuple[list[bytes], list[str]]:
    generator = random.Random(seed)
    kinds = [generator.random() < 0.4 for _ in range(count)]
    mails = [make_mail(generator, spam=kind) for kind in kinds]
    return mails, ["spam" if kind else "ham" for kind in kinds]


def roca(labels: list[str], scores: Any) -> float:
    spam = np.array([label == "spam" for label in labels])
    return float(np.mean(scores[spam][:, None] > scores[~spam][None, :]))


@pytest.mark.parametrize(
    "model", [SpamFilter(buckets=SMALL), SpamFilter.light(buckets=SMALL)], ids=["default", "light"]
)
def test_learns_to_tell_them_apart(model: SpamFilter) -> None:
    mails, labels = stream(300, 1)
    model = model.clone()
    said = model.test_then_train(mails, labels)
    assert roca(labels[100:], said.spam_log_odds[100:]) > 0.98
    assert said.members == model.members
    assert said.member_log_odds.shape == (300, len(model.members))
    assert not said.member_log_odds[0].any()
    np.testing.assert_allclose(said.probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(said.spam_log_odds > 0.0, said.probabilities[:, 1] > 0.5)


def test_knows_less_of_what_it_has_not_seen() -> None:
    mails, labels = stream(200, 2)
    model = SpamFilter(buckets=SMALL)
    model.learn_many(mails, labels)
    known, new = model.predictive_one(mails[0]), model.predictive_one("zzqx vfrt \xe9\xe8 plokij")
    assert new.epistemic_variance > known.epistemic_variance
    assert known.variance == pytest.approx(known.epistemic_variance + known.aleatoric_variance)
    low, high = new.interval(0.95)
    assert 0.0 <= low < new.mean < high <= 1.0


def test_a_weight_is_a_number_of_times() -> None:
    mails, labels = stream(20, 3)
    one, other = SpamFilter(buckets=SMALL), SpamFilter(buckets=SMALL)
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


def test_costs_decide_what_is_done_and_not_what_is_believed() -> None:
    mails, labels = stream(150, 4)
    strict, lax = SpamFilter(buckets=SMALL, lost_ham=1e6), SpamFilter(buckets=SMALL, lost_ham=0.01)
    for model in (strict, lax):
        model.learn_many(mails, labels)
    spam = mails[labels.index("spam")]
    assert strict.predict_proba_one(spam) == lax.predict_proba_one(spam)
    assert (strict.decide_one(spam).action, lax.decide_one(spam).action) == (DELIVER, QUARANTINE)
    assert strict.decide_one(spam, price=0.0).action == ASK


def test_a_snapshot_holds_only_what_was_seen(tmp_path: Path) -> None:
    mails, labels = stream(30, 5)
    model = SpamFilter()
    model.learn_many(mails, labels)
    assert model.memory_bytes == 48 * 2**22 + 3 * 16 * 2**18
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 5e6
    again = SpamFilter.load(tmp_path / "model")
    assert frozen(again) == frozen(model)
    assert (again.lost_ham, again.members) == (model.lost_ham, ALL_MEMBERS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gram.buckets", np.array([SMALL], np.uint32)),
        ("word.buckets", np.array([5, 5], np.uint32)),
        ("word.weights", np.array([[np.nan, 0.0]], np.float32)),
        ("structure.counts", np.zeros((1, 2), np.uint32)),
        ("totals", np.array([-1.0, 2.0])),
        ("biases", np.array([[0.0, -1.0]] * 3)),
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


def outsiders() -> tuple[Outsider, ...]:
    return (
        Outsider("neighbours", preprocessing.StandardScaler() | neighbors.KNNClassifier(), "numbers"),
        Outsider("tree", tree.HoeffdingTreeClassifier(), "numbers"),
        Outsider("words", feature_extraction.BagOfWords(on="text") | linear_model.LogisticRegression()),
        Outsider("ours", BernoulliNB(), "numbers"),
    )


def test_any_classifier_of_river_takes_part() -> None:
    mails, labels = stream(80, 6)
    model, loop = SpamFilter(buckets=SMALL, others=outsiders()), SpamFilter(buckets=SMALL, others=outsiders())
    said = model.test_then_train(mails, labels)
    single = []
    for mail, label in zip(mails, labels, strict=True):
        single.append(loop.predict_proba_one(mail)["spam"])
        loop.learn_one(mail, label)
    np.testing.assert_array_equal(said.probabilities[:, 1], single)
    assert list(model.weights())[-5:] == ["neighbours", "tree", "words", "ours", "intercept"]
    assert said.member_log_odds[40:, -4:].any(axis=0).all(), "each of them says something by then"
    assert roca(labels[40:], said.spam_log_odds[40:]) > 0.95
    fresh = model.clone()
    assert fresh.predict_proba_one(mails[0]) == SpamFilter(buckets=SMALL, others=outsiders()).predict_proba_one(
        mails[0]
    )
    with pytest.raises(SnapshotError, match="neighbours"):
        model.state()


class Grumpy(linear_model.LogisticRegression):
    """Refuses to learn a mail with many links."""

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        if x["links"] > 2.0:
            message = "too many links"
            raise ValueError(message)
        super().learn_one(x, y, w)


def test_what_one_member_refuses_none_has_learned() -> None:
    model = SpamFilter(buckets=SMALL, others=(*outsiders()[:1], Outsider("grumpy", Grumpy(), "numbers")))
    model.learn_one("see http://a.example.com", "spam")
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="too many links"):
        model.test_then_train(["lunch?", "http://a http://b http://c"], ["ham", "spam"])
    assert pickle.dumps(model) == before


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
        {"lost_ham": 0.0},
        {"passed_spam": float("nan")},
        {"classes": ("spam", "spam")},
        {"others": (("x", 5),)},
        {"others": (("x", BernoulliNB(), "pictures"),)},
        {"others": (("intercept", BernoulliNB()),)},
        {"others": (("x", BernoulliNB()), ("x", BernoulliNB()))},
        {"others": 5},
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
