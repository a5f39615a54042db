"""The compiled code: one machine-code version each, never stale, and right where arithmetic is hard."""

from __future__ import annotations

import importlib
import math
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

from stream_bayes import kernels
from stream_bayes.errors import NumericalError
from stream_bayes.kernels.common.class_scores import to_probabilities
from stream_bayes.kernels.common.csr import Joint, merge_duplicates
from stream_bayes.kernels.common.jit_cache import SOURCES_CHECKSUM
from stream_bayes.kernels.common.special import log_gamma_slopes, log_rising
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.testing import targets
from tests.support.kernels import entries
from tests.support.learners import LEARNERS


def all_kernels() -> dict[str, Any]:
    found = {}
    for module in pkgutil.walk_packages(kernels.__path__, "stream_bayes.kernels."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if hasattr(value, "py_func") and value.py_func.__module__ == module.name:
                found[f"{module.name}.{name}"] = value
    return found


def test_no_learner_makes_a_kernel_compile_twice() -> None:
    """Every learner, setting, batch size and data type goes through the same machine code."""
    for learner in LEARNERS.values():
        labels = targets(learner)
        model = learner.clone()
        model.learn_one({"a": 1, "b": True}, labels[0])
        model.test_then_train([{"a": np.float32(2)}, {}], [labels[1], None], [1, 0.5])
        type(model).from_state(model.state()).predictive_one({"a": 1})
        if learner.is_additive:
            model.unlearn_one({"a": 1, "b": True}, labels[0])
            model.merge(learner.clone())
            model.forget(0.5)
        model.predict_one({"a": 1.0})
    called = entries()
    assert len(called) > 8
    for name, kernel in called.items():
        assert len(kernel.signatures) <= 1, f"{name} was compiled for {kernel.signatures}"


def test_cached_machine_code_is_stamped_with_all_sources(tmp_path: Path) -> None:
    """numba looks at a kernel's own file only; our stamp changes when any file of the package does."""
    assert all_kernels()
    for name, kernel in all_kernels().items():
        assert kernel._cache.layer(tmp_path)._cache_file._source_stamp == SOURCES_CHECKSUM, name


@pytest.mark.parametrize("start", [1e-3, 0.5, 1.0, 7.3, 31.9, 32.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("steps", [0.5, 1.0, 2.0, 3.7, 40.0, 1e4])
def test_rising_factorial(start: float, steps: float) -> None:
    """Against the sum of logarithms where steps are whole, else against Gauss' multiplication of the same sum."""
    whole = int(steps)
    expected = math.fsum(math.log(start + step) for step in range(whole))
    rest = steps - whole
    if rest:
        # The last, partial step: poch is exact for short steps.
        expected += math.log(special.poch(start + whole, rest))
    assert log_rising(start, steps) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("x", [1e-8, 1e-3, 0.1, 0.5, 1.0, 2.5, 9.99, 10.0, 55.5, 1e4, 1e12])
def test_digamma_and_trigamma(x: float) -> None:
    expected = [math.log(x), special.digamma(x), special.polygamma(1, x)]
    np.testing.assert_allclose(log_gamma_slopes(x), expected, rtol=1e-12, atol=1e-12)


def test_duplicates_of_a_row_are_summed() -> None:
    starts = np.array([0, 4, 4, 6])
    columns = np.array([5, 2, 5, 1, 3, 3])
    merged = np.empty_like(starts), np.empty_like(columns), np.empty(6)
    left = merge_duplicates(starts, columns, np.array([1.0, 2.0, 4.0, 8.0, 1.0, 1.0]), *merged)
    assert merged[0].tolist() == [0, 3, 3, 4]
    assert merged[1][:left].tolist() == [1, 2, 5, 3]
    assert merged[2][:left].tolist() == [8.0, 2.0, 5.0, 2.0]


@pytest.mark.parametrize(
    ("log", "expected", "log_odds"),
    [
        ([0.0, 0.0], [0.5, 0.5], 0.0),
        ([-1000.0, -2000.0], [1.0, 0.0], 1000.0),
        ([-5.0, math.nan, -5.0], [0.5, math.nan, 0.5], 0.0),
        ([-math.inf, -3.0], [0.0, 1.0], math.inf),
        ([-math.inf, -math.inf], [0.5, 0.5], 0.0),
        ([math.log(0.5), math.log(0.3), math.log(0.2)], [0.5, 0.3, 0.2], 0.0),
    ],
)
def test_probabilities(log: list[float], expected: list[float], log_odds: float) -> None:
    """Far apart, not known yet, impossible, all impossible: always a distribution over the known classes."""
    known = np.array([sum(not math.isnan(value) for value in log)])
    joint = Joint(np.array([log]), np.array([log]), np.ones((1, len(log))), known)
    result = LabelPredictions.from_joint(tuple("abc"[: len(log)]), joint)
    np.testing.assert_allclose(result.probabilities[0], expected)
    assert result.latent_mean[0] == pytest.approx(log_odds)


def test_latent_variance_by_the_delta_method() -> None:
    """p = (.5, .3, .2), variances 1, 2, 3: 1 + (.3/.5)^2 x 2 + (.2/.5)^2 x 3 = 2.2."""
    log = np.log([[0.5, 0.3, 0.2]])
    variance = np.array([[1.0, 2.0, 3.0]])
    probabilities = np.empty((1, 3))
    log_odds = np.empty(1)
    latent = np.empty(1)
    joint = Joint(log, log, variance, np.array([3]))
    assert to_probabilities(joint, probabilities, log_odds, np.empty(1), latent) == 0
    assert latent[0] == pytest.approx(1 + 0.36 * 2 + 0.16 * 3)


@pytest.mark.parametrize(
    ("log", "variance"),
    [([math.nan, -1.0], [1.0, 1.0]), ([math.inf, -1.0], [1.0, 1.0]), ([-2.0, -1.0], [0.0, math.nan])],
)
def test_a_known_class_without_a_number_is_an_error_with_a_code(log: list[float], variance: list[float]) -> None:
    """NaN stands for a class not known yet; an accident of arithmetic must not pass for one."""
    joint = Joint(np.array([log]), np.array([log]), np.array([variance]), np.array([2]))
    with pytest.raises(NumericalError, match="1 of 1 events have no probability") as caught:
        LabelPredictions.from_joint(("a", "b"), joint)
    assert caught.value.code == "numerical"
