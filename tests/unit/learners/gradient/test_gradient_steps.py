"""Gradient learners: the step is the gradient's, penalties paid late are those paid at once, and l1 makes zeros."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_bayes import Batch
from stream_bayes.learners.gradient import LogisticRegression, PoissonRegression, SoftmaxRegression
from stream_bayes.posteriors import LogitNormal
from stream_bayes.posteriors.poisson import Poisson
from stream_bayes.testing import assert_close, frozen
from tests.support.gradient_reference import CLASSES, KINDS, STEPS, Eager, as_dicts, sparse_stream
from tests.support.tiers import short_each

PENALTIES = [(0.0, 0.0), (0.03, 0.0), (0.0, 0.2), (0.02, 0.1), (1e-3, 1e-9)]


def made(kind: str, step: str, rate: float, l1: float, l2: float, **parameters: Any) -> Any:
    classes = {"classes": CLASSES} if kind == "softmax" else {}
    return KINDS[kind](step=step, rate=rate, l1=l1, l2=l2, **classes, **parameters)


def weights_of(model: Any) -> list[dict[Any, float]]:
    if isinstance(model, SoftmaxRegression):
        return [model.weights(label) for label in model._labels]
    return [model.weights()]


def intercepts_of(model: Any) -> list[float]:
    if isinstance(model, SoftmaxRegression):
        return [model.intercept_value(label) for label in model._labels]
    return [model.intercept_value]


@pytest.mark.slow
@pytest.mark.parametrize(("l1", "l2"), short_each(PENALTIES, 3))
@pytest.mark.parametrize("step", short_each(STEPS, 2))
@pytest.mark.parametrize("kind", KINDS)
def test_penalties_paid_late_are_those_paid_at_once(kind: str, step: str, l1: float, l2: float) -> None:
    """After every event every weight is that of a dense learner, to 1e-12: 200 events, weights of events not 1."""
    rate = (0.07 if step == "constant" else 0.3) / (8.0 if kind == "poisson" else 1.0)
    matrix, there, targets, importance = sparse_stream(kind, 200, seed=3)
    model = made(kind, step, rate, l1, l2)
    eager = Eager(kind, step, rate, l1, l2)
    for row, x in enumerate(as_dicts(matrix, there)):
        model.learn_one(x, targets[row], w=importance[row])
        eager.learn(matrix[row], there[row], targets[row], importance[row])
        for output, weights in enumerate(weights_of(model)):
            for name, weight in weights.items():
                assert weight == pytest.approx(eager.weights[output, int(name[1:])], rel=1e-12, abs=1e-12)
        assert intercepts_of(model) == pytest.approx(eager.offsets.tolist(), rel=1e-12, abs=1e-12)
    assert len(weights_of(model)[0]) == 12


def loss_of(kind: str, margins: list[float], target: Any) -> float:
    if kind == "poisson":
        return math.exp(margins[0]) - float(target) * margins[0]
    if kind == "logistic":
        return math.log1p(math.exp(-margins[0] if target else margins[0]))
    return math.log(sum(math.exp(margin) for margin in margins)) - margins[CLASSES.index(target)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_the_gradient_by_finite_differences(kind: str) -> None:
    """With constant steps: the change of each weight over -rate is the slope of w times the loss of the event."""
    rate = 0.05
    w = 2.5
    x = {"x0": 0.7, "x3": -1.3, "x5": 2.0}
    matrix, there, targets, _ = sparse_stream(kind, 60, seed=5)
    model = made(kind, "constant", rate, 0.0, 0.0)
    for event, target in zip(as_dicts(matrix, there), targets, strict=True):
        model.learn_one(event, target)
    before = weights_of(model)
    offsets = intercepts_of(model)

    def loss(output: int, name: str, change: float) -> float:
        margins = [
            offset + sum(part[n] * value for n, value in x.items())
            for part, offset in zip(before, offsets, strict=True)
        ]
        margins[output] += change * x.get(name, 1.0)
        return w * loss_of(kind, margins, targets[0])

    model.learn_one(x, targets[0], w=w)
    for output, weights in enumerate(weights_of(model)):
        after = {**weights, "intercept": intercepts_of(model)[output]}
        start = {**before[output], "intercept": offsets[output]}
        for name in (*x, "intercept"):
            slope = (loss(output, name, 1e-5) - loss(output, name, -1e-5)) / 2e-5
            assert (after[name] - start[name]) / -rate == pytest.approx(slope, rel=1e-6, abs=1e-8)
        assert all(after[name] == start[name] for name in start if name not in (*x, "intercept"))


def test_steps_by_hand() -> None:
    """From nothing p = 1/2, so the gradient is -x/2: 4 -> -2, -2 -> 1; the intercept's is -1/2."""
    expected = {"constant": (0.2, -0.1, 0.05), "inverse-root": (0.2, -0.1, 0.05)}
    expected["adagrad"] = (0.2 / math.sqrt(4.01), -0.1 / math.sqrt(1.01), 0.05 / math.sqrt(0.26))
    for step, (first, second, offset) in expected.items():
        model = LogisticRegression(step=step, rate=0.1)
        model.learn_one({"a": 4, "b": -2}, True)
        assert model.weights() == pytest.approx({"a": first, "b": second})
        assert model.intercept_value == pytest.approx(offset)
    model = LogisticRegression(step="inverse-root", rate=0.1, intercept=False)
    for _ in range(3):
        model.learn_one({}, True)
    model.learn_one({"a": 4}, True)  # the fourth event: half the rate
    assert model.weights() == pytest.approx({"a": 0.1})
    assert model.intercept_value == 0.0


