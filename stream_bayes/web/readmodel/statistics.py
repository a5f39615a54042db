"""Statistics over time: the labels of one day, and the worker's status events as points of curves.

Status points are over all partitions and are thinned to some hundred.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import NamedTuple

from stream_bayes.events import Status
from stream_bayes.web.readmodel.request_queue import PartitionOffset

MAX_POINTS = 400
"""Points of a curve. With twice as many every second one is dropped."""
_SAME_POINT = 0.2
"""Seconds. Status events of several partitions within this time are one point."""
_CURVE_GROWTH = 1.1


class DailyLabel(NamedTuple):
    """A label of the day, after corrections."""

    labeller: str | None
    differs: bool | None
    """Whether the label differs from the predicted one. None if that is unknown, or the answer is the abstain label."""
    abstained: bool
    corrected: bool


class DailyTotals(NamedTuple):
    """Counts of one day's labels."""

    today: int
    mine: int
    differed: int
    compared: int
    """Labels that can be compared with a prediction."""
    abstained: int
    corrected: int
    first_at: datetime | None
    """When the first label was submitted."""


class DailyStats:
    """Labels of the newest day (UTC) that has any. A label counts once, however often it is reported."""

    def __init__(self) -> None:
        self._day: date | None = None
        self._labels: dict[PartitionOffset, DailyLabel] = {}
        self._first_at: datetime | None = None

    def add(self, place: PartitionOffset, at: datetime, label: DailyLabel) -> None:
        """Add or replace the label of an observation. Once corrected it stays so."""
        at = at.astimezone(UTC)
        if self._day is None or at.date() > self._day:
            self._day = at.date()
            self._labels = {}
            self._first_at = at
        if at.date() < self._day:
            return
        before = self._labels.get(place)
        self._labels[place] = label._replace(corrected=label.corrected or (before is not None and before.corrected))
        if self._first_at is None or at < self._first_at:
            self._first_at = at

    def remove(self, place: PartitionOffset) -> None:
        """Remove a label that the worker refused."""
        self._labels.pop(place, None)

    def totals(self, today: date, labeller: str | None) -> DailyTotals:
        """Return the counts of this day, and of one labeller."""
        if self._day != today:
            return DailyTotals(0, 0, 0, 0, 0, 0, None)
        labels = self._labels.values()
        return DailyTotals(
            today=len(labels),
            mine=sum(one.labeller == labeller for one in labels),
            differed=sum(one.differs is True for one in labels),
            compared=sum(one.differs is not None for one in labels),
            abstained=sum(one.abstained for one in labels),
            corrected=sum(one.corrected for one in labels),
            first_at=self._first_at,
        )


class StatusPoint(NamedTuple):
    """The state of all partitions at one time. Counts are since the beginning of the stream."""

    at: datetime
    events: int
    predictions: int
    labels: int
    requested: int
    left: int | None
    lag: int
    labelled: float
    """Predictions whose label is known. The metrics below are over these."""
    right: float | None
    log_loss: float | None
    """The sum of log losses."""
    roca: float | None
    """The mean over partitions, weighted by labels: areas under a curve are not additive."""
    squared: float | None
    """The sum of squared errors, where numbers are predicted."""
    planned: float | None
    """Labels that the budget's pace would have requested."""
    rate: float = 0.0
    """Events a second, summed over partitions, each between its last two status events."""

    def accuracy_since(self, before: StatusPoint | None) -> float | None:
        """Return the accuracy over the labels since an earlier point, or since the beginning."""
        return _ratio(self.right, self.labelled, before and before.right, before and before.labelled)

    def log_loss_since(self, before: StatusPoint | None) -> float | None:
        """Return the mean log loss over the labels since an earlier point."""
        return _ratio(self.log_loss, self.labelled, before and before.log_loss, before and before.labelled)


