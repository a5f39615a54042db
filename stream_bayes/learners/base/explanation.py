"""Explanation of a prediction as a sum of feature contributions, in the form that all learners share."""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.learners.base.labels import Label


class FeatureContribution(NamedTuple):
    """The contribution of one feature to the log-odds of a label, or to a predicted number."""

    kind: str
    """word, feature, host, sender, ..."""
    text: str
    share: float
    seen: int | None = None
    """Labelled events that had it."""
    seen_towards: int | None = None
    """Labelled events that had it and the label that positive contributions support."""
    note: str | None = None
    """Why the share has another sign than these counts, if it has."""


class EventExplanation(NamedTuple):
    """A prediction as a sum of contributions."""

    towards: Label | None
    """The label that positive contributions support. None if a number is predicted."""
    total: float | None
    """Its log-odds, or the number. None with fewer than two known labels."""
    reasons: tuple[FeatureContribution, ...]
    """The largest contributions, these first."""
    rest: dict[str, float]
    """The remaining parts of the total, by name."""
