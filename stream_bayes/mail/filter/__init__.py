"""Mail: the default composition of learners for it, and what it says."""

from stream_bayes.mail.filter.explanation import Explanation, Share
from stream_bayes.mail.filter.external_members import Outsider
from stream_bayes.mail.filter.predictions import MailPredictions
from stream_bayes.mail.filter.spam_filter import SpamFilter

__all__ = ["Explanation", "MailPredictions", "Outsider", "Share", "SpamFilter"]
