"""Corrections and refusals of Bayesian linear regression: what is exact, what is an error, and what stays a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_bayes import BayesianLinearRegression
from stream_bayes.errors import InputError, MergeError, NumericalError, ParameterError, UnlearnError
from tests.support.linear_regressions import NAMES, data, taught


def test_merge_and_forget_keep_the_evidence() -> None:
    """Log evidence after a merge is that of all events; forgetting half is having learned with half the weight."""
    design, targets = data(30)
    for noise in ("known", "unknown"):
        whole = taught(BayesianLinearRegression(0.4, 2.0, noise=noise), design, targets)
        first = taught(BayesianLinearRegression(0.4, 2.0, noise=noise), design[:12], targets[:12])
        first.merge(taught(BayesianLinearRegression(0.4, 2.0, noise=noise), design[12:], targets[12:]))
        assert first.log_evidence() == pytest.approx(whole.log_evidence(), rel=1e-10)
        half = BayesianLinearRegression(0.4, 2.0, noise=noise)
        for row, target in zip(design[:, 1:].tolist(), targets.tolist(), strict=True):
            half.learn_one(dict(zip(NAMES, row, strict=True)), target, w=0.5)
        whole.forget(0.5)
        assert whole.log_evidence() == pytest.approx(half.log_evidence(), rel=1e-10)


def test_events_never_learned_are_not_unlearned() -> None:
    design, targets = data(30)
    model = taught(BayesianLinearRegression(0.4, 0.25), design, targets)
    known = dict(zip(NAMES, design[3, 1:].tolist(), strict=True))
    for x, y, words in (
        ({"a": 100.0}, 0.0, "are not in what was learned"),
        ({"never": 1.0}, 0.0, "never learned"),
        (known, 1e4, "target of 10000"),
    ):
        before = model.state()
        with pytest.raises(UnlearnError, match=words):
            model.unlearn_one(x, y)
        assert all(np.array_equal(array, model.state().arrays[name]) for name, array in before.arrays.items())


def test_no_sum_no_corrections() -> None:
    for model in (BayesianLinearRegression(forgetting=0.9), BayesianLinearRegression(covariance="diagonal")):
        model.learn_one({"a": 1.0}, 1.0)
        with pytest.raises(MergeError, match="no sum over events"):
            model.merge(model.clone())
        with pytest.raises(UnlearnError, match="no sum over events"):
            model.unlearn_one({"a": 1.0}, 1.0)
        assert not model.is_additive


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"prior_precision": -1.0}, "prior_precision"),
        ({"prior_precision": 0.0}, "prior_precision"),
        ({"prior_precision": 1e-60}, "prior_precision must be between"),
        ({"noise_variance": math.nan}, "noise_variance"),
        ({"covariance": "spherical"}, "'full', 'diagonal'"),
        ({"noise": "some"}, "'known', 'unknown'"),
        ({"forgetting": 1.5}, "forgetting"),
        ({"forgetting": 0.0}, "forgetting"),
        ({"intercept": 2}, "intercept"),
        ({"buckets": 3}, "power of two"),
        ({"noise_degrees": -1.0}, "noise_degrees"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        BayesianLinearRegression(**parameters)


def test_bad_events() -> None:
    model = BayesianLinearRegression()
    model.learn_one({"a": 1.0}, 1.0)
    before = model.state().arrays
    for x, y, words in (
        ({"a": 1e95}, 1.0, "values must lie between"),
        ({"a": 1.0}, 1e95, "a target lies between"),
        ({"a": 1.0}, "1.0", "target must be a finite number"),
        ({"a": 1.0}, True, "target must be a finite number"),
        ({"intercept": 1.0}, 1.0, "cannot be called 'intercept'"),
        ({"a": "text"}, 1.0, "was a number before"),
    ):
        with pytest.raises(InputError, match=words):
            model.learn_one(x, y)
        with pytest.raises(InputError, match=words):
            model.test_then_train([{"a": 2.0}, x], [2.0, y])
    with pytest.raises(InputError, match="values must lie between"):
        model.predictive_one({"a": -1e95})
    assert all(np.array_equal(array, model.state().arrays[name]) for name, array in before.items())


def test_extreme_numbers_stay_numbers() -> None:
    """At the bounds of values, targets, weights and priors no sum overflows."""
    for precision, kind in ((1e-20, "known"), (1e20, "known"), (1e-20, "unknown"), (1e20, "unknown")):
        for noise in (1e-20, 1e20):
            model = BayesianLinearRegression(precision, noise, noise=kind)
            for x, y in (({"a": 1e50, "b": -1e-50}, 1e50), ({"a": -1e50, "b": 1e50}, -1e50), ({"b": 1e-300}, 0.0)):
                model.learn_one(x, y, w=1e12)
                prediction = model.predictive_one({"a": 1e50, "b": 1e50, "new": 1e50})
                assert math.isfinite(prediction.mean)
                assert math.isfinite(prediction.variance)
            assert math.isfinite(model.log_evidence())


def test_weights_that_are_known_together_only() -> None:
    """Always in the same proportion: their sum is known and their difference is not, by more than 16 digits."""
    model = BayesianLinearRegression(1e-20, 1.0, intercept=False)
    x = {"a": -0.2916324304147521, "b": 0.3012921765535601}
    for _ in range(100):
        model.learn_one(x, 1.0)
    assert model.predict_one(x) == pytest.approx(1.0)
    with pytest.raises(NumericalError, match="known in combination only"):
        model.joint("a", "b")