class StatusHistory:
    """The newest status of each partition, and points over time."""

    def __init__(self) -> None:
        self.newest: dict[int, Status] = {}
        self.points: list[StatusPoint] = []
        self._rates: dict[int, float] = {}
        self._anchor: datetime | None = None
        # Partitions with a status event since the anchor.
        self._reported: set[int] = set()
        # Points of the learning curve at counts of events and labels that grow by a tenth. They are never thinned.
        self._curve: list[StatusPoint] = []

    def add(self, status: Status) -> None:
        """Add a status event. One older than the newest of its partition is ignored."""
        before = self.newest.get(status.partition)
        if before is not None and status.at <= before.at:
            return
        self.newest[status.partition] = status
        self._rates[status.partition] = 0.0 if before is None else _rate(before, status)
        point = _point(self.newest.values(), status.at)._replace(rate=sum(self._rates.values()))
        is_near = self._anchor is not None and (point.at - self._anchor).total_seconds() < _SAME_POINT
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
        """The newest point, or None."""
        return self.points[-1] if self.points else None

    def before(self, moment: datetime) -> StatusPoint | None:
        """Return the last point before a time."""
        return next((point for point in reversed(self.points) if point.at < moment), None)

    def spread(self, most: int) -> list[StatusPoint]:
        """Return at most `most` evenly spaced points, with the last one."""
        step = -(-len(self.points) // most) if self.points else 1
        return list(reversed(self.points[::-1][::step]))

    def curve(self, most: int) -> list[StatusPoint]:
        """Return the points of a learning curve by time: those at growing counts, and at most `most` others."""
        return sorted({*self._curve, *self.spread(most)}, key=lambda point: point.at)

    def calibration(self) -> list[tuple[float, float, int]]:
        """Return for each tenth of the probabilities: the mean prediction, the observed share, and the count."""
        sums: dict[int, tuple[float, float, int]] = {}
        for status in self.newest.values():
            for predicted, observed, count in status.calibration:
                tenth = min(int(10 * predicted), 9)
                before = sums.get(tenth, (0.0, 0.0, 0))
                sums[tenth] = before[0] + predicted * count, before[1] + observed * count, before[2] + count
        return [
            (predicted / count, observed / count, count) for _, (predicted, observed, count) in sorted(sums.items())
        ]


def _is_further(point: StatusPoint, before: StatusPoint) -> bool:
    """Whether events or labels have grown by a tenth."""
    return point.events > _CURVE_GROWTH * before.events or point.labels > _CURVE_GROWTH * before.labels


def _point(statuses: Iterable[Status], at: datetime) -> StatusPoint:
    known = list(statuses)
    planned = [status.labels_planned for status in known if status.labels_planned is not None]
    left = [status.labels_remaining for status in known if status.labels_remaining is not None]
    weights = {id(status): float(status.metrics.get("labelled") or 0.0) for status in known}

    def total(name: str, power: int = 1) -> float | None:
        found = [(_metric(status.metrics, name), weights[id(status)]) for status in known]
        terms = [value**power * weight for value, weight in found if value is not None]
        return sum(terms) if terms else None

    area = [(_metric(status.metrics, "one_minus_roca_percent"), weights[id(status)]) for status in known]
    ranked = sum(weight for value, weight in area if value is not None)
    return StatusPoint(
        at=at.astimezone(UTC),
        events=sum(status.events_in for status in known),
        predictions=sum(status.predictions for status in known),
        labels=sum(status.labels_learned for status in known),
        requested=sum(status.labels_requested for status in known),
        left=sum(left) if left else None,
        lag=sum(status.lag for status in known),
        labelled=sum(weights.values()),
        right=total("accuracy"),
        log_loss=total("log_loss"),
        roca=sum(value * weight for value, weight in area if value is not None) / ranked if ranked else None,
        squared=total("root_mean_squared_error", 2),
        planned=sum(planned) if planned and len(planned) == len(known) else None,
    )


def _rate(before: Status, now: Status) -> float:
    """Return events a second. 0 if the count went back: the model was started again."""
    seconds = (now.at - before.at).total_seconds()
    return max(now.events_in - before.events_in, 0) / seconds if seconds > 0 else 0.0


def _metric(metrics: Mapping[str, float | None], name: str) -> float | None:
    value = metrics.get(name)
    return None if value is None or math.isnan(value) else float(value)


def _ratio(
    total: float | None, count: float | None, total_before: float | None, count_before: float | None
) -> float | None:
    """Return the growth of a sum over the growth of its count."""
    if total is None or count is None:
        return None
    growth = count - (count_before or 0.0)
    return (total - (total_before or 0.0)) / growth if growth > 0 else None
