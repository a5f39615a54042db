"""Mail: the default composition of learners for it, and what it says."""

from stream_bayes.spam.explained import Explanation, Share
from stream_bayes.spam.filter import SpamFilter
from stream_bayes.spam.outsiders import Outsider
from stream_bayes.spam.predictions import MailPredictions

__all__ = ["Explanation", "MailPredictions", "Outsider", "Share", "SpamFilter"]
