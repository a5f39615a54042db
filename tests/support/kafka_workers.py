"""Workers on a real broker, for the suites about them: topics of a test's own, threads and processes that read them."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from stream_bayes.config import Settings, TopicSettings
from stream_bayes.eventlog.kafka import KafkaLog
from stream_bayes.events import DeadLetter
from stream_bayes.runtime import Worker
from stream_bayes.runtime.partition_processor import PartitionProcessor
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE
from tests.support.workers import all_records, assert_nothing_lost, inputs_of, settings_in, work, write_config

if TYPE_CHECKING:
    pass

_LOOK_EVERY = 0.02


class KafkaTestBed:
    """Topics and a group that no other test knows, and settings for workers that read them.

    Parameters
    ----------
    folder
        For checkpoints and the settings' file.
    address
        Of the broker.
    partitions
        Of the topics that are made.
    sections
        Settings besides those of `settings_in`.
    """

    def __init__(self, folder: Path, address: str, partitions: int = 1, **sections: dict[str, Any]) -> None:
        self.folder = folder
        self.address = address
        self.partitions = partitions
        suffix = uuid4().hex[:12]
        names = {role: f"{name}-{suffix}" for role, name in TopicSettings() if role != "journal"}
        given: dict[str, dict[str, Any]] = {"topics": names, "status": {"seconds": 60.0}, **sections}
        plain = settings_in(folder, **given)
        self.settings = plain.model_copy(update={"log": f"kafka://{address}", "group": f"group-{suffix}"})
        self.emails, self.labels = inputs_of(self.settings)

    def with_settings(self, **sections: dict[str, Any]) -> KafkaTestBed:
        """The same topics, read with other settings."""
        other = copy(self)
        content = self.settings.model_dump()
        for name, section in sections.items():
            content[name] = {**content[name], **section}
        other.settings = Settings.model_validate(content)
        return other

    @cached_property
    def log(self) -> KafkaLog:
        """For single records and for writing."""
        return KafkaLog([self.address], partitions=self.partitions)

    def open(self, name: str | None = None) -> KafkaLog:
        """A log for a worker."""
        settings = self.settings
        return KafkaLog([self.address], settings.group, inputs_of(settings), self.partitions, settings.kafka, name)

    def close(self) -> None:
        """Let go of the log."""
        if "log" in self.__dict__:
            self.log.close()
            del self.log

    def feed(self, messages: Sequence[tuple[str, bytes]], partition: int = 0, at_once: int = 50) -> None:
        """Write messages for `emails` and `labels`."""
        names = {"emails": self.emails, "labels": self.labels}
        for begin in range(0, len(messages), at_once):
            for topic, value in messages[begin : begin + at_once]:
                self.log.append(names[topic], value, partition=partition)
            self.log.commit({})

    def work(self) -> Worker:
        """Let a worker read all there is."""
        with self.open() as log:
            return work(self.settings, log)

    def check(self, partitions: int | None = None, *, is_complete: bool = True) -> None:
        """Nothing is lost, and the checkpoints are the states of one pass; up to the last commit if not complete."""
        for number in range(self.partitions):
            shares = partitions or self.partitions
            assert_nothing_lost(self.settings, self.log, number, shares, is_complete=is_complete)

    def letters(self, partition: int = 0) -> list[DeadLetter]:
        """The dead letters of a partition."""
        records = all_records(self.log, self.settings.topics.dead_letters, partition)
        return [DeadLetter.model_validate_json(record.value) for record in records]

    def predicted(self) -> int:
        """How many predictions there are."""
        topic = self.settings.topics.predictions
        return sum(1 for place in self.log.end_offsets(topic) for _ in all_records(self.log, topic, place.number))

    def forget_checkpoints(self) -> None:
        """Remove them all."""
        for path in self.settings.checkpoint_folder.rglob("*.safetensors"):
            path.unlink()

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """What an operator has."""
        with KafkaAdminClient(bootstrap_servers=self.address) as client:
            yield client

    def create(self, name: str, **configs: str) -> None:
        """Make a topic as an operator would."""
        options = {"num_partitions": self.partitions, "replication_factor": 1, "configs": configs}
        with self.admin() as admin:
            admin.create_topics({name: options}, wait_for_metadata=True)

    def grow(self, *names: str, partitions: int) -> None:
        """Give topics more partitions."""
        with self.admin() as admin:
            admin.create_partitions(dict.fromkeys(names, partitions))
        wait_until(lambda: all(len(self.log.end_offsets(name)) == partitions for name in names))

    def remove_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """As retention does."""
        with self.admin() as admin:
            admin.delete_records({TopicPartition(topic, partition): offset})

    @contextmanager
    def plain_producer(self, **options: Any) -> Iterator[KafkaProducer]:
        """A client that is not ours."""
        with KafkaProducer(bootstrap_servers=self.address, **options) as producer:
            yield producer

    @property
    def config(self) -> Path:
        """The settings as a file."""
        return write_config(self.settings, self.folder / "settings.toml")


Make = Callable[..., KafkaTestBed]


def wait_until(holds: Callable[[], bool]) -> None:
    """Until something holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, "it does not come to this"
        time.sleep(_LOOK_EVERY)


class WorkerThread:
    """A worker in a thread of its own; what it raises is raised when it ends."""

    def __init__(self, scene: KafkaTestBed, name: str | None = None) -> None:
        self._scene = scene
        self._name = name
        self.worker: Worker | None = None
        self.problem: BaseException | None = None
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._scene.open(self._name) as log:
                self.worker = Worker(self._scene.settings, log)
                self.worker.run()
        except BaseException as problem:
            self.problem = problem

    @property
    def processors(self) -> dict[int, PartitionProcessor]:
        """Of the partitions that are read here now."""
        return {} if self.worker is None else dict(self.worker.processors)

    @property
    def partitions(self) -> set[int]:
        """Their numbers."""
        return set(self.processors)

    @property
    def is_standby(self) -> bool:
        """Whether it has nothing to read."""
        return self.worker is not None and self.worker._partitions.is_standby

    def ended(self) -> BaseException | None:
        """What it raised, once it has ended by itself."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self.problem

    def stop(self) -> None:
        """As a signal does."""
        if self.worker is not None:
            self.worker.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if kind is None and self.problem is not None:
            raise self.problem


class CommandProcess:
    """A command in a process of its own; with --json it says an object a line."""

    def __init__(self, folder: Path, *arguments: str | Path, variables: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            env={**ENVIRONMENT, "OMP_NUM_THREADS": "1", **(variables or {})},
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait_for(self, event: str) -> dict[str, Any]:
        """The line with which it says that this has happened."""
        assert self._process.stderr is not None
        result = ""
        for line in self._process.stderr:
            result += line
            if line.startswith("{") and (content := json.loads(line))["event"] == event:
                return dict(content)
        message = f"it has ended: {result}"
        raise AssertionError(message)

    def send(self, number: signal.Signals) -> None:
        """A signal."""
        self._process.send_signal(number)

    def ended(self) -> tuple[int, str, str]:
        """Exit code, output and the errors that were not read yet, once it has ended."""
        output, errors = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, output, errors

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
