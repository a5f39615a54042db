"""Several classifiers made one: their log-odds combined and calibrated online."""

from stream_bayes.learners.fusion.fusion import LogOddsFusion
from stream_bayes.learners.fusion.reliability import Reliability

__all__ = ["LogOddsFusion", "Reliability"]
