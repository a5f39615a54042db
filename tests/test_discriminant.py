from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import checks as river_checks
from scipy.optimize import brentq
from scipy.stats import invwishart, multivariate_t
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from stream_bayes import GaussianNB, NormalInverseGamma
from stream_bayes.checks import yield_checks
from stream_bayes.errors import EvidenceError, InputError, MergeError, ParameterError, SnapshotDamaged, UnlearnError
from stream_bayes.kernels.compiled import FloatArray, IntArray
from stream_bayes.learners.discriminant import FORMS, GaussianDiscriminant

PRIOR = NormalInverseGamma(mean=0.3, strength=0.7, shape=1.6, scale=0.4)
NAMES = ("a", "b", "c", "d")

Event = tuple[dict[str, float], str, float]


def model_of(covariance: str = "full", predictive: str = "posterior", count: float = 0.6) -> GaussianDiscriminant:
    return GaussianDiscriminant(covariance, PRIOR, class_prior_count=count, predictive=predictive)


def sample(size: int) -> tuple[FloatArray, IntArray]:
    """Three classes of four correlated columns."""
    generator = np.random.default_rng(3)
    mix = np.array([[1.0, 0.8, 0.0, -0.3], [0.0, 0.6, 0.5, 0.2], [0.0, 0.0, 1.2, 0.9], [0.0, 0.0, 0.0, 0.4]])
    labels = generator.integers(3, size=size)
    values = generator.normal(size=(size, 4)) @ mix * (1.0 + 0.3 * labels[:, None])
    return values + np.outer(labels, (1.0, -0.5, 0.0, 0.8)) + (0.0, 3.0, 50.0, -1.0), labels


def events(values: FloatArray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=False)) for row in values.tolist()]


def taught(model: GaussianDiscriminant, stream: list[Event]) -> GaussianDiscriminant:
    for x, y, w in stream:
        model.learn_one(x, y, w)
    return model


def trained(model: Any, values: FloatArray, labels: IntArray) -> Any:
    for x, y in zip(events(values), labels, strict=True):
        model.learn_one(x, y)
    return model


def of_two_points(
    covariance: str, negative: tuple[float, float], positive: tuple[float, float]
) -> GaussianDiscriminant:
    """Plug-in with exactly these (mean, standard deviation): points m - h and m + h have S / (n - 1) = 2 h^2."""
    model = model_of(covariance, "plug-in", count=0.0)
    for label, (mean, deviation) in enumerate((negative, positive)):
        for side in (-1.0, 1.0):
            model.learn_one({"x": mean + side * deviation / math.sqrt(2.0)}, label)
    return model


def boundary(model: GaussianDiscriminant, low: float, high: float) -> float:
    return float(brentq(lambda x: model.predict_proba_one({"x": x})[1] - 0.5, low, high, xtol=1e-12))


def assert_same(one: GaussianDiscriminant, other: GaussianDiscriminant, probes: list[dict[str, float]]) -> None:
    for x in probes:
        assert one.predict_proba_one(x) == pytest.approx(other.predict_proba_one(x), rel=1e-6, abs=1e-9)


def contents(model: GaussianDiscriminant) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in model.state().arrays.items()}


@pytest.mark.parametrize("covariance", FORMS)
def test_equal_variances_split_in_the_middle(covariance: str) -> None:
    """N(0, 1) against N(1, 1), equal priors: x^2 = (x - 1)^2 at x = 1/2."""
    assert boundary(of_two_points(covariance, (0.0, 1.0), (1.0, 1.0)), -1.0, 2.0) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_unequal_variances_enclose_the_narrow_class(covariance: str) -> None:
    """N(0, 1) against N(1, 1/4): -x^2/2 = log 2 - 2 (x - 1)^2, so 3 x^2 - 8 x + 4 - 2 log 2 = 0, x = .381 and 2.285."""
    model = of_two_points(covariance, (0.0, 1.0), (1.0, 0.5))
    root = math.sqrt(64.0 - 12.0 * (4.0 - 2.0 * math.log(2.0)))
    assert boundary(model, -1.0, 1.0) == pytest.approx((8.0 - root) / 6.0, abs=1e-9) == pytest.approx(0.38, abs=5e-3)
    assert boundary(model, 1.0, 4.0) == pytest.approx((8.0 + root) / 6.0, abs=1e-9) == pytest.approx(2.29, abs=5e-3)


