"""Every learner keeps every promise: our own checks, then river's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from river import base, compose, evaluate, feature_extraction, metrics

from stream_bayes import BernoulliNB, Beta, CategoricalNB, PoissonRegression
from stream_bayes.posteriors import LogitNormal
from stream_bayes.testing import targets
from tests.support.contract_cases import ORDER, our_cases, river_cases
from tests.support.learners import COLOURS, FIRST_OF_CLASS, LEARNERS

REGRESSORS = [name for name, learner in LEARNERS.items() if isinstance(learner, base.Regressor)]
CLASSIFIERS = [name for name in LEARNERS if name not in REGRESSORS]


def _takes_booleans(name: str) -> bool:
    # river's own data sets have boolean labels, so a learner declared for two colours cannot take them.
    learner = LEARNERS[name]
    return isinstance(learner, base.Regressor) or learner._multiclass or learner.classes != COLOURS


@pytest.mark.parametrize(("name", "check"), our_cases(LEARNERS, FIRST_OF_CLASS))
def test_our_contract(name: str, check: Callable[[Any], None]) -> None:
    check(LEARNERS[name].clone())


@pytest.mark.parametrize(
    ("name", "check"),
    river_cases({name: LEARNERS[name] for name in filter(_takes_booleans, LEARNERS)}, FIRST_OF_CLASS),
)
def test_river_contract(name: str, check: Callable[[Any], None]) -> None:
    """What is skipped where no labels are declared must hold where they are."""
    learner = LEARNERS[name]
    assert learner._unit_test_skips() <= {"check_predict_proba_one_binary", ORDER}, "a skipped check needs a case here"
    declared = {"classes": (False, True)} if check.__name__ in learner._unit_test_skips() else {}
    check(learner.clone(declared))


@pytest.mark.parametrize("name", REGRESSORS)
def test_works_in_a_river_pipeline_of_numbers(name: str) -> None:
    """Targets that "a" tells: 1 or 0, of rates 3 or 1; the mean of all is off by half the difference."""
    low, high = (1.0, 3.0) if isinstance(LEARNERS[name], PoissonRegression) else (0.0, 1.0)
    stream = [(x, high if x["a"] > 1.0 else low) for x, _ in learnable(LEARNERS[name], share=0.5)]
    model = compose.Discard("noise") | LEARNERS[name].clone()
    score = evaluate.progressive_val_score(stream, model, metrics.MAE())
    assert score.get() < 0.4 * (high - low)
    for x, _ in stream[:5]:
        assert model.predict_one(x) == model[-1].predict_one({"a": x["a"], "b": x["b"]})


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_works_in_a_river_pipeline(name: str) -> None:
    """A pipeline with a transformer in front, scored by river's progressive validation with river's metrics.

    "a" says which label comes nine times in ten and the labels are as frequent as each other; a learner that looks at
    no feature can only learn that the second label is the more frequent, so it gets a stream where it is.
    """
    learner = LEARNERS[name]
    stream = learnable(learner, share=0.8 if getattr(learner, "on", "a") is None else 0.5)
    model = compose.Discard("noise") | learner.clone()
    score = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    labels = [y for _, y in stream]
    most_frequent = max(labels.count(label) for label in labels) / len(labels)
    assert score.get() > (0.7 if getattr(learner, "on", "a") is None else most_frequent + 0.15)
    assert "noise" not in str(model["Discard"].transform_one(stream[0][0]))
    for x, _ in stream[:5]:
        assert model.predict_proba_one(x) == model[-1].predict_proba_one({"a": x["a"], "b": x["b"]})


def learnable(learner: Any, share: float) -> list[Any]:
    """Two labels, the second in this share of events; "a" is 3 for the second and else 0, but for one in ten."""
    generator = np.random.default_rng(8)
    labels = targets(learner)[:2]
    stream = []
    for _ in range(200):
        second = bool(generator.random() < share)
        shown = second != (generator.random() < 0.1)
        noise = float(generator.integers(0, 4))
        stream.append(({"a": 3.0 * shown, "b": float(generator.integers(0, 2)), "noise": noise}, labels[second]))
    return stream


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "PoissonNB", "BernoulliNB hashed"])
def test_works_behind_a_bag_of_words(name: str) -> None:
    """The pipeline a river user has for mail: only the last step changes."""
    model = feature_extraction.BagOfWords() | LEARNERS[name].clone()
    mails: list[Any] = [
        ("buy cheap pills now", "spam"),
        ("lunch at noon today", "ham"),
        ("cheap cheap watches", "spam"),
    ]
    evaluate.progressive_val_score(mails * 5, model, metrics.Accuracy())
    assert model.predict_one("cheap pills") == "spam"
    assert model.predict_one("noon today") == "ham"


@pytest.mark.parametrize("name", LEARNERS)
def test_repr_names_every_parameter(name: str) -> None:
    learner = LEARNERS[name]
    assert all(f"{parameter}=" in repr(learner) for parameter in learner._get_params())


@pytest.mark.parametrize("x", [{"w": True}, {"w": False}])
def test_one_boolean_feature_is_the_same_model_twice(x: dict[str, bool]) -> None:
    """A Beta is a Dirichlet of two: presence and absence, or two categories, and as much ignorance about them."""
    present = BernoulliNB(prior=Beta(0.7, 0.7), class_prior_count=0.4)
    category = CategoricalNB(prior_count=0.7, class_prior_count=0.4)
    generator = np.random.default_rng(9)
    for _ in range(12):
        label = "spam" if generator.random() < 0.6 else "ham"
        event = {"w": bool(generator.random() < (0.8 if label == "spam" else 0.3))}
        for model in (present, category):
            model.learn_one(event, label)
    one = present.predictive_one(x)
    two = category.predictive_one(x)
    assert dict(one.probabilities) == pytest.approx(dict(two.probabilities), rel=1e-12)
    assert isinstance(one.latent, LogitNormal)
    assert isinstance(two.latent, LogitNormal)
    assert one.latent.log_odds_variance == pytest.approx(two.latent.log_odds_variance, rel=1e-12)
    assert one.latent.log_odds == pytest.approx(two.latent.log_odds, rel=1e-12)
