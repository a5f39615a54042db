"""Stateful learners that take one event at a time, each a river estimator.

All of them are imported together, so that `Learner.load` knows every kind that a snapshot may hold.
"""

from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.learner import Additive, Learner, LearnerState
from stream_bayes.learners.base.number_predictions import NumberPredictions
from stream_bayes.learners.beta_bernoulli import BetaBernoulli
from stream_bayes.learners.discriminant import GaussianDiscriminant
from stream_bayes.learners.fusion import LogOddsFusion, Reliability
from stream_bayes.learners.gradient import LogisticRegression, PoissonRegression, SoftmaxRegression
from stream_bayes.learners.gram import GramRegression
from stream_bayes.learners.linear import BayesianLinearRegression, BayesianLogisticRegression
from stream_bayes.learners.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB

__all__ = [
    "Additive",
    "BayesianLinearRegression",
    "BayesianLogisticRegression",
    "BernoulliNB",
    "BetaBernoulli",
    "CategoricalNB",
    "GaussianDiscriminant",
    "GaussianNB",
    "GramRegression",
    "LabelPredictions",
    "Learner",
    "LearnerState",
    "LogOddsFusion",
    "LogisticRegression",
    "MultinomialNB",
    "NumberPredictions",
    "PoissonNB",
    "PoissonRegression",
    "Reliability",
    "SoftmaxRegression",
]
