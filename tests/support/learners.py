"""Every learner, each under several settings; none of them all at 1, where the known bugs of this field hide."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from stream_bayes import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    BernoulliNB,
    Beta,
    BetaBernoulli,
    CategoricalNB,
    Gamma,
    GaussianDiscriminant,
    GaussianNB,
    GramRegression,
    LogisticRegression,
    LogOddsFusion,
    MultinomialNB,
    NearestNeighbours,
    NormalInverseGamma,
    PoissonNB,
    PoissonRegression,
    RobustRegression,
    SoftmaxRegression,
    SpamFilter,
    WeightPrior,
)

COLOURS = ("red", "green")

LEARNERS: dict[str, Any] = {
    "BetaBernoulli": BetaBernoulli(prior=Beta(0.5, 3.0)),
    "BetaBernoulli per key": BetaBernoulli(on="a", prior=Beta(2.5, 0.7)),
    "BetaBernoulli few coins": BetaBernoulli(on="a", prior=Beta(2.0, 2.0), classes=COLOURS, capacity=6),
    "BernoulliNB": BernoulliNB(prior=Beta(0.3, 2.5), class_prior_count=0.5),
    "BernoulliNB declared": BernoulliNB(prior=Beta(2.0, 0.6), classes=COLOURS, class_prior_count=3.0),
    "BernoulliNB hashed": BernoulliNB(prior=Beta(2.0, 0.4), buckets=64),
    "BernoulliNB maximum likelihood": BernoulliNB(prior=None, class_prior_count=0.0),
    "MultinomialNB": MultinomialNB(prior_count=0.3, class_prior_count=2.0),
    "MultinomialNB plug-in": MultinomialNB(prior_count=1.7, predictive="plug-in", classes=COLOURS),
    "MultinomialNB hashed": MultinomialNB(prior_count=0.5, buckets=16),
    "MultinomialNB maximum likelihood": MultinomialNB(prior_count=0.0, class_prior_count=0.5),
    "PoissonNB": PoissonNB(prior=Gamma(0.4, 2.0), class_prior_count=0.25),
    "PoissonNB plug-in": PoissonNB(prior=Gamma(3.0, 0.5), predictive="plug-in"),
    "PoissonNB hashed": PoissonNB(prior=Gamma(0.4, 2.0), buckets=32),
    "PoissonNB maximum likelihood": PoissonNB(prior=None, class_prior_count=2.0),
    "CategoricalNB": CategoricalNB(prior_count=0.2, class_prior_count=0.0),
    "CategoricalNB maximum likelihood": CategoricalNB(prior_count=0.0, class_prior_count=0.4),
    "CategoricalNB hashed": CategoricalNB(prior_count=2.5, buckets=4096),
    "GaussianNB": GaussianNB(prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0), class_prior_count=0.5),
    "GaussianNB shared": GaussianNB(prior=NormalInverseGamma(-1.0, 2.0, 0.5, 0.7), variance="shared"),
    "GaussianNB plug-in": GaussianNB(prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0), predictive="plug-in"),
    "GaussianNB unbiased": GaussianNB(
        prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0), variance="shared", predictive="plug-in", unbiased=True
    ),
    "GaussianNB maximum likelihood": GaussianNB(prior=None, class_prior_count=0.0),
    "GaussianNB hashed": GaussianNB(prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0), buckets=64),
    "GaussianDiscriminant": GaussianDiscriminant(prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0)),
    "GaussianDiscriminant shared": GaussianDiscriminant(
        covariance="shared", prior=NormalInverseGamma(-0.5, 0.7, 1.5, 2.0), class_prior_count=0.5
    ),
    "GaussianDiscriminant diagonal": GaussianDiscriminant(
        covariance="diagonal", prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0), classes=COLOURS
    ),
    "GaussianDiscriminant spherical": GaussianDiscriminant(
        covariance="spherical", prior=NormalInverseGamma(0.5, 2.0, 0.8, 3.0)
    ),
    "GaussianDiscriminant shared-spherical": GaussianDiscriminant(
        covariance="shared-spherical", prior=NormalInverseGamma(-0.5, 0.7, 1.5, 2.0), unbiased=True
    ),
    "GaussianDiscriminant maximum likelihood": GaussianDiscriminant(prior=None, class_prior_count=0.3),
    "BayesianLinearRegression": BayesianLinearRegression(0.3, 2.5),
    "BayesianLinearRegression unknown noise": BayesianLinearRegression(
        4.0, 0.3, intercept=False, noise="unknown", noise_degrees=2.5
    ),
    "BayesianLinearRegression hashed": BayesianLinearRegression(0.7, 0.5, buckets=32),
    "BayesianLinearRegression forgetting": BayesianLinearRegression(3.0, 0.5, noise="unknown", forgetting=0.93),
    "BayesianLinearRegression prior": BayesianLinearRegression(
        0.3,
        2.5,
        noise="unknown",
        prior=WeightPrior(
            [("d", 1), "intercept", "a"], [0.5, -1.0, 2.0], [[2.0, 0.3, 0.1], [0.3, 0.5, -0.2], [0.1, -0.2, 0.4]]
        ),
    ),
    "BayesianLinearRegression diagonal": BayesianLinearRegression(0.2, 3.0, covariance="diagonal"),
    "BayesianLinearRegression diagonal hashed": BayesianLinearRegression(
        2.0, 0.4, covariance="diagonal", noise="unknown", forgetting=0.97, buckets=64
    ),
    "BayesianLogisticRegression": BayesianLogisticRegression(0.4),
    "BayesianLogisticRegression forgetting": BayesianLogisticRegression(
        2.5, intercept=False, forgetting=0.95, classes=(False, True)
    ),
    "BayesianLogisticRegression diagonal": BayesianLogisticRegression(0.3, covariance="diagonal", classes=COLOURS),
    "BayesianLogisticRegression diagonal hashed": BayesianLogisticRegression(3.0, covariance="diagonal", buckets=32),
    "RobustRegression": RobustRegression(noise_scale=0.6, degrees=3.0, prior_precision=0.3),
    "RobustRegression laplace": RobustRegression("laplace", 0.4, prior_precision=0.7, intercept=False),
    "RobustRegression forgetting": RobustRegression("laplace", 0.7, prior_precision=2.0, forgetting=0.95),
    "RobustRegression diagonal hashed": RobustRegression(
        "student-t", 0.5, 2.5, prior_precision=0.4, covariance="diagonal", buckets=32
    ),
    "GramRegression": GramRegression(strength=0.3, noise_variance=2.5, noise_degrees=3.0),
    "GramRegression no intercept": GramRegression(4.0, noise_variance=0.2, noise_degrees=7.5, intercept=False),
    "GramRegression hashed": GramRegression(0.7, noise_variance=3.0, noise_degrees=2.5, buckets=64),
    "LogisticRegression": LogisticRegression(rate=0.3),
    "LogisticRegression l1": LogisticRegression("constant", 0.05, l1=0.02),
    "LogisticRegression l2": LogisticRegression("inverse-root", 0.7, l2=0.3, intercept=False, classes=COLOURS),
    "LogisticRegression hashed": LogisticRegression(rate=0.4, l1=0.01, l2=0.02, buckets=64),
    "SoftmaxRegression": SoftmaxRegression(rate=0.3),
    "SoftmaxRegression l1": SoftmaxRegression("constant", 0.05, l1=0.02, classes=COLOURS),
    "SoftmaxRegression hashed": SoftmaxRegression("inverse-root", 0.5, l1=0.01, l2=0.3, buckets=16),
    "PoissonRegression": PoissonRegression(rate=0.2),
    "PoissonRegression l2": PoissonRegression("constant", 0.01, l2=0.1),
    "PoissonRegression hashed": PoissonRegression("inverse-root", 0.05, l1=0.01, l2=0.3, intercept=False, buckets=32),
    "NearestNeighbours": NearestNeighbours(k=3, window=25, prior_count=0.4),
    "NearestNeighbours chosen": NearestNeighbours(
        k=(1, 2, 6), window=64, metric="manhattan", prior_count=2.5, classes=COLOURS
    ),
    "NearestNeighbours shares": NearestNeighbours(k=4, window=30, metric="chebyshev", probabilistic=False),
    "NearestNeighbours hashed": NearestNeighbours(k=7, window=50, metric="cosine", prior_count=0.7, buckets=64),
    "LogOddsFusion": LogOddsFusion(
        (BernoulliNB(prior=Beta(0.3, 2.5)), BetaBernoulli(on="a", prior=Beta(2.5, 0.7))), prior_precision=3.0
    ),
    "LogOddsFusion averaging": LogOddsFusion(
        (MultinomialNB(prior_count=0.3), GaussianNB(), CategoricalNB(prior_count=0.2, classes=COLOURS[::-1])),
        method="averaging",
        calibration="beta",
        calibration_precision=3.0,
        classes=COLOURS,
    ),
    "SpamFilter": SpamFilter(buckets=2**10, false_positive_cost=7.0, false_negative_cost=0.3, classes=(False, True)),
    "SpamFilter words": SpamFilter.light(buckets=2**12, text_bytes=700, classes=COLOURS),
    "SpamFilter weights": SpamFilter(
        members=("gram weights", "structure steps", "hosts"),
        head_bytes=40,
        tail_bytes=30,
        buckets=2**11,
        classes=(False, True),
    ),
}

# The name of the first setting of each class.
FIRST_OF_CLASS = list({type(learner): name for name, learner in reversed(LEARNERS.items())}.values())


def by_setting(names: Iterable[str]) -> list[Any]:
    """Parameters of a test by learner; settings other than the first of a class are long."""
    return [name if name in FIRST_OF_CLASS else pytest.param(name, marks=pytest.mark.long) for name in names]
