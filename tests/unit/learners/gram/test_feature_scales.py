"""Gram regression on columns of very different scale or far from zero: no column is lost and no digit either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from stream_bayes import BayesianLinearRegression
from stream_bayes.errors import NumericalError
from stream_bayes.learners.gram import GramRegression
from stream_bayes.typing import FloatArray
from tests.support.gram_regressions import taught


def scaled(count: int, scales: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Features of these scales, all of which matter equally."""
    generator = np.random.default_rng(seed)
    plain = generator.normal(size=(count, len(scales)))
    return plain * scales, plain @ generator.normal(1.0, 0.5, len(scales)) + 0.1 * generator.normal(size=count)


def timestamps() -> tuple[FloatArray, FloatArray]:
    """Milliseconds since 1970 beside a small rate, on which alone the target depends."""
    generator = np.random.default_rng(0)
    rate = 1e-3 * generator.normal(size=200)
    features = np.column_stack((1.7e12 + generator.uniform(0, 1e8, 200), rate))
    return features, 3 + 1000 * rate + 0.1 * generator.normal(size=200)


def centred(features: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    return features - features.mean(axis=0), targets - targets.mean()


SCALES = {
    "two": np.array([1e8, 1e-8]),
    "many": 10.0 ** np.linspace(-8, 8, 9)[np.random.default_rng(4).permutation(9)],
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", SCALES)
def test_the_evidence_is_that_of_bayesian_linear_regression(name: str, intercept: bool) -> None:
    features, targets = scaled(60, SCALES[name], seed=1)
    model = taught(GramRegression(intercept=intercept), features, targets)
    for precision, noise in ((1e-9, 0.01), (1.0, 0.3), (1e-16, 0.01)):
        peer: Any = BayesianLinearRegression(precision, noise, intercept=False)
        taught(peer, *(centred(features, targets) if intercept else (features, targets)))
        assert model.log_evidence(precision, noise) == pytest.approx(peer.log_evidence(), rel=1e-9)


@pytest.mark.long
def test_a_rate_beside_a_timestamp() -> None:
    features, targets = timestamps()
    model = taught(GramRegression(), features, targets)
    peer: Any = BayesianLinearRegression(1e-6, 0.01, intercept=False)
    taught(peer, *centred(features, targets))
    assert model.log_evidence(1e-6, 0.01) == pytest.approx(peer.log_evidence(), rel=1e-9)
    best = model.maximise_evidence()
    assert best.log_evidence > peer.log_evidence()
    assert best.noise_variance == pytest.approx(0.01, rel=0.2)
    own, wanted = centred(features, targets)
    least = np.linalg.lstsq(own / np.linalg.norm(own, axis=0), wanted)[1][0]
    assert model.solve("none").residual_squares == pytest.approx(least, rel=1e-10)
    assert model.select()[-1].residual_squares == pytest.approx(least, rel=1e-10)
    assert model.degrees_of_freedom(1e-9) == pytest.approx(2.0, abs=1e-3)
    through = taught(GramRegression(strength=1e-9, intercept=False), features, targets)
    for x in features[:5].tolist():
        event = dict(enumerate(x))
        assert through.solve("ridge").predict(event) == pytest.approx(through.predict_one(event), rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", SCALES)
def test_weights_of_every_scale(name: str, intercept: bool) -> None:
    """Scaled to unit columns numpy is exact; there the strength is another for each, so it is only asked for none."""
    features, targets = scaled(60, SCALES[name], seed=2)
    middle, level = (features.mean(axis=0), targets.mean()) if intercept else (0.0, 0.0)
    lengths = np.linalg.norm(features - middle, axis=0)
    expected, squares = np.linalg.lstsq((features - middle) / lengths, targets - level)[:2]
    model = taught(GramRegression(strength=1e-3, intercept=intercept), features, targets)
    fit = model.solve("none")
    np.testing.assert_allclose(np.array(list(fit.weights.values())) * lengths, expected, rtol=1e-9)
    assert fit.residual_squares == pytest.approx(squares[0], rel=1e-9)
    assert fit.degrees_of_freedom == pytest.approx(len(lengths))
    assert model.select("backward", 0) == []
    assert model.select()[-1].residual_squares == pytest.approx(squares[0], rel=1e-9)
    ridge = model.solve("ridge")
    event = dict(enumerate(features[0].tolist()))
    assert ridge.predict(event) == pytest.approx(model.predict_one(event), rel=1e-9)
    truth: Any = dict(enumerate((1 / lengths).tolist()))
    found = model.bias_variance(event, truth, 1e-3, 1.0)
    centred = features - middle
    away = features[0] - middle
    inner = centred.T @ centred / np.outer(lengths, lengths)
    map_to = np.linalg.solve(inner + np.diag(1e-3 / lengths**2), away / lengths)
    assert found.variance == pytest.approx(map_to @ inner @ map_to + intercept / 60, rel=1e-8)
    assert found.bias == pytest.approx(-map_to @ (1e-3 / lengths**2), rel=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_shortest_weights_of_dependent_columns(intercept: bool) -> None:
    """A copy ten times as large takes all but a hundredth of the fit, and columns of other scales keep theirs."""
    features, targets = scaled(40, np.array([1.0, 1e6, 0.01]), seed=3)
    features = np.column_stack((features, 10 * features[:, 0]))
    middle, level = (features.mean(axis=0), targets.mean()) if intercept else (0.0, 0.0)
    lengths = np.linalg.norm(features - middle, axis=0)
    alone = np.linalg.lstsq((features - middle)[:, :3] / lengths[:3], targets - level)[0] / lengths[:3]
    model = taught(GramRegression(intercept=intercept), features, targets)
    fit = model.solve("none")
    expected = [alone[0] / 101, alone[1], alone[2], 10 * alone[0] / 101]
    assert list(fit.weights.values()) == pytest.approx(expected, rel=1e-8)
    assert fit.degrees_of_freedom == pytest.approx(3.0)
    assert model.solve("lasso", 1e-6).degrees_of_freedom == pytest.approx(3.0)
    assert model.degrees_of_freedom(1e-20) == pytest.approx(3.0)


def test_a_constant_that_stands_for_the_intercept() -> None:
    """Without an intercept a column of ones is one, also beside columns far from zero, and it is not dependent."""
    generator = np.random.default_rng(8)
    plain = generator.integers(-64, 65, size=(50, 2)) / 32
    targets = plain @ np.array([2.0, -1.0]) + generator.normal(size=50)
    near = taught(GramRegression(), plain, targets).solve("none")
    far = taught(GramRegression(intercept=False), np.column_stack((plain + 1e7, np.ones(50))), targets)
    fit = far.solve("none")
    assert [fit.weights[0], fit.weights[1]] == pytest.approx([near.weights[0], near.weights[1]], rel=1e-6)
    assert fit.residual_squares == pytest.approx(near.residual_squares, rel=1e-9)
    assert far.select()[-1].residual_squares == pytest.approx(near.residual_squares, rel=1e-9)


def test_selection_far_from_zero_without_an_intercept() -> None:
    """Offsets of a million deviations: X'X itself would be right to 1e-4 of the squares left."""
    generator = np.random.default_rng(11)
    features = generator.normal(size=(80, 4)) + 1e6
    targets = features @ np.array([1.0, -1.0, 0.5, -0.5]) + generator.normal(size=80)
    model = taught(GramRegression(intercept=False), features, targets)
    least = np.linalg.lstsq(features, targets)[1][0]
    forward = model.select("forward")
    backward = model.select("backward")
    assert forward[-1].residual_squares == pytest.approx(least, rel=1e-8)
    assert backward[-1].residual_squares == pytest.approx(targets @ targets, rel=1e-10)
    chosen: Any = [step.name for step in forward[:2]]
    assert forward[1].residual_squares == pytest.approx(np.linalg.lstsq(features[:, chosen], targets)[1][0], rel=1e-8)
    left: Any = [step.name for step in backward[2:]]
    assert backward[1].residual_squares == pytest.approx(np.linalg.lstsq(features[:, left], targets)[1][0], rel=1e-8)


def test_lasso_far_from_zero_without_an_intercept() -> None:
    """The conditions of the minimum, and scikit-learn on the difference that is left of the columns."""
    generator = np.random.default_rng(12)
    features = generator.normal(size=(80, 3)) + 1e6
    targets = features @ np.array([1.0, -1.0, 0.0]) + generator.normal(size=80)
    model = taught(GramRegression(intercept=False), features, targets)
    for penalty, strength in (("lasso", 2.0), ("lasso", 20.0), ("elastic-net", 20.0)):
        weights = np.array(list(model.solve(penalty, strength, share=0.9).weights.values()))
        share = 1.0 if penalty == "lasso" else 0.9
        slopes = features.T @ (targets - features @ weights) - (1 - share) * strength * weights
        active = weights != 0.0
        assert active.sum() == (2 if strength > 2.0 else 3)
        np.testing.assert_allclose(slopes[active], share * strength * np.sign(weights[active]), rtol=0.01)
        assert np.abs(slopes[~active]).max(initial=0.0) < share * strength
    # Weights whose sum is as small as 1e-7 make up an intercept at no cost to speak of.
    peer = Lasso(alpha=20.0 / 80, tol=1e-14, max_iter=1_000_000)
    contrast = (features[:, 0] - features[:, 1])[:, None] / 2
    peer.fit(contrast, targets)
    found = model.solve("lasso", 20.0).weights
    assert found[0] == pytest.approx(peer.coef_[0] / 2, rel=1e-4)


@pytest.mark.slow
def test_a_lasso_that_rounding_outweighs_is_refused() -> None:
    """Five latent factors and little else: below some strength no floating-point weights meet the conditions."""
    generator = np.random.default_rng(0)
    latent = generator.normal(size=(25, 5))
    features = latent @ generator.normal(size=(5, 60)) + 1e-4 * generator.normal(size=(25, 60))
    targets = latent @ generator.normal(size=5) + generator.normal(size=25)
    model = taught(GramRegression(), features, targets)
    with pytest.raises(NumericalError, match="strength is too small"):
        model.solve("lasso", 1e-11)
    centred = features - features.mean(axis=0)
    for strength in (1e-4, 1e-2, 1.0):
        weights = np.array(list(model.solve("lasso", strength).weights.values()))
        slopes = centred.T @ (targets - targets.mean() - centred @ weights)
        assert np.abs(slopes).max() <= strength * 1.01
        signs = np.sign(weights[weights != 0.0])
        np.testing.assert_allclose(slopes[weights != 0.0], strength * signs, rtol=0.01)
