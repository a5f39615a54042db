"""Two million events through a worker, in one process: memory must stay where it is after the first tenth.

    python -m tests.soak --events 2000000

shows memory on the way, and ends with code 1 if it grows by 5 % or more, or if an event is not accounted for. The
log is fed by a thread while the worker reads, and trimmed by the worker, so it stays small as well.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from stream_bayes.config import (
    CheckpointSettings,
    EngineSettings,
    LabelSettings,
    LearnerSettings,
    RetentionSettings,
    Settings,
)
from stream_bayes.eventlog.base import Headers
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.records import Partition
from stream_bayes.runtime import Worker
from stream_bayes.runtime.worker import tune_gc
from tests.soak.memory import MAX_GROWTH, resident_bytes
from tests.support.mails import COMMON_WORDS, HAM_WORDS, SPAM_WORDS, make_mails

SAMPLES = 40
_FIRST = SAMPLES // 10
_AHEAD = 20_000
_CHUNK = 500
# The largest delay of a label in observations: the log and the dedup window still have its observation.
_LATEST = 2_000
_AGAIN = 100
_KEPT_SECONDS = 30.0
_WORDS = {"ham": HAM_WORDS.split(), "spam": SPAM_WORDS.split()}
_COMMON = COMMON_WORDS.split()

Event = tuple[str, bytes, Headers]
"""Topic, value and headers of a record."""


class Report(NamedTuple):
    """The result of a run."""

    memory: list[int]
    """Bytes after each part of the way."""
    counted: Counter[str]
    """What the engine did with the events, the predictions in the log, the size of the log's file."""
    expected: Counter[str]

    @property
    def growth(self) -> float:
        """The most memory after the first tenth, as a multiple of what it was then."""
        return max(self.memory[_FIRST:]) / self.memory[_FIRST - 1]


