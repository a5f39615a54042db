"""A simulated labeller, who answers label requests with the true labels."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

from stream_bayes.demo.output_follower import TopicFollower
from stream_bayes.eventlog.base import Log
from stream_bayes.events import Label, LabelOutcome, LabelRequest, decode_request, encode

NAME = "demo"
SHOWN = 6
"""Number of requests on the screen."""


class RequestLine(NamedTuple):
    """A request as the screen shows it."""

    subject: str
    probability: float
    """Predicted probability of spam."""
    variance: float
    answer: str
    """Empty until it is answered."""


class SimulatedLabeller:
    """Follows the label requests and answers each after a delay.

    Parameters
    ----------
    log, topics
        The log, and its topics of requests and of labels.
    truth
        The true labels by id; a request without one is never answered.
    answer_seconds
        Mean time to answer; 0: at once.
    """

    def __init__(self, log: Log, topics: tuple[str, str], truth: Mapping[str, str], answer_seconds: float) -> None:
        requests, self._labels = topics
        self._log = log
        self._truth = truth
        self._answer_seconds = answer_seconds
        self._requests = TopicFollower(log, requests)
        self._random = Random("labeller")
        self._open: deque[tuple[float, LabelRequest]] = deque()
        self._answers: deque[RequestLine] = deque(maxlen=SHOWN)
        self.requested = 0
        self.answered = 0

    def answer_due(self, now: float) -> None:
        """Read new requests, and answer those that are due."""
        for record in self._requests.read_new():
            request = decode_request(record.value)
            if isinstance(request, LabelOutcome):
                continue
            self._open.append((now + self._answer_seconds * self._random.uniform(0.5, 1.5), request))
            self.requested += 1
        due = [request for moment, request in self._open if moment <= now]
        if due:
            self._open = deque((moment, request) for moment, request in self._open if moment > now)
            for request in due:
                self._answer(request)
            self._log.commit({})

    @property
    def newest(self) -> tuple[RequestLine, ...]:
        """The newest answered requests, latest first, then open ones."""
        waiting = (_request_line(request, "") for _, request in reversed(self._open))
        return (*reversed(self._answers), *waiting)[:SHOWN]

    @property
    def idle(self) -> bool:
        """Whether no request is open."""
        return not self._open

    def _answer(self, request: LabelRequest) -> None:
        answer = self._truth.get(request.id)
        if answer is None:
            return
        label = Label(id=request.id, label=answer, labeller=NAME, at=datetime.now(UTC), source=request.source)
        self._log.append(self._labels, encode(label), request.id.encode(), request.source.partition)
        self.answered += 1
        self._answers.append(_request_line(request, answer))


def _request_line(request: LabelRequest, answer: str) -> RequestLine:
    probability = (request.probabilities or {}).get("spam", 0.5)
    return RequestLine(request.subject or "(no subject)", probability, request.variance, answer)
