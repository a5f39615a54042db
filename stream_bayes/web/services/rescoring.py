"""Scores of open questions, kept up to date with the newest model.

A question is asked for its score at that time. While it waits, other labels are learned, and what its own label is
worth changes. The queue is ordered by what it is worth now.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from threading import Event

from stream_bayes.active.strategies import STRATEGIES, scores
from stream_bayes.active.uncertainty import uncertainties_of
from stream_bayes.background import BackgroundThread
from stream_bayes.errors import BackgroundError, StreamBayesError
from stream_bayes.events import Observation
from stream_bayes.kernels.mail.decode import MAX_RAW
from stream_bayes.mail.parse.parsed_mail import MAX_HEADER
from stream_bayes.web.readmodel.request_queue import Place, QueuedRequest
from stream_bayes.web.readmodel.state_store import StateStore
from stream_bayes.web.services.model_cache import ModelCache, NoModel, OpenedModel

logger = logging.getLogger("stream_bayes.web")

_EVERY = 1.0
"""Seconds between two looks for a newer model."""
_AT_ONCE = 16
"""Questions whose new scores are told together."""
_MOST = 1000
"""Questions that are scored by one model, those first that are worth most."""
_READS_AT_ONCE = 100
_BYTES_AT_ONCE = 8 << 20
"""Observations that are read in one look, and their bytes: the thread that reads them writes the answers too."""
_KEPT_BYTES = 64 << 20
"""Of observations that are kept for the next model: enough for all of them, if they are mails."""
_MAIL_BYTES = max(MAX_HEADER, MAX_RAW)
"""Of a mail that is longer no learner looks at the rest."""
_EVENT_BYTES = 1000
"""What Python takes for an observation besides its content, about."""
_FEATURE_BYTES = 150
"""What it takes for a feature besides its characters, about."""


class _ObservationCache:
    """Observations of open questions, so that each is read from the log once, while there is room.

    Parameters
    ----------
    read
        Gives the observation at a place; None where it cannot be read.
    most_bytes
        Of all that are kept.
    """

    def __init__(self, read: Callable[[Place], Observation | None], most_bytes: int) -> None:
        self._read = read
        self._most_bytes = most_bytes
        self._kept: dict[Place, Observation | None] = {}
        self.bytes = 0
        """Of those that are kept."""
        self._reads_left = 0
        self._bytes_left = 0

    def begin(self, waiting: Iterable[Place], reads: int, most_bytes: int) -> None:
        """Begin a look at these places, in which so many may be read, until there were so many bytes."""
        places = set(waiting)
        for place in [place for place in self._kept if place not in places]:
            self.bytes -= _size_of(self._kept.pop(place))
        self._reads_left = reads
        self._bytes_left = most_bytes

    def can_get(self, place: Place) -> bool:
        """Whether an observation is kept, or may be read in this look."""
        return place in self._kept or (self._reads_left > 0 and self._bytes_left > 0)

    def get(self, place: Place) -> Observation | None:
        """The observation at a place, of a mail only what a learner looks at; None where it cannot be read."""
        if place in self._kept:
            return self._kept[place]
        observation = self._read(place)
        self._reads_left -= 1
        self._bytes_left -= _size_of(observation)
        if observation is not None and observation.raw is not None and len(observation.raw) > _MAIL_BYTES:
            observation = observation.model_copy(update={"raw": observation.raw[:_MAIL_BYTES]})
        # None is dropped to make room: the places are looked at in turn, and each would push out the next.
        size = _size_of(observation)
        if self.bytes + size <= self._most_bytes:
            self._kept[place] = observation
            self.bytes += size
        return observation


class Rescorer:
    """A thread that scores open questions by the newest checkpoint of their partition.

    Observations are kept for the next checkpoint, and in one look only some are read from the log: what is left has its
    turn in the next one, a second later.

    Parameters
    ----------
    desk
        Has the questions.
    models
        Has the checkpoints.
    read
        Gives the observation at a place; None where it cannot be read.
    strategy
        The name of the score, for questions that were not chosen by one, as those of the audit.
    on_failure
        Called where the thread fails.
    """

    def __init__(
        self,
        desk: StateStore,
        models: ModelCache,
        read: Callable[[Place], Observation | None],
        strategy: str,
        on_failure: Callable[[BackgroundError], object] | None = None,
    ) -> None:
        self._desk = desk
        self._models = models
        self._observations = _ObservationCache(read, _KEPT_BYTES)
        self._strategy = strategy
        self._stop = Event()
        self._thread = BackgroundThread(self._run, "web-rescoring", on_failure)

    @property
    def kept_bytes(self) -> int:
        """Of the observations that are kept for the next checkpoint."""
        return self._observations.bytes

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it, and wait for that."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_EVERY):
            try:
                self.rescore()
            except (StreamBayesError, OSError) as problem:
                logger.debug("open questions keep their scores: %s", problem)

    def rescore(self) -> None:
        """Score, once, open questions for which there is a model newer than their scores, as far as a look goes."""
        with self._desk.read_lock():
            waiting = self._desk.questions.waiting()[:_MOST]
            strategy = self._desk.questions.strategy or self._strategy
        if strategy not in STRATEGIES:
            return
        self._observations.begin((entry.place for entry in waiting), _READS_AT_ONCE, _BYTES_AT_ONCE)
        by_partition: defaultdict[int, list[QueuedRequest]] = defaultdict(list)
        for entry in waiting:
            by_partition[entry.place[0]].append(entry)
        for partition, entries in by_partition.items():
            try:
                opened = self._models.newest(partition)
            except NoModel:
                continue
            older = [entry for entry in entries if _is_older(entry, opened)]
            for begin in range(0, len(older), _AT_ONCE):
                if self._stop.is_set():
                    return
                self._score(older[begin : begin + _AT_ONCE], opened, strategy)

    def _score(self, entries: Iterable[QueuedRequest], opened: OpenedModel, strategy: str) -> None:
        found: list[tuple[QueuedRequest, float]] = []
        for entry in entries:
            if not self._observations.can_get(entry.place):
                continue
            observation = self._observations.get(entry.place)
            found.append((entry, _score_of(opened, observation, strategy)))
        if not found:
            return
        with self._desk.write_lock():
            for entry, score in found:
                # Also where there is no score: it need not be looked for again.
                self._desk.questions.rescore(entry.place, score, opened.stamp.changed)


def _is_older(entry: QueuedRequest, opened: OpenedModel) -> bool:
    """Whether the score of a question was made before this checkpoint was written."""
    if entry.scored_at is not None:
        return entry.scored_at != opened.stamp.changed
    return entry.asked_at is None or entry.asked_at.timestamp() < opened.stamp.changed / 1e9


def _score_of(opened: OpenedModel, observation: Observation | None, strategy: str) -> float:
    """What the label of an observation is worth; NaN where it is gone, or the model refuses it."""
    if observation is None:
        return math.nan
    with opened.lock:
        try:
            predictions = opened.model.learner.predictive_many([opened.model.prepare(observation)])
        except StreamBayesError:
            return math.nan
        return float(scores(strategy, uncertainties_of(predictions))[0])


def _size_of(observation: Observation | None) -> int:
    """Bytes of an observation in memory, about."""
    if observation is None:
        return _EVENT_BYTES
    content = observation.content
    if isinstance(content, bytes):
        return _EVENT_BYTES + len(content)
    if isinstance(content, str):
        return _EVENT_BYTES + len(content.encode("utf-8", "surrogatepass"))
    return _EVENT_BYTES + sum(len(name) + len(str(value)) + _FEATURE_BYTES for name, value in content.items())
