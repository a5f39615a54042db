"""Which labels to ask for: scores of predictions, and a budget that limits them."""

from stream_bayes.active.budget import LabelBudget
from stream_bayes.active.selector import LabelSelector

__all__ = ["LabelBudget", "LabelSelector"]
