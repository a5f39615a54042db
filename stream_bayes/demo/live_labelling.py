"""The demo with a person as the labeller: the worker requests labels, and the web page takes the answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from stream_bayes.config import TopicSettings
from stream_bayes.demo.feeder import Feeder
from stream_bayes.demo.mail_sources import MailSource
from stream_bayes.demo.output_follower import TopicFollower
from stream_bayes.demo.process import PageProcess, WorkerProcess
from stream_bayes.demo.screen import COMPILING
from stream_bayes.demo.workspace import Workspace
from stream_bayes.eventlog.factory import open_log
from stream_bayes.events import LabelRequest, decode_request

MAILS_PER_SECOND = 5.0
WELCOME = (
    f"The page is at {{}}\n{MAILS_PER_SECOND:.0f} mails per second. Answer with s (spam) and h (ham), then look at "
    "the charts. Press Ctrl-C to stop."
)
ENDED = "All mails are sent; open label requests stay open. Press Ctrl-C to stop."
_TICK = 0.05


class LabellingResult(NamedTuple):
    """Counts of a demo with a person as the labeller."""

    mails: int
    predictions: int
    requested: int
    answered: int


def run_with_web(
    source: MailSource, workspace: Workspace, port: int, say: Callable[[str], None], stopped: Callable[[], bool]
) -> LabellingResult:
    """Run the feeder, a worker and the web page until stopped; then shut both processes down gracefully.

    `say` is called with each message: the address of the page, and that the worker compiles.
    """
    worker = WorkerProcess(workspace.settings, workspace.worker_log)
    page = PageProcess(workspace.settings, workspace.folder / "page.log", port)
    with open_log(workspace.url) as log, ExitStack() as stack:
        feeder = Feeder(log, TopicSettings().observations, source.mails, len(source.mails) / MAILS_PER_SECOND)
        feeder.send_warm_up()
        for process in (worker, page):
            process.start()
            stack.callback(process.kill)
        announced: set[str] = set()
        while not stopped():
            worker.poll()
            page.poll()
            messages = {WELCOME: page.address is not None, COMPILING: worker.compiling, ENDED: feeder.done}
            for text in [
                text.format(page.address) for text, holds in messages.items() if holds and text not in announced
            ]:
                say(text)
            announced |= {text for text, holds in messages.items() if holds}
            if page.address is not None:
                feeder.send_due(time.monotonic(), 0)
            time.sleep(_TICK)
        page.finish()
        if worker.compiling:
            # A signal does not interrupt compilation; nothing is lost.
            worker.kill()
        worker.finish()
        request_records = TopicFollower(log, TopicSettings().label_requests).read_new()
        requests = [decode_request(record.value) for record in request_records]
        predictions = len(TopicFollower(log, TopicSettings().predictions).read_new())
    requested = sum(isinstance(event, LabelRequest) for event in requests)
    answered = {event.source for event in requests if not isinstance(event, LabelRequest) and event.label is not None}
    return LabellingResult(feeder.sent, predictions, requested, len(answered))