class Feed:
    """Events of all kinds, made up from a seed, and what should come of them."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)
        self._mails = make_mails(200, seed)
        self._open: list[tuple[str, str]] = []
        self._sent: list[tuple[str, Event]] = []
        self._number = 0
        self.expected: Counter[str] = Counter()

    def events(self, count: int) -> Iterator[Event]:
        """The next events of the stream."""
        for _ in range(count):
            kind = self._rng.choices(("observation", "late", "again", "garbage", "unknown"), (70, 24, 2, 2, 2))[0]
            yield getattr(self, f"_{kind}")()

    def _observation(self) -> Event:
        self._number += 1
        self.expected["predict"] += 1
        spam = self._rng.random() < 0.5
        label = "spam" if spam else "ham"
        known = self._rng.random() < 0.3
        name = f"event-{self._number}"
        if not known:
            self._open.append((name, label))
        event = self._as_event(name, label, spam=spam, known=known)
        if not known:
            self._sent = [*self._sent[-_AGAIN:], (name, event)]
        return event

    def _as_event(self, name: str, label: str, *, spam: bool, known: bool) -> Event:
        if self._rng.random() < 0.1:
            headers = [("content-type", b"message/rfc822"), ("id", name.encode())]
            own = [("label", label.encode())] if known else []
            return "emails", self._mails[2 * self._rng.randrange(100) + spam], (*headers, *own)
        words = [*self._rng.choices(_COMMON, k=12), *self._rng.choices(_WORDS[label], k=4), str(self._number)]
        content = {"id": name, "text": " ".join(words), "sender": f"a{self._rng.randrange(10**6)}@example.org"}
        return "emails", json.dumps({**content, **({"label": label} if known else {})}).encode(), ()

    def _late(self) -> Event:
        """A label for an observation that came without, now and then for one that has it."""
        del self._open[:-_LATEST]
        if not self._open:
            return self._observation()
        place = self._rng.randrange(len(self._open))
        name, label = self._open[place]
        if self._rng.random() < 0.95:
            self._open[place] = self._open[-1]
            self._open.pop()
        self.expected["label"] += 1
        return "labels", json.dumps({"id": name, "label": label}).encode(), ()

    def _again(self) -> Event:
        """An observation that came before, or another one with its id."""
        if not self._sent:
            return self._observation()
        name, event = self._rng.choice(self._sent)
        if self._rng.random() < 0.5:
            self.expected["duplicate"] += 1
            return event
        self.expected["refuse"] += 1
        return "emails", json.dumps({"id": name, "text": "another content"}).encode(), ()

    def _garbage(self) -> Event:
        self.expected["refuse"] += 1
        return self._rng.choice(("emails", "labels")), b"\xff" + self._rng.randbytes(40), ()

    def _unknown(self) -> Event:
        """A label without an observation, with an unused id."""
        self.expected["refuse"] += 1
        return "labels", json.dumps({"id": f"never-{self._rng.getrandbits(64)}", "label": "ham"}).encode(), ()


def soak(events: int, seed: int, passed: Callable[[int, int], None] = lambda _, __: None) -> Report:
    """Run events through a worker; `passed` is called after each part with the memory use."""
    with tempfile.TemporaryDirectory() as name:
        settings = settings_of(Path(name), events)
        path = Path(name) / "log.db"
        topics = settings.topics
        with SqliteLog(path, settings.group, (topics.observations, topics.labels)) as log:
            worker = Worker(settings, log)
            feed = Feed(seed)
            memory = list[int]()

            def sampled(number: int) -> None:
                memory.append(resident_bytes())
                passed(number, memory[-1])

            feeder = threading.Thread(target=fill, args=(path, feed, worker, events, sampled))
            feeder.start()
            worker.run()
            feeder.join()
            place = Partition(topics.predictions, 0)
            predictions = log.end_offsets(place.topic).get(place, 0)
        counts = worker.processors[0].engine.counts
        counted = Counter({**counts, "predictions": predictions, "bytes": path.stat().st_size})
    return Report(memory, counted, feed.expected)


def settings_of(folder: Path, events: int) -> Settings:
    """Everything small enough to be full before the first tenth of two millions is over."""
    return Settings(
        log=f"sqlite:///{folder / 'log.db'}",
        learner=LearnerSettings(parameters={"buckets": 2**14}),
        engine=EngineSettings(label_history=50_000, dedup_window=5 * _LATEST, observation_cache_bytes=4 << 20),
        labels=LabelSettings(budget=events),
        checkpoint=CheckpointSettings(folder=folder / "checkpoints", events=events // SAMPLES, keep=2),
        retention=RetentionSettings(days=_KEPT_SECONDS / 86_400.0),
    )


def fill(path: Path, feed: Feed, worker: Worker, events: int, sampled: Callable[[int], None]) -> None:
    """Append all events, never far ahead of the worker; take the samples; stop the worker in the end."""
    try:
        with SqliteLog(path) as log:
            written = 0
            parts = 0
            while worker.events < events and not worker.stopping:
                if written < events and written - worker.events < _AHEAD:
                    chunk = min(_CHUNK, events - written)
                    for topic, value, headers in feed.events(chunk):
                        log.append(topic, value, None, 0, headers)
                    log.commit({})
                    written += chunk
                else:
                    time.sleep(0.001)
                while parts < SAMPLES and worker.events >= (parts + 1) * events // SAMPLES:
                    parts += 1
                    sampled(worker.events)
    finally:
        worker.stop()


def troubles(report: Report) -> list[str]:
    """What is not as it should be, in words."""
    counted = report.counted
    expected = report.expected
    found = [
        f"{name}: {counted[name]:,} and not {expected[name]:,}"
        for name in ("predict", "duplicate", "refuse")
        if counted[name] != expected[name]
    ]
    if counted["learn"] + counted["repeat"] != expected["label"]:
        found.append(f"labels: {counted['learn'] + counted['repeat']:,} and not {expected['label']:,}")
    if counted["predictions"] != counted["predict"]:
        found.append(f"{counted['predictions']:,} predictions in the log of {counted['predict']:,}")
    return found


def main() -> int:
    """Soak as the arguments say; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.events < 20 * SAMPLES:
        parser.error(f"--events must be at least {20 * SAMPLES}")
    tune_gc()
    start = time.perf_counter()

    def passed(number: int, memory: int) -> None:
        print(f"{number:>12,} events  {time.perf_counter() - start:6.1f} s  {memory / 2**20:6.1f} MiB", flush=True)

    report = soak(arguments.events, arguments.seed, passed)
    print(", ".join(f"{name} {count:,}" for name, count in sorted(report.counted.items())))
    found = troubles(report)
    if report.growth >= MAX_GROWTH:
        found.append("memory grows")
    print(f"memory after the first tenth: x {report.growth:.3f}, less than x {MAX_GROWTH} is allowed")
    for trouble in found:
        print(trouble, file=sys.stderr)
    return 1 if found else 0
