"""Chart data: learning curve, calibration, budget, rates and histograms."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from stream_bayes.events import Prediction
from stream_bayes.web.readmodel.state_store import StateStore
from stream_bayes.web.readmodel.statistics import StatusPoint
from stream_bayes.web.schemas import (
    BudgetPoint,
    CalibrationPoint,
    Charts,
    CurvePoint,
    HistogramBin,
    RatePoint,
)

MAX_CURVE_POINTS = 200
"""Points of a curve, besides those at growing counts."""
BINS = 20
RECENT_LABELS = 50
"""The recent log loss is over at least this many labels."""
_STATES = ("open", "answered", "closed")


def charts_of(store: StateStore) -> Charts:
    """Return the data of all charts. Call it within `store.read_lock()`."""
    history = store.history
    points = history.spread(MAX_CURVE_POINTS)
    last = history.last
    label = second_label(store.predictions)
    probabilities = [p for one in store.predictions if (p := _probability(one, label)) is not None]
    return Charts(
        at=datetime.now(UTC),
        curve=tuple(_curve(history.curve(MAX_CURVE_POINTS))),
        calibration=tuple(
            CalibrationPoint(predicted=predicted, observed=observed, count=count)
            for predicted, observed, count in history.calibration()
        ),
        calibration_label=label,
        budget=tuple(
            BudgetPoint(at=point.at, events=point.predictions, requested=point.requested, planned=point.planned)
            for point in points
        ),
        budget_total=None if last is None or last.left is None else last.requested + last.left,
        budget_left=None if last is None else last.left,
        rates=tuple(RatePoint(at=point.at, per_second=point.rate, lag=point.lag) for point in points[1:]),
        histogram=tuple(
            _histogram([(probability, "predictions") for probability in probabilities], 0.0, 1.0, ("predictions",))
        ),
        histogram_of=len(probabilities),
        histogram_label=label,
        expected_error=_expected_error(store.predictions),
        scores=tuple(_score_histogram(list(store.queue.scored()))),
    )


def second_label(predictions: Sequence[Prediction]) -> str | None:
    """Return the label whose probability is drawn: of two labels the second one, which is spam for mail."""
    newest = next((one.probabilities for one in reversed(predictions) if one.probabilities), None)
    return None if not newest or len(newest) != 2 else list(newest)[1]


def _probability(prediction: Prediction, label: str | None) -> float | None:
    """Return the probability of the label, or of the most probable one if there are more than two."""
    table = prediction.probabilities
    if not table:
        return None
    return max(table.values()) if label is None else table.get(label)


def _expected_error(predictions: Sequence[Prediction]) -> float | None:
    """Return the mean of 1 - p over the predicted labels: the error rate of a calibrated model."""
    errors = [1.0 - max(one.probabilities.values()) for one in predictions if one.probabilities]
    return math.fsum(errors) / len(errors) if errors else None


def _curve(points: Sequence[StatusPoint]) -> Iterable[CurvePoint]:
    recent = deque[StatusPoint]()
    for point in points:
        recent.append(point)
        while len(recent) > 1 and point.labelled - recent[1].labelled >= RECENT_LABELS:
            recent.popleft()
        error = None
        if point.squared is not None and point.labelled:
            error = math.sqrt(point.squared / point.labelled)
        yield CurvePoint(
            at=point.at,
            events=point.predictions,
            labels=point.labels,
            roca=point.roca,
            log_loss=point.log_loss_since(None),
            recent_log_loss=_recent_log_loss(point, recent[0]),
            accuracy=point.accuracy_since(None),
            error=error,
        )


def _recent_log_loss(point: StatusPoint, before: StatusPoint) -> float | None:
    """Return the log loss of the last labels, once there are enough of them."""
    return point.log_loss_since(before) if point.labelled - before.labelled >= RECENT_LABELS else None


def _score_histogram(scored: Sequence[tuple[float, str]]) -> Iterable[HistogramBin]:
    finite = [(score, state) for score, state in scored if math.isfinite(score)]
    if not finite:
        return ()
    low = min(score for score, _ in finite)
    high = max(score for score, _ in finite)
    return _histogram(finite, low, high if high > low else low + max(abs(low), 1.0) * 1e-6, _STATES)


def _histogram(
    values: Sequence[tuple[float, str]], low: float, high: float, names: Sequence[str]
) -> list[HistogramBin]:
    """Return bins of equal width from low to high, each with a count by name."""
    counts = [dict.fromkeys(names, 0) for _ in range(BINS)]
    for value, name in values:
        counts[min(max(int((value - low) / (high - low) * BINS), 0), BINS - 1)][name] += 1
    width = (high - low) / BINS
    edges = [low + index * width for index in range(BINS + 1)]
    return [
        HistogramBin(low=left, high=right, counts=row)
        for (left, right), row in zip(pairwise(edges), counts, strict=True)
    ]
