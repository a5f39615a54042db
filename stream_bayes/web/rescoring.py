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

from stream_bayes.active.scores import STRATEGIES, doubts_of, scores
from stream_bayes.background import BackgroundThread
from stream_bayes.errors import BackgroundError, StreamBayesError
from stream_bayes.events import Observation
from stream_bayes.web.desk import Desk
from stream_bayes.web.models import Models, NoModel, Opened
from stream_bayes.web.questions import Entry, Place

logger = logging.getLogger("stream_bayes.web")

_EVERY = 1.0
"""Seconds between two looks for a newer model."""
_AT_ONCE = 16
"""Questions whose new scores are told together."""
_MOST = 1000
"""Questions that are scored by one model, those first that are worth most."""


class Rescorer:
    """A thread that scores open questions by the newest checkpoint of their partition.

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
        desk: Desk,
        models: Models,
        read: Callable[[Place], Observation | None],
        strategy: str,
        on_failure: Callable[[BackgroundError], object] | None = None,
    ) -> None:
        self._desk = desk
        self._models = models
        self._read = read
        self._strategy = strategy
        self._stop = Event()
        self._thread = BackgroundThread(self._run, "web-rescoring", on_failure)

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
        """Score, once, the open questions for which there is a model newer than their scores."""
        with self._desk.looking():
            waiting = self._desk.questions.waiting()[:_MOST]
            strategy = self._desk.questions.strategy or self._strategy
        if strategy not in STRATEGIES:
            return
        by_partition: defaultdict[int, list[Entry]] = defaultdict(list)
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

    def _score(self, entries: Iterable[Entry], opened: Opened, strategy: str) -> None:
        found: list[tuple[Entry, float]] = []
        for entry in entries:
            observation = self._read(entry.place)
            found.append((entry, _score_of(opened, observation, strategy)))
        with self._desk.changing():
            for entry, score in found:
                # Also where there is no score: it need not be looked for again.
                self._desk.questions.rescore(entry.place, score, opened.stamp.changed)


def _is_older(entry: Entry, opened: Opened) -> bool:
    """Whether the score of a question was made before this checkpoint was written."""
    if entry.scored_at is not None:
        return entry.scored_at != opened.stamp.changed
    return entry.asked_at is None or entry.asked_at.timestamp() < opened.stamp.changed / 1e9


def _score_of(opened: Opened, observation: Observation | None, strategy: str) -> float:
    """What the label of an observation is worth; NaN where it is gone, or the model refuses it."""
    if observation is None:
        return math.nan
    with opened.lock:
        try:
            predictions = opened.model.learner.predictive_many([opened.model.content(observation)])
        except StreamBayesError:
            return math.nan
        return float(scores(strategy, doubts_of(predictions))[0])
