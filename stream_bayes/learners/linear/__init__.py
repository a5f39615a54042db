"""Bayesian linear models: a Gaussian posterior of the weights, exact where there is a closed form.

bayesian      BayesianLinearRegression
logistic      BayesianLogisticRegression
robust        RobustRegression: Laplace and Student's t noise
weights       the posterior of the weights, full or diagonal
full          full covariance: the factor of the precision
diagonal      one variance for each weight
corrections   merging and unlearning
information   entropy, mutual information and marginal likelihood
"""

from stream_bayes.learners.linear.bayesian import BayesianLinearRegression
from stream_bayes.learners.linear.logistic import BayesianLogisticRegression
from stream_bayes.learners.linear.robust import RobustRegression

__all__ = ["BayesianLinearRegression", "BayesianLogisticRegression", "RobustRegression"]
