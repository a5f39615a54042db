"""MailPredictions: predictions of a mail filter for a batch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.typing import FloatArray


@dataclass(frozen=True, eq=False)
class MailPredictions(LabelPredictions):
    """Predictions for the mails of a batch, each made before its mail was learned."""

    spam_log_odds: FloatArray = field(default_factory=lambda: np.empty(0))
    """Log-odds of spam, the label named second: what mails are ranked by."""
    members: tuple[str, ...] = ()
    """The members of the fusion, in the order of the columns of `member_log_odds`."""
