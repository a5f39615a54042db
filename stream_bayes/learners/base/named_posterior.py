"""NamedPosterior: the posterior of one parameter of a learner, with a description for people."""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.posteriors import Beta, Gamma, Normal, StudentT

ScalarPosterior = Beta | Gamma | Normal | StudentT
"""Posteriors of one number."""


class NamedPosterior(NamedTuple):
    """A posterior and a description of its quantity."""

    posterior: ScalarPosterior
    meaning: str
    note: str | None = None
    seen: int | None = None
    """Labelled events that had it."""
    seen_towards: int | None = None
    """Labelled events that had it and the label that `meaning` names."""
