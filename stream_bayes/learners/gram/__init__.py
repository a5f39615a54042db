"""Regression from the Gram matrix: sufficient statistics of a stream, and the linear models that follow from them.

regression   GramRegression: ridge, LASSO, elastic net, stepwise selection, evidence
learner      GramLearner: learning, unlearning, merging and predicting
moments      counts, means and scatter of features and target
unlearning   checks before an event is unlearned
design       columns that some event had, with their factor and singular values
factor       pivoted Cholesky factor of X'X, and ridge fits by QR
spectrum     singular values, and ridge fits of all strengths
penalties    weights under a penalty
descent      LASSO by coordinate descent
evidence     marginal likelihood and its maximum
results      value objects of the answers
"""

from stream_bayes.learners.gram.regression import GramRegression
from stream_bayes.learners.gram.results import BiasVariance, EvidenceMaximum, Fit, Path, SelectionStep

__all__ = ["BiasVariance", "EvidenceMaximum", "Fit", "GramRegression", "Path", "SelectionStep"]
