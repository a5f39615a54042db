"""Any learner in an engine: contents in the form it takes, and settings that name it."""

from __future__ import annotations

from base64 import b64encode

import pytest

from stream_bayes import BernoulliNB, Beta, LogOddsFusion
from stream_bayes.config import LearnerSettings
from stream_bayes.engine.model_adapter import open_learner
from stream_bayes.errors import ConfigError
from tests.support.engines import KINDS, Kind, Stream, codes, predictions, run, settings_for

ENCODED = b"""\
Subject: =?utf-8?q?Caf=C3=A9_today?=
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

""" + b64encode("Gr\u00fc\u00dfe, lunch today?".encode())


@pytest.mark.parametrize("name", ["MultinomialNB", "BayesianLinearRegression"])
def test_a_mail_is_its_words_for_a_learner_that_reads_none(name: str) -> None:
    mails = Stream()
    words = Stream()
    label = "ham" if name == "MultinomialNB" else 1.0
    mails.observe({"raw": b64encode(ENCODED).decode()}, label, "p")
    words.observe({"features": {"caf\u00e9": 1, "today": 2, "gr\u00fc\u00dfe": 1, "lunch": 1}}, label, "p")
    (learned, outcome), (expected, _) = (run(settings_for(KINDS[name]), stream) for stream in (mails, words))
    assert codes(outcome) == []
    arrays = learned.model.learner.state().arrays
    for key, array in expected.model.learner.state().arrays.items():
        assert array.tobytes() == arrays[key].tobytes(), key


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        (
            "SpamFliter",
            {},
            "learner.name: there is no learner 'SpamFliter' in stream_bayes; did you mean 'SpamFilter'",
        ),
        ("LabelBudget", {}, "learner.name: there is no learner 'LabelBudget' in stream_bayes; known are"),
        (
            "SpamFilter",
            {"bukets": 8, "pears": True},
            "learner.parameters.bukets: unknown; did you mean 'buckets'?; "
            "learner.parameters.pears: unknown; did you mean 'pairs'?",
        ),
        ("GramRegression", {"zzzzzz": 8}, "learner.parameters.zzzzzz: unknown; known are strength, noise_variance, no"),
        ("SpamFilter", {"buckets": "many"}, "learner.parameters.buckets must be "),
        ("MultinomialNB", {"prior_count": -1.0}, "learner.parameters.prior_count must be "),
        ("LogOddsFusion", {}, "learner.parameters: LogOddsFusion.__init__() missing 1 required positional argument"),
    ],
)
def test_a_learner_that_cannot_be(name: str, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_learner(LearnerSettings(name=name, parameters=parameters))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("BernoulliNB", {"prior": None}),
        ("MultinomialNB", {"prior_count": 0.0}),
        ("PoissonNB", {"prior": None, "class_prior_count": 0.0}),
        ("CategoricalNB", {"prior_count": 0.0}),
        ("GaussianNB", {"prior": None, "unbiased": True}),
        ("GaussianDiscriminant", {"prior": None}),
        ("GaussianDiscriminant", {"covariance": "shared-spherical", "predictive": "plug-in"}),
    ],
)
def test_learners_without_a_prior_run_in_an_engine(name: str, parameters: dict[str, object]) -> None:
    """Whatever they find impossible, each prediction has probabilities and a variance, and nothing is rejected."""
    stream = Stream()
    for place in range(30):
        features = {"x": float(place % 3), "y": float(place % 5), f"new{place % 11}": 1.0}
        stream.observe({"features": features}, "ham" if place % 4 else "spam", f"p{place}")
    engine, outcome = run(settings_for(Kind(name, parameters, (), ())), stream, (7,))
    assert codes(outcome) == []
    assert len(predictions(outcome)) == 30
    for prediction in predictions(outcome)[1:]:
        assert prediction.probabilities is not None
        assert sum(prediction.probabilities.values()) == pytest.approx(1.0)
    assert engine.model.learner.state().parameters["class_prior_count"] == parameters.get("class_prior_count", 1.0)


@pytest.mark.parametrize("name", ["BernoulliNB", "PoissonNB", "GaussianNB", "GaussianDiscriminant"])
def test_a_prior_of_none_in_a_settings_file(name: str) -> None:
    """TOML has no null: the text "none" stands for it, in a member of a fusion too; elsewhere it is a text."""
    learner = open_learner(LearnerSettings(name=name, parameters={"prior": "none", "class_prior_count": 0.5}))
    assert learner.state().parameters["prior"] is None
    members = [{"name": name, "parameters": {"prior": "none"}}]
    parameters = {"learners": members, "classes": ["ham", "spam"], "calibration": "none"}
    fusion = open_learner(LearnerSettings(name="LogOddsFusion", parameters=parameters))
    assert isinstance(fusion, LogOddsFusion)
    assert fusion.learners[0].state().parameters["prior"] is None
    assert fusion.calibration == "none"


def test_learners_and_posteriors_within_parameters() -> None:
    members = [{"name": "BernoulliNB", "parameters": {"prior": {"posterior": "Beta", "fields": [0.5, 2.0]}}}] * 2
    settings = LearnerSettings(name="LogOddsFusion", parameters={"learners": members, "classes": ["ham", "spam"]})
    fusion = open_learner(settings)
    member = BernoulliNB(prior=Beta(0.5, 2.0))
    made = LogOddsFusion((member, member.clone()), classes=("ham", "spam"))
    assert fusion.description() == made.description()


def test_labels_that_look_alike_are_distinguished() -> None:
    stream = Stream()
    for label in (1, "1", True, "true", '"1"', "a"):
        stream.observe({"features": {"x": 1.0}}, label, f"n{label!r}".replace('"', "q"))
    stream.observe({"features": {"x": 1.0}}, None, "last")
    for sizes in ((1,), (100,)):
        _, outcome = run(settings_for(KINDS["MultinomialNB"]), stream, sizes)
        last = predictions(outcome)[-1]
        assert last.probabilities is not None
        assert set(last.probabilities) == {"1", '"1"', '"true"', '"\\"1\\""', "a"}, "1 and True are one label"


@pytest.mark.parametrize("cut", [1, 10])
def test_mails_with_late_labels_and_corrections_are_remembered(cut: int) -> None:
    stream = Stream()
    stream.observe({"text": "lunch at noon?"}, "ham", "with its label")
    stream.observe({"text": "cheap pills"}, None, "late")
    stream.observe({"text": "minutes of the meeting"}, None, "never")
    stream.answer("ham", "late")
    stream.answer("spam", "late")
    engine, outcome = run(settings_for(KINDS["SpamFilter"]), stream, (cut,))
    assert codes(outcome) == []
    assert engine.counts == {"predict": 3, "learn": 1, "correct": 1}
    assert engine.model.learner.state().arrays["memory.signs"].tolist() == [1.0]
