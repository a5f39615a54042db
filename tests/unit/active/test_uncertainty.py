"""Doubts of whoever predicts: a batch as its rows, ours as river's; few labels, points, and what is no prediction."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import linear_model, naive_bayes, proba, tree
from scipy import special

import stream_bayes
from stream_bayes import Beta, LabelPredictive
from stream_bayes.active.strategies import STRATEGIES, scores
from stream_bayes.active.uncertainty import uncertainty_of
from stream_bayes.errors import InputError
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.mail.filter import MailPredictions, SpamFilter
from stream_bayes.posteriors import Poisson, StudentT

COIN = {
    **{"variance": 1 / 4, "epistemic": 1 / 12, "latent": math.pi**2 / 3, "information": math.log(2) - 1 / 2},
    **{"margin": 1.0, "entropy": math.log(2), "disagreement": 1 / 12, "random": 1.0},
}


def test_every_strategy_has_its_score_of_a_uniform_prior_and_its_words_on_the_page() -> None:
    assert set(COIN) == set(STRATEGIES)
    page = (Path(stream_bayes.__file__).parent / "web/static/queue/selection.js").read_text(encoding="utf-8")
    _, _, rest = page.partition("const MEASURES = {")
    measures, _, _ = rest.partition("};")
    assert set(re.findall(r"^  (\w+):", measures, re.MULTILINE)) == set(STRATEGIES) - {"random"}


def score(strategy: str, predictive: Any) -> float:
    (number,) = scores(strategy, uncertainty_of(predictive))
    return float(number)


def learned(model: Any) -> Any:
    """Taught a little, of labels or of numbers."""
    labelled = isinstance(model, Classifier)
    for a, b in ((1, 2), (0, 3), (4, 1), (2, 2)):
        model.learn_one({"a": a, "b": b}, a > 1 if labelled else a + 2 * b)
    return model


def models() -> list[Any]:
    return [
        stream_bayes.BayesianLinearRegression(0.3, 2.0),
        stream_bayes.BayesianLinearRegression(0.3, 2.0, noise="unknown", noise_degrees=0.5),
        stream_bayes.BayesianLinearRegression(0.3, 2.0, covariance="diagonal", noise="unknown"),
        stream_bayes.PoissonRegression(),
        stream_bayes.BayesianLogisticRegression(0.3),
        stream_bayes.LogisticRegression(),
        stream_bayes.SoftmaxRegression(),
        stream_bayes.BetaBernoulli(Beta(0.3, 2.5)),
        stream_bayes.BernoulliNB(prior=Beta(0.3, 2.5)),
        stream_bayes.MultinomialNB(),
        stream_bayes.GaussianNB(),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda model: f"{type(model).__name__}")
@pytest.mark.parametrize("taught", [True, False])
def test_a_batch_is_scored_as_its_rows_are(model: Any, taught: bool) -> None:
    model = learned(model.clone()) if taught else model.clone()
    predictions = model.predictive_many([{"a": 1, "b": 1}, {"a": 3}, {"b": 2}, {}])
    doubts = predictions.uncertainties()
    for strategy in STRATEGIES:
        rows = [score(strategy, predictions.predictive(row)) for row in range(4)]
        np.testing.assert_allclose(scores(strategy, doubts), rows, rtol=1e-7, atol=1e-9)
        assert (scores(strategy, doubts) >= 0).all()


def test_few_degrees_of_freedom_leave_the_scale() -> None:
    assert [score("variance", StudentT(2, 0, 3, math.inf)), score("epistemic", StudentT(2, 0, 3))] == [9, 9]
    assert score("variance", StudentT(4, 0, 3)) == 18


@pytest.mark.parametrize(
    "said", [{}, {"ham": 1.0}, LabelPredictive({}, Beta(1, 1)), LabelPredictive({"x": 1}, Beta(1, 1))]
)
def test_fewer_than_two_labels_are_a_coin_of_which_nothing_is_known(said: Any) -> None:
    assert {name: score(name, said) for name in STRATEGIES} == pytest.approx(COIN)


def test_a_stream_that_begins_with_one_label() -> None:
    """The first rows know no label or one, the last knows two: only that one is scored by what it says."""
    predictions = stream_bayes.BernoulliNB().test_then_train([{"a": 1}] * 4, ["ham", "ham", "spam", None])
    doubts = predictions.uncertainties()
    for name, coin in COIN.items():
        assert scores(name, doubts)[:3] == pytest.approx(coin)
    assert scores("variance", doubts)[3] == pytest.approx(predictions.variance[3])
    none = stream_bayes.BernoulliNB().predictive_many([{"a": 1}])
    assert none.labels == ()
    assert {name: float(scores(name, none.uncertainties())[0]) for name in STRATEGIES} == pytest.approx(COIN)


def test_a_point_states_no_ignorance_and_its_variance_stands_in() -> None:
    said = learned(stream_bayes.LogisticRegression()).predictive_many([{"a": 1}, {"b": 2}])
    assert not said.epistemic_variance.any()
    for strategy in ("epistemic", "latent", "disagreement"):
        assert scores(strategy, said.uncertainties()).tolist() == said.variance.tolist()
    assert scores("information", said.uncertainties()) == pytest.approx(scores("entropy", said.uncertainties()))
    assert score("epistemic", Poisson(3)) == 3


def test_disagreement_is_that_of_the_members() -> None:
    mails = SpamFilter(buckets=2**10)
    mails.learn_many([b"Subject: win\n\nfree money now", b"Subject: lunch\n\nat noon?"] * 5, ["spam", "ham"] * 5)
    said = mails.predictive_many([b"Subject: win\n\nfree lunch money", b"Subject: x\n\nnoon"])
    members = special.expit(said.member_log_odds)
    assert scores("disagreement", said.uncertainties()) == pytest.approx(
        ((members - members.mean(1)[:, None]) ** 2).mean(1)
    )
    assert scores("epistemic", said.uncertainties()).tolist() == said.epistemic_variance.tolist()


def test_river() -> None:
    classifiers: list[Any] = [
        linear_model.LogisticRegression(),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(),
    ]
    generator = np.random.default_rng(0)
    for model in classifiers:
        for a, b in ((0.0, 0.0), *generator.normal(size=(50, 2)).tolist()):
            probabilities = model.predict_proba_one({"a": a, "b": b})
            found = {name: score(name, probabilities) for name in STRATEGIES}
            if len(probabilities) == 2:
                p = max(probabilities.values())
                assert found["variance"] == found["epistemic"] == found["latent"] == pytest.approx(p * (1 - p))
                assert found["margin"] == pytest.approx(2 - 2 * p)
            model.learn_one({"a": a, "b": b}, a > b)
        assert len(probabilities) == 2


def test_a_distribution_of_river() -> None:
    model = linear_model.BayesianLinearRegression(alpha=1.0, beta=2.5)
    rows = np.random.default_rng(0).normal(size=(9, 2))
    for a, b in rows.tolist():
        model.learn_one({"a": a, "b": b}, a - b)
    covariance: Any = np.linalg.inv(np.eye(2) + 2.5 * rows.T @ rows)
    x = np.array((2.0, -1.0))
    said = model.predict_one({"a": 2.0, "b": -1.0}, with_dist=True)
    assert score("variance", said) == score("epistemic", said) == pytest.approx(0.4 + x @ covariance @ x)
    assert score("variance", proba.Gaussian()) == 0.0


def test_changing_scores_leaves_the_uncertainties_unchanged() -> None:
    doubts = learned(stream_bayes.BayesianLogisticRegression(0.3)).predictive_many([{"a": 1}]).uncertainties()
    before = [column.tobytes() for column in doubts]
    for name in STRATEGIES:
        scores(name, doubts)[:] = -7.0
    assert [column.tobytes() for column in doubts] == before


@pytest.mark.parametrize("wrong", [0.5, True, None, "spam", [0.5, 0.5], np.zeros(3)])
def test_invalid_predictives_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="predictive_one"):
        uncertainty_of(wrong)


@pytest.mark.parametrize("wrong", [{"a": math.nan}, {"a": -0.1, "b": 1.1}, {"a": 1.5}, {"a": "1"}, {"a": math.inf}])
def test_invalid_probabilities_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"probability|sum to 1"):
        uncertainty_of(wrong)


@pytest.mark.parametrize("labels", [2, 3, 20])
def test_scores_do_not_depend_on_how_a_stream_is_cut_into_batches(labels: int) -> None:
    generator = np.random.default_rng(0)
    table = generator.dirichlet(np.full(labels, 0.3), 101)
    mean = generator.normal(size=101)
    spread = generator.gamma(1.0, size=101)
    members = generator.normal(size=(101, 9))
    names = tuple(range(labels))
    whole = MailPredictions(names, table, mean, abs(mean), spread, None, members, mean, tuple("abcdefghi"))
    for strategy in STRATEGIES:
        once = scores(strategy, whole.uncertainties())
        for size in (1, 2, 7, 64):
            cuts = [np.arange(101)[start : start + size] for start in range(0, 101, size)]
            parts = [scores(strategy, whole[rows].uncertainties()) for rows in cuts]
            assert np.concatenate(parts).tobytes() == once.tobytes()
