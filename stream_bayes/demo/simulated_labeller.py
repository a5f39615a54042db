"""The person who answers label requests, played by somebody who knows the truth."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

from stream_bayes.demo.log_follower import TopicFollower
from stream_bayes.eventlog.base import Log
from stream_bayes.events import Label, LabelOutcome, LabelRequest, decode_request, encode

NAME = "demo"
SHOWN = 6
"""How many requests there are on the screen."""


class RequestLine(NamedTuple):
    """A request as the screen shows it."""

    subject: str
    probability: float
    """Of spam."""
    variance: float
    answer: str
    """Empty as long as there is none."""


class SimulatedLabeller:
    """Follows the requests and answers each after a while.

    Parameters
    ----------
    log, topics
        The log, and its topics of requests and of labels.
    truth
        The right answers, by id; a request without one is never answered.
    thinking
        How long a person thinks over an answer, on average; 0: no time.
    """

    def __init__(self, log: Log, topics: tuple[str, str], truth: Mapping[str, str], thinking: float) -> None:
        requests, self._labels = topics
        self._log = log
        self._truth = truth
        self._thinking = thinking
        self._requests = TopicFollower(log, requests)
        self._random = Random("labeller")
        self._open: deque[tuple[float, LabelRequest]] = deque()
        self._answers: deque[RequestLine] = deque(maxlen=SHOWN)
        self.asked = 0
        self.answered = 0

    def work(self, now: float) -> None:
        """Take the new requests, answer those that are due."""
        for record in self._requests.new():
            request = decode_request(record.value)
            if isinstance(request, LabelOutcome):
                continue
            self._open.append((now + self._thinking * self._random.uniform(0.5, 1.5), request))
            self.asked += 1
        due = [request for moment, request in self._open if moment <= now]
        if due:
            self._open = deque((moment, request) for moment, request in self._open if moment > now)
            for request in due:
                self._answer(request)
            self._log.commit({})

    @property
    def newest(self) -> tuple[RequestLine, ...]:
        """Of the requests the newest that are answered, the last first; then, where there is room, open ones."""
        waiting = (_question(request, "") for _, request in reversed(self._open))
        return (*reversed(self._answers), *waiting)[:SHOWN]

    @property
    def idle(self) -> bool:
        """Whether nothing is open."""
        return not self._open

    def _answer(self, request: LabelRequest) -> None:
        answer = self._truth.get(request.id)
        if answer is None:
            return
        label = Label(id=request.id, label=answer, labeller=NAME, at=datetime.now(UTC), source=request.source)
        self._log.append(self._labels, encode(label), request.id.encode(), request.source.partition)
        self.answered += 1
        self._answers.append(_question(request, answer))


def _question(request: LabelRequest, answer: str) -> RequestLine:
    probability = (request.probabilities or {}).get("spam", 0.5)
    return RequestLine(request.subject or "(no subject)", probability, request.variance, answer)
