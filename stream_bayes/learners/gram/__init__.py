"""Regression from the Gram matrix: sufficient statistics of a stream, and the linear models that follow from them.

regression   GramRegression: ridge, LASSO, elastic net, lp, selection, evidence, likelihood
learner      GramLearner: learning, unlearning, merging and predicting
moments      counts, means and scatter of features and target
unlearning   checks before an event is unlearned
design       columns that some event had, with their factor and singular values
factor       pivoted Cholesky factor of X'X, and ridge fits by QR
spectrum     singular values, and ridge fits of all strengths
penalties    weights under a penalty
descent      LASSO by coordinate descent
powers       lp penalties by coordinate descent and Newton steps
selection    stepwise, filter and exhaustive selection of features
cross_validation   cross_validate: strengths by events held out, from the sums of folds
evidence     marginal likelihood and its maximum
results      value objects of the answers
"""

from stream_bayes.learners.gram.cross_validation import cross_validate
from stream_bayes.learners.gram.regression import GramRegression
from stream_bayes.learners.gram.results import (
    BiasVariance,
    CrossValidation,
    EvidenceMaximum,
    Fit,
    Path,
    SelectionStep,
    Subset,
)

__all__ = [
    "BiasVariance",
    "CrossValidation",
    "EvidenceMaximum",
    "Fit",
    "GramRegression",
    "Path",
    "SelectionStep",
    "Subset",
    "cross_validate",
]
