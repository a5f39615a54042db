"""A prior of the weights by name: any mean and any covariance, against closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_bayes import BayesianLinearRegression, Learner, MvNormal, Normal, StudentT, WeightPrior
from stream_bayes.errors import ParameterError, SnapshotDamaged
from stream_bayes.learners.base.learner import LearnerState
from stream_bayes.typing import FloatArray
from tests.support.linear_regressions import NAMES, data, taught

MEAN = np.array([0.5, -1.0, 2.0])
COVARIANCE = np.array([[0.5, 0.2, -0.1], [0.2, 0.4, 0.05], [-0.1, 0.05, 0.3]])
# Of the weights "c", "intercept", "a"; "b" and "d" have the prior of all others.
PRIOR = WeightPrior(["c", "intercept", "a"], MEAN, COVARIANCE)


def whole_prior(precision: float) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of intercept, a, b, c, d."""
    places = [3, 0, 1]
    mean = np.zeros(5)
    covariance = np.eye(5) / precision
    mean[places] = MEAN
    covariance[np.ix_(places, places)] = COVARIANCE
    return mean, covariance


def test_one_event_by_hand() -> None:
    """Prior mean 1, variance 2, noise 0.5; x = 2, y = 5: precision 1/2 + 4/0.5 = 8.5, mean (1/2 + 2 * 5/0.5) / 8.5."""
    prior = WeightPrior(["x"], [1.0], precision=[[0.5]])
    model = BayesianLinearRegression(7.0, 0.5, intercept=False, prior=prior)
    assert model.predictive_one({"x": 3.0}) == Normal(3.0, 18.5, 0.5)
    model.learn_one({"x": 2.0}, 5.0)
    weight = model.weights()["x"]
    assert weight.mean == pytest.approx(20.5 / 8.5, rel=1e-14)
    assert weight.variance == pytest.approx(1 / 8.5, rel=1e-14)


@pytest.mark.parametrize("precision", [0.3, 1.0, 25.0])
@pytest.mark.parametrize("noise", [0.04, 1.0, 9.0])
def test_posterior_and_evidence_are_the_closed_form(precision: float, noise: float) -> None:
    design, targets = data()
    mean, covariance = whole_prior(precision)
    model = taught(BayesianLinearRegression(precision, noise, prior=PRIOR), design, targets)
    expected = MvNormal(mean, covariance).update_many(design, targets, noise)
    joint = model.joint("intercept", *NAMES)
    np.testing.assert_allclose(joint.mean, expected.mean, rtol=1e-9)
    np.testing.assert_allclose(joint.covariance, expected.covariance, rtol=1e-8, atol=1e-14)
    total = design @ covariance @ design.T + noise * np.eye(len(targets))
    evidence = stats.multivariate_normal(design @ mean, total).logpdf(targets)
    assert model.log_evidence() == pytest.approx(evidence, rel=1e-10)
    sums = [*model.weights()]
    assert sums == ["intercept", "c", "a", "b", "d"]


def test_precision_and_covariance_say_the_same() -> None:
    design, targets = data()
    precise = WeightPrior(PRIOR.names, MEAN, precision=np.linalg.inv(COVARIANCE))
    one = taught(BayesianLinearRegression(2.0, 0.3, prior=PRIOR), design, targets)
    two = taught(BayesianLinearRegression(2.0, 0.3, prior=precise), design, targets)
    for name, weight in one.weights().items():
        assert weight.mean == pytest.approx(two.weights()[name].mean, rel=1e-10)
        assert weight.variance == pytest.approx(two.weights()[name].variance, rel=1e-10)


def test_before_any_event_the_prior_speaks() -> None:
    model = BayesianLinearRegression(4.0, 0.3, prior=PRIOR)
    joint = model.joint("c", "intercept", "a")
    np.testing.assert_allclose(joint.mean, MEAN, rtol=1e-12)
    np.testing.assert_allclose(joint.covariance, COVARIANCE, rtol=1e-12)
    x = {"c": 2.0, "b": 3.0}
    one = np.array([2.0, 1.0, 0.0])
    prediction = model.predictive_one(x)
    assert prediction.mean == pytest.approx(one @ MEAN, rel=1e-12)
    assert prediction.epistemic_variance == pytest.approx(one @ COVARIANCE @ one + 9.0 / 4.0, rel=1e-12)


def test_unknown_noise_is_the_normal_inverse_gamma() -> None:
    """With P0 = v S^-1: squares are the least of |y - Xw|^2 + (w - m)'P0(w - m)."""
    design, targets = data()
    mean, covariance = whole_prior(0.7)
    model: Any = taught(
        BayesianLinearRegression(0.7, 1.7, noise="unknown", noise_degrees=3.0, prior=PRIOR), design, targets
    )
    inner = 1.7 * np.linalg.inv(covariance)
    precision = inner + design.T @ design
    best = np.linalg.solve(precision, inner @ mean + design.T @ targets)
    away = best - mean
    squares = float(np.sum((targets - design @ best) ** 2) + away @ inner @ away)
    scale = (3.0 * 1.7 + squares) / (3.0 + len(targets))
    weight = model.weights()["c"]
    assert isinstance(weight, StudentT)
    assert weight.mean == pytest.approx(best[3], rel=1e-10)
    assert weight.scale**2 == pytest.approx(scale * np.linalg.inv(precision)[3, 3], rel=1e-9)
    shape = 1.7 * (design @ np.linalg.inv(inner) @ design.T + np.eye(len(targets)))
    evidence = stats.multivariate_t(design @ mean, shape, df=3.0).logpdf(targets)
    assert model.log_evidence() == pytest.approx(evidence, rel=1e-10)