def test_a_penalty_by_hand() -> None:
    """0.2 after one event; that one and three more take 0.1 l1, divide by 1 + 0.1 l2, or do one after the other."""
    both = (((0.2 - 0.005) / 1.2 - 0.005) / 1.2 - 0.005) / 1.2 - 0.005
    for l1, l2, expected in ((0.5, 0.0, 0.0), (0.0, 2.0, 0.2 / 1.2**4), (0.05, 0.0, 0.18), (0.05, 2.0, both / 1.2)):
        model = LogisticRegression(step="constant", rate=0.1, l1=l1, l2=l2)
        model.learn_one({"a": 4}, True)
        for _ in range(3):
            model.learn_one({"b": 1}, False)
        assert model.weight("a") == pytest.approx(expected)
        assert model.weights()["a"] == model.weight("a")
        assert model.weight("never seen") == 0.0


@pytest.mark.parametrize("share", [1.0, 0.1])
@pytest.mark.parametrize("step", STEPS)
def test_l1_makes_weights_exactly_zero(step: str, share: float) -> None:
    """Two features of twenty-two matter: l1 puts the others at 0.0, whether they come always or now and then."""
    generator = np.random.default_rng(0)
    matrix = generator.normal(size=(3000, 22))
    labels = (matrix[:, 0] - matrix[:, 1] + 0.5 * generator.normal(size=3000) > 0).tolist()
    matrix[:, 2:][generator.random((3000, 20)) >= share] = np.nan
    batch = Batch.from_matrix(matrix, [f"x{j}" for j in range(22)])
    zeros = []
    for l1 in (0.0, 0.003, 0.03):
        model = LogisticRegression(step=step, rate=0.03, l1=l1)
        model.test_then_train(batch, labels)
        weights = model.weights()
        zeros.append(sum(weight == 0.0 for weight in weights.values()))
        assert weights["x0"] > 0.2 > -0.2 > weights["x1"]
    assert zeros[0] == 0
    assert 2 <= zeros[1] <= zeros[2]
    assert 19 <= zeros[2] <= 20


def test_the_intercept_pays_no_penalty() -> None:
    model = LogisticRegression(step="constant", rate=0.5, l1=10.0, l2=10.0)
    model.learn_one({"a": 1.0}, True)
    for _ in range(200):
        model.learn_one({"a": 1.0}, True)
    assert model.weights() == {"a": 0.0}
    assert model.intercept_value > 3.0


@pytest.mark.parametrize("step", ["constant", "inverse-root"])
def test_softmax_of_two_labels_is_logistic(step: str) -> None:
    """The difference of two weights moves twice as fast, and each is half of it: half the rate, twice the l2."""
    matrix, there, targets, importance = sparse_stream("logistic", 150, seed=7)
    events = as_dicts(matrix, there)
    logistic = LogisticRegression(step=step, rate=0.2, l2=0.1, classes=(False, True))
    softmax = SoftmaxRegression(step=step, rate=0.1, l2=0.2, classes=(False, True))
    one = logistic.test_then_train(events, targets, importance)
    two = softmax.test_then_train(events, targets, importance)
    np.testing.assert_allclose(two.probabilities, one.probabilities, rtol=1e-11)
    for name, weight in logistic.weights().items():
        assert softmax.weight(name, True) - softmax.weight(name, False) == pytest.approx(weight, rel=1e-10)


