"""Plots: the numbers that are drawn, into which axes, and what is said where nothing can be drawn."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from stream_bayes import (
    BayesianLinearRegression,
    BernoulliNB,
    Beta,
    BetaBernoulli,
    Dirichlet,
    Gamma,
    LabelPredictive,
    Learner,
    MvNormal,
    MvStudentT,
    Normal,
    NormalInverseGamma,
    Poisson,
    StudentT,
)
from stream_bayes.errors import MissingExtra, NoPosterior
from stream_bayes.learners.gradient import LogisticRegression, PoissonRegression, SoftmaxRegression
from stream_bayes.learners.gram import GramRegression
from stream_bayes.posteriors import LogitNormal
from stream_bayes.testing import events, taught
from tests.support.learners import LEARNERS, by_setting

matplotlib.use("Agg")

CONTINUOUS = [Beta(7, 3), Gamma(9, 3), Normal(3, 4, 1), StudentT(5, 0, 2), LogitNormal(1, 4)]
COUNTS = [Poisson(3), Gamma(9, 3).predictive()]
VECTORS = [Dirichlet((3, 5, 5)), MvNormal([0, 1], [[1, 0.3], [0.3, 2]]), MvStudentT(5, [0, 1], [[1, 0.3], [0.3, 2]])]


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.mark.parametrize("posterior", CONTINUOUS, ids=lambda one: type(one).__name__)
def test_curve_is_the_density_and_the_fill_is_the_interval(posterior: Any) -> None:
    ax = posterior.plot()
    x, y = ax.lines[0].get_data()
    assert y == pytest.approx(posterior.density(x))
    low, high = posterior.interval(0.9)
    filled = ax.collections[0].get_paths()[0].vertices[:, 0]
    step = x[1] - x[0]
    assert filled.min() == pytest.approx(low, abs=step)
    assert filled.max() == pytest.approx(high, abs=step)
    assert ax.lines[1].get_xdata()[0] == posterior.mean


@pytest.mark.parametrize("count", COUNTS, ids=lambda one: type(one).__name__)
def test_points_of_a_count_are_its_probabilities(count: Any) -> None:
    ax = count.plot()
    x, y = ax.lines[0].get_data()
    assert (x == np.rint(x)).all()
    assert y == pytest.approx(count.pmf(x))
    assert ax.get_ylabel() == "probability"


def test_mean_of_a_normal_inverse_gamma_is_drawn_by_its_marginal() -> None:
    """NIG(2, 3, 3.5, 7): the mean has a t with 7 degrees, centre 2 and scale sqrt(7 / 3.5 / 3)."""
    x, y = NormalInverseGamma(2, 3, 3.5, 7).plot().lines[0].get_data()
    assert y == pytest.approx(stats.t(7, 2, (7 / 3.5 / 3) ** 0.5).pdf(x))


@pytest.mark.parametrize("posterior", VECTORS, ids=lambda one: type(one).__name__)
def test_vector_has_a_point_and_an_interval_for_each_coordinate(posterior: Any) -> None:
    lines = posterior.plot().lines
    for place, (mean, ends) in enumerate(zip(posterior.mean, posterior.interval(0.9), strict=True)):
        assert lines[2 * place].get_xdata() == pytest.approx(ends)
        assert lines[2 * place + 1].get_xdata() == pytest.approx([mean])


def test_bars_are_the_probabilities_of_the_labels() -> None:
    guess = LabelPredictive({"ham": 0.25, "spam": 0.75}, Beta(6, 2))
    ax = guess.plot()
    assert [bar.get_width() for bar in ax.containers[0]] == [0.75, 0.25]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["spam", "ham"]
    assert ax.lines[0].get_xdata() == pytest.approx(Beta(6, 2).interval(0.9))
    assert not LabelPredictive({}, Beta(1, 1)).plot(plt.figure().subplots()).patches


def test_axes_are_those_given_or_the_current_ones() -> None:
    given, other = plt.subplots(2)[1]
    assert Beta(2, 3).plot(given) is given
    plt.sca(other)
    assert Beta(2, 3).plot() is other
    assert Beta(4, 3).plot() is other
    assert len(other.lines) == 4


def test_density_too_narrow_for_numbers_leaves_its_mean() -> None:
    ax = Normal(1e18, 1.0).plot()
    assert np.unique(ax.lines[0].get_xdata()).tolist() == [1e18]


@pytest.mark.parametrize("name", by_setting(LEARNERS))
def test_every_learner_draws_or_says_that_there_is_nothing(name: str) -> None:
    empty = LEARNERS[name].clone()
    _assert_drawn(empty)
    _assert_drawn(taught(empty, events(empty)))


def _assert_drawn(learner: Learner) -> None:
    if learner._estimates():
        assert learner.plot().get_title().startswith(type(learner).__name__)
    else:
        with pytest.raises(NoPosterior, match=type(learner).__name__):
            learner.plot()


def test_learner_draws_the_posterior_of_each_weight() -> None:
    model = BayesianLinearRegression(prior_precision=2.0, noise_variance=0.5)
    model.learn_one({"size": 2.0}, 3.0)
    lines = model.plot().lines
    weights = model.weights()
    for row, weight in enumerate(weights.values()):
        assert lines[2 * row].get_xdata() == pytest.approx(weight.interval(0.9))
        assert lines[2 * row + 1].get_xdata() == pytest.approx([weight.mean])
    assert [text.get_text() for text in plt.gca().get_yticklabels()] == list(weights)


@pytest.mark.parametrize("kind", [GramRegression, LogisticRegression, PoissonRegression, SoftmaxRegression])
def test_intercept_is_drawn_where_there_is_one_and_beside_a_feature_of_that_name(kind: Any) -> None:
    for intercept in (True, False):
        model = kind(intercept=intercept)
        for number, target in enumerate((1, 0, 0, 1)):
            model.learn_one({"intercept": float(number), "x": 1.0}, target)
        drawn = model._estimates()
        outputs = 2 if kind is SoftmaxRegression else 1
        assert len(drawn) == outputs * (3 if intercept else 2)
        constants = {name for name in drawn if name.startswith("intercept")}
        assert len(constants) == outputs
        assert any(name.startswith("'x'") for name in drawn) == intercept


def test_names_of_the_same_text_are_drawn_apart() -> None:
    model = BayesianLinearRegression()
    model.learn_one({1: 1.0, "1": 2.0}, 3.0)
    assert list(model._estimates()) == ["intercept", "1", "'1'"]


def test_classifier_draws_the_posterior_of_each_label() -> None:
    """Pseudo-count 0.5 and 3 events of a, 1 of b: p(a) is Beta(3.5, 1.5)."""
    model = BernoulliNB(class_prior_count=0.5)
    for label in "aaba":
        model.learn_one({"x": 1}, label)
    lines = model.plot().lines
    assert lines[0].get_xdata() == pytest.approx(Beta(3.5, 1.5).interval(0.9))
    assert lines[1].get_xdata() == pytest.approx([0.7])


def test_keys_have_a_posterior_each() -> None:
    model = BetaBernoulli(on="shop", prior=Beta(2, 3))
    model.learn_one({"shop": "a"}, True)
    assert model.plot().lines[1].get_xdata() == pytest.approx([3 / 6])
    assert [text.get_text() for text in plt.gca().get_yticklabels()] == ["shop = a"]


def test_few_of_many_weights_are_drawn() -> None:
    model = BayesianLinearRegression()
    model.learn_one({f"x{number}": float(number) for number in range(50)}, 1.0)
    ax = model.plot()
    assert len(ax.get_yticks()) == 20
    assert ax.get_title() == "BayesianLinearRegression, 31 smaller ones left out"


def test_learner_of_nothing_says_so() -> None:
    model: Learner = BernoulliNB()
    with pytest.raises(NoPosterior, match="nothing to draw"):
        model.plot()


def test_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name="matplotlib")
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"pip install 'stream_bayes\[plots\]'"):
        Beta(2, 3).plot()
