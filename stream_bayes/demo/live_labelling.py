"""The demo with a person as its labeller: mails flow, a worker asks, and the page is where the answers are given."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from stream_bayes.config import TopicSettings
from stream_bayes.demo.feeder import Feeder
from stream_bayes.demo.log_follower import TopicFollower
from stream_bayes.demo.mail_sources import LabelledMails
from stream_bayes.demo.process import PageProcess, WorkerProcess
from stream_bayes.demo.screen import COMPILING
from stream_bayes.demo.workspace import Workspace
from stream_bayes.eventlog.factory import open_log
from stream_bayes.events import LabelRequest, decode_request

MAILS_A_SECOND = 5.0
WELCOME = (
    f"The page is at {{}}\n{MAILS_A_SECOND:.0f} mails come in a second. Answer with s (spam) and h (ham), then look at "
    "the charts. Ctrl-C ends it."
)
ENDED = "All mails have come; questions that are open stay so. Ctrl-C ends it."
_TICK = 0.05


class Labelled(NamedTuple):
    """What came of it."""

    mails: int
    predictions: int
    asked: int
    answered: int


def play_with_page(
    post: LabelledMails, place: Workspace, port: int, say: Callable[[str], None], stopped: Callable[[], bool]
) -> Labelled:
    """Let mails flow, a worker work and a page be served until somebody stops it; then end both in good order.

    `say` is called with each thing there is to know: where the page is, and that the worker compiles.
    """
    worker = WorkerProcess(place.settings, place.reports)
    page = PageProcess(place.settings, place.folder / "page.log", port)
    with open_log(place.url) as log, ExitStack() as ends:
        postman = Feeder(log, TopicSettings().observations, post.mails, len(post.mails) / MAILS_A_SECOND)
        postman.send_first()
        for process in (worker, page):
            process.start()
            ends.callback(process.kill)
        known: set[str] = set()
        while not stopped():
            worker.look()
            page.look()
            news = {WELCOME: page.address is not None, COMPILING: worker.compiling, ENDED: postman.done}
            for text in [text.format(page.address) for text, holds in news.items() if holds and text not in known]:
                say(text)
            known |= {text for text, holds in news.items() if holds}
            if page.address is not None:
                postman.send_due(time.monotonic(), 0)
            time.sleep(_TICK)
        page.finish()
        if worker.compiling:
            # That is not interrupted by a signal; nothing is lost.
            worker.kill()
        worker.finish()
        requests = [decode_request(record.value) for record in TopicFollower(log, TopicSettings().label_requests).new()]
        predictions = len(TopicFollower(log, TopicSettings().predictions).new())
    asked = sum(isinstance(event, LabelRequest) for event in requests)
    answered = {event.source for event in requests if not isinstance(event, LabelRequest) and event.label is not None}
    return Labelled(postman.sent, predictions, asked, len(answered))
