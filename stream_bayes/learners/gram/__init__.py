"""Regression from the Gram matrix: sufficient statistics of a stream, and every linear model they hold."""

from stream_bayes.learners.gram.regression import GramRegression
from stream_bayes.learners.gram.results import BiasVariance, EvidenceMaximum, Fit, Path, SelectionStep

__all__ = ["BiasVariance", "EvidenceMaximum", "Fit", "GramRegression", "Path", "SelectionStep"]