def test_shared_covariance_is_logistic() -> None:
    """N(-1, 4) and N(2, 4): weight (2 + 1) / 4 = .75, bias -(2^2 - 1^2) / (2 * 4) = -.375; equal priors add 0."""
    model = of_two_points("shared", (-1.0, 2.0), (2.0, 2.0))
    weights, bias = model.linear_form(1, 0)
    assert weights == pytest.approx({"x": 0.75})
    assert bias == pytest.approx(-0.375)
    for x in (-3.0, 0.5, 4.0):
        assert model.predict_proba_one({"x": x})[1] == pytest.approx(1.0 / (1.0 + math.exp(0.375 - 0.75 * x)))


def test_linear_form_gives_the_predicted_odds() -> None:
    values, labels = sample(90)
    model = trained(model_of("shared", "plug-in"), values, np.minimum(labels, 1))
    weights, bias = model.linear_form(1, 0)
    for x in events(values[:9]):
        p = model.predict_proba_one(x)
        assert sum(weights[name] * x[name] for name in x) + bias == pytest.approx(math.log(p[1] / p[0]), abs=1e-9)
    with pytest.raises(EvidenceError, match="shared"):
        model_of("full").linear_form(1, 0)
    with pytest.raises(InputError, match="neither learned nor declared"):
        model.linear_form(1, "never")


def test_plug_in_agrees_with_quadratic_discriminant_analysis() -> None:
    """scikit-learn divides by n - 1 or, since its pull request 33626, by n: one factor a class, read off the trace."""
    values, labels = sample(300)
    reference = QuadraticDiscriminantAnalysis().fit(values, labels)
    for c in range(3):
        factor = np.trace(np.cov(values[labels == c].T)) / reference.scalings_[c].sum()
        assert factor == pytest.approx(1.0) or factor == pytest.approx(1.0 + 1.0 / ((labels == c).sum() - 1.0))
        reference.scalings_[c] *= factor
    ours = trained(model_of("full", "plug-in", count=0.0), values, labels).predict_many(events(values))
    assert np.abs(ours.probabilities[:, np.argsort(ours.labels)] - reference.predict_proba(values)).max() < 1e-9


def test_plug_in_agrees_with_linear_discriminant_analysis() -> None:
    """scikit-learn divides by n - 3 or, since its pull request 33626, by n: one factor, read off one coefficient."""
    values, labels = sample(300)
    reference = LinearDiscriminantAnalysis(solver="svd").fit(values, labels)
    model = trained(model_of("shared", "plug-in", count=0.0), values, labels)
    factor = model.linear_form(1, 0)[0]["a"] / (reference.coef_[1, 0] - reference.coef_[0, 0])
    assert factor == pytest.approx(1.0) or factor == pytest.approx(297.0 / 300.0)
    log_prior = np.log(reference.priors_)
    reference.coef_, reference.intercept_ = (
        reference.coef_ * factor,
        log_prior + (reference.intercept_ - log_prior) * factor,
    )
    ours = model.predict_many(events(values))
    assert np.abs(ours.probabilities[:, np.argsort(ours.labels)] - reference.predict_proba(values)).max() < 1e-9


@pytest.mark.parametrize("covariance", FORMS)
def test_plug_in_does_not_mind_where_zero_is(covariance: str) -> None:
    """Seconds since 1970 are 1e9 with a spread of 1: rounding costs 1e-16 * 1e9 / 1 = 1e-7 of a deviation."""
    values, labels = sample(120)
    moved = values + np.array((1e9, -1e6, 1e5, 1e7))
    near = trained(model_of(covariance, "plug-in"), values, labels).predict_many(events(values))
    far = trained(model_of(covariance, "plug-in"), moved, labels).predict_many(events(moved))
    assert far.probabilities == pytest.approx(near.probabilities, abs=1e-5)


def test_diagonal_is_naive_bayes() -> None:
    values, labels = sample(60)
    values[::7, 1] = 1e3
    model = trained(model_of("diagonal"), values, labels)
    naive = trained(GaussianNB(PRIOR, class_prior_count=0.6), values, labels)
    for x in [*events(values[:20]), {"a": 1.0}, {}]:
        ours, theirs = model.predictive_one(x), naive.predictive_one(x)
        assert dict(ours.probabilities) == pytest.approx(dict(theirs.probabilities), rel=1e-10)
        assert ours.epistemic_variance == pytest.approx(theirs.epistemic_variance, rel=1e-9)
    assert tuple(model.posterior("c", 1)) == pytest.approx(tuple(naive.posterior("c", 1)))


