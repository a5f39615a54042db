"""What the page says of an observation: any learner's prediction, its interval, and reasons that add up to it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_bayes import (
    BayesianLinearRegression,
    BetaBernoulli,
    LogisticRegression,
    MultinomialNB,
    PoissonRegression,
    SoftmaxRegression,
    SpamFilter,
)
from stream_bayes.engine.explanation import ELSE, OTHERS
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.errors import InputError
from stream_bayes.events import Observation
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.posteriors import Beta
from stream_bayes.testing import frozen
from stream_bayes.web.schemas import PredictionBody
from stream_bayes.web.services.model_cache import ModelCache
from stream_bayes.web.services.prediction import prediction_view
from tests.support.learners import LEARNERS
from tests.support.web_checkpoints import trained_clone, write_model
from tests.support.workers import settings_in

FEATURES: dict[str, Any] = {"a": 2.0, "b": 1, "c": True, "e": 3.0}
WHOLE = Observation(id="q", features=FEATURES)


def predict(learner: Any, observation: Observation = WHOLE, top: int = 15) -> PredictionBody:
    return prediction_view(ModelAdapter(learner), observation, top, (0, 1))


def assert_adds_up(found: PredictionBody) -> None:
    assert found.total is not None
    parts = [*(reason.share for reason in found.reasons), *found.rest.values()]
    assert math.fsum(parts) == pytest.approx(found.total, rel=1e-9, abs=1e-9)
    sizes = [abs(reason.share) for reason in found.reasons]
    assert sizes == sorted(sizes, reverse=True)


def shares(found: PredictionBody) -> dict[str, float]:
    return {reason.text: reason.share for reason in found.reasons}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_an_explained_prediction(name: str, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    learner = trained_clone(LEARNERS[name])
    write_model(settings, learner)
    models = ModelCache(settings)
    found = models.predict(WHOLE)
    own: Any = models.newest().model.learner
    before = frozen(learner)
    assert frozen(own) == before, "nothing is learned"
    predictive = own.predictive_one(FEATURES)
    assert_adds_up(found)
    assert found.variance == pytest.approx(predictive.variance)
    assert found.epistemic_variance == pytest.approx(predictive.epistemic_variance)
    assert found.aleatoric_variance == pytest.approx(predictive.aleatoric_variance)
    low, high = found.interval
    assert low <= high
    if not isinstance(own, Classifier):
        assert (found.mean, found.total) == (predictive.mean, predictive.mean)
        assert (found.label, found.probabilities, found.interval_of, found.towards) == (None, None, None, None)
        assert found.interval == predictive.interval(0.95)
        return
    assert found.label == own.predict_one(FEATURES)
    assert (found.action is not None) == isinstance(own, SpamFilter)
    table = own.predict_proba_one(FEATURES)
    assert list((found.probabilities or {}).values()) == list(table.values())
    explained: Any = list(table)[1] if len(table) == 2 else found.label
    assert found.interval_of == found.towards == {True: "true", False: "false"}.get(explained, explained)
    assert found.interval == predictive.interval(0.95, explained)
    assert 0.0 <= low <= high <= 1.0
    others = sum(p for label, p in table.items() if label != explained)
    assert found.total == pytest.approx(math.log(table[explained] / others), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in LEARNERS if not name.startswith("SpamFilter")])
def test_a_share_is_the_change_of_the_log_odds_without_the_feature(name: str) -> None:
    learner = trained_clone(LEARNERS[name])
    found = predict(learner)
    by_name = {text.split(" = ")[0]: share for text, share in shares(found).items()}

    def total(x: dict[str, Any]) -> float:
        if not isinstance(learner, Classifier):
            return float(learner.predict_one(x))
        table = {str(label).lower(): p for label, p in learner.predict_proba_one(x).items()}
        own = table.pop(str(found.towards))
        return math.log(own / math.fsum(table.values()))

    for feature in FEATURES:
        without = {name: value for name, value in FEATURES.items() if name != feature}
        assert by_name.get(feature, 0.0) == pytest.approx(total(FEATURES) - total(without), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", LEARNERS)
def test_before_any_learning(name: str) -> None:
    learner = LEARNERS[name].clone()
    found = predict(learner)
    if isinstance(learner, Classifier) and len(learner.predict_proba_one(FEATURES)) < 2:
        assert (found.label, found.total, found.reasons, found.interval_of) == (None, None, (), None)
        assert found.interval == pytest.approx((0.025, 0.975)), "nothing is known"
    else:
        assert_adds_up(found)


def test_shares_of_a_linear_model_are_weights_times_values() -> None:
    generator = np.random.default_rng(4)
    learner = BayesianLinearRegression(0.5, 0.3)
    for _ in range(50):
        x: dict[str, Any] = {
            "x": generator.normal(),
            "z": generator.normal(),
            "colour": str(generator.choice(["red", "blue"])),
        }
        learner.learn_one(x, 3.0 * x["x"] - 2.0 * x["z"] + (x["colour"] == "red"))
    found = predict(learner, Observation(id="q", features={"x": 1.5, "z": -0.5, "colour": "red"}))
    weights = {name: weight.mean for name, weight in learner.weights().items()}
    assert shares(found) == {
        "x = 1.5": pytest.approx(1.5 * weights["x"]),
        "z = -0.5": pytest.approx(-0.5 * weights["z"]),
        "colour = red": pytest.approx(weights["colour", "red"]),
    }
    assert found.rest == {ELSE: pytest.approx(weights["intercept"])}
    assert {reason.kind for reason in found.reasons} == {"feature"}


def test_words_of_a_text_and_of_a_mail() -> None:
    learner = LogisticRegression(rate=0.4, classes=("ham", "spam"))
    for _ in range(20):
        learner.learn_one({"cheap": 1, "pills": 2}, "spam")
        learner.learn_one({"lunch": 1, "now": 1}, "ham")
    text = predict(learner, Observation(id="q", text="Pills, pills! lunch zebra"))
    assert shares(text) == {
        "pills": pytest.approx(2.0 * learner.weight("pills")),
        "lunch": pytest.approx(learner.weight("lunch")),
    }
    assert {reason.kind for reason in text.reasons} == {"word"}
    assert text.rest[ELSE] == pytest.approx(learner.intercept_value)
    mail = predict(learner, Observation(id="q", raw=b"Subject: lunch\n\npills pills zebra"))
    assert shares(mail) == pytest.approx(shares(text))


@pytest.mark.parametrize(
    ("labels", "explained"),
    [(("spam", "ham"), "spam"), (("ham", "spam"), "spam"), (("b", "a"), "a"), ((1, 7), "7"), (("1", "true"), '"true"')],
)
def test_the_explained_label_of_two(labels: tuple[Any, Any], explained: str) -> None:
    learner = MultinomialNB()
    for label in labels:
        learner.learn_one({"x": 1}, label)
    found = predict(learner)
    assert (found.interval_of, found.towards) == (explained, explained)
    assert found.probabilities is not None
    assert explained in found.probabilities


def test_the_interval_is_that_of_the_posterior() -> None:
    learner = BetaBernoulli(on="sender", prior=Beta(2.0, 3.5), classes=("ham", "spam"))
    for label in ("spam", "ham", "ham", "ham", "ham"):
        learner.learn_one({"sender": "bob"}, label)
    found = predict(learner, Observation(id="q", features={"sender": "bob"}))
    assert (found.label, found.interval_of) == ("ham", "spam")
    assert found.interval == pytest.approx(stats.beta(3.0, 7.5).interval(0.95))
    assert shares(found) == {"sender = bob": pytest.approx(math.log(3.0 / 7.5) - math.log(2.0 / 3.5))}
    counts = PoissonRegression(rate=0.1)
    for _ in range(30):
        counts.learn_one({"x": 1.0}, 4.0)
    rate = predict(counts, Observation(id="q", features={"x": 1.0}))
    assert rate.interval == stats.poisson(rate.mean).interval(0.95)


@pytest.mark.parametrize("count", [150, 1500, 5000])
def test_the_largest_contributions_of_many_features_are_returned(count: int) -> None:
    learner = MultinomialNB()
    words = [f"word{number}" for number in range(count)]
    learner.learn_one({**dict.fromkeys(words, 1), "aaa": 50}, "ham")
    learner.learn_one({**dict.fromkeys(words, 1), "zzz": 50}, "spam")
    found = predict(learner, Observation(id="q", text=" ".join(["zzz", *words])), top=3)
    assert_adds_up(found)
    # Of very many only the first by name are looked at.
    assert list(shares(found)) == (["zzz"] if count < 2000 else [])
    assert found.total == pytest.approx(sum(shares(found).values()) + found.rest[ELSE]) == pytest.approx(math.log(51.0))


def test_features_that_are_not_shown_are_added_up() -> None:
    learner = trained_clone(SoftmaxRegression(rate=0.3))
    one = predict(learner, top=1)
    all_of_them = predict(learner)
    assert len(one.reasons) == 1 < len(all_of_them.reasons)
    assert one.reasons[0] == all_of_them.reasons[0]
    assert one.rest[ELSE] == all_of_them.rest[ELSE]
    assert one.rest[OTHERS] == pytest.approx(math.fsum(reason.share for reason in all_of_them.reasons[1:]))


def test_texts_of_reasons_are_harmless() -> None:
    learner = LogisticRegression(classes=("ham", "spam"))
    name = "na\u202eme\x00"
    value = "<b>\u200bval\nue"
    for _ in range(3):
        learner.learn_one({name: value}, "spam")
        learner.learn_one({}, "ham")
    (reason,) = predict(learner, Observation(id="q", features={name: value})).reasons
    assert reason.text == "na⟨U+202E⟩me⟨U+0000⟩ = <b>⟨U+200B⟩val ue"


def test_observations_that_a_learner_cannot_use_are_refused() -> None:
    learner = trained_clone(MultinomialNB())
    with pytest.raises(InputError, match="a count is between 0 and"):
        predict(learner, Observation(id="q", features={"x": -1.0}))
