"""How the worker is doing, as events that a page or a monitor draws from."""

from __future__ import annotations

from datetime import UTC, datetime

from stream_bayes.events import Status
from stream_bayes.log.base import Log
from stream_bayes.worker.keeping import Keeper
from stream_bayes.worker.shard import Shard


def lag_of(shard: Shard, log: Log) -> int:
    """Records that the shard has still to read."""
    ends = {
        place: end for topic in {place.topic for place in shard.positions} for place, end in log.ends(topic).items()
    }
    return sum(max(ends.get(place, 0) - position, 0) for place, position in shard.positions.items())


def status_of(shard: Shard, keeper: Keeper, log: Log, started_at: datetime) -> Status:
    """The state of one partition; counts are since the beginning of the stream, seconds since the worker started."""
    engine = shard.engine
    return Status(
        at=datetime.now(UTC),
        group=shard.settings.group,
        partition=shard.number,
        started_at=started_at,
        events_in=engine.counts.total(),
        predictions=engine.counts["predict"],
        labels_learned=engine.model_version,
        labels_used=engine.budget.used,
        labels_left=engine.budget.left,
        open_requests=len(engine.open_requests),
        duplicates=engine.counts["duplicate"],
        dead=engine.counts["refuse"],
        dead_by_code=dict(engine.refused),
        lag=lag_of(shard, log),
        stage_seconds=shard.stages.seconds.copy(),
        metrics=engine.metrics.figures(numbers=engine.model.predicts_numbers),
        calibration=tuple(engine.metrics.calibration()),
        checkpoint_age_seconds=keeper.age_seconds,
        checkpoint_offset=keeper.number,
        model_version=engine.model_version,
    )