def conjugate(values: FloatArray) -> tuple[float, FloatArray, float, FloatArray]:
    """Strength, location, degrees and Psi by the textbook."""
    mean, strength, shape, scale = PRIOR
    n, average = len(values), values.mean(axis=0)
    centred, shift = values - average, average - mean
    psi = 2.0 * scale * np.eye(values.shape[1]) + centred.T @ centred
    psi += strength * n / (strength + n) * np.outer(shift, shift)
    return strength + n, (strength * mean + n * average) / (strength + n), 2.0 * shape + n, psi


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_posterior_predictive_is_a_multivariate_t(covariance: str) -> None:
    """Degrees 2 shape + n, location and Psi (k + 1) / (k degrees); shared: Psi less its prior, and n, are sums."""
    values, labels = sample(25)
    model = trained(model_of(covariance), values, labels)
    beliefs = {int(c): conjugate(values[labels == c]) for c in np.unique(labels)}
    prior_psi = 2.0 * PRIOR.scale * np.eye(4)
    pooled = prior_psi + sum(psi - prior_psi for _, _, _, psi in beliefs.values())
    for place, x in enumerate(events(values)):
        density = {}
        for c, (strength, location, degrees, psi) in beliefs.items():
            freedom, matrix = (degrees, psi) if covariance == "full" else (2.0 * PRIOR.shape + 25, pooled)
            spread = matrix * (strength + 1.0) / (strength * freedom)
            prior = float((labels == c).sum()) + 0.6
            density[c] = prior * float(multivariate_t.pdf(values[place], location, spread, df=freedom))
            assert model.covariance_of(c)[1] == pytest.approx(matrix / (freedom - 2.0), rel=1e-9)
        expected = {c: p / sum(density.values()) for c, p in density.items()}
        assert model.predict_proba_one(x) == pytest.approx(expected, rel=1e-9)
    assert list(model.mean(2).values()) == pytest.approx(beliefs[2][1].tolist())


def test_spherical_pools_the_features() -> None:
    """A t with 2 shape + sum of n_i degrees and scale matrix (2 scale + all squares) / degrees (1 + 1 / (k + n)) I."""
    values, labels = sample(25)
    model = trained(model_of("spherical"), values, labels)
    density = {}
    for c in range(3):
        strength, location, degrees, psi = conjugate(values[labels == c])
        freedom = degrees + 3.0 * (labels == c).sum()
        variance = (np.trace(psi) - 3.0 * 2.0 * PRIOR.scale) / freedom
        assert model.posterior("b", c)[2:] == pytest.approx((0.5 * freedom, 0.5 * freedom * variance))
        spread = variance * (1.0 + 1.0 / strength) * np.eye(2)
        density[c] = (strength - 0.1) * multivariate_t.pdf((1.0, 40.0), location[[0, 2]], spread, df=freedom)
    expected = {c: float(p / sum(density.values())) for c, p in density.items()}
    assert model.predict_proba_one({"a": 1.0, "c": 40.0}) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
