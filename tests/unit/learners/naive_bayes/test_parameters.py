"""Counts and parameters of each class: maximum likelihood, mode and mean of the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from stream_bayes import (
    BernoulliNB,
    Beta,
    CategoricalNB,
    Dirichlet,
    Gamma,
    GaussianDiscriminant,
    GaussianNB,
    MultinomialNB,
    NormalInverseGamma,
    PoissonNB,
)
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.learners.discriminant import FORMS
from tests.support.discriminants import NAMES, PRIOR, model_of, sample, trained
from tests.support.orienteering import orienteering


def word_model(model: Any) -> Any:
    """Three messages of spam with 4 + 0 + 3 uses of a and 1 of b; one of ham with c."""
    for x in ({"a": 4}, {"b": 1}, {"a": 3}):
        model.learn_one(x, "spam")
    model.learn_one({"c": 2}, "ham")
    return model


def test_counts_of_the_orienteering_table() -> None:
    """Of 9 yes-days 2 were sunny, 4 overcast, 3 rainy; of 5 no-days 3, 0, 2."""
    model = orienteering(1.0, 1.0)
    counts = model.counts()
    assert model.class_counts() == {"no": 5.0, "yes": 9.0}
    assert counts["yes"]["outlook"] == {"sunny": 2.0, "overcast": 4.0, "rainy": 3.0}
    assert counts["no"]["outlook"] == {"sunny": 3.0, "overcast": 0.0, "rainy": 2.0}
    assert counts["yes"]["windy"] == {False: 6.0, True: 3.0}


def test_parameters_of_the_orienteering_table() -> None:
    """ml: 2/9, 4/9, 3/9. With 1.5 for each: mean (2 + 1.5) / 13.5; mode (2 + 0.5) / (13.5 - 3)."""
    model = orienteering(1.5, 0.0)
    expected = {
        "ml": (2 / 9, 4 / 9, 3 / 9),
        "mean": (3.5 / 13.5, 5.5 / 13.5, 4.5 / 13.5),
        "map": (2.5 / 10.5, 4.5 / 10.5, 3.5 / 10.5),
    }
    for estimate, shares in expected.items():
        assert tuple(model.parameters("yes", estimate)["outlook"].values()) == pytest.approx(shares)  # type: ignore[arg-type]
    assert model.parameters("yes") == model.parameters("yes", "mean")


def test_a_feature_with_one_value_has_a_share_of_1() -> None:
    model = CategoricalNB(prior_count=0.7)
    model.learn_one({"kind": "only"}, "a")
    model.learn_one({}, "b")
    assert model.parameters("a", "map") == {"kind": {"only": 1.0}}
    assert model.parameters("b", "ml") == {}


def test_parameters_of_words() -> None:
    """a is in 2 of 3 messages of spam, with 7 of their 8 words.

    Beta(0.5 + 2, 1.5 + 1): mean 2.5 / 5, mode 1.5 / 3; b: Beta(1.5, 2.5), mode 0.5 / 2; c: Beta(0.5, 4.5), mode 0.
    Dirichlet with 1.2: mean (7 + 1.2) / (8 + 3.6), mode (7 + 0.2) / (8 + 0.6).
    Gamma(2 + 7, 0.5 + 3): mean 9 / 3.5, mode 8 / 3.5; ml 7 / 3.
    """
    bernoulli = word_model(BernoulliNB(Beta(0.5, 1.5)))
    assert bernoulli.counts() == {"spam": {"a": 2, "b": 1, "c": 0}, "ham": {"a": 0, "b": 0, "c": 1}}
    assert bernoulli.parameters("spam", "ml") == pytest.approx({"a": 2 / 3, "b": 1 / 3, "c": 0.0})
    assert bernoulli.parameters("spam", "mean") == pytest.approx({"a": 2.5 / 5, "b": 1.5 / 5, "c": 0.5 / 5})
    assert bernoulli.parameters("spam", "map") == pytest.approx({"a": 1.5 / 3, "b": 0.5 / 3, "c": 0.0})
    multinomial = word_model(MultinomialNB(1.2))
    assert multinomial.counts()["spam"] == {"a": 7, "b": 1, "c": 0}
    assert multinomial.parameters("spam", "ml") == pytest.approx({"a": 7 / 8, "b": 1 / 8, "c": 0.0})
    assert multinomial.parameters("spam", "mean") == pytest.approx({"a": 8.2 / 11.6, "b": 2.2 / 11.6, "c": 1.2 / 11.6})
    assert multinomial.parameters("spam", "map") == pytest.approx({"a": 7.2 / 8.6, "b": 1.2 / 8.6, "c": 0.2 / 8.6})
    poisson = word_model(PoissonNB(Gamma(2.0, 0.5)))
    assert poisson.parameters("spam", "ml") == pytest.approx({"a": 7 / 3, "b": 1 / 3, "c": 0.0})
    assert poisson.parameters("spam", "mean") == pytest.approx({"a": 9 / 3.5, "b": 3 / 3.5, "c": 2 / 3.5})
    assert poisson.parameters("spam", "map") == pytest.approx({"a": 8 / 3.5, "b": 2 / 3.5, "c": 1 / 3.5})


def test_a_mode_that_is_not_unique_is_refused() -> None:
    """Pseudo-counts below 1 put the mode of a share without a use at the border, where the density has no limit."""
    with pytest.raises(InputError, match="no single mode"):
        word_model(MultinomialNB(0.3)).parameters("spam", "map")
    with pytest.raises(InputError, match="not unique"):
        orienteering(0.3, 1.0).parameters("no", "map")


def test_a_mode_at_the_border_of_two_outcomes() -> None:
    """With 1 event and none, and 0.1 added: Dirichlet(1.1, 0.1), as Beta(1.1, 0.1), has its peak at (1, 0)."""
    words = MultinomialNB(0.1)
    values = CategoricalNB(0.1)
    for word, label in (("a", "spam"), ("b", "ham")):
        words.learn_one({word: 1}, label)
        values.learn_one({"word": word}, label)
    assert words.parameters("spam", "map") == {"a": 1.0, "b": 0.0}
    assert values.parameters("spam", "map") == {"word": {"a": 1.0, "b": 0.0}}
    for posterior, mode in ((Dirichlet((0.1, 1.0)), (0.0, 1.0)), (Dirichlet((2.5, 0.3)), (1.0, 0.0))):
        assert posterior.mode == mode
        assert posterior.mode[0] == posterior.marginal(0).mode


def test_parameters_of_numbers() -> None:
    """Prior (1, 2, 3, 4) and values 2, 4: posterior (2, 4, 4, 7). Mean of the variance 7 / 3, joint mode 7 / 5.5.

    The other class has 5 and 9: mean 7, scatter 8, scale 4 + (8 + 2 x 2 / 4 x 36) / 2 = 26, shape 4. Shared: shape
    3 + 1 + 1 = 5, scale 4 + 3 + 22 = 29, mean 29 / 4, mode 29 / (5 + 1 + 2 / 2), ml (2 + 8) / 4.
    """
    for variance, ml, mean, mode in (("class", 1.0, 7 / 3, 7 / 5.5), ("shared", 10 / 4, 29 / 4, 29 / 7)):
        model = GaussianNB(NormalInverseGamma(1.0, 2.0, 3.0, 4.0), variance=variance)
        for x, y in ((2.0, "a"), (4.0, "a"), (5.0, "b"), (9.0, "b")):
            model.learn_one({"x": x}, y)
        assert model.counts() == {"a": {"x": 2.0}, "b": {"x": 2.0}}
        assert model.parameters("a", "ml")["x"] == pytest.approx((3.0, ml))
        assert model.parameters("a", "mean")["x"] == pytest.approx((2.0, mean))
        assert model.parameters("a", "map")["x"] == pytest.approx((2.0, mode))


def log_joint_posterior(covariance: str, means: Any, matrices: Any, data: list[Any]) -> float:
    """The log-density of means and covariances under the prior times that of the data, less constants."""
    width = means.shape[1]
    shared = 1 if covariance.startswith("shared") else len(means)
    log = 0.0
    for matrix in matrices[:shared]:
        inverse = np.linalg.inv(matrix)
        if covariance.endswith("spherical"):
            log -= (PRIOR.shape + 1.0) * np.log(matrix[0, 0]) + PRIOR.scale / matrix[0, 0]
        elif covariance == "diagonal":
            log -= (PRIOR.shape + 1.0) * np.log(matrix.diagonal()).sum() + (PRIOR.scale / matrix.diagonal()).sum()
        else:  # inverse-Wishart, each variance of which has the prior's shape
            degrees = 2.0 * PRIOR.shape + width - 1.0
            log -= 0.5 * (degrees + width + 1.0) * np.linalg.slogdet(matrix)[1] + PRIOR.scale * np.trace(inverse)
    for mean, matrix, rows in zip(means, matrices, data, strict=True):
        inverse = np.linalg.inv(matrix)
        count = len(rows)
        average = rows.mean(axis=0)
        scatter = (rows - average).T @ (rows - average)
        log -= 0.5 * (count + 1.0) * np.linalg.slogdet(matrix)[1]
        log -= 0.5 * PRIOR.strength * (mean - PRIOR.mean) @ inverse @ (mean - PRIOR.mean)
        log -= 0.5 * (np.trace(inverse @ scatter) + count * (average - mean) @ inverse @ (average - mean))
    return float(log)


@pytest.mark.parametrize("covariance", FORMS)
def test_joint_mode_of_the_discriminant(covariance: str) -> None:
    """No step away from "map", of a mean or of any form of covariance, makes the joint posterior density larger."""
    values, labels = sample(40)
    values = values[:, :2] - (0.0, 3.0)
    model = trained(model_of(covariance), values, labels)
    estimates = [model.parameters(label, "map") for label in range(3)]
    assert estimates[0].names == list(NAMES[:2])
    means = np.array([estimate.mean for estimate in estimates])
    matrices = np.array([estimate.covariance for estimate in estimates])
    own = [values[labels == label] for label in range(3)]

    def loss(step: Any) -> float:
        spread = np.exp(step[0])
        tilt = np.exp(step[1]) if covariance in ("full", "shared", "diagonal") else 1.0
        scales = np.diag((spread * tilt, spread / tilt))
        turn = np.array(((1.0, step[2]), (0.0, 1.0))) if covariance in ("full", "shared") else np.eye(2)
        moved = np.array([turn @ scales @ matrix @ scales @ turn.T for matrix in matrices])
        return -log_joint_posterior(covariance, means + step[3:].reshape(3, 2), moved, own)

    found = minimize(loss, np.zeros(9), method="BFGS", options={"gtol": 1e-7})
    assert found.x[3:] == pytest.approx(np.zeros(6), abs=1e-4)
    assert loss(np.zeros(9)) == pytest.approx(found.fun, abs=1e-7)


def test_expected_covariance_is_that_of_the_posterior() -> None:
    values, labels = sample(40)
    for covariance in FORMS:
        model = trained(model_of(covariance), values, labels)
        names, mean, matrix = model.parameters(1)
        assert (names, matrix.tolist()) == (model.covariance_of(1)[0], model.covariance_of(1)[1].tolist())
        assert mean == pytest.approx([model.mean(1)[name] for name in names])


def test_hashed_names_and_unknown_estimates_are_refused() -> None:
    model = BernoulliNB(buckets=16)
    model.learn_one({"a": 1}, "red")
    for read in (model.counts, lambda: model.parameters("red"), lambda: model.sample("red")):
        with pytest.raises(InputError, match="no names are kept"):
            read()
    with pytest.raises(ParameterError, match="estimate must be one of"):
        GaussianDiscriminant(classes=("a", "b")).parameters("a", "median")  # type: ignore[arg-type]
