"""Scores of doubt: closed forms against quadrature, chance and hand figures; whoever predicts, 0 or more and finite."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

import stream_bayes
from stream_bayes import Beta, LabelPredictive, Normal
from stream_bayes.active.strategies import STRATEGIES, check_strategy, needs, needs_only_probabilities, scores
from stream_bayes.active.uncertainty import uncertainty_of
from stream_bayes.errors import ParameterError
from stream_bayes.learners import LabelPredictions
from stream_bayes.learners.base.uncertainties import Uncertainties
from stream_bayes.posteriors import LogitNormal, StudentT
from stream_bayes.typing import FloatArray


def score(strategy: str, predictive: Any) -> float:
    (number,) = scores(strategy, uncertainty_of(predictive))
    return float(number)


def coin_entropy(q: Any) -> Any:
    return special.entr(q) + special.entr(1 - q)


def label(p: float, latent: Any) -> LabelPredictive:
    return LabelPredictive({"spam": p, "ham": 1 - p}, latent)


def test_figures_by_hand() -> None:
    """Beta(6, 2): p = 3/4, Var q = 12 / (64 x 9), trigammas pi^2/6 minus the sums of 1/k^2."""
    said = label(0.75, Beta(6, 2))
    assert score("variance", said) == pytest.approx(3 / 16)
    assert score("epistemic", said) == pytest.approx(1 / 48)
    trigammas = math.pi**2 / 3 - 1 - (1 + 1 / 4 + 1 / 9 + 1 / 16 + 1 / 25)
    assert score("latent", said) == pytest.approx(trigammas)
    assert score("margin", said) == pytest.approx(0.5)
    assert score("entropy", said) == pytest.approx(0.75 * math.log(4 / 3) + 0.25 * math.log(4))
    # E H(q) = p (1/7 + 1/8) + (1 - p) (1/3 + 1/4 + ... + 1/8).
    expected = 0.75 * (1 / 7 + 1 / 8) + 0.25 * sum(1 / k for k in range(3, 9))
    assert score("information", said) == pytest.approx(score("entropy", said) - expected)
    three = {"a": 0.5, "b": 0.3, "c": 0.2}
    assert (score("variance", three), score("margin", three)) == pytest.approx((0.25, 0.8))
    assert score("entropy", three) == pytest.approx(1.0296530)
    number = Normal(7, 3, 2)
    assert [score(name, number) for name in ("variance", "epistemic", "latent", "margin")] == [3, 1, 1, 3]
    assert score("information", number) == pytest.approx(0.5 * math.log(1.5))
    assert score("entropy", Normal(7, 3000, 2)) == pytest.approx(Normal(7, 3000, 2).entropy, abs=1e-5)
    assert score("entropy", Normal(7, 1e-9)) < score("entropy", Normal(7, 2e-9))


@pytest.mark.parametrize("mean", [0.0, -0.7, 3.0, 12.0])
@pytest.mark.parametrize("variance", [1e-6, 0.3, 4.0, 60.0, 70.0, 2500.0])
def test_information_of_normal_log_odds_by_quadrature(mean: float, variance: float) -> None:
    deviation = math.sqrt(variance)

    def over(value: Any) -> float:
        cuts = np.unique(np.clip([mean, -30, -5, 0, 5, 30], mean - 9 * deviation, mean + 9 * deviation))
        ends = [mean - 9 * deviation, *cuts.tolist(), mean + 9 * deviation]
        parts = [
            integrate.quad(lambda t: value(special.expit(t)) * stats.norm.pdf(t, mean, deviation), *pair, epsabs=1e-14)
            for pair in pairwise(ends)
        ]
        return float(sum(part for part, _ in parts))

    expected = coin_entropy(over(lambda q: q)) - over(coin_entropy)
    said = label(0.8, LogitNormal(mean, variance))
    assert score("information", said) == pytest.approx(expected, abs=1e-9)
    assert score("information", said) <= math.log(2)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.3, 2.5), (40, 7), (3000, 1000)])
def test_information_of_a_beta_by_quadrature(a: float, b: float) -> None:
    belief = stats.beta(a, b)
    expected = coin_entropy(a / (a + b)) - belief.expect(coin_entropy, epsabs=1e-12)
    assert score("information", label(a / (a + b), Beta(a, b))) == pytest.approx(expected, abs=1e-8)


def test_parts_of_the_variance_by_chance() -> None:
    """Logistic regression: what a million draws of the weights say of the label of one event."""
    model = stream_bayes.BayesianLogisticRegression(prior_precision=0.3)
    generator = np.random.default_rng(3)
    for a, b in generator.normal(size=(20, 2)).tolist():
        model.learn_one({"a": a, "b": b}, a + b > 0.3)
    x: dict[Any, float] = {"a": 1.0, "b": -0.4}
    belief: Any = model.joint("a", "b", "intercept")
    log_odds = generator.multivariate_normal(belief.mean, belief.covariance, 10**6) @ (1.0, -0.4, 1.0)
    q = special.expit(log_odds)
    said = model.predictive_one(x)
    assert score("latent", said) == pytest.approx(log_odds.var(), rel=0.01)
    assert score("epistemic", said) == pytest.approx(q.var(), rel=0.01)
    assert score("information", said) == pytest.approx(coin_entropy(q.mean()) - coin_entropy(q).mean(), rel=0.01)


@pytest.mark.parametrize(("precision", "noise"), [(0.25, 9.0), (40.0, 0.04)])
def test_a_line_is_scored_by_its_variance(precision: float, noise: float) -> None:
    generator = np.random.default_rng(5)
    known = generator.normal(size=(12, 3))
    rows = generator.normal(size=(50, 3)) * (0.1, 1, 5)
    model = stream_bayes.BayesianLinearRegression(precision, noise, intercept=False)
    model.learn_many(stream_bayes.Batch.from_matrix(known, list("abc")), generator.normal(size=12))
    covariance: Any = np.linalg.inv(precision * np.eye(3) + known.T @ known / noise)
    ignorance = np.einsum("ij,jk,ik->i", rows, covariance, rows)
    doubts = model.predictive_many(stream_bayes.Batch.from_matrix(rows, list("abc"))).uncertainties()
    np.testing.assert_allclose(scores("variance", doubts), noise + ignorance)
    np.testing.assert_allclose(scores("epistemic", doubts), ignorance)
    gains = [model.information_gain(dict(zip("abc", row, strict=True))) for row in rows.tolist()]
    np.testing.assert_allclose(scores("information", doubts), gains)
    order = ignorance.argsort().tolist()
    for name in set(STRATEGIES) - {"random"}:
        assert scores(name, doubts).argsort().tolist() == order


def test_epistemic_strategies_score_noise_low() -> None:
    fair = label(0.5, Beta(1000, 1000))
    unknown = label(0.5, Beta(1, 1))
    for strategy in ("variance", "margin", "entropy"):
        assert score(strategy, fair) == score(strategy, unknown)
    for strategy in ("epistemic", "information", "latent"):
        assert score(strategy, fair) < 0.01 * score(strategy, unknown)


def test_latent_variance_ignores_whether_the_label_is_in_doubt() -> None:
    odd = label(0.999, LogitNormal(15, 9))
    torn = label(0.6, LogitNormal(0.5, 1))
    assert score("latent", odd) > score("latent", torn)
    for strategy in ("epistemic", "information", "variance"):
        assert score(strategy, odd) < 0.1 * score(strategy, torn)


probability = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 5e-324, 1e-300, 0.5, 1 - 2**-53])
size = st.floats(0, allow_infinity=False, allow_nan=False)


def sound(doubts: Uncertainties) -> None:
    for name in STRATEGIES:
        found = scores(name, doubts)
        assert found.shape == doubts.variance.shape
        assert np.isfinite(found).all()
        assert (found >= 0).all()


@given(st.dictionaries(st.integers(0, 9), probability))
def test_any_probabilities(probabilities: dict[int, float]) -> None:
    total = math.fsum(probabilities.values())
    if total >= 1e-300:
        probabilities = {label: p / total for label, p in probabilities.items()}
    elif probabilities:
        probabilities = dict.fromkeys(probabilities, 1.0 / len(probabilities))
    sound(uncertainty_of(probabilities))


@given(
    p=probability,
    latent=st.builds(LogitNormal, st.floats(-1e308, 1e308), size)
    | st.builds(Beta, st.floats(1e-300, 1e300), st.floats(1e-300, 1e300)),
)
def test_any_label(p: float, latent: Any) -> None:
    sound(uncertainty_of(label(p, latent)))


@given(variance=st.floats(5e-324), share=st.floats(0, 1), degrees=st.floats(1e-3, 1e6), scale=st.floats(1e-150, 1e150))
def test_any_number(variance: float, share: float, degrees: float, scale: float) -> None:
    if variance < math.inf:
        sound(uncertainty_of(Normal(0, variance, share * variance)))
    sound(uncertainty_of(StudentT(degrees, 0, scale)))


@given(st.integers(0, 5), st.integers(1, 4), st.data())
def test_any_batch(rows: int, labels: int, data: st.DataObject) -> None:
    def drawn(*shape: int, numbers: st.SearchStrategy[float]) -> FloatArray:
        flat = data.draw(st.lists(numbers, min_size=math.prod(shape), max_size=math.prod(shape)))
        return np.array(flat, dtype=np.float64).reshape(shape)

    table = drawn(rows, labels, numbers=probability | st.just(math.nan))
    with np.errstate(all="ignore"):
        table /= np.maximum(np.nansum(table, axis=1, keepdims=True), 5e-324)
    odds, mean = drawn(2, rows, numbers=st.floats(-1e308, 1e308))
    spread = drawn(rows, numbers=size)
    said = LabelPredictions(tuple(range(labels)), np.minimum(table, 1.0), odds, mean, spread)
    sound(said.uncertainties())


def test_invalid_strategies_are_refused() -> None:
    assert [check_strategy(name) for name in STRATEGIES] == list(STRATEGIES)
    with pytest.raises(ParameterError, match=r"no strategy 'epistemc'; did you mean 'epistemic'.*known are variance, "):
        scores("epistemc", uncertainty_of({}))
    wrong: Any = 7
    with pytest.raises(ParameterError, match="no strategy 7; known are"):
        check_strategy(wrong)


# Each of these fields as two rows that differ, so that a strategy may also use signs, or ranks within a batch.
VARIANTS: dict[str, list[FloatArray]] = {
    "epistemic_variance": [np.array([0.02, 0.02]), np.array([0.09, 0.02]), np.array([0.01, 0.05])],
    "latent_variance": [np.array([0.2, 0.2]), np.array([0.9, 0.2]), np.array([0.1, 4.0])],
    "latent_mean": [np.array([0.2, 0.2]), np.array([-0.9, 0.2]), np.array([0.5, -3.0])],
    "members": [np.array([[0.2, -0.2]] * 2), np.array([[3.0, -0.2], [0.2, 0.2]]), np.array([[0.2, 0.3]] * 2)],
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_declares_that_it_needs_more_than_probabilities(name: str) -> None:
    table = np.array([[0.3, 0.7], [0.9, 0.1]])
    first = Uncertainties(
        probabilities=table,
        variance=table.prod(axis=1),
        epistemic_variance=VARIANTS["epistemic_variance"][0],
        latent_variance=VARIANTS["latent_variance"][0],
        members=VARIANTS["members"][0],
        latent_mean=VARIANTS["latent_mean"][0],
        counts=np.empty((2, 0)),
    )
    used = {
        field
        for field, values in VARIANTS.items()
        for value in values[1:]
        if not np.array_equal(scores(name, first), scores(name, first._replace(**{field: value})))
    }
    message = f"{name} measures {sorted(used)}: declare the fields with @needs(...) above the function"
    assert needs_only_probabilities(name) == (not used), message


def test_needs_are_found_under_any_name_of_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    @needs("members")
    def spread(uncertainties: Uncertainties) -> FloatArray:
        variances: FloatArray = uncertainties.members.var(axis=1)
        return variances

    monkeypatch.setitem(STRATEGIES, "largest difference", spread)
    assert not needs_only_probabilities("largest difference")


def test_what_an_unknown_strategy_needs_is_refused() -> None:
    with pytest.raises(ParameterError, match="there is no strategy"):
        needs_only_probabilities("marginal")