@pytest.mark.parametrize("covariance", ["full", "shared", "diagonal"])
def test_a_missing_feature_is_marginalised_out(covariance: str, predictive: str) -> None:
    values, labels = sample(80)
    model = trained(model_of(covariance, predictive), values, labels)
    without = trained(model_of(covariance, predictive), values[:, :3], labels)
    for x in events(values[:20, :3]):
        assert model.predict_proba_one(x) == pytest.approx(without.predict_proba_one(x), rel=1e-9)


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
def test_pairs_that_contradict_each_other(predictive: str) -> None:
    """a = b, b = c and c = -a, each seen without the third: correlations (1, 1, -1) have an eigenvalue 1 - 2 = -1."""
    model = model_of(predictive=predictive)
    for size in np.linspace(-3.0, 3.0, 30).tolist():
        for x in ({"a": size, "b": size}, {"b": size, "c": size}, {"c": size, "a": -size}):
            model.learn_one(x, "knot")
            model.learn_one({name: value + 2.0 for name, value in x.items()}, "other")
    for x in ({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": -9.0, "b": 9.0, "c": 0.0}, {"a": 1e130, "b": 1.0, "c": -1e130}):
        predictive_of = model.predictive_one(x)
        assert sum(predictive_of.probabilities.values()) == pytest.approx(1.0)
        assert math.isfinite(predictive_of.epistemic_variance)
    matrix = model.covariance_of("knot")[1]
    assert np.linalg.eigvalsh(matrix).min() > 0.1
    assert matrix[0, 0] == pytest.approx(model.posterior("a", "knot").expected_variance)


def test_variance_of_the_log_odds_against_draws_from_the_posterior() -> None:
    values, labels = sample(600)
    labels = np.minimum(labels, 1)
    model, generator = trained(model_of(count=0.0), values, labels), np.random.default_rng(5)
    probes = values[:4]
    draws: Any = 0.0
    for c, sign in ((0, -1.0), (1, 1.0)):
        strength, location, degrees, psi = conjugate(values[labels == c])
        covariances = invwishart.rvs(degrees + 3.0, psi, size=4000, random_state=generator)
        factors = np.linalg.cholesky(covariances)
        means = location + (factors @ generator.normal(size=(4000, 4, 1)))[:, :, 0] / math.sqrt(strength)
        residual = np.linalg.solve(factors, (probes - means[:, None]).transpose(0, 2, 1))
        log = -0.5 * (residual**2).sum(axis=1) - np.log(factors.diagonal(axis1=1, axis2=2)).sum(axis=1)[:, None]
        draws = draws + sign * log
    frequencies = sum(1.0 / (labels == c).sum() for c in (0, 1))
    expected = draws.var(axis=0) + frequencies
    assert model.predict_many(events(probes)).latent_variance == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("covariance", FORMS)
def test_ignorance_shrinks_with_data(covariance: str) -> None:
    values, labels = sample(1000)
    x = {"a": 0.5, "b": 2.9, "c": 50.2, "d": -0.6}
    few = trained(model_of(covariance), values[:30], labels[:30]).predict_many([x]).latent_variance[0]
    many = trained(model_of(covariance), values, labels).predict_many([x]).latent_variance[0]
    assert 0.0 < many < few / 5.0


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
@pytest.mark.parametrize("covariance", FORMS)
def test_contract(covariance: str, predictive: str) -> None:
    model = model_of(covariance, predictive)
    for check in yield_checks(model):
        check(model)


@pytest.mark.parametrize("covariance", FORMS)
def test_river_estimator(covariance: str) -> None:
    river_checks.check_estimator(model_of(covariance))


quarters = st.integers(-12, 12).map(lambda number: number / 4.0)
streams = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(NAMES), quarters), st.sampled_from("xyz"), st.sampled_from([0.5, 1.0, 2.0])
    ),
    max_size=12,
)
forms = st.sampled_from(FORMS)


@settings(max_examples=40, deadline=None)
@given(streams, streams, forms, st.randoms(use_true_random=False))
def test_evidence_adds_up(first: list[Event], second: list[Event], covariance: str, random: Any) -> None:
    union = taught(model_of(covariance), first + second)
    probes = [x for x, _, _ in first + second] + [{"a": 0.5, "b": -1.0, "c": 2.0, "d": 0.0}]
    shuffled = first + second
    random.shuffle(shuffled)
    assert_same(taught(model_of(covariance), shuffled), union, probes)
    merged = taught(model_of(covariance), first)
    merged.merge(taught(model_of(covariance), second))
    assert_same(merged, union, probes)
    for x, y, w in second:
        union.unlearn_one(x, y, w)
    assert_same(union, taught(model_of(covariance), first), probes)


@pytest.mark.parametrize("covariance", FORMS)
def test_a_feature_made_constant_by_unlearning_is_constant(covariance: str) -> None:
    """What rounding leaves of a spread is no spread: the plug-in falls back as if 0.7 had never come."""
    model, constant = model_of(covariance, "plug-in"), model_of(covariance, "plug-in")
    stream: list[Event] = [
        ({"a": 0.1}, "x", 3.0),
        ({"a": 0.1}, "x", 1.0),
        ({"a": 0.7}, "y", 1.0),
        ({"a": 0.3}, "y", 2.0),
    ]
    taught(constant, stream)
    taught(model, [*stream, ({"a": 0.7}, "x", 1.0)]).unlearn_one({"a": 0.7}, "x")
    assert_same(model, constant, [{"a": 0.1}, {"a": 0.5}])


