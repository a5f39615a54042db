"""Which labels to ask for: scores of predictions, a budget that limits the questions, and what becomes of them.

doubts      what predictions say of their own doubt, ours or river's
scores      what that makes their labels worth: `STRATEGIES`
budget      how many labels, and how fast: `LabelBudget`
selector    one decision for each observation: `LabelSelector`
threshold, urgency, draws, times, similar, requests, arguments    its parts: the quantile that is followed, how fast to
            go, chance, when was asked, near-duplicates, open questions, what it is given
audit       the accuracy, estimated without bias from questions drawn by chance
labellers   how often later labels agree with each labeller
windows     the best rows of a window, all at once
"""

from stream_bayes.active.budget import LabelBudget
from stream_bayes.active.requests import Candidate, Expected, Request, RequestReason
from stream_bayes.active.selector import LabelSelector
from stream_bayes.active.strategies import STRATEGIES

__all__ = ["STRATEGIES", "Candidate", "Expected", "LabelBudget", "LabelSelector", "Request", "RequestReason"]
