"""Linear boundaries: shared variances, plug-in values that are not shrunk, and unbiased variances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB as GaussianOracle

from stream_bayes import GaussianDiscriminant, GaussianNB, NormalInverseGamma
from stream_bayes.errors import EvidenceError, InputError
from stream_bayes.learners.discriminant import FORMS
from tests.support.discriminants import NAMES, PRIOR, events, model_of, sample, trained


def log_odds(model: Any, x: dict[str, float], positive: Any, negative: Any) -> float:
    joint = model.log_joint_one(x)
    return float(joint[positive] - joint[negative])


def test_shared_spherical_boundary_bisects_the_means() -> None:
    """a: (0, 0), (2, 0); b: (4, 2), (4, 4). Means (1, 0), (4, 3), squares 2 + 2 over 8 values: variance 1/2.

    Weights ((4, 3) - (1, 0)) / (1/2) = (6, 6). With equal classes the bias is -((16 + 9) - 1) = -24, so the log-odds
    6 x + 6 y - 24 are 0 on x + y = 4: half-way at (2.5, 1.5), and all along the bisector.
    """
    model = GaussianDiscriminant("shared-spherical", predictive="plug-in", class_prior_count=0.7)
    for x, y, label in ((0, 0, "a"), (2, 0, "a"), (4, 2, "b"), (4, 4, "b")):
        model.learn_one({"x": x, "y": y}, label)
    weights, bias = model.linear_form("b", "a")
    assert weights == pytest.approx({"x": 6.0, "y": 6.0})
    assert bias == pytest.approx(-24.0)
    for step in (-3.0, 0.0, 0.7, 5.0):
        bisector = {"x": 2.5 + step, "y": 1.5 - step}
        assert log_odds(model, bisector, "b", "a") == pytest.approx(0.0, abs=1e-9)
        assert model.predict_proba_one(bisector)["a"] == pytest.approx(0.5)
    assert log_odds(model, {"x": 3.0, "y": 2.0}, "b", "a") == pytest.approx(6.0)
    assert model.covariance_of("a")[1] == pytest.approx(0.5 * np.eye(2))
    assert model.covariance_of("b")[1] == pytest.approx(0.5 * np.eye(2))


def test_unequal_classes_move_the_bisector_by_the_log_prior_odds() -> None:
    """Classes of 3 and 1 events, pseudo-count 0.5: the bias gets ln(1.5 / 3.5)."""
    model = GaussianDiscriminant("shared-spherical", PRIOR, 0.5, predictive="plug-in")
    for x, label in ((-1.0, "a"), (0.0, "a"), (1.0, "a"), (3.0, "b")):
        model.learn_one({"x": x}, label)
    weights, bias = model.linear_form("b", "a")
    # Variance (1 + 0 + 1 + 0) / 4 = 1/2, means 0 and 3: weight 6, middle 1.5.
    assert weights["x"] == pytest.approx(6.0)
    assert bias == pytest.approx(math.log(1.5 / 3.5) - 9.0)


def test_linear_form_of_gaussian_naive_bayes() -> None:
    """Means 0, 1 and 10, 14, shared variances 1/2 and 2: weights (1 - 0) / (1/2) = 2 and (14 - 10) / 2 = 2.

    Bias -(1/2) (1 - 0) / (1/2) - (1/2) (196 - 100) / 2 = -1 - 24 = -25.
    """
    model = GaussianNB(variance="shared", class_prior_count=0.0)
    for sign in (-1.0, 1.0):
        for x, y, label in ((0.0, 10.0, "a"), (1.0, 14.0, "b")):
            model.learn_one({"x": x + sign * math.sqrt(0.5), "y": y + sign * math.sqrt(2.0)}, label)
    weights, bias = model.linear_form("b", "a")
    assert weights == pytest.approx({"x": 2.0, "y": 2.0})
    assert bias == pytest.approx(-25.0)


@pytest.mark.parametrize("unbiased", [False, True])
def test_linear_forms_give_the_predicted_log_odds(unbiased: bool) -> None:
    values, labels = sample(70)
    models: list[Any] = [
        GaussianDiscriminant(form, PRIOR, 0.6, predictive="plug-in", unbiased=unbiased)
        for form in ("shared", "shared-spherical")
    ]
    for model in (*models, GaussianNB(PRIOR, "shared", 0.6, predictive="plug-in", unbiased=unbiased)):
        trained(model, values, labels)
        weights, bias = model.linear_form(2, 0)
        for x in events(values)[:6]:
            expected = bias + sum(weights[name] * value for name, value in x.items())
            assert log_odds(model, x, 2, 0) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_log_odds_that_are_not_linear_are_refused() -> None:
    for model, allowed in ((GaussianNB(), "variance='shared' only"), (GaussianDiscriminant(), "covariance='shared'")):
        model.learn_one({"x": 1.0}, "a")
        model.learn_one({"y": 1.0}, "b")
        with pytest.raises(EvidenceError, match=allowed):
            model.linear_form("a", "b")


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(PRIOR, variance="shared"),
        GaussianNB(None, variance="shared"),
        GaussianDiscriminant("shared", PRIOR),
        GaussianDiscriminant("shared", None),
        GaussianDiscriminant("shared-spherical", PRIOR),
    ],
    ids=lambda model: f"{type(model).__name__} {'ml' if model.prior is None else 'prior'}",
)
def test_a_label_without_a_value_of_a_feature_has_no_linear_form(model: Any) -> None:
    """The data give no mean of y in a; and none of z in a and b, where c alone has it."""
    model = model.clone()
    for x in (1.0, 2.0):
        model.learn_one({"x": x}, "a")
        model.learn_one({"x": -x, "y": x}, "b")
    for one, other in (("a", "b"), ("b", "a")):
        with pytest.raises(EvidenceError, match="label 'a' has no value of feature 'y'"):
            model.linear_form(one, other)
    model.learn_one({"y": 1.0}, "a")
    assert set(model.linear_form("a", "b")[0]) == {"x", "y"}
    model.learn_one({"z": 1.0}, "c")
    with pytest.raises(EvidenceError, match="label 'b' has no value of feature 'z'"):
        model.linear_form("b", "a")


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
@pytest.mark.parametrize("unbiased", [False, True])
def test_readouts_of_gaussian_naive_bayes_are_those_of_the_diagonal_discriminant(
    predictive: str, unbiased: bool
) -> None:
    values, labels = sample(40)
    naive = trained(GaussianNB(PRIOR, predictive=predictive, unbiased=unbiased), values, labels)
    peer = trained(GaussianDiscriminant("diagonal", PRIOR, predictive=predictive, unbiased=unbiased), values, labels)
    for label in range(3):
        assert naive.mean(label) == pytest.approx(peer.mean(label), rel=1e-12)
        names, matrix = naive.covariance_of(label)
        expected_names, expected = peer.covariance_of(label)
        assert names == expected_names
        assert matrix == pytest.approx(expected, rel=1e-12)
    naive.learn_one({"late": 2.0}, 2)
    assert naive.mean(1)["late"] == PRIOR.mean
    without = trained(GaussianNB(None), values, labels)
    assert without.mean(0) == pytest.approx({name: one.mean for name, one in without.parameters(0, "ml").items()})


@pytest.mark.parametrize("model", [GaussianNB(PRIOR), GaussianDiscriminant("diagonal", PRIOR)])
def test_features_that_were_taken_back_are_left_out(model: Any) -> None:
    model = model.clone()
    for x in ({"x": 1.0}, {"x": 2.0}, {"x": 1.0, "y": 2.0}):
        model.learn_one(x, "a")
    model.unlearn_one({"x": 1.0, "y": 2.0}, "a")
    assert list(model.counts()["a"]) == ["x"]
    assert list(model.mean("a")) == ["x"]
    assert model.covariance_of("a")[0] == ["x"]
    parameters = model.parameters("a")
    assert list(getattr(parameters, "names", parameters)) == ["x"]
    for read in (model.mean, model.covariance_of, model.parameters):
        with pytest.raises(InputError, match="neither learned nor declared"):
            read("b")


@pytest.mark.parametrize("covariance", FORMS)
def test_plug_in_readouts_are_not_shrunk(covariance: str) -> None:
    """Means and covariances of the data alone, whatever the prior; the posterior's lie between them and the prior."""
    values, labels = sample(60)
    plug_in = trained(model_of(covariance, "plug-in"), values, labels)
    own = values[labels == 1]
    assert [plug_in.mean(1)[name] for name in NAMES] == pytest.approx(own.mean(axis=0), rel=1e-12)
    scatters = [np.cov(values[labels == label].T, bias=True) * (labels == label).sum() for label in range(3)]
    expected = {
        "full": scatters[1] / len(own),
        "shared": sum(scatters) / 60,
        "diagonal": np.diag(scatters[1].diagonal()) / len(own),
        "spherical": np.trace(scatters[1]) / (4 * len(own)) * np.eye(4),
        "shared-spherical": np.trace(sum(scatters)) / 240 * np.eye(4),
    }[covariance]
    assert plug_in.covariance_of(1)[1] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert plug_in.parameters(1, "ml").covariance == pytest.approx(expected, rel=1e-9, abs=1e-12)
    shrunk = trained(model_of(covariance), values, labels).mean(1)["c"]
    assert PRIOR.mean < shrunk < plug_in.mean(1)["c"]


