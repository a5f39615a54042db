"""Rescoring of open label requests with the newest model.

A label is requested for its acquisition score at that time. While the request waits, other labels are learned and its
score changes. The queue is ordered by the current score.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from threading import Event

from stream_bayes.active.strategies import STRATEGIES, scores
from stream_bayes.background import BackgroundThread
from stream_bayes.errors import BackgroundError, StreamBayesError
from stream_bayes.events import Observation
from stream_bayes.kernels.mail.decode import MAX_RAW
from stream_bayes.mail.parse.parsed_mail import MAX_HEADER
from stream_bayes.web.readmodel.request_queue import PartitionOffset, QueuedRequest
from stream_bayes.web.readmodel.state_store import StateStore
from stream_bayes.web.services.model_cache import ModelCache, NoModel, OpenedModel

logger = logging.getLogger("stream_bayes.web")

_POLL_SECONDS = 1.0
"""Seconds between two checks for a newer model."""
_BATCH_SIZE = 16
"""Requests whose new scores are stored together."""
_MAX_RESCORED = 1000
"""Requests that are rescored by one model, the highest score first."""
_READS_AT_ONCE = 100
_BYTES_AT_ONCE = 8 << 20
"""Observations read in one round, and their bytes. The thread that reads them also writes the labels."""
_KEPT_BYTES = 64 << 20
"""Bytes of observations kept for the next model: enough for all of them, if they are mails."""
_MAIL_BYTES = max(MAX_HEADER, MAX_RAW)
"""Learners ignore the rest of a longer mail."""
_EVENT_BYTES = 1000
"""Approximate overhead of an observation in memory."""
_FEATURE_BYTES = 150
"""Approximate overhead of a feature in memory."""


class _WaitingObservations:
    """Cache of the observations of waiting requests, each read from the log once, up to a number of bytes.

    Parameters
    ----------
    read
        Returns the observation at a place, or None if it cannot be read.
    max_bytes
        Bytes of all cached observations.
    """

    def __init__(self, read: Callable[[PartitionOffset], Observation | None], max_bytes: int) -> None:
        self._read = read
        self._max_bytes = max_bytes
        self._cached: dict[PartitionOffset, Observation | None] = {}
        self.bytes = 0
        """Bytes of the cached observations."""
        self._reads_left = 0
        self._bytes_left = 0

    def begin(self, waiting: Iterable[PartitionOffset], reads: int, max_bytes: int) -> None:
        """Start a round over these places that reads at most `reads` observations or `max_bytes` bytes."""
        places = set(waiting)
        for place in [place for place in self._cached if place not in places]:
            self.bytes -= _size_of(self._cached.pop(place))
        self._reads_left = reads
        self._bytes_left = max_bytes

    def can_get(self, place: PartitionOffset) -> bool:
        """Whether an observation is cached, or may be read in this round."""
        return place in self._cached or (self._reads_left > 0 and self._bytes_left > 0)

    def get(self, place: PartitionOffset) -> Observation | None:
        """Return the observation at a place, a mail cut to what learners read. None if it cannot be read."""
        if place in self._cached:
            return self._cached[place]
        observation = self._read(place)
        self._reads_left -= 1
        self._bytes_left -= _size_of(observation)
        if observation is not None and observation.raw is not None and len(observation.raw) > _MAIL_BYTES:
            observation = observation.model_copy(update={"raw": observation.raw[:_MAIL_BYTES]})
        # Nothing is evicted to make room: with a cyclic order of access each would evict the next.
        size = _size_of(observation)
        if self.bytes + size <= self._max_bytes:
            self._cached[place] = observation
            self.bytes += size
        return observation


class Rescorer:
    """A thread that rescores open label requests with the newest checkpoint of their partition.

    Observations are cached for the next checkpoint. One round reads only some of them from the log; the next round, a
    second later, reads the others.

    Parameters
    ----------
    store
        The store with the request queue.
    models
        The models of the newest checkpoints.
    read
        Returns the observation at a place, or None if it cannot be read.
    strategy
        The strategy if no request names one, as those of the audit do not.
    on_failure
        Called if the thread fails.
    """

    def __init__(
        self,
        store: StateStore,
        models: ModelCache,
        read: Callable[[PartitionOffset], Observation | None],
        strategy: str,
        on_failure: Callable[[BackgroundError], object] | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._observations = _WaitingObservations(read, _KEPT_BYTES)
        self._strategy = strategy
        self._stop = Event()
        self._thread = BackgroundThread(self._run, "web-rescoring", on_failure)

    @property
    def kept_bytes(self) -> int:
        """Bytes of the observations cached for the next checkpoint."""
        return self._observations.bytes

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and join it."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            try:
                self.rescore()
            except (StreamBayesError, OSError) as problem:
                logger.debug("label requests keep their scores: %s", problem)

    def rescore(self) -> None:
        """Rescore once the requests whose score is older than the newest model, within the limits of a round."""
        with self._store.read_lock():
            waiting = self._store.queue.waiting()[:_MAX_RESCORED]
            strategy = self._store.queue.strategy or self._strategy
        if strategy not in STRATEGIES:
            return
        self._observations.begin((queued.place for queued in waiting), _READS_AT_ONCE, _BYTES_AT_ONCE)
        by_partition: defaultdict[int, list[QueuedRequest]] = defaultdict(list)
        for queued in waiting:
            by_partition[queued.place[0]].append(queued)
        for partition, queued_requests in by_partition.items():
            try:
                opened = self._models.newest(partition)
            except NoModel:
                continue
            older = [queued for queued in queued_requests if _is_older(queued, opened)]
            for begin in range(0, len(older), _BATCH_SIZE):
                if self._stop.is_set():
                    return
                self._score(older[begin : begin + _BATCH_SIZE], opened, strategy)

    def _score(self, queued_requests: Iterable[QueuedRequest], opened: OpenedModel, strategy: str) -> None:
        rescored: list[tuple[QueuedRequest, float]] = []
        for queued in queued_requests:
            if not self._observations.can_get(queued.place):
                continue
            observation = self._observations.get(queued.place)
            rescored.append((queued, _score_of(opened, observation, strategy)))
        if not rescored:
            return
        with self._store.write_lock():
            for queued, score in rescored:
                # Also without a score (NaN), so that it is not computed again.
                self._store.queue.rescore(queued.place, score, opened.stamp.changed)


def _is_older(queued: QueuedRequest, opened: OpenedModel) -> bool:
    """Whether the score is older than this checkpoint."""
    if queued.scored_at is not None:
        return queued.scored_at != opened.stamp.changed
    return queued.requested_at is None or queued.requested_at.timestamp() < opened.stamp.changed / 1e9


def _score_of(opened: OpenedModel, observation: Observation | None, strategy: str) -> float:
    """Return the acquisition score of an observation. NaN if it is gone or the model refuses it."""
    if observation is None:
        return math.nan
    with opened.lock:
        try:
            predictions = opened.model.learner.predictive_many([opened.model.prepare(observation)])
        except StreamBayesError:
            return math.nan
        return float(scores(strategy, predictions.uncertainties())[0])


def _size_of(observation: Observation | None) -> int:
    """Return the approximate bytes of an observation in memory."""
    if observation is None:
        return _EVENT_BYTES
    content = observation.content
    if isinstance(content, bytes):
        return _EVENT_BYTES + len(content)
    if isinstance(content, str):
        return _EVENT_BYTES + len(content.encode("utf-8", "surrogatepass"))
    return _EVENT_BYTES + sum(len(name) + len(str(value)) + _FEATURE_BYTES for name, value in content.items())
