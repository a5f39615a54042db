"""SpamFilter: learners on several views of a mail, fused into one calibrated probability.

spam_filter         SpamFilter
composition         table of the members, their features and prior weights
evidence            tables of the members, and their arrays in a snapshot
external_members    classifiers of river as members
predictions         MailPredictions: predictions for a batch of mails
explanation         contributions of words, hosts and senders to the log-odds
feature_posteriors  probability of spam among the mails with a word, host or sender
labelled_memory     memory of labelled mails, with a support vector machine that is optimal over them
learned_mails       record of the mails that a filter has learned
"""

from stream_bayes.mail.filter.explanation import Contribution, Explanation
from stream_bayes.mail.filter.external_members import ExternalMember
from stream_bayes.mail.filter.predictions import MailPredictions
from stream_bayes.mail.filter.spam_filter import SpamFilter

__all__ = ["Contribution", "Explanation", "ExternalMember", "MailPredictions", "SpamFilter"]
