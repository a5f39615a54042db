"""What Gram regression takes back: every event learned, in any order, and none that the scatter has no room for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.errors import UnlearnError
from stream_bayes.learners.gram import GramRegression
from stream_bayes.testing import refused
from tests.support.gram_regressions import LEARNERS, sample, taught


@pytest.mark.parametrize(
    ("x", "y"),
    [({"a": 3, "b": 1}, 2), ({"a": 1, "b": 1}, 2), ({"a": 0, "b": 3}, 3), ({"a": 2, "b": 2}, 2.01)],
)
def test_unlearning_values_that_never_occurred_together_is_refused(x: dict[str, float], y: float) -> None:
    """All events lie on the line a = b = y; each value alone did come."""
    model = GramRegression()
    for a in (1, 2, 3, 4):
        model.learn_one({"a": a, "b": a}, a)
    refused(model, lambda: model.unlearn_one(x, y), UnlearnError)
    for a in (3, 1, 4, 2):
        model.unlearn_one({"a": a, "b": a}, a)
    assert model.state().arrays["events"] == 0.0


def test_an_event_too_far_out_along_no_single_feature() -> None:
    """Correlation 0.995: (1, -1) is within reach of either feature and not of both; so is a weight above all of it."""
    generator = np.random.default_rng(3)
    common = generator.normal(size=200)
    features = np.column_stack((common, common)) + 0.1 * generator.normal(size=(200, 2))
    model = taught(GramRegression(), features, generator.normal(size=200))
    refused(model, lambda: model.unlearn_one({0: 2.0, 1: -2.0}, 0.0), UnlearnError)
    model.unlearn_one({0: 2.0, 1: 2.0}, 0.0)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("width", [1, 4, 30])
def test_leverage_is_the_limit(width: int, offset: float) -> None:
    """Of a few events each has all the scatter of some direction: one is taken back, one that is a bit further not."""
    features, targets = sample(6, width, seed=width, offset=offset)
    model = taught(GramRegression(), features, targets)
    middle = features.mean(axis=0), targets.mean()
    x = middle[0] + 1.5 * (features[2] - middle[0])
    if width >= 4:
        refused(model, lambda: model.unlearn_one(dict(enumerate(x.tolist())), float(targets[2])), UnlearnError)
    for row in (2, 5, 0, 1, 4, 3):
        model.unlearn_one(dict(enumerate(features[row].tolist())), float(targets[row]))
    assert model.state().arrays["events"] == 0.0


VALUES = st.sampled_from([0.0, 1.0, -2.0, 3.5, 1e-6, 1e6, 1e6 + 1, 0.1, 1 / 3])
EVENTS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abcde"), VALUES, max_size=5),
        VALUES,
        st.sampled_from([1.0, 2.0, 0.25, 0.1, 0.7]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.long
@settings(max_examples=150)
@given(EVENTS, EVENTS, st.sampled_from([1.0, 1e9, 1e-3]), st.sampled_from(list(LEARNERS)), st.randoms())
def test_learned_events_can_always_be_unlearned(
    one: list[Any], two: list[Any], size: float, name: str, random: Any
) -> None:
    """Learned, merged, half of it forgotten; the rest taken back in any order and two parts."""
    model = LEARNERS[name].clone()
    other = LEARNERS[name].clone()
    for x, y, w in one:
        model.learn_one(x, y, w=size * w)
    for x, y, w in two:
        other.learn_one(x, y, w=size * w)
    model.merge(other)
    model.forget(0.5)
    halves = [(x, y, size * w / 4) for x, y, w in one + two for _ in range(2)]
    for x, y, w in random.sample(halves, len(halves)):
        model.unlearn_one(x, y, w=w)
    assert model.state().arrays["events"] == 0.0


def test_unlearning_almost_all_events_in_one_batch() -> None:
    """What is left is 3e-12 of the whole, its offset from the mean as rounded as that: no reason to refuse."""
    for seed in range(200):
        generator = np.random.default_rng(seed)
        events = [(dict(enumerate(generator.normal(size=3).tolist())), generator.normal()) for _ in range(2)]
        weights = [3e-3, 1e9]
        order = generator.permutation(2)
        model = GramRegression()
        for place in order:
            model.learn_one(events[place][0], events[place][1], w=weights[place])
        model.unlearn_one(*events[1], w=weights[1])
        assert model.state().arrays["events"][0] == pytest.approx(3e-3, rel=1e-3)


def test_a_long_stream_through_a_window() -> None:
    """Twenty events at a time of a thousand, in columns that depend on each other, far from zero and of all scales."""
    generator = np.random.default_rng(7)
    plain = generator.normal(size=(1000, 3)) @ generator.normal(size=(3, 6)) * 10.0 ** np.arange(-6, 6, 2) + 50.0
    targets = plain[:, 2] + generator.normal(size=1000)
    model = GramRegression()
    for row, (x, y) in enumerate(zip(plain.tolist(), targets.tolist(), strict=True)):
        model.learn_one(dict(enumerate(x)), y)
        if row >= 20:
            model.unlearn_one(dict(enumerate(plain[row - 20].tolist())), float(targets[row - 20]))
    least = np.linalg.eigvalsh(np.corrcoef(plain[-20:].T)).min()
    assert least < 1e-9
    assert model.state().arrays["events"] == 20.0
