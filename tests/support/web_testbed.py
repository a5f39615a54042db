"""A test bed for the page: a real log, a real worker, the real server on 127.0.0.1."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx

from stream_bayes.config import Settings
from stream_bayes.demo.mailbox import mailbox
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.runtime import Worker
from stream_bayes.web.api.app import make_app
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.server import Server, bind
from tests.support.commands import PATIENCE
from tests.support.workers import all_records, events, inputs_of, settings_in

HEADERS = (("content-type", b"message/rfc822"),)


class WebTestBed:
    """A log with mails, a worker that reads it on demand, and settings for the page."""

    def __init__(self, folder: Path, partitions: int = 1, **sections: dict[str, Any]) -> None:
        given: dict[str, dict[str, Any]] = {
            "learner": {"name": "SpamFilter", "parameters": {"buckets": 2**12}},
            "engine": {"observation_cache_bytes": 10_000_000},
            "labels": {"budget": 60, "max_open_requests": 12, "similarity": 1.0},
            "commit": {"milliseconds": 20},
            "checkpoint": {"seconds": 1.0},
            "status": {"seconds": 0.3},
            **sections,
        }
        folder.mkdir(exist_ok=True)
        self.settings = settings_in(folder, **given)
        self.partitions = partitions
        self.path = folder / "log.db"
        self.truth: dict[str, str] = {}
        with self.open() as log:
            for topic in inputs_of(self.settings):
                log.ensure(topic, partitions)

    def open(self) -> SqliteLog:
        """The log, for single records and for writing."""
        return SqliteLog(self.path, partitions=self.partitions)

    def send(self, mails: Sequence[tuple[str, bytes]], partition: int | None = 0) -> None:
        """Mails by their ids."""
        with self.open() as log:
            for name, raw in mails:
                log.append("emails", raw, name.encode(), partition, (*HEADERS, ("id", name.encode())))
            log.commit({})

    def send_generated(self, count: int, seed: int = 1) -> None:
        """Mails that are made up, and whose labels are known here."""
        mails = [mail for mail in mailbox(seed, 400) if mail.id not in self.truth][:count]
        self.truth |= {mail.id: mail.label for mail in mails}
        self.send([(mail.id, mail.raw) for mail in mails])

    def work(self) -> Worker:
        """Let a worker read all there is."""
        with self._for_worker() as log:
            worker = Worker(self.settings, log)
            worker.run(drain=True)
        return worker

    def _for_worker(self) -> SqliteLog:
        return SqliteLog(self.path, self.settings.group, inputs_of(self.settings), self.partitions)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Within, a worker works, in a thread of its own."""
        started = Event()
        workers = list[Worker]()
        problems = list[BaseException]()

        def run() -> None:
            try:
                with self._for_worker() as log:
                    workers.append(Worker(self.settings, log))
                    started.set()
                    workers[0].run()
            except BaseException as problem:
                problems.append(problem)
            finally:
                started.set()

        thread = Thread(target=run)
        thread.start()
        started.wait(PATIENCE)
        try:
            yield
        finally:
            if workers:
                workers[0].stop()
            thread.join(PATIENCE)
        assert not problems, problems

    def labels(self, partition: int = 0) -> list[dict[str, Any]]:
        """All labels in the log."""
        with self.open() as log:
            return events(log, "labels", partition)

    def label_requests(self) -> list[dict[str, Any]]:
        """All label requests in the log, and their outcomes."""
        with self.open() as log:
            return [json.loads(record.value) for record in _all(log, "label-requests", self.partitions)]


def _all(log: Log, topic: str, partitions: int) -> Iterator[Any]:
    for number in range(partitions):
        yield from all_records(log, topic, number)


@contextmanager
def page(settings: Settings, token: str | None = None) -> Iterator[str]:
    """The address of the page, which is served within."""
    access = Authenticator(token, None if token else {"127.0.0.1", "localhost"})
    ready = Event()
    problems = list[BaseException]()
    with bind("127.0.0.1", 0) as listener:
        server = Server(make_app(settings, access), ready.set)

        def run() -> None:
            try:
                server.run([listener])
            except BaseException as problem:
                problems.append(problem)
            finally:
                ready.set()

        thread = Thread(target=run)
        thread.start()
        ready.wait(PATIENCE)
        try:
            assert not problems, problems
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not problems, problems


@contextmanager
def client(address: str, token: str | None = None) -> Iterator[httpx.Client]:
    """Who has read the page's secret, or has the token."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200)
        http.headers["x-csrf-token"] = http.get("/api/session").json()["csrf"]
        yield http


def wait_until(holds: Callable[[], bool]) -> None:
    """Poll a condition until it holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it does not come to this"
        time.sleep(0.02)


def take_request(http: httpx.Client, labeller: str = "ann", **fields: Any) -> dict[str, Any]:
    """Take the next label request."""
    answer = http.post("/api/requests/next", json={"labeller": labeller, **fields})
    assert answer.status_code == 200, answer.text
    label_request: dict[str, Any] = answer.json()["request"]
    return label_request


def wait_until_rescored(http: httpx.Client) -> dict[str, Any]:
    """The open label requests, once the newest checkpoint has scored all of them."""
    queue: dict[str, Any] = {}

    def all_scored() -> bool:
        queue.update(http.get("/api/requests", params={"limit": 1000}).json())
        places = [request["place"] for request in queue["requests"]]
        selections = [
            http.get(f"/api/requests/{place['partition']}/{place['offset']}").json()["selection"] for place in places
        ]
        return all(one["score_now"] is not None for one in selections)

    wait_until(all_scored)
    return dict(http.get("/api/requests", params={"limit": 1000}).json())


def path_of(label_request: dict[str, Any]) -> str:
    """Where the API has it."""
    place = label_request["place"]
    return f"/api/requests/{place['partition']}/{place['offset']}"


def submit_label(
    http: httpx.Client, label_request: dict[str, Any], label: Any, labeller: str = "ann"
) -> httpx.Response:
    """Submit a label for a request."""
    return http.post(f"{path_of(label_request)}/label", json={"labeller": labeller, "label": label})
