"""Label requests and status events, as the page reads them from the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from stream_bayes.events import LabelRequest, Status
from stream_bayes.records import Source

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def request(offset: int, score: float = 0.1, variance: float = 0.2, partition: int = 0) -> LabelRequest:
    return LabelRequest(
        id=f"mail-{offset}",
        score=score,
        strategy="epistemic",
        probabilities={"ham": 0.4, "spam": 0.6},
        variance=variance,
        source=Source("emails", partition, offset),
    )


def status(seconds: float, partition: int = 0, **fields: Any) -> Status:
    """A status event at this number of seconds after noon."""
    metrics = {"labelled": fields.pop("labelled", 0)}
    for name in ("accuracy", "log_loss", "one_minus_roca_percent", "root_mean_squared_error"):
        metrics[name] = fields.pop(name, None)
    given = {
        **dict.fromkeys(
            ("events_in", "predictions", "labels_learned", "labels_requested", "open_requests", "dead_letters"), 0
        ),
        **{"duplicates": 0, "dead_letters_by_code": {}, "lag": 0, "stage_seconds": {"fold": 1.5}, "model_version": 0},
        **fields,
    }
    at = NOW + timedelta(seconds=seconds)
    group = given.pop("group", "g")
    return Status(at=at, group=group, partition=partition, started_at=NOW, metrics=metrics, **given)