def test_a_new_label_in_mid_stream() -> None:
    """It joins with weights of zero at its first event, that one included; before, it is unknown."""
    model = SoftmaxRegression(step="constant", rate=0.3, l1=0.01)
    for x, label in (({"a": 1.0}, "red"), ({"b": 1.0}, "green"), ({"a": 2.0}, "red")):
        model.learn_one(x, label)
    weights = {label: model.weights(label) for label in ("red", "green")}
    predictions = model.test_then_train([{"a": 1.0}, {"c": 1.0}, {"c": 1.0}], ["red", "blue", None])
    assert list(predictions.probabilities_of(1)) == ["red", "green"]
    assert list(predictions.probabilities_of(2)) == ["red", "green", "blue"]
    assert predictions.probabilities_of(2)["blue"] > predictions.probabilities_of(2)["green"]
    assert model.weight("c", "blue") > 0.0 == model.weight("a", "blue")
    assert model.weight("a", "red") > weights["red"]["a"]
    assert frozen(SoftmaxRegression.from_state(model.state())) == frozen(model)


def test_softmax_knows_nothing_before_its_first_label() -> None:
    model = SoftmaxRegression()
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, "red")
    assert model.predict_proba_one({"a": 1.0}) == {"red": 1.0}
    assert model.weights("red") == {"a": 0.0}


@pytest.mark.parametrize("model", [LogisticRegression(rate=0.5), SoftmaxRegression(rate=0.5, classes=(False, True))])
def test_a_point_states_no_ignorance(model: Any) -> None:
    for x, y in (({"a": 1.0}, True), ({"a": -1.0, "b": 1.0}, False)):
        model.learn_one(x, y)
    prediction = model.predictive_one({"a": 1.0})
    p = model.predict_proba_one({"a": 1.0})[True]
    assert prediction.latent == LogitNormal(prediction.latent.log_odds, 0.0)
    assert prediction.latent.log_odds == pytest.approx(math.log(p / (1 - p)))
    assert prediction.epistemic_variance == 0.0
    assert prediction.aleatoric_variance == prediction.variance == pytest.approx(p * (1 - p))


def test_a_poisson_prediction_is_a_poisson() -> None:
    model = PoissonRegression(step="constant", rate=0.1)
    model.learn_one({"x": 2}, 4)
    assert model.predictive_one({"x": 1}) == Poisson(math.exp(0.9))
    predictions = model.predictive_many([{"x": 1}, {}])
    assert predictions.mean.tolist() == predictions.variance.tolist() == predictions.aleatoric_variance.tolist()
    assert predictions.epistemic_variance.tolist() == [0.0, 0.0]
    assert predictions.predictive(1) == Poisson(math.exp(0.3))


def test_hashed_weights_go_by_bucket() -> None:
    model = LogisticRegression(rate=0.3, buckets=2**12)
    named = LogisticRegression(rate=0.3)
    for each in (model, named):
        each.learn_one({"free": 2, "money": 1}, True)
        each.learn_one({"lunch": 1}, False)
    assert len(model.weights()) == 3
    assert sorted(model.weights().values()) == sorted(named.weights().values())
    for name in ("free", "money", "lunch", "never seen"):
        assert_close(model.weight(name), named.weight(name))


def test_room_for_labels_doubles() -> None:
    """A stream of new labels copies the cells a few times, not once a label; the room is in no answer and no state."""
    model = SoftmaxRegression(rate=0.3, l1=0.01)
    known = SoftmaxRegression(rate=0.3, l1=0.01)
    copies = 0
    cells = None
    for label in range(100):
        model.learn_one({"a": 1.0, f"x{label % 7}": 2.0}, label)
        copies += model._model.cells is not cells
        cells = model._model.cells
        assert cells.shape[1] == 4 * len(model._model.offsets) == 4 * len(model._seen) >= 4 * (label + 1)
    assert copies <= 9
    known.test_then_train([{"a": 1.0, f"x{label % 7}": 2.0} for label in range(100)], range(100))
    assert frozen(model) == frozen(known) == frozen(SoftmaxRegression.from_state(model.state()))
    assert model.state().arrays["offsets"].shape == (100, 2)


@pytest.mark.parametrize("step", ["constant", "inverse-root", "adagrad"])
def test_a_feature_of_zero_is_an_absent_one(step: str) -> None:
    """It pays no penalty before it first matters."""
    absent, zero = (LogisticRegression(step, 0.1, l1=0.01, l2=0.02) for _ in range(2))
    for place in range(600):
        late = place >= 300
        absent.learn_one({"late": 1.0, "a": 2.0} if late else {"a": 2.0}, late)
        zero.learn_one({"late": float(late), "a": 2.0}, late)
    assert zero.weights()["late"] == pytest.approx(absent.weights()["late"])
    assert zero.weights()["late"] > 0.5
