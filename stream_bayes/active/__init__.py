"""Active learning: which labels to request, within a budget.

selector            the decision for each observation, and its requests: `LabelSelector`
strategies          query strategies, scores of predictions: `STRATEGIES`
uncertainty         the uncertainty of predictions, which strategies score
budget              how many labels may be requested, and how fast: `LabelBudget`
threshold           the moving quantile of recent scores that a score has to pass
surprise            the surprise of recent answers, which sets the urgency of requests
coverage            density-weighted sampling: which mails are common and rarely labelled
near_duplicates     near-duplicate detection by MinHash
requests            open and expired requests, and the values that go with them
batch_selection     the best rows of a window together: `select_batch`
audit               an unbiased estimate of the accuracy, from labels requested at random
labellers           the agreement of labellers
validation          checks of the arguments of a selector
"""

from stream_bayes.active.budget import LabelBudget
from stream_bayes.active.requests import Candidate, Expected, Request, RequestReason
from stream_bayes.active.selector import LabelSelector
from stream_bayes.active.strategies import STRATEGIES

__all__ = ["STRATEGIES", "Candidate", "Expected", "LabelBudget", "LabelSelector", "Request", "RequestReason"]
