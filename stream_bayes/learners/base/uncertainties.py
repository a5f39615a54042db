"""Uncertainties: the uncertainty of a batch of predictions, as strategies of active learning use it."""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.typing import FloatArray


class Uncertainties(NamedTuple):
    """The uncertainty of predictions, one row for each."""

    probabilities: FloatArray
    """One column for each label, NaN where the label is unknown; no columns if numbers are predicted."""
    variance: FloatArray
    """The variance of the indicator of the most probable label, p (1 - p), or of the number."""
    epistemic_variance: FloatArray
    """The part of the variance that more data would remove; NaN if the learner does not state it."""
    latent_variance: FloatArray
    """The variance of the latent log-odds; NaN if there are none, or no posterior of them."""
    members: FloatArray
    """The log-odds by each member of a fusion; no columns without members."""
    latent_mean: FloatArray
    """The mean of the latent log-odds of the most probable label; NaN if there are none."""
    counts: FloatArray
    """The pseudo-counts of exact Beta posteriors, a pair in each row; no columns without them."""
