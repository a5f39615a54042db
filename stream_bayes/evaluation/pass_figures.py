"""The figures of a pass with few labels, what they are compared with, and which differences are within noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.evaluation.serialization import member_areas
from stream_bayes.typing import BoolArray

NOISE = 2.0
"""A difference of means of at most this number of standard errors is within noise."""


class PassFigures(NamedTuple):
    """The figures of one pass; a share that does not exist is NaN, as is (1-ROCA)% with one class only."""

    one_minus_roca_percent: float
    members: dict[str, float]
    """(1-ROCA)% of each member of a filter that combines several."""
    labels: int
    """Labels that were learned."""
    spam: float
    """The share of spam in the stream."""
    spam_in_labels: float
    """The share of spam among the labels that were learned."""
    late: int
    """Messages of late sources."""
    late_error: float
    """The share of misclassified messages among those of late sources."""


class BestMember(NamedTuple):
    """The fusion member with the smallest mean (1-ROCA)%."""

    name: str
    one_minus_roca_percent: float


def pass_figures(run: PassResult, late: BoolArray) -> PassFigures:
    """The figures of a pass; `late` says of each message with a label whether it is of a late source."""
    wrong = (run.log_odds > 0.0) != run.spam
    return PassFigures(
        one_minus_roca_percent(run.spam, run.log_odds),
        member_areas(run),
        int(run.learned.sum()),
        _share(run.spam, np.ones_like(run.spam)),
        _share(run.spam, run.learned),
        int(late.sum()),
        _share(wrong, late),
    )


def best_member(members: Sequence[Mapping[str, float]]) -> BestMember | None:
    """The best member over several passes, by the (1-ROCA)% of each member in each pass; None without members.

    >>> best_member([{"words": 1.0, "hosts": 2.0}, {"words": 3.0, "hosts": 1.0}])
    BestMember(name='hosts', one_minus_roca_percent=1.5)
    """
    names = members[0] if members else {}
    areas = {name: float(np.mean([areas[name] for areas in members])) for name in names}
    known = {name: area for name, area in areas.items() if not math.isnan(area)}
    if not known:
        return None
    name = min(known, key=lambda name: known[name])
    return BestMember(name, known[name])


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean; 0 for one value, as of a strategy that does not depend on the seed.

    >>> standard_error([1.0, 2.0, 3.0, 2.0]) ** 2 * 12
    2.0
    """
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def is_within_noise(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the means of two samples differ by no more than two standard errors of the difference.

    >>> is_within_noise([1.0, 3.0], [2.0, 6.0]), is_within_noise([1.0, 1.2], [3.0, 3.2])
    (True, False)
    """
    error = math.hypot(standard_error(first), standard_error(second))
    return bool(abs(np.mean(first) - np.mean(second)) <= NOISE * error)


def ratio(part: float, whole: float) -> float:
    """The quotient of two means; 1 if both are 0.

    >>> ratio(0.5, 2.0), ratio(0.0, 0.0), ratio(1.0, 0.0)
    (0.25, 1.0, inf)
    """
    if whole:
        return part / whole
    return math.inf if part else 1.0


def _share(values: BoolArray, where: BoolArray) -> float:
    return float(values[where].mean()) if where.any() else math.nan
