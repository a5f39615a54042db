"""What the worker said of itself over time, as points of curves: all partitions together, thinned to some hundred."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from stream_bayes.events import Status

MAX_POINTS = 400
"""Of a curve; between them every second one is dropped when there are twice as many."""
_TOGETHER = 0.2
"""Seconds: what several partitions say within them is one point."""
_CURVE_GROWTH = 1.1


class StatusPoint(NamedTuple):
    """The state of all partitions at one time; counts are since the beginning of the stream."""

    at: datetime
    events: int
    predictions: int
    labels: int
    asked: int
    left: int | None
    lag: int
    labelled: float
    """Predictions whose label has come: what the figures below are over."""
    right: float | None
    log_loss: float | None
    """The sum."""
    roca: float | None
    """The mean of the partitions, by their labels: areas do not add up."""
    squared: float | None
    """The sum of squared errors, where numbers are predicted."""
    planned: float | None
    """Labels that the pace of the budget would have asked for."""
    rate: float = 0.0
    """Events a second: the sum over the partitions, each between its last two reports."""

    def accuracy_since(self, before: StatusPoint | None) -> float | None:
        """The share of right guesses among those labelled since; from the beginning where there is nothing before."""
        return _ratio(self.right, self.labelled, before and before.right, before and before.labelled)

    def log_loss_since(self, before: StatusPoint | None) -> float | None:
        """The mean log loss of those labelled since."""
        return _ratio(self.log_loss, self.labelled, before and before.log_loss, before and before.labelled)


class StatusHistory:
    """The newest status of each partition, and the points."""

    def __init__(self) -> None:
        self.newest: dict[int, Status] = {}
        self.points: list[StatusPoint] = []
        self._rates: dict[int, float] = {}
        self._anchor: datetime | None = None
        # Partitions that have reported since then.
        self._reported: set[int] = set()
        # Points of the learning curve, at counts of events and labels that grow by a tenth: they are never thinned.
        self._curve: list[StatusPoint] = []

    def add(self, status: Status) -> None:
        """The worker has said how a partition is doing; what is older than the newest of it does not count."""
        before = self.newest.get(status.partition)
        if before is not None and status.at <= before.at:
            return
        self.newest[status.partition] = status
        self._rates[status.partition] = 0.0 if before is None else _rate(before, status)
        point = _point(self.newest.values(), status.at)._replace(rate=sum(self._rates.values()))
        is_near = self._anchor is not None and (point.at - self._anchor).total_seconds() < _TOGETHER
        if is_near and status.partition not in self._reported:
            self.points[-1] = point
        else:
            self._anchor = point.at
            self._reported.clear()
            self.points.append(point)
        self._reported.add(status.partition)
        if not self._curve or _is_further(point, self._curve[-1]):
            self._curve.append(point)
        if len(self.points) >= 2 * MAX_POINTS:
            self.points = [*self.points[:-1:2], self.points[-1]]

    @property
    def last(self) -> StatusPoint | None:
        """The newest point."""
        return self.points[-1] if self.points else None

    def before(self, moment: datetime) -> StatusPoint | None:
        """The last point before a time."""
        return next((point for point in reversed(self.points) if point.at < moment), None)

    def spread(self, most: int) -> list[StatusPoint]:
        """At most so many points, evenly, the last one included."""
        step = -(-len(self.points) // most) if self.points else 1
        return list(reversed(self.points[::-1][::step]))

    def curve(self, most: int) -> list[StatusPoint]:
        """Points of a learning curve in the order of time: those at growing counts, and at most so many others."""
        return sorted({*self._curve, *self.spread(most)}, key=lambda point: point.at)

    def calibration(self) -> list[tuple[float, float, int]]:
        """Of each tenth of the probabilities: the mean that was said, the share observed, and the count."""
        sums: dict[int, tuple[float, float, int]] = {}
        for status in self.newest.values():
            for said, observed, count in status.calibration:
                tenth = min(int(10 * said), 9)
                before = sums.get(tenth, (0.0, 0.0, 0))
                sums[tenth] = before[0] + said * count, before[1] + observed * count, before[2] + count
        return [(said / count, observed / count, count) for _, (said, observed, count) in sorted(sums.items())]


def _is_further(point: StatusPoint, before: StatusPoint) -> bool:
    """Whether there are a tenth more events or labels."""
    return point.events > _CURVE_GROWTH * before.events or point.labels > _CURVE_GROWTH * before.labels


def _point(statuses: Iterable[Status], at: datetime) -> StatusPoint:
    known = list(statuses)
    planned = [status.labels_planned for status in known if status.labels_planned is not None]
    left = [status.labels_remaining for status in known if status.labels_remaining is not None]
    weights = {id(status): float(status.metrics.get("labelled") or 0.0) for status in known}

    def total(name: str, power: int = 1) -> float | None:
        found = [(_figure(status.metrics, name), weights[id(status)]) for status in known]
        there = [figure**power * weight for figure, weight in found if figure is not None]
        return sum(there) if there else None

    area = [(_figure(status.metrics, "one_minus_roca_percent"), weights[id(status)]) for status in known]
    ranked = sum(weight for figure, weight in area if figure is not None)
    return StatusPoint(
        at=at.astimezone(UTC),
        events=sum(status.events_in for status in known),
        predictions=sum(status.predictions for status in known),
        labels=sum(status.labels_learned for status in known),
        asked=sum(status.labels_requested for status in known),
        left=sum(left) if left else None,
        lag=sum(status.lag for status in known),
        labelled=sum(weights.values()),
        right=total("accuracy"),
        log_loss=total("log_loss"),
        roca=sum(figure * weight for figure, weight in area if figure is not None) / ranked if ranked else None,
        squared=total("root_mean_squared_error", 2),
        planned=sum(planned) if planned and len(planned) == len(known) else None,
    )


def _rate(before: Status, now: Status) -> float:
    """Events a second; 0 where a model was made anew."""
    seconds = (now.at - before.at).total_seconds()
    return max(now.events_in - before.events_in, 0) / seconds if seconds > 0 else 0.0


def _figure(metrics: Mapping[str, float | None], name: str) -> float | None:
    value = metrics.get(name)
    return None if value is None or math.isnan(value) else float(value)


def _ratio(
    total: float | None, count: float | None, total_before: float | None, count_before: float | None
) -> float | None:
    """What has come to a sum, over what has come to its count."""
    if total is None or count is None:
        return None
    came = count - (count_before or 0.0)
    return (total - (total_before or 0.0)) / came if came > 0 else None
