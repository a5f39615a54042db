"""Which observations are worth a question."""

from __future__ import annotations

from stream_bayes.posteriors.checked import non_negative


class LabelSelector:
    """Asks where the variance of the label, p (1 - p), or of the target, is at least so large.

    Examples
    --------
    >>> LabelSelector(least_variance=0.1).wants(0.25)
    True
    """

    strategy = "variance"

    def __init__(self, least_variance: float = 0.1) -> None:
        self.least_variance = non_negative("least_variance", least_variance)

    def wants(self, variance: float) -> bool:
        """Whether a label with this variance is worth asking for."""
        return variance >= self.least_variance
