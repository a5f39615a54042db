"""How new a mail is, beside the mails that were learned, and how much of its log-odds is uncertain for that.

The novelty of a mail is the mean of 1 / (1 + n) over its features, n being the number of mails learned that had the
feature. A mail that is much newer than those learned so far is of a kind that has no labels: the few features that are
known may mean something else in it. Its log-odds f then get a variance in proportion to f^2. That moderates them to a
probability that is nowhere near 0 or 1, however large they are.
"""

from __future__ import annotations

import math

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import FloatArray

# Columns of the moving average of the novelty of mails, each when it was learned: the sum, and that of the weights.
TOTAL = 0
WEIGHT = 1
# The weight of the mail before; 33 mails count, so that the first ones, which are all new, are soon forgotten.
DECAY = 0.97
# Novelty below this is not unusual on any stream. On the tuning streams (`benchmarks/streams.py`), with 100 and 350
# labels, at least 97 % of the predictions with a probability above 0.95 are right up to here. Where mails of new kinds
# come, 61 to 91 % are right between 0.5 and 0.6, and 14 to 20 % above 0.7.
LEAST = 0.5
# How far above the usual novelty a mail must be; and how far the novelty of k features deviates by chance, times
# sqrt(k). A text message of 100 features often is new for the most part, and is predicted well.
MARGIN = 0.1
DEVIATION = 3.0
STEEPNESS = 16.0


@kernel
def usual_novelty(novelties: FloatArray) -> float:
    """The moving average of the novelty of learned mails; it starts from 1."""
    return float((novelties[TOTAL] + 1.0) / (novelties[WEIGHT] + 1.0))


@kernel
def note_novelty(novelties: FloatArray, novelty: float) -> None:
    """Take a learned mail into the moving average."""
    novelties[TOTAL] = DECAY * novelties[TOTAL] + novelty
    novelties[WEIGHT] = DECAY * novelties[WEIGHT] + 1.0


@kernel
def relative_variance(novelty: float, usual: float, features: int) -> float:
    """The variance of the log-odds of a mail for its unusual novelty, divided by their square."""
    bound = max(LEAST, usual + MARGIN + DEVIATION / math.sqrt(features + 1.0))
    excess = max(novelty - bound, 0.0)
    return STEEPNESS * excess * excess
