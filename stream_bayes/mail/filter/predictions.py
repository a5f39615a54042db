"""MailPredictions: predictions of a mail filter for a batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
    """The members of the fusion, in the order of the columns of `member_log_odds`."""

    def taken(self, rows: IntArray) -> Self:
        """Only these rows."""
        return replace(
            self,
            probabilities=self.probabilities[rows],
            log_odds=self.log_odds[rows],
            latent_mean=self.latent_mean[rows],
            latent_variance=self.latent_variance[rows],
            member_log_odds=self.member_log_odds[rows],
            spam_log_odds=self.spam_log_odds[rows],
        )
