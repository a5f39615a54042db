"""Online learning by stochastic gradient descent: point estimates of weights, without a posterior.

base       what they share: growable weights, learning rates, penalties
logistic   LogisticRegression
softmax    SoftmaxRegression
poisson    PoissonRegression
"""

from stream_bayes.learners.gradient.logistic import LogisticRegression
from stream_bayes.learners.gradient.poisson import PoissonRegression, RatePredictions
from stream_bayes.learners.gradient.softmax import SoftmaxRegression

__all__ = ["LogisticRegression", "PoissonRegression", "RatePredictions", "SoftmaxRegression"]
