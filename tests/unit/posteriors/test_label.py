from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import expit

from stream_bayes.errors import ParameterError
from stream_bayes.posteriors import Beta, LabelPredictive, LogitNormal, Normal


def _expectation(function: Callable[[float], float], log_odds: float, variance: float) -> float:
    """Integrate function(sigmoid(z)) against the normal, in pieces around its centre and the sigmoid's."""
    deviation = math.sqrt(variance)
    law = stats.norm(log_odds, deviation)
    edges = {log_odds + deviation * step for step in (-12, -3, 0, 3, 12)}
    edges |= {edge for edge in (-30.0, -5.0, 0.0, 5.0, 30.0) if abs(edge - log_odds) < 12 * deviation}
    pieces = sorted(edges)
    return math.fsum(
        integrate.quad(lambda z: function(float(expit(z))) * law.pdf(z), low, high, epsabs=1e-13)[0]
        for low, high in pairwise(pieces)
    )


@pytest.mark.parametrize("log_odds", [0.0, 0.7, -3.0, 12.0, -200.0])
@pytest.mark.parametrize("variance", [1e-4, 0.5, 0.999, 1.001, 6.0, 400.0, 1e6])
def test_logit_normal_moments_by_integration(log_odds: float, variance: float) -> None:
    belief = LogitNormal(log_odds, variance)
    mean = _expectation(lambda q: q, log_odds, variance)
    assert belief.mean == pytest.approx(mean, abs=1e-10)
    assert belief.variance == pytest.approx(_expectation(lambda q: (q - mean) ** 2, log_odds, variance), abs=1e-10)


@given(log_odds=st.floats(-1e5, 1e5), variance=st.floats(0, 1e6))
def test_logit_normal_moments_are_possible(log_odds: float, variance: float) -> None:
    belief = LogitNormal(log_odds, variance)
    assert 0.0 <= belief.mean <= 1.0
    assert 0.0 <= belief.variance <= belief.mean * (1 - belief.mean)
    low, high = belief.interval(0.9)
    assert 0.0 <= low <= belief.median <= high <= 1.0


def test_logit_normal_known_probability() -> None:
    """Without variance q is sigmoid(log_odds), the interval a point."""
    belief = LogitNormal(1.5, 0)
    assert belief.mean == pytest.approx(expit(1.5))
    assert belief.variance == pytest.approx(0, abs=1e-30)
    assert belief.interval(0.9) == pytest.approx((expit(1.5), expit(1.5)))


def test_logit_normal_interval() -> None:
    """The 95 % interval of N(1, 4) is 1 -+ 1.96 * 2, carried through the sigmoid."""
    assert LogitNormal(1, 4).interval(0.95) == pytest.approx(expit([1 - 3.919928, 1 + 3.919928]), rel=1e-6)


@pytest.mark.parametrize("log_odds", [-4.0, 0.3, 2.0])
@pytest.mark.parametrize("variance", [0.0, 0.5, 9.0])
def test_moderated_probability_comes_back(log_odds: float, variance: float) -> None:
    """m = l sqrt(1 + pi v / 8), so that m / sqrt(1 + pi v / 8) = l; the exact mean is within 0.02."""
    belief = LogitNormal.moderated(log_odds, variance)
    assert belief.log_odds / math.sqrt(1 + math.pi * variance / 8) == pytest.approx(log_odds)
    assert belief.mean == pytest.approx(expit(log_odds), abs=0.02)


def test_label_variance_by_hand() -> None:
    """Beta(6, 2): p = 3/4, total 3/16, ignorance 3/16 / 9 = 1/48, noise 1/6."""
    guess = LabelPredictive({"spam": 0.75, "ham": 0.25}, Beta(6, 2))
    assert guess.label == "spam"
    assert guess.variance == 3 / 16
    assert guess.epistemic_variance == pytest.approx(1 / 48)
    assert guess.aleatoric_variance == pytest.approx(1 / 6)
    assert guess.entropy == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert guess.interval(0.9) == Beta(6, 2).interval(0.9)


@given(a=st.floats(0.1, 200), b=st.floats(0.1, 200))
def test_total_is_noise_plus_ignorance(a: float, b: float) -> None:
    """p (1 - p) = E[q (1 - q)] + Var[q], with E[q (1 - q)] = a b / ((a + b) (a + b + 1)) for a Beta."""
    guess = Beta(a, b).predictive()
    assert guess.aleatoric_variance + guess.epistemic_variance == pytest.approx(guess.variance)
    assert guess.aleatoric_variance == pytest.approx(a * b / ((a + b) * (a + b + 1)))


@given(log_odds=st.floats(-30, 30), variance=st.floats(0, 1e4))
def test_parts_are_never_negative(log_odds: float, variance: float) -> None:
    p = float(expit(abs(log_odds)))
    guess = LabelPredictive({1: p, 0: 1 - p}, LogitNormal.moderated(abs(log_odds), variance))
    assert guess.epistemic_variance >= 0.0
    assert guess.aleatoric_variance >= 0.0
    assert guess.aleatoric_variance + guess.epistemic_variance == pytest.approx(guess.variance)


def test_no_labels_known() -> None:
    """Beta(1, 1): p = 1/2, total 1/4, ignorance 1/12."""
    guess = LabelPredictive({}, Beta(1, 1))
    assert guess.label is None
    assert guess.mean == 0.5
    assert guess.variance == 0.25
    assert guess.epistemic_variance == pytest.approx(1 / 12)
    assert guess.entropy == 0.0


def test_first_of_equals_wins() -> None:
    assert LabelPredictive({"b": 0.4, "a": 0.4, "c": 0.2}, Beta(2, 3)).label == "b"


def test_value_semantics() -> None:
    guess = LabelPredictive({"spam": 0.75, "ham": 0.25}, Beta(6, 2))
    assert repr(guess) == "LabelPredictive({'spam': 0.75, 'ham': 0.25}, Beta(6, 2))"
    assert guess == LabelPredictive({"ham": 0.25, "spam": 0.75}, Beta(6, 2))
    assert guess != LabelPredictive({"spam": 0.75, "ham": 0.25}, Beta(6, 3))
    assert hash(guess) == hash(copy.deepcopy(guess))
    assert pickle.loads(pickle.dumps(guess)) == guess
    with pytest.raises(TypeError):
        guess.probabilities["spam"] = 1.0  # type: ignore[index]


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ({"a": 0.5, "b": 0.4}, "sum to 1"),
        ({"a": 1.5, "b": -0.5}, "probability of 'b'"),
        ({"a": math.nan, "b": 0.5}, "probability of 'a'"),
        ({"a": True}, "probability of 'a'"),
        ([0.5, 0.5], "mapping"),
    ],
)
def test_impossible_probabilities_are_refused(probabilities: dict[str, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        LabelPredictive(probabilities, Beta(2, 3))


def test_other_latent_distributions_are_refused() -> None:
    with pytest.raises(ParameterError, match="a Beta or a LogitNormal"):
        LabelPredictive({"a": 1.0}, Normal(0, 1))  # type: ignore[arg-type]
