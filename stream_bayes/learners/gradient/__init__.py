"""Gradient learners: a point in the space of weights, moved a step by each event."""

from stream_bayes.learners.gradient.logistic import LogisticRegression
from stream_bayes.learners.gradient.poisson import PoissonRegression, RatePredictions
from stream_bayes.learners.gradient.softmax import SoftmaxRegression

__all__ = ["LogisticRegression", "PoissonRegression", "RatePredictions", "SoftmaxRegression"]
