"""Online learners, each a river estimator that learns from one event at a time.

base             the contract `Learner`, and what learners share
naive_bayes      naive Bayes: Bernoulli, multinomial, Poisson, categorical, Gaussian
beta_bernoulli   BetaBernoulli: the rate of a label, per value of a feature
discriminant     GaussianDiscriminant: linear and quadratic discriminant analysis
nearest_neighbours  NearestNeighbours: the labels of the most similar of the last events
linear           Bayesian linear, logistic and robust regression
gram             regression from the Gram matrix
gradient         logistic, softmax and Poisson regression by stochastic gradient descent
fusion           stacking, model averaging and calibration of classifiers

A new learner is a subclass of `Learner`. It registers itself by name in `stream_bayes.learner_registry`, where
snapshots and settings find it.
"""

from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.learner import Additive, Learner, LearnerState, load
from stream_bayes.learners.base.number_predictions import NumberPredictions
from stream_bayes.learners.base.weight_prior import WeightPrior
from stream_bayes.learners.beta_bernoulli import BetaBernoulli
from stream_bayes.learners.discriminant import GaussianDiscriminant
from stream_bayes.learners.fusion import LogOddsFusion, Reliability
from stream_bayes.learners.gradient import LogisticRegression, PoissonRegression, SoftmaxRegression
from stream_bayes.learners.gram import GramRegression
from stream_bayes.learners.linear import BayesianLinearRegression, BayesianLogisticRegression, RobustRegression
from stream_bayes.learners.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB
from stream_bayes.learners.nearest_neighbours import NearestNeighbours

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
    "NearestNeighbours",
    "NumberPredictions",
    "PoissonNB",
    "PoissonRegression",
    "Reliability",
    "RobustRegression",
    "SoftmaxRegression",
    "WeightPrior",
    "load",
]
