"""Log-odds fusion: the stack against its formulas, the average against exact evidence, and the record of both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, expit, polygamma

from stream_bayes import Beta, BetaBernoulli, GaussianNB, Normal
from stream_bayes.errors import ParameterError
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.fusion import LogOddsFusion
from stream_bayes.learners.fusion.members import MemberPredictions, write_prediction
from stream_bayes.posteriors import LogitNormal


def coins(*priors: tuple[float, float]) -> tuple[BetaBernoulli, ...]:
    return tuple(BetaBernoulli(prior=Beta(*prior)) for prior in priors)


def sites(count: int = 3000, seed: int = 0) -> tuple[list[dict[str, Any]], list[bool]]:
    """Three independent witnesses of a label, each a feature of its own; the third is nearly blind."""
    generator = np.random.default_rng(seed)
    labels = generator.random(count) < 0.5
    events = [
        {
            name: bool(generator.random() < (right if y else 1.0 - right))
            for name, right in zip("abc", (0.8, 0.75, 0.52), strict=True)
        }
        for y in labels
    ]
    return events, labels.tolist()


def log_loss(said: LabelPredictions, labels: list[bool]) -> float:
    return float(-np.log(said.probabilities[np.arange(len(labels)), np.array(labels, dtype=int)]).mean())


def weight_of(model: LogOddsFusion, name: str) -> Normal:
    found = model.weights()[name]
    assert isinstance(found, Normal)
    return found


def test_one_step_by_hand() -> None:
    """Log-odds ln 4 and -ln 3, precision 4: x = (1.38629, -1.09861, 1), w = (.5, .5, 0), s = 0.14384.

    q = x'x / 4 = 4.12876 / 4 = 1.03219; k = 1 / sqrt(1 + pi q / 8) = 0.84355; p = sigmoid(k s) = 0.53030;
    k (1 - p) = 0.39622, k^2 p (1 - p) = 0.17724.
    w_1 = .5 + 1.38629 / 4 x 0.39622 = 0.63732; P_11 = 1/4 - (1.38629 / 4)^2 x 0.17724 = 0.22871.
    """
    model = LogOddsFusion(coins((8, 2), (1, 3)), prior_precision=4.0, calibration="none")
    assert model.predict_proba_one({})[True] == pytest.approx(0.53030, abs=1e-5)
    model.learn_one({}, True)
    first = weight_of(model, "BetaBernoulli")
    second = weight_of(model, "BetaBernoulli 2")
    assert (first.mean, first.variance) == pytest.approx((0.63732, 0.22871), abs=1e-5)
    assert (second.mean, second.variance) == pytest.approx((0.39118, 0.23663), abs=1e-5)
    assert weight_of(model, "intercept").mean == pytest.approx(0.39622 / 4, abs=1e-5)


class PlainStack:
    """The step as it stands in the docstring, on a covariance."""

    def __init__(self, members: int, precision: float) -> None:
        self.mean = np.array([1.0 / members] * members + [0.0])
        self.covariance = np.eye(members + 1) / precision

    def score(self, x: Any) -> tuple[float, float]:
        return float(self.mean @ x), float(x @ self.covariance @ x)

    def learn(self, x: Any, y: bool, weight: float) -> None:
        h = self.covariance @ x
        score, q = self.score(x)
        k = 1.0 / math.sqrt(1.0 + math.pi * q / 8.0)
        p = expit(k * score)
        noise = p * (1.0 - p)
        # An observation of s with this precision, and this far from it, makes the moments of the docstring.
        precision = weight * k**2 * noise / (1.0 - q * k**2 * noise)
        offset = (y - p) / (k * noise)
        self.mean = self.mean + h * precision * offset / (1.0 + precision * q)
        self.covariance = self.covariance - precision * np.outer(h, h) / (1.0 + precision * q)


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "bound"), [(0.1, 10.0), (4.0, 1.5), (50.0, 10.0)])
def test_stack_against_its_formula(precision: float, bound: float) -> None:
    """300 weighted events: probability, latent variance and weights, with log-odds beyond the bound clipped."""
    events, labels = sites(300)
    learners = tuple(BetaBernoulli(on=name, prior=Beta(0.7, 2.0)) for name in "abc")
    model = LogOddsFusion(learners, calibration="none", prior_precision=precision, largest_log_odds=bound)
    plain = PlainStack(3, precision)
    own = [learner.clone() for learner in learners]
    for place, (x, y) in enumerate(zip(events, labels, strict=True)):
        posteriors = [learner.posterior(x[str(learner.on)]) for learner in own]
        odds = [math.log(beta.successes / beta.failures) for beta in posteriors]
        vector = np.array([*np.clip(odds, -bound, bound), 1.0])
        score, q = plain.score(vector)
        within = plain.mean[:3] ** 2 @ [polygamma(1, beta).sum() for beta in posteriors]
        log_odds = score / math.sqrt(1.0 + math.pi * q / 8.0)
        prediction = model.predictive_one(x)
        weight = 0.5 + place % 3
        assert prediction.probabilities[True] == pytest.approx(expit(log_odds), rel=1e-9)
        expected = LogitNormal.moderated(abs(log_odds), q + within)
        assert tuple(prediction.latent) == pytest.approx(tuple(expected), rel=1e-9)
        plain.learn(vector, y, weight)
        model.learn_one(x, y, w=weight)
        for learner in own:
            learner.learn_one(x, y, w=weight)
    found = [weight_of(model, name) for name in model.weights()]
    np.testing.assert_allclose([normal.mean for normal in found], plain.mean, rtol=1e-8)
    np.testing.assert_allclose([normal.variance for normal in found], plain.covariance.diagonal(), rtol=1e-8)


def test_stacking_beats_every_member_and_their_average() -> None:
    events, labels = sites()
    learners = tuple(BetaBernoulli(on=name) for name in "abc")
    model = LogOddsFusion(learners, calibration="none")
    predictions = model.test_then_train(events, labels)
    apart = [learner.clone().test_then_train(events, labels) for learner in learners]
    mean = np.mean([np.log(one.probabilities[:, 1] / one.probabilities[:, 0]) for one in apart], axis=0)
    even = -np.log(np.where(labels, expit(mean), expit(-mean))).mean()
    assert log_loss(predictions, labels) < min(*(log_loss(one, labels) for one in apart), even) - 0.03
    # Independent witnesses: their log-odds add up.
    for name in ("BetaBernoulli", "BetaBernoulli 2"):
        assert weight_of(model, name).mean == pytest.approx(1.0, abs=0.15)


def test_average_by_exact_evidence() -> None:
    """Of 40 coin throws: ln B(a + s, b + f) - ln B(a, b) each, the shares their Bayes factors."""
    throws = (np.random.default_rng(2).random(40) < 0.7).tolist()
    priors = ((8.0, 2.0), (0.5, 0.5), (2.0, 6.0))
    model = LogOddsFusion(coins(*priors), method="averaging", calibration="none")
    model.test_then_train([{}] * 40, throws)
    successes = sum(throws)
    evidence = np.array([betaln(a + successes, b + 40 - successes) - betaln(a, b) for a, b in priors])
    np.testing.assert_allclose(list(model.log_evidence().values()), evidence, rtol=1e-12)
    shares = np.exp(evidence) / np.exp(evidence).sum()
    np.testing.assert_allclose(np.array(list(model.weights().values()), dtype=float), shares, rtol=1e-12)
    means = np.array([(a + successes) / (a + b + 40) for a, b in priors])
    prediction = model.predictive_one({})
    assert prediction.probabilities[True] == pytest.approx(shares @ means, rel=1e-12)
    odds = np.log(means / (1.0 - means))
    within = np.array([polygamma(1, a + successes) + polygamma(1, b + 40 - successes) for a, b in priors])
    variance = shares @ (within + (odds - shares @ odds) ** 2)
    expected = LogitNormal.moderated(math.log(prediction.mean / (1.0 - prediction.mean)), variance)
    assert tuple(prediction.latent) == pytest.approx(tuple(expected), rel=1e-9)


def test_weights_of_events_count_as_evidence() -> None:
    """A weight of 3 adds 3 ln p(y): 3 ln .8 and 3 ln .5."""
    model = LogOddsFusion(coins((8, 2), (5, 5)), method="averaging")
    model.learn_one({}, True, w=3.0)
    assert list(model.log_evidence().values()) == pytest.approx([3 * math.log(0.8), 3 * math.log(0.5)])


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["platt", "beta", "none"])
@pytest.mark.parametrize("method", ["stacking", "averaging"])
def test_the_probability_is_that_of_its_latent(method: str, calibration: str) -> None:
    events, labels = sites(200)
    learners = (GaussianNB(), BetaBernoulli(on="a"))
    model = LogOddsFusion(learners, method, calibration, prior_precision=0.3, calibration_precision=2.0)
    for x, y in zip(events, labels, strict=True):
        prediction = model.predictive_one(x)
        assert isinstance(prediction.latent, LogitNormal)
        mean, variance = prediction.latent
        assert prediction.mean == pytest.approx(expit(mean / math.sqrt(1.0 + math.pi * variance / 8.0)), rel=1e-12)
        assert prediction.label is max(prediction.probabilities, key=prediction.probabilities.__getitem__)
        model.learn_one(x, y)


def test_the_log_odds_of_a_member() -> None:
    """Signed for the second label in whatever order the member has them; 0 where it does not know both."""
    probabilities = np.array([[0.25, 0.75], [0.75, 0.25], [np.nan, 1.0], [1.0, 0.0]])
    sizes = np.array([math.log(3), math.log(3), math.inf, math.inf])
    variance = np.arange(4.0) + 1.0
    prediction = LabelPredictions(("b", "a"), probabilities, sizes, sizes, variance)
    collected = MemberPredictions(np.zeros((4, 2)), np.zeros((4, 2)))
    write_prediction(prediction, ("a", "b"), collected, 1)
    assert collected.log_odds.tolist() == [[0.0, -math.log(3)], [0.0, math.log(3)], [0.0, 0.0], [0.0, 1e4]]
    assert collected.variance[:, 1].tolist() == [1.0, 2.0, 0.0, 4.0]
    alone = LabelPredictions(("a",), np.ones((2, 1)), np.full(2, math.inf), np.zeros(2), np.ones(2))
    collected = MemberPredictions(np.zeros((2, 1)), np.zeros((2, 1)))
    write_prediction(alone, ("a", "b"), collected, 0)
    assert not collected.log_odds.any()
    assert not collected.variance.any()


def test_reliability_is_that_of_the_stream() -> None:
    events, labels = sites(500)
    weights = (1.0 + np.arange(500) % 2).tolist()
    model = LogOddsFusion((GaussianNB(), BetaBernoulli(on="b")), calibration="beta")
    p = model.test_then_train(events, labels, weights).probabilities[:, 1]
    table = model.reliability(bins=12)
    y = np.array(labels, dtype=float)
    w = np.array(weights)
    place = np.minimum((p * 12).astype(int), 11)
    sums = [np.bincount(place, weights=w * values, minlength=12) for values in (np.ones(500), p, y)]
    np.testing.assert_allclose(table.counts, sums[0])
    np.testing.assert_allclose(np.nan_to_num(table.predicted) * sums[0], sums[1], rtol=1e-12)
    np.testing.assert_allclose(np.nan_to_num(table.observed) * sums[0], sums[2], rtol=1e-12)
    assert table.events == w.sum() == 750.0
    assert table.expected_calibration_error == pytest.approx(np.abs(sums[1] - sums[2]).sum() / 750.0)
    assert table.brier_score == pytest.approx((w * (p - y) ** 2).sum() / 750.0)
    assert table.log_loss == pytest.approx(-(w * np.log(np.where(y == 1.0, p, 1.0 - p))).sum() / 750.0)
    assert len(str(table).splitlines()) == 2 + np.count_nonzero(sums[0])
    assert math.isnan(model.clone().reliability().expected_calibration_error)
    for bins in (0, 7, 2.5, "ten"):
        with pytest.raises(ParameterError, match="bins"):
            model.reliability(bins)  # type: ignore[arg-type]
