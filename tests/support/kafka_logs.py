"""The kind of log that is on a real broker, for the suites that run over each kind; and members of a group."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from kafka import KafkaAdminClient, KafkaProducer

from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogUnavailable
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.kafka import KafkaLog
from stream_bayes.records import Partition
from tests.support.commands import ENVIRONMENT, ROOT
from tests.support.logs import PATIENCE, Logs

_LOOK_EVERY = 0.02
T = TypeVar("T")


class KafkaLogs(Logs):
    """Logs on one broker, which other tests use too: each test has topics and groups of its own."""

    def __init__(self, address: str, settings: KafkaSettings | None = None) -> None:
        super().__init__()
        self.address = address
        self.settings = settings
        self._suffix = uuid4().hex[:12]

    def topic(self, name: str) -> str:
        """Not to be found in another test."""
        return f"{name}-{self._suffix}"

    def group(self, name: str) -> str:
        """Not to be found in another test."""
        return f"{name}-{self._suffix}"

    def member(self, name: str | None, *topics: str, partitions: int = 1, **settings: Any) -> GroupReader:
        """A member of the one group of the test, under a name or without one."""
        chosen = KafkaSettings.model_validate(settings) if settings else self.settings
        log = KafkaLog([self.address], self.group("readers"), topics, partitions, chosen, name)
        self._opened.append(log)
        return GroupReader(log)

    def create(self, name: str, partitions: int = 1, **configs: str) -> str:
        """A topic of the test's own that is not made by a log; settings of the broker with __ for each dot."""
        topic = self.topic(name)
        configs = {key.replace("__", "."): value for key, value in configs.items()}
        with KafkaAdminClient(bootstrap_servers=self.address) as admin:
            options = {"num_partitions": partitions, "replication_factor": 1, "configs": configs}
            admin.create_topics({topic: options}, wait_for_metadata=True)
        return topic

    def _make(self, **arguments: Any) -> Log:
        return KafkaLog([self.address], settings=self.settings, **arguments)


class GroupReader:
    """A log that reads for a group, and what it was told of its partitions."""

    def __init__(self, log: KafkaLog) -> None:
        self.log = log
        self.mine: frozenset[Partition] = frozenset()
        self.changes: list[tuple[frozenset[Partition], frozenset[Partition]]] = []
        log.on_change = self._note

    def _note(self, gained: frozenset[Partition], lost: frozenset[Partition]) -> None:
        self.changes.append((gained, lost))
        self.mine = self.mine - lost | gained

    def go_on(self) -> None:
        """Seek to where the group is."""
        self.log.seek(self.log.committed())


def poll_until(holds: Callable[[], bool], *members: GroupReader) -> None:
    """Let members poll in turn until something holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, f"it does not come to this: {[member.changes for member in members]}"
        for member in members:
            assert member.log.poll(100, _LOOK_EVERY) == []
        if not members:
            time.sleep(_LOOK_EVERY)


def retry_while_unavailable(call: Callable[[], T]) -> T:
    """What a call gives, which is made again as long as the broker is away."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except LogUnavailable:
            assert time.monotonic() < until, "the broker stays away"
            time.sleep(0.05)


class ChildProcess:
    """Another process, in a Python of its own, which says something when it has come so far."""

    def __init__(self, script: str, *arguments: str) -> None:
        command = [sys.executable, "-W", "ignore", "-c", script, *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=ROOT
        )

    def says(self) -> str:
        """Its next line; empty when it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def go_on(self) -> None:
        """What waits for a line gets one."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def send(self, number: signal.Signals) -> None:
        """A signal."""
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """End it with SIGKILL, if it still runs."""
        self._process.kill()
        self._process.communicate()

    def ended(self) -> int:
        """Its exit code, once it has ended."""
        self._process.communicate(timeout=PATIENCE)
        return self._process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


@contextmanager
def plain_producer(address: str, **options: Any) -> Iterator[KafkaProducer]:
    """A client that is not ours."""
    with KafkaProducer(bootstrap_servers=address, **options) as producer:
        yield producer
