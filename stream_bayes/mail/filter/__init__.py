"""Mail: the default composition of learners for it, and what it says."""

from stream_bayes.mail.filter.explanation import Contribution, Explanation
from stream_bayes.mail.filter.external_members import ExternalMember
from stream_bayes.mail.filter.predictions import MailPredictions
from stream_bayes.mail.filter.spam_filter import SpamFilter

__all__ = ["Contribution", "Explanation", "ExternalMember", "MailPredictions", "SpamFilter"]
