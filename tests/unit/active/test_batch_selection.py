"""The best rows of a window: exact where there is a covariance, the highest scores without copies elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import compose, linear_model, naive_bayes, preprocessing
from scipy.special import expit

import stream_bayes
from stream_bayes.active.batch_selection import select_batch
from stream_bayes.active.strategies import STRATEGIES, scores
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.typing import FloatArray

NAMES = ["a", "b", "c"]


def events(count: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(count, 3)) * (0.3, 1.0, 2.0)


def as_dicts(rows: FloatArray) -> list[Any]:
    return [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]


def logistic(precision: float, intercept: bool = True, **others: Any) -> stream_bayes.BayesianLogisticRegression:
    model = stream_bayes.BayesianLogisticRegression(precision, intercept=intercept, **others)
    rows = events(8, seed=1)
    model.learn_many(as_dicts(rows), (rows.sum(axis=1) > 0.5).tolist())
    return model


@pytest.mark.parametrize(("precision", "noise"), [(0.3, 2.0), (50.0, 0.04)])
def test_linear_regression_is_ranked_by_information(precision: float, noise: float) -> None:
    model = stream_bayes.BayesianLinearRegression(precision, noise)
    model.learn_one({"a": 1.0}, 2.0)
    window = as_dicts(events(40))
    expected = model.rank_by_information(window, 10).tolist()
    for strategy in set(STRATEGIES) - {"random"}:
        assert select_batch(model, window, 10, strategy) == expected
    # The variances fall by what each answer, whatever it is, takes away.
    chosen: list[int] = []
    for _ in range(10):
        variances = model.predictive_many(window).variance
        variances[chosen] = 0
        chosen.append(int(variances.argmax()))
        model.learn_one(window[chosen[-1]], 17.0)
    assert chosen == expected


def greedy(mean: FloatArray, covariance: FloatArray, rows: FloatArray, count: int, strategy: str) -> list[int]:
    """Each variance anew from the whole covariance, which each choice makes smaller; the scores by their formulas."""
    chosen: list[int] = []
    for _ in range(count):
        v = np.einsum("ij,jk,ik->i", rows, covariance, rows)
        k = 1 / np.sqrt(1 + np.pi * v / 8)
        p = expit(k * (rows @ mean))
        nodes, weights = np.polynomial.hermite_e.hermegauss(200)
        q = expit((rows @ mean)[:, None] + np.sqrt(v)[:, None] * nodes)
        share = weights / weights.sum()
        epistemic = q**2 @ share - (q @ share) ** 2
        worth = {"epistemic": epistemic, "variance": p * (1 - p), "latent": v}[strategy]
        worth[chosen] = -1
        chosen.append(int(worth.argmax()))
        h = covariance @ rows[chosen[-1]]
        covariance = covariance - np.outer(h, h) * (k**2 * p * (1 - p))[chosen[-1]]
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("precision", [0.2, 5.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strategy", ["epistemic", "variance", "latent"])
def test_log_odds_are_ranked_by_the_covariance_after_each_label(
    precision: float, intercept: bool, strategy: str
) -> None:
    """With a feature that no event has had, which is as the prior has it."""
    model = logistic(precision, intercept)
    rows = events(30, seed=2)
    window = [{**x, "new": 0.5 * place % 2} for place, x in enumerate(as_dicts(rows))]
    design = np.column_stack((rows, [0.5 * place % 2 for place in range(30)], np.ones(30)))
    names = (*NAMES, "new", "intercept") if intercept else (*NAMES, "new")
    belief: Any = model.joint(*names)
    expected = greedy(belief.mean, belief.covariance, design[:, : len(names)], 8, strategy)
    assert select_batch(model, window, 8, strategy) == expected


def test_a_label_takes_the_same_from_the_covariance_whichever_it_is() -> None:
    """What the choice relies on, of the learner itself."""
    beliefs: list[Any] = []
    for answer in (False, True):
        model = logistic(0.2)
        model.learn_one({"a": 1.0, "c": -2.0}, answer)
        beliefs.append(model.joint(*NAMES, "intercept"))
    np.testing.assert_allclose(beliefs[0].covariance, beliefs[1].covariance, rtol=1e-9)


def test_copies_of_the_best_row_are_not_chosen_with_it() -> None:
    """By score alone all copies come first; one answer leaves little to learn from the others."""
    model = logistic(0.01)
    window: list[Any] = [{"a": 1.0, "b": 1.0}, *([{"c": 0.0, "d": 3.0}] * 3), {"a": 2.0, "b": -1.0}]
    alone = scores("epistemic", model.predictive_many(window).uncertainties())
    assert set(np.argsort(-alone)[:3].tolist()) == {1, 2, 3}
    chosen = select_batch(model, window, 3)
    assert len({1, 2, 3} & set(chosen)) < 3
    diagonal = logistic(0.01, covariance="diagonal")
    assert len({1, 2, 3} & set(select_batch(diagonal, window, 5))) == 1
    assert len(select_batch(diagonal, window, 5)) == 3


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_other_learners_are_ranked_by_their_scores(strategy: str) -> None:
    model = stream_bayes.GaussianNB()
    rows = events(30, seed=4)
    model.learn_many(as_dicts(rows[:10]), ["x", "y"] * 5)
    window = as_dicts(rows)
    chosen = select_batch(model, window, 12, strategy)
    worth = scores(strategy, model.predictive_many(window).uncertainties())
    assert len(set(chosen)) == 12
    assert worth[chosen].tolist() == sorted(worth, reverse=True)[:12]


def test_random_rows_are_shuffled_by_the_seed() -> None:
    model = stream_bayes.BayesianLinearRegression()
    window = as_dicts(events(200))
    chosen = select_batch(model, window, 20, "random")
    assert chosen == select_batch(model, window, 20, "random") != select_batch(model, window, 20, "random", seed=2)
    assert chosen != sorted(chosen)


def test_mails_of_one_campaign_are_requested_once() -> None:
    model = SpamFilter(buckets=2**10)
    campaign = [
        f"Subject: You won\n\nDear friend {n}, claim the great prize at once, call us now".encode() for n in range(6)
    ]
    other = b"Subject: lunch\n\nShall we meet at noon in the small place by the river, as last week?"
    assert sorted(row == 6 for row in select_batch(model, [*campaign, other], 5)) == [False, True]
    assert len(select_batch(model, [*campaign, other], 5, similarity=1.0)) == 2


def test_learners_of_river() -> None:
    rows = events(60, seed=5)
    classifier: Any = compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    bayes = naive_bayes.GaussianNB()
    line = linear_model.BayesianLinearRegression(alpha=1.0, beta=2.0)
    for x, row in zip(as_dicts(rows), rows, strict=True):
        for model in (classifier, bayes):
            model.learn_one(x, bool(row.sum() > 0))
        line.learn_one(x, float(row.sum()))
    window = as_dicts(events(20, seed=6))
    for model in (classifier, bayes):
        nearest = [abs(model.predict_proba_one(x)[True] - 0.5) for x in window]
        assert select_batch(model, window, 5) == np.argsort(nearest, kind="stable")[:5].tolist()
    spread = [-line.predict_one(x, with_dist=True).sigma for x in window]
    assert select_batch(line, window, 5, "variance") == np.argsort(spread, kind="stable")[:5].tolist()


@pytest.mark.slow
@given(st.integers(0, 6), st.integers(0, 8), st.sampled_from(sorted(STRATEGIES)), st.booleans())
def test_any_window(rows: int, count: int, strategy: str, intercept: bool) -> None:
    """Different rows, no more than asked for; nothing is learned."""
    for model in (logistic(0.3, intercept), stream_bayes.BayesianLinearRegression(0.3, 2.0, intercept=intercept)):
        before = model.state()
        window: list[Any] = [{"a": float(row), "new": 1.0} if row % 2 else {} for row in range(rows)]
        chosen = select_batch(model, window, count, strategy)
        assert len(set(chosen)) == len(chosen) <= min(count, rows)
        assert set(chosen) <= set(range(rows))
        after = model.state()
        assert all(before.arrays[name].tobytes() == after.arrays[name].tobytes() for name in before.arrays)


def test_hashed_names_are_chosen_by_score() -> None:
    model = logistic(0.3, buckets=64)
    window = as_dicts(events(10, seed=7))
    worth = scores("epistemic", model.predictive_many(window).uncertainties())
    assert select_batch(model, window, 4) == np.argsort(-worth, kind="stable")[:4].tolist()


def test_invalid_arguments_of_select_batch_are_refused() -> None:
    model = stream_bayes.BayesianLinearRegression()
    wrong: tuple[Any, ...] = (-1, 1.5, "2")
    for count in wrong:
        with pytest.raises(ParameterError, match="count must be"):
            select_batch(model, [{"a": 1.0}], count)
    with pytest.raises(ParameterError, match="no strategy 'largest'"):
        select_batch(model, [{"a": 1.0}], 1, "largest")
    with pytest.raises(InputError, match="finite"):
        select_batch(logistic(1.0), [{"a": math.nan}], 1)
    for learner in (linear_model.LinearRegression(), object()):
        with pytest.raises(ParameterError, match="gives no predictive"):
            select_batch(learner, [{"a": 1.0}], 1)