def assert_same(one: Any, two: Any, rel: float = 1e-8) -> None:
    for x in ({"a": 1.0, "c": -2.0}, {"b": 0.5, "d": 3.0}, {}):
        first = one.predictive_one(x)
        second = two.predictive_one(x)
        assert first.mean == pytest.approx(second.mean, rel=rel, abs=1e-10)
        assert first.variance == pytest.approx(second.variance, rel=rel)
    assert one.log_evidence() == pytest.approx(two.log_evidence(), rel=1e-8)


def test_merging_counts_the_prior_once() -> None:
    design, targets = data()
    model = BayesianLinearRegression(0.4, 0.6, noise="unknown", prior=PRIOR)
    first = taught(model.clone(), design[:15], targets[:15])
    first.merge(taught(model.clone(), design[15:], targets[15:]))
    assert_same(first, taught(model.clone(), design, targets))


def test_unlearning_goes_back_to_the_prior() -> None:
    design, targets = data(12)
    fresh = BayesianLinearRegression(0.4, 0.6, noise="unknown", prior=PRIOR)
    model = taught(fresh.clone(), design, targets)
    for row, target in zip(design[:, 1:].tolist(), targets.tolist(), strict=True):
        model.unlearn_one(dict(zip(NAMES, row, strict=True)), target)
    assert_same(model, fresh)
    model.learn_one({"c": 3.0, "new": 1.0}, 2.0)
    model.unlearn_one({"c": 3.0, "new": 1.0}, 2.0)
    assert_same(model, fresh)


def test_forgetting_scales_the_evidence_and_not_the_prior() -> None:
    design, targets = data()
    fresh = BayesianLinearRegression(0.4, 0.6, prior=PRIOR)
    model = taught(fresh.clone(), design, targets)
    model.forget(0.25)
    mean, covariance = whole_prior(0.4)
    expected = MvNormal(mean, covariance).update_many(0.5 * design, 0.5 * targets, 0.6)
    np.testing.assert_allclose(model.joint("intercept", *NAMES).mean, expected.mean, rtol=1e-9)
    model.forget(0.0)
    assert_same(model, fresh)


def test_what_is_not_seen_again_returns_to_the_mean_of_its_prior() -> None:
    """With per-event forgetting 1e-4 of the prior is put back whenever so little is left."""
    model = BayesianLinearRegression(0.4, 0.6, forgetting=0.9, prior=PRIOR)
    model.learn_one({"c": 1.0}, 30.0)
    for _ in range(3000):
        model.learn_one({"b": 1.0}, 1.0)
    assert model.weights()["c"].mean == pytest.approx(MEAN[0], abs=1e-3)


def test_a_posterior_is_the_prior_of_the_next_learner() -> None:
    design, targets = data()
    first = taught(BayesianLinearRegression(0.4, 0.6, prior=PRIOR), design[:20], targets[:20])
    names = list(first.weights())
    joint = first.joint(*names)
    prior = WeightPrior(names, joint.mean, joint.covariance)
    second = taught(BayesianLinearRegression(9.0, 0.6, prior=prior), design[20:], targets[20:])
    whole = taught(first, design[20:], targets[20:])
    np.testing.assert_allclose(second.joint(*names).covariance, whole.joint(*names).covariance, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(second.joint(*names).mean, whole.joint(*names).mean, rtol=1e-8)


def test_a_snapshot_keeps_the_prior(tmp_path: Path) -> None:
    design, targets = data()
    model = taught(BayesianLinearRegression(0.4, 0.6, prior=PRIOR), design, targets)
    model.save(tmp_path / "model")
    loaded = Learner.load(tmp_path / "model")
    assert loaded._get_params() == model._get_params()
    assert_same(loaded, model, rel=0.0)
    state = model.state()
    other = BayesianLinearRegression(0.4, 0.6)
    other.learn_one({"unrelated": 1.0}, 1.0)
    with pytest.raises(SnapshotDamaged, match=r"weights than the prior names|not those that the prior names"):
        Learner.from_state(LearnerState(state.kind, state.parameters, other.state().arrays))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ab", [1.0, 2.0], np.eye(2)), "names must be a list of the names"),
        ((["a", "a"], [1.0, 2.0], np.eye(2)), "names must differ"),
        ((["a"], [1.0, 2.0], np.eye(2)), "a number for each of the 1 names; got 2"),
        ((["a"], [1.0]), "either covariance=... or precision=..., one of them"),
        ((["a"], [1.0], [[1.0]], [[1.0]]), "either covariance=... or precision=..., one of them"),
        ((["a", "b"], [1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        ((["a", "b"], [1.0, 2.0], [[1.0, 0.0], [1.0, 1.0]]), "symmetric"),
    ],
)
def test_a_prior_that_is_none_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        WeightPrior(*arguments)


def test_a_prior_by_names_takes_names_and_a_full_covariance() -> None:
    for other in ({"buckets": 16}, {"covariance": "diagonal"}):
        with pytest.raises(ParameterError, match="buckets=None, and covariance='full'"):
            BayesianLinearRegression(prior=PRIOR, **other)
    with pytest.raises(ParameterError, match="prior must be a WeightPrior"):
        BayesianLinearRegression(prior=MvNormal([0.0], [[1.0]]))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="precision of the prior"):
        BayesianLinearRegression(prior=WeightPrior(["a"], [0.0], [[1e30]]))
    with pytest.raises(ParameterError, match="mean of the prior"):
        BayesianLinearRegression(prior=WeightPrior(["a"], [1e30], [[1.0]]))
