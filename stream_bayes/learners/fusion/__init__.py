"""Fusion of classifiers: stacking or model averaging of their log-odds, and online calibration.

fusion        LogOddsFusion, and its Platt or beta calibration
members       the classifiers inside a fusion
weights       weights of a logistic model with full covariance
reliability   reliability diagram and expected calibration error
"""

from stream_bayes.learners.fusion.fusion import LogOddsFusion
from stream_bayes.learners.fusion.reliability import Reliability

__all__ = ["LogOddsFusion", "Reliability"]
