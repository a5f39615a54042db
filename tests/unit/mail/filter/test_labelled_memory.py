"""The memory of labelled mails: its weights are those of a support vector machine, whatever came between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from stream_bayes import SpamFilter
from stream_bayes.errors import InputError, ParameterError, SnapshotDamaged
from stream_bayes.kernels.mail.margin import BIAS, LARGEST_COEFFICIENT, SHARES
from stream_bayes.mail.filter import labelled_memory
from stream_bayes.testing import frozen
from stream_bayes.typing import FloatArray
from tests.support.spam_mails import SMALL, stream

MEMORY = -1
"""The place of the member among the scores."""


def remembering(count: int, seed: int = 1, **parameters: Any) -> SpamFilter:
    mails, labels = stream(count, seed)
    model = SpamFilter(buckets=SMALL, **parameters)
    model.learn_many(mails, labels, remember=[True] * count)
    return model


def vectors(model: SpamFilter, mails: list[Any]) -> FloatArray:
    """Each mail as the docstring says: sqrt(s / (k + 1)) in each of the k features of a view, and the bias."""
    batch = model.batch(mails)
    rows = np.zeros((len(mails), 3 * 2**18 + 1))
    for row in range(len(mails)):
        for view, share in enumerate(SHARES):
            place = 5 * row + view
            own = batch.hashed[batch.view_starts[place] : batch.view_starts[place + 1]]
            rows[row, view * 2**18 + own] = np.sqrt(share / (len(own) + 1))
    rows[:, -1] = BIAS
    return rows[:, rows.any(axis=0)]


def test_the_weights_are_those_of_a_support_vector_machine() -> None:
    """At the optimum y w'x is at least 1 where a is 0, at most 1 where |a| is C, and 1 between (Karush-Kuhn-Tucker)."""
    mails, labels = stream(80, 1)
    # One in ten labels is wrong, so that some coefficients reach the bound.
    labels = ["ham" if place % 10 == 0 else label for place, label in enumerate(labels)]
    model = SpamFilter(buckets=SMALL)
    sizes = [0]
    for mail, label in zip(mails, labels, strict=True):
        model.learn_one(mail, label, remember=True)
        sizes.append(len(model.state().arrays["memory.signs"]))
    places = np.flatnonzero(np.diff(sizes)).tolist()
    mails = [mails[place] for place in places]
    labels = [labels[place] for place in places]
    assert len(mails) > 60
    x = vectors(model, mails)
    y = np.where(np.array(labels) == "spam", 1.0, -1.0)
    coefficients = model.state().arrays["memory.coefficients"]
    weights = coefficients @ x
    scores = model.predictive_many(mails).member_log_odds[:, MEMORY]
    np.testing.assert_allclose(scores, x @ weights, atol=1e-4)
    margins = y * scores
    assert (margins[coefficients == 0.0] > 0.9).all()
    assert (margins[np.abs(coefficients) == LARGEST_COEFFICIENT] < 1.1).all()
    between = (coefficients != 0.0) & (np.abs(coefficients) < LARGEST_COEFFICIENT)
    np.testing.assert_allclose(margins[between], 1.0, atol=0.1)
    other = LinearSVC(C=LARGEST_COEFFICIENT, loss="hinge", fit_intercept=False, max_iter=100_000, tol=1e-6).fit(x, y)
    np.testing.assert_allclose(scores, x @ other.coef_[0], atol=0.1)


def test_mails_one_by_one_are_remembered_as_in_a_batch() -> None:
    mails, labels = stream(60, 2)
    remember = [place % 3 == 0 for place in range(60)]
    together = SpamFilter(buckets=SMALL)
    said = together.test_then_train(mails, labels, remember=remember)
    alone = SpamFilter(buckets=SMALL)
    scores = []
    for mail, label, kept in zip(mails, labels, remember, strict=True):
        scores.append(alone.predictive_many([mail]).member_log_odds[0])
        alone.learn_one(mail, label, remember=kept)
    assert frozen(alone) == frozen(together)
    np.testing.assert_array_equal(said.member_log_odds, scores)
    assert said.members[MEMORY] == "memory"
    assert said.member_log_odds[1:, MEMORY].any()


def test_goes_on_from_a_snapshot_and_from_a_copy() -> None:
    model = remembering(40)
    again = SpamFilter.from_state(model.state())
    copy = model.snapshot_copy()
    mails, labels = stream(40, 3)
    for each in (model, again, copy):
        each.learn_many(mails, labels, remember=[True] * 40)
    assert frozen(model) == frozen(again) == frozen(copy)
    model.clone().copy_into(copy)
    assert frozen(copy) == frozen(model.clone())


def test_nothing_is_remembered_unless_it_is_asked_for() -> None:
    mails, labels = stream(30, 4)
    plain = SpamFilter(buckets=SMALL)
    plain.learn_many(mails, labels)
    without = SpamFilter(buckets=SMALL, memory=0)
    without.learn_many(mails, labels, remember=[True] * 30)
    for model in (plain, without):
        assert not len(model.state().arrays["memory.signs"])
        assert not model.predictive_many(mails).member_log_odds[:, MEMORY].any()
    np.testing.assert_array_equal(
        plain.predictive_many(mails).probabilities, without.predictive_many(mails).probabilities
    )


