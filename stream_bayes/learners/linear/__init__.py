"""Linear models with a Gaussian belief about their weights, exact where the mathematics allows it."""

from stream_bayes.learners.linear.bayesian import BayesianLinearRegression
from stream_bayes.learners.linear.logistic import BayesianLogisticRegression

__all__ = ["BayesianLinearRegression", "BayesianLogisticRegression"]
