"""Checkpoints of any learner, as a worker would write them, for the suites about what the page makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream_bayes.config import Settings
from stream_bayes.engine import Engine
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.engine.state import bookkeeping_of, state_of
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.persistence.checkpoint import Checkpoint
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.runtime import Worker
from stream_bayes.testing.streams import events, taught
from tests.support.workers import inputs_of, settings_in


class Clock:
    """Seconds that go by when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def checkpoint_store_of(settings: Settings, partition: int = 0) -> CheckpointStore:
    """Where a worker writes its checkpoints."""
    return CheckpointStore(settings.checkpoint_folder / settings.group / f"partition-{partition}")


def write_model(settings: Settings, learner: Any, number: int = 1, version: int = 1, partition: int = 0) -> Path:
    """A checkpoint of an engine whose learner this is."""
    engine = Engine(settings, partition)
    engine.model = ModelAdapter(learner)
    engine.model_version = version
    scalars, arrays = state_of(learner, bookkeeping_of(engine))
    return checkpoint_store_of(settings, partition).write(number, Checkpoint(engine.compatibility_key, scalars, arrays))


def trained_clone(learner: Any) -> Any:
    """A clone that has learned features that JSON can name."""
    stream = [({name: value for name, value in x.items() if isinstance(name, str)}, y) for x, y in events(learner)]
    return taught(learner, stream)


class MailWorker:
    """A log, and a worker with a mail filter that reads it."""

    def __init__(self, folder: Path, partitions: int = 1, **sections: dict[str, Any]) -> None:
        filtering = {"name": "SpamFilter", "parameters": {"buckets": 2**12}}
        self.settings = settings_in(folder, **{"learner": filtering, **sections})
        self.partitions = partitions
        self._path = folder / "log.db"

    def work(self, *mails: dict[str, Any], partition: int = 0) -> Worker:
        """Let a worker take mails, and write a checkpoint when it stops."""
        with SqliteLog(self._path, self.settings.group, inputs_of(self.settings), self.partitions) as log:
            for mail in mails:
                log.append("emails", json.dumps(mail).encode(), partition=partition)
            log.commit({})
            worker = Worker(self.settings, log)
            worker.run(drain=True)
        return worker


def mails(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Mails with labels: half of them spam from one shop, half of them ham from one office."""
    spam = {"text": "cheap pills, buy now http://shop.example/x", "sender": "offer@shop.example", "subject": "cheap"}
    ham = {"text": "lunch at noon? buy bread", "sender": "ann@office.example", "subject": "lunch"}
    both = {"ham": ham, "spam": spam}
    names = [("ham", "spam")[number % 2] for number in range(first, first + count)]
    return [{"id": f"m{first + place}", "label": name, **both[name]} for place, name in enumerate(names)]