def test_a_full_memory_keeps_what_it_has() -> None:
    model = remembering(10, memory=10)
    before = model.state().arrays
    mails, labels = stream(20, 5)
    model.learn_many(mails, labels, remember=[True] * 20)
    after = model.state().arrays
    for name in before:
        if name.startswith("memory."):
            np.testing.assert_array_equal(before[name], after[name])


def test_a_correction_replaces_the_label() -> None:
    mails, labels = stream(20, 6)
    model = SpamFilter(buckets=SMALL)
    model.learn_many(mails, labels, remember=[True] * 20)
    spam = labels.index("spam")
    model.relearn_one(mails[spam], "ham")
    signs = model.state().arrays["memory.signs"]
    assert len(signs) == 20
    assert signs[spam] == -1.0
    # The score of the mail moves to the other side: it lay at the margin before.
    assert model.predictive_many([mails[spam]]).member_log_odds[0, MEMORY] < 0.0
    model.relearn_one(mails[spam], "spam")
    model.learn_one(mails[spam], "spam", remember=True)
    assert model.state().arrays["memory.signs"][spam] == 1.0


def test_a_mail_beyond_the_margin_is_not_added() -> None:
    model = remembering(300)
    signs = model.state().arrays["memory.signs"]
    assert 10 < len(signs) < 300
    mails, labels = stream(300, 1)
    y = np.where(np.array(labels) == "spam", 1.0, -1.0)
    before = frozen(model)
    scores = model.predictive_many(mails).member_log_odds[:, MEMORY]
    right = np.flatnonzero(y * scores >= 1.0).tolist()
    assert len(right) > 10
    for place in right[:5]:
        model.learn_one(mails[place], labels[place], remember=True)
    assert len(model.state().arrays["memory.signs"]) == len(signs)
    assert frozen(model) != before, "the other members have learned"


def test_a_mail_of_weight_three_is_remembered_once() -> None:
    mails, labels = stream(1, 7)
    model = SpamFilter(buckets=SMALL)
    model.learn_one(mails[0], labels[0], w=3, remember=True)
    assert len(model.state().arrays["memory.signs"]) == 1


def test_is_a_member_that_can_stand_alone() -> None:
    mails, labels = stream(100, 8)
    model = SpamFilter(members=("memory",), buckets=SMALL)
    model.learn_many(mails[:60], labels[:60], remember=[True] * 60)
    scores = model.predictive_many(mails[60:]).member_log_odds[:, MEMORY]
    assert np.mean((scores > 0.0) == (np.array(labels[60:]) == "spam")) > 0.9
    why = model.explain(mails[0], 10_000)
    total = sum(share.log_odds for share in why.shares) + sum(why.rest.values())
    assert total == pytest.approx(why.log_odds, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("starts", lambda part: part[::-1].copy()),
        ("starts", lambda part: part[:-1].copy()),
        ("features", lambda part: part + np.uint32(2**20)),
        ("signs", lambda part: part * 2.0),
        ("signs", lambda part: -part),
        ("coefficients", lambda part: part * np.nan),
        ("coefficients", lambda part: part * 1e6),
        ("products", lambda part: part * 0.0),
        ("products", lambda part: part * np.inf),
        ("products", lambda part: part[1:].copy()),
        ("weights", lambda part: part * np.float32(np.nan)),
        ("weights", lambda part: part[1:].copy()),
        ("weights", lambda part: part * np.float32(0.5)),
        ("weights", lambda part: part + np.float32(10.0)),
        ("coefficients", lambda part: part * 0.0),
        ("products", lambda part: np.full_like(part, 0.9)),
        ("starts", lambda part: part[:, None]),
        ("weights", lambda part: part.astype(np.float64)),
    ],
)
def test_damaged_memories_are_refused(name: str, change: Callable[[Any], Any]) -> None:
    state = remembering(12).state()
    state.arrays[f"memory.{name}"] = change(state.arrays[f"memory.{name}"])
    with pytest.raises(SnapshotDamaged):
        SpamFilter.from_state(state)


def test_nothing_is_learned_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    model = remembering(10)
    before = frozen(model)
    mails, labels = stream(20, 9)

    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(labelled_memory, "_square_with_room", refuse)
    with pytest.raises(MemoryError):
        model.learn_many(mails, labels, remember=[True] * 20)
    monkeypatch.undo()
    assert frozen(model) == before
    model.learn_many(mails, labels, remember=[True] * 20)
    assert len(model.state().arrays["memory.signs"]) == 30


def test_refuses_sizes_and_flags_that_cannot_be() -> None:
    for memory in (-1, 10**6, 1.5, "many"):
        with pytest.raises(ParameterError, match="memory"):
            SpamFilter(buckets=SMALL, memory=memory)  # type: ignore[arg-type]
    model = SpamFilter(buckets=SMALL)
    wrong: list[Any] = [[True], [True, "yes"]]
    for flags in wrong:
        with pytest.raises(InputError, match="remember"):
            model.learn_many(["a", "b"], ["ham", "spam"], remember=flags)
