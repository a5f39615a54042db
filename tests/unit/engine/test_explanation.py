"""Contributions of features by leaving each out: they add up to the prediction, also where time runs out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_bayes import CategoricalNB, GaussianDiscriminant
from stream_bayes.engine.explanation import ModelPrediction, explain_by_ablation, log_odds_of
from tests.support.web_checkpoints import trained_clone

FEATURES: dict[str, Any] = {"a": 2.0, "b": 1, "c": True, "e": 3.0}


def test_where_time_runs_out_the_rest_is_everything_else() -> None:
    learner = trained_clone(GaussianDiscriminant())
    prediction = ModelPrediction(FEATURES, "feature", learner.predictive_many([FEATURES]))
    why = explain_by_ablation(learner, prediction, 15, seconds=0.0)
    all_of_them = explain_by_ablation(learner, prediction, 15)
    assert len(why.reasons) == 1 < len(all_of_them.reasons)
    assert why.reasons[0] in all_of_them.reasons
    assert why.total == all_of_them.total
    assert math.fsum([why.reasons[0].share, *why.rest.values()]) == pytest.approx(why.total)


def test_certainty_is_finite() -> None:
    learner = CategoricalNB(prior_count=0.0, class_prior_count=0.0)
    for label in ("yes", "no", "no"):
        learner.learn_one({"outlook": "sunny" if label == "yes" else "rainy", "windy": True}, label)
    odds = log_odds_of(learner.predictive_many([{"outlook": "sunny"}, {"outlook": "rainy"}]), "yes")
    assert np.isfinite(odds).all()
    assert odds[0] > 100.0 > -100.0 > odds[1]
    content = {"outlook": "sunny", "windy": True}
    why = explain_by_ablation(learner, ModelPrediction(content, "feature", learner.predictive_many([content])), 15)
    assert why.towards == "no"
    shares = [reason.share for reason in why.reasons]
    assert math.fsum([*shares, *why.rest.values()]) == pytest.approx(why.total, rel=1e-9, abs=1e-9)
    assert shares == sorted(shares, key=abs, reverse=True)