@settings(max_examples=40, deadline=None)
@given(streams, forms, st.sampled_from(["posterior", "plug-in"]), st.integers(0, 12))
def test_batches_and_restarts_change_no_bit(stream: list[Event], covariance: str, predictive: str, cut: int) -> None:
    loop, answers = model_of(covariance, predictive), []
    for x, y, w in stream:
        answers.append(loop.predict_proba_one(x))
        loop.learn_one(x, y, w)
    model, rows = model_of(covariance, predictive), []
    for part in (stream[:cut], stream[cut:]):
        predictions = model.test_then_train([x for x, _, _ in part], [y for _, y, _ in part], [w for _, _, w in part])
        rows += [predictions.probabilities_of(row) for row in range(len(part))]
        model = GaussianDiscriminant.from_state(model.state())
    assert rows == answers
    assert contents(model) == contents(loop)


@settings(max_examples=20, deadline=None)
@given(streams, forms)
def test_forgetting_scales_evidence_and_never_the_prior(stream: list[Event], covariance: str) -> None:
    model = taught(model_of(covariance), stream)
    model.forget(0.25)
    probes = [x for x, _, _ in stream]
    assert_same(model, taught(model_of(covariance), [(x, y, w / 4.0) for x, y, w in stream]), probes)
    model.forget(0.0)
    assert all(model.posterior(name, y) == PRIOR for name in NAMES for y in "xyz")
    assert [model.predict_proba_one(x) for x in probes] == [{}] * len(probes)


def test_saved_and_loaded_goes_on_bit_for_bit(tmp_path: Path) -> None:
    values, labels = sample(40)
    straight = trained(model_of("shared"), values, labels)
    trained(half := model_of("shared"), values[:20], labels[:20]).save(tmp_path / "half")
    resumed = trained(GaussianDiscriminant.load(tmp_path / "half"), values[20:], labels[20:])
    assert contents(resumed) == contents(straight)
    assert contents(half) != contents(straight)


@pytest.mark.parametrize("name", ["class_weight", "weight", "scatter"])
def test_arrays_that_are_no_evidence_are_refused(name: str) -> None:
    state = taught(model_of(), [({"a": 1.0}, "x", 1.0)]).state()
    state.arrays[name].flat[0] = -1.0
    with pytest.raises(SnapshotDamaged, match="0 or more"):
        GaussianDiscriminant.from_state(state)


@pytest.mark.parametrize(
    ("x", "y", "w"),
    [
        ({"a": "text"}, "x", 1.0),
        ({"a": math.nan}, "x", 1.0),
        ({"a": 1e141}, "x", 1.0),
        ({"a": 1.0, "new": None}, "x", 1.0),
        ({"a": 1.0, "new": 1.0}, 0.5, 1.0),
        ({"a": 1.0, "new": 1.0}, "x", -1.0),
        ({"a": 1.0, "new": 1.0}, "x", 1e13),
    ],
)
def test_bad_input_changes_nothing(x: dict[str, Any], y: Any, w: float) -> None:
    model = taught(model_of(), [({"a": 1.0, "b": 2.0}, "x", 1.0), ({"b": 2.0}, "y", 1.0)])
    before = contents(model)
    with pytest.raises(InputError):
        model.learn_one(x, y, w)
    assert contents(model) == before


@pytest.mark.parametrize(
    "x",
    [{"a": 1.0, "b": 1.0, "new": 0.0}, {"a": 9.0, "b": 9.0}, {"a": 1.0, "b": -1.0}, {"a": 1.0}, {}],
    ids=["a feature never seen", "far outside", "against the correlation", "without its pair", "without its features"],
)
def test_what_never_came_cannot_be_taken_back(x: dict[str, float]) -> None:
    model = taught(model_of(), [({"a": v, "b": v}, "x", 1.0) for v in (-1.0, 0.0, 1.0, 1.5)])
    before = contents(model)
    with pytest.raises(UnlearnError):
        model.unlearn_one(x, "x")
    assert contents(model) == before


def test_refusals_of_parameters() -> None:
    with pytest.raises(ParameterError, match="covariance must be one of"):
        GaussianDiscriminant("tied")
    with pytest.raises(ParameterError, match="NormalInverseGamma"):
        GaussianDiscriminant(prior=(0.0, 1.0, 1.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(MergeError, match="covariance is 'full' here"):
        model_of("full").merge(model_of("shared"))
