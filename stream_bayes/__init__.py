"""Streaming Bayesian learning: exact posteriors one event at a time, with honest variance.

    >>> from stream_bayes import Beta, BernoulliNB
    >>> Beta(2, 2).update_counts(75, 60)
    Beta(77, 62)

Names are imported when they are first used, so that `import stream_bayes` loads neither numba nor river.

posteriors         distributions as value objects
decisions          losses and Bayes actions
kernels            compiled arithmetic, the only code that knows numba
features           from dicts, arrays and texts to batches
learners           naive Bayes, linear and gradient learners, fusion
learner_registry   learner classes by name
mail               parser, features, rendering and the spam filter
active             active learning: which labels to request
sklearn            adapters for scikit-learn
events             event classes and their codec
records            records, partitions and places in a log
eventlog           logs: in memory, SQLite, Kafka
engine             the fold over a stream of events
runtime            the worker: poll, process, commit, recover
persistence        snapshots and checkpoints
config             settings and where they come from
evaluation         filters measured on corpora of mail
web                the page for labellers, its API and metrics
cli                the command line
demo               a simulated mailbox, filtered live
testing            checks of learners, for tests of users
background         threads whose failure ends the program
signals            handlers that respect ignored signals
notebook_html      cards that notebooks show
plots              plots by matplotlib
validation         checks of parameters
units              durations with a unit
typing             aliases of array types
errors             the tree of exceptions
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stream_bayes import learner_registry

if TYPE_CHECKING:
    from stream_bayes.active import LabelBudget as LabelBudget
    from stream_bayes.active import LabelSelector as LabelSelector
    from stream_bayes.engine import Engine as Engine
    from stream_bayes.features import Batch as Batch
    from stream_bayes.features import LagFeatures as LagFeatures
    from stream_bayes.features import PolynomialFeatures as PolynomialFeatures
    from stream_bayes.features import hash_words as hash_words
    from stream_bayes.learners import BayesianLinearRegression as BayesianLinearRegression
    from stream_bayes.learners import BayesianLogisticRegression as BayesianLogisticRegression
    from stream_bayes.learners import BernoulliNB as BernoulliNB
    from stream_bayes.learners import BetaBernoulli as BetaBernoulli
    from stream_bayes.learners import CategoricalNB as CategoricalNB
    from stream_bayes.learners import GaussianDiscriminant as GaussianDiscriminant
    from stream_bayes.learners import GaussianNB as GaussianNB
    from stream_bayes.learners import GramRegression as GramRegression
    from stream_bayes.learners import Learner as Learner
    from stream_bayes.learners import LogisticRegression as LogisticRegression
    from stream_bayes.learners import LogOddsFusion as LogOddsFusion
    from stream_bayes.learners import MultinomialNB as MultinomialNB
    from stream_bayes.learners import NearestNeighbours as NearestNeighbours
    from stream_bayes.learners import PoissonNB as PoissonNB
    from stream_bayes.learners import PoissonRegression as PoissonRegression
    from stream_bayes.learners import Reliability as Reliability
    from stream_bayes.learners import RobustRegression as RobustRegression
    from stream_bayes.learners import SoftmaxRegression as SoftmaxRegression
    from stream_bayes.learners import WeightPrior as WeightPrior
    from stream_bayes.learners import load as load
    from stream_bayes.mail.filter import ExternalMember as ExternalMember
    from stream_bayes.mail.filter import MailPredictions as MailPredictions
    from stream_bayes.mail.filter import SpamFilter as SpamFilter
    from stream_bayes.posteriors import Beta as Beta
    from stream_bayes.posteriors import Dirichlet as Dirichlet
    from stream_bayes.posteriors import Gamma as Gamma
    from stream_bayes.posteriors import LabelPredictive as LabelPredictive
    from stream_bayes.posteriors import MvNormal as MvNormal
    from stream_bayes.posteriors import MvStudentT as MvStudentT
    from stream_bayes.posteriors import Normal as Normal
    from stream_bayes.posteriors import NormalInverseGamma as NormalInverseGamma
    from stream_bayes.posteriors import Poisson as Poisson
    from stream_bayes.posteriors import StudentT as StudentT
    from stream_bayes.runtime import Worker as Worker

__version__ = "0.1.0"

_LEARNERS = {
    "BayesianLinearRegression": "learners",
    "BayesianLogisticRegression": "learners",
    "BernoulliNB": "learners",
    "BetaBernoulli": "learners",
    "CategoricalNB": "learners",
    "GaussianDiscriminant": "learners",
    "GaussianNB": "learners",
    "GramRegression": "learners",
    "LogOddsFusion": "learners",
    "LogisticRegression": "learners",
    "MultinomialNB": "learners",
    "NearestNeighbours": "learners",
    "PoissonNB": "learners",
    "PoissonRegression": "learners",
    "RobustRegression": "learners",
    "SoftmaxRegression": "learners",
    "SpamFilter": "mail.filter",
}
_HOMES = {
    **_LEARNERS,
    "Batch": "features",
    "Beta": "posteriors",
    "Dirichlet": "posteriors",
    "Engine": "engine",
    "ExternalMember": "mail.filter",
    "Gamma": "posteriors",
    "LabelBudget": "active",
    "LabelPredictive": "posteriors",
    "LabelSelector": "active",
    "LagFeatures": "features",
    "Learner": "learners",
    "MailPredictions": "mail.filter",
    "MvNormal": "posteriors",
    "MvStudentT": "posteriors",
    "Normal": "posteriors",
    "NormalInverseGamma": "posteriors",
    "Poisson": "posteriors",
    "PolynomialFeatures": "features",
    "Reliability": "learners",
    "StudentT": "posteriors",
    "WeightPrior": "learners",
    "Worker": "runtime",
    "hash_words": "features",
    "load": "learners",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the names are the keys above

learner_registry.announce({name: f"{__name__}.{home}" for name, home in _LEARNERS.items()})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
