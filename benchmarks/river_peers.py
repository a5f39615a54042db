"""River's counterpart of each learner: the same model where river has it, else the nearest one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from river import dummy, ensemble, linear_model, naive_bayes, neighbors, optim

from stream_bayes import GaussianNB, LogisticRegression, LogOddsFusion, learner_registry
from stream_bayes.learners import Learner


class Peer(NamedTuple):
    """A model of river."""

    name: str
    make: Callable[[], Any]
    takes_frames: bool = False
    """Whether it learns mini-batches."""


def _stack() -> Any:
    parts: list[Any] = [naive_bayes.GaussianNB(), linear_model.LogisticRegression()]
    return ensemble.StackingClassifier(parts, meta_classifier=linear_model.LogisticRegression())


def _poisson() -> Any:
    return linear_model.LinearRegression(loss=optim.losses.Poisson(), clip_gradient=1e3)


def _robust() -> Any:
    return linear_model.LinearRegression(loss=optim.losses.Absolute())


_LOGISTIC = Peer("LogisticRegression", linear_model.LogisticRegression, takes_frames=True)
_RIDGE = Peer("BayesianLinearRegression", linear_model.BayesianLinearRegression, takes_frames=True)
_GAUSSIAN = Peer("GaussianNB", naive_bayes.GaussianNB)
_MULTINOMIAL = Peer("MultinomialNB", naive_bayes.MultinomialNB, takes_frames=True)
_BERNOULLI = Peer("BernoulliNB", naive_bayes.BernoulliNB, takes_frames=True)

PEERS = {
    "BayesianLinearRegression": _RIDGE,
    "BayesianLogisticRegression": _LOGISTIC,
    "BernoulliNB": _BERNOULLI,
    "BetaBernoulli": Peer("PriorClassifier", dummy.PriorClassifier),
    "CategoricalNB": _BERNOULLI,
    "GaussianDiscriminant": _GAUSSIAN,
    "GaussianNB": _GAUSSIAN,
    "GramRegression": _RIDGE,
    "LogOddsFusion": Peer("StackingClassifier", _stack),
    "LogisticRegression": _LOGISTIC,
    "MultinomialNB": _MULTINOMIAL,
    "NearestNeighbours": Peer("KNNClassifier", neighbors.KNNClassifier),
    "PoissonNB": _MULTINOMIAL,
    "PoissonRegression": Peer("LinearRegression, Poisson loss", _poisson),
    "RobustRegression": Peer("LinearRegression, absolute loss", _robust),
    "SoftmaxRegression": Peer("SoftmaxRegression", linear_model.SoftmaxRegression),
}


def learners() -> dict[str, Learner]:
    """Every registered learner that takes features, with its default parameters."""
    found: dict[str, Learner] = {}
    for name in learner_registry.known_names():
        kind = learner_registry.find(name)
        if name == "LogOddsFusion":
            found[name] = LogOddsFusion((GaussianNB(), LogisticRegression()))
        elif not kind.reads_mail:
            found[name] = kind()
    return found