@pytest.mark.parametrize("covariance", FORMS)
def test_unbiased_variances(covariance: str) -> None:
    """S / (n - 1); shared S / (n - 3) with three means; spherical S / (4 n - 4) and S / (4 n - 12) with all of them."""
    values, labels = sample(60)
    count = int((labels == 1).sum())
    biased, unbiased = (
        trained(GaussianDiscriminant(covariance, PRIOR, predictive="plug-in", unbiased=flag), values, labels)
        for flag in (False, True)
    )
    ratio = {"shared": 60 / 57, "shared-spherical": 240 / 228}.get(covariance, count / (count - 1))
    assert unbiased.covariance_of(1)[1] == pytest.approx(ratio * biased.covariance_of(1)[1], rel=1e-9)
    if covariance == "full":
        assert unbiased.covariance_of(1)[1] == pytest.approx(np.cov(values[labels == 1].T), rel=1e-9)


def test_quadratic_discriminant_analysis_of_scikit_learn() -> None:
    values, labels = sample(90)
    oracle = QuadraticDiscriminantAnalysis(store_covariance=True).fit(values, labels)
    model = trained(GaussianDiscriminant(prior=None, class_prior_count=0.0), values, labels)
    for label in range(3):
        assert model.covariance_of(label)[1] == pytest.approx(oracle.covariance_[label], rel=1e-8)
    for x, expected in zip(events(values), oracle.predict_proba(values), strict=True):
        assert [model.predict_proba_one(x)[label] for label in range(3)] == pytest.approx(expected, abs=1e-8)


