"""Log-odds fusion at its ends: members that always agree, for long, and the largest and smallest of everything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from stream_bayes import Beta, BetaBernoulli
from stream_bayes.kernels.fusion.combination import fold_stack
from stream_bayes.learners.fusion import LogOddsFusion
from stream_bayes.learners.fusion.weights import LogisticWeights


@pytest.mark.parametrize("precision", [1e-6, 1e-3, 2.0])
def test_collinear_members_for_long(precision: float) -> None:
    """1e5 events, members that say the same: finite, no less precise than the prior, and equals get equal weights."""
    generator = np.random.default_rng(5)
    truth = generator.normal(0.0, 3.0, 100_000)
    log_odds = np.stack([truth, truth, truth, 2.0 * truth], axis=1)
    outcomes = (generator.random(len(truth)) < expit(truth)).astype(np.int64)
    stack = LogisticWeights([0.25] * 4 + [0.0], precision)
    answers = np.empty((2, len(truth)))
    fold_stack(log_odds, 0 * log_odds, outcomes, np.ones(len(truth)), 10.0, stack.factor, stack.target, *answers)
    assert np.isfinite(answers).all()
    assert (answers[1] >= 0.0).all()
    assert (stack.factor.diagonal() >= math.sqrt(precision)).all()
    assert np.linalg.eigvalsh(stack.factor @ stack.factor.T)[0] > 0.0
    mean = stack.mean()
    np.testing.assert_allclose(mean[:3], mean[0], atol=1e-5)
    # The clipping of the doubled log-odds aside, the sum of all weights is that of one member alone: 1.
    assert mean[:3].sum() + 2.0 * mean[3] == pytest.approx(1.0, abs=0.25)
    assert all(marginal.variance > 0.0 for marginal in stack.marginals())


def test_nothing_overflows() -> None:
    """The heaviest weights, the loosest and tightest priors, and a certainty that is always wrong."""
    certain = tuple(BetaBernoulli(prior=prior) for prior in (Beta(1e90, 1e-90), Beta(1e-90, 1e90)))
    for precision in (1e-6, 1e12):
        for bound in (1e-3, 500.0):
            parameters: dict[str, Any] = {"prior_precision": precision, "calibration_precision": precision}
            for calibration in ("platt", "beta"):
                model = LogOddsFusion(certain, calibration=calibration, largest_log_odds=bound, **parameters)
                for weight in (1e12, 1e-300, 5e-324, 1.0) * 5:
                    for y in (True, False, False):
                        model.learn_one({}, y, w=weight)
                prediction = model.predictive_one({})
                assert math.isfinite(prediction.variance)
                assert np.isfinite(model._stack.mean()).all()
                assert all(slope.mean >= 0.0 for slope in list(model.calibration_weights().values())[:-1]) or (
                    calibration == "platt"
                )
