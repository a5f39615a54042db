"""MailPredictions: predictions of a mail filter for a batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from stream_bayes.features.values import IntArray
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.typing import FloatArray


@dataclass(frozen=True, eq=False)
class MailPredictions(LabelPredictions):
    """Predictions for the mails of a batch, each made before its mail was learned."""

    spam_log_odds: FloatArray = field(default_factory=lambda: np.empty(0))
    """Log-odds of spam, the label named second: what mails are ranked by."""
    members: tuple[str, ...] = ()
    """The members of the fusion."""
    member_log_odds: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    """Log-odds of each member by itself, a row for each mail and a column for each member; 0 before it has learned."""

    def taken(self, rows: IntArray) -> Self:
        """Only these rows."""
        odds = self.log_odds[rows]
        mean = self.latent_mean[rows]
        variance = self.latent_variance[rows]
        own = self.spam_log_odds[rows], self.members, self.member_log_odds[rows]
        return type(self)(self.labels, self.probabilities[rows], odds, mean, variance, None, *own)