def test_linear_discriminant_analysis_of_scikit_learn() -> None:
    values, labels = sample(90)
    oracle = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(values, labels)
    model = trained(GaussianDiscriminant("shared", prior=None, class_prior_count=0.0), values, labels)
    assert model.covariance_of(1)[1] == pytest.approx(oracle.covariance_, rel=1e-8)
    for x, expected in zip(events(values), oracle.predict_proba(values), strict=True):
        assert [model.predict_proba_one(x)[label] for label in range(3)] == pytest.approx(expected, abs=1e-8)


def test_unbiased_gaussian_naive_bayes() -> None:
    """The variances of scikit-learn's, times n / (n - 1)."""
    values, labels = sample(90)
    oracle = GaussianOracle(var_smoothing=0.0).fit(values, labels)
    counts = np.bincount(labels)
    oracle.var_ *= (counts / (counts - 1.0))[:, None]
    model = trained(GaussianNB(None, class_prior_count=0.0, unbiased=True), values, labels)
    for x, expected in zip(events(values), oracle.predict_joint_log_proba(values), strict=True):
        assert list(model.log_joint_one(x).values()) == pytest.approx(
            [expected[label] for label in model.log_joint_one(x)], abs=1e-8
        )


def test_one_unbiased_value_has_the_smallest_variance() -> None:
    """S / (n - 1) of one value is 0 / 0: as without `unbiased`, such a class is all but a point."""
    for model in (GaussianNB(None, unbiased=True), GaussianDiscriminant(prior=None, unbiased=True)):
        for x, label in ((1.0, "a"), (2.0, "b"), (4.0, "b")):
            model.learn_one({"x": x}, label)
        assert model.predict_one({"x": 1.0}) == "a"
        assert model.predict_one({"x": 1.5}) == "b"


def test_shared_spherical_posterior_by_hand() -> None:
    """Prior (1, 2, 3, 4); a: x 2, 4; b: x 1, y 5. Cells (n, mean, scatter): (2, 3, 2), (1, 1, 0), (1, 5, 0).

    Shape 3 + 2/2 + 1/2 + 1/2 = 5; scale 4 + (2 + 4/4 x 4)/2 + 0 + (2/3 x 16)/2 = 4 + 3 + 16/3.
    """
    model = GaussianDiscriminant("shared-spherical", NormalInverseGamma(1.0, 2.0, 3.0, 4.0))
    for x, label in (({"x": 2.0}, "a"), ({"x": 4.0}, "a"), ({"x": 1.0, "y": 5.0}, "b")):
        model.learn_one(x, label)
    for feature, label in (("x", "a"), ("y", "b"), ("y", "a")):
        posterior = model.posterior(feature, label)
        assert posterior.shape == pytest.approx(5.0)
        assert posterior.scale == pytest.approx(7 + 16 / 3)
    assert model.posterior("x", "a").mean == pytest.approx(2.0)
