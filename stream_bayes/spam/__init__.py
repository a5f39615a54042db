"""Mail: the default composition of learners for it, and what it says."""

from stream_bayes.spam.filter import SpamFilter
from stream_bayes.spam.outsiders import Outsider
from stream_bayes.spam.predictions import MailPredictions

__all__ = ["MailPredictions", "Outsider", "SpamFilter"]
