"""How long a mail waits for its prediction on Kafka: sent and seen by another process, at a rate that it keeps."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from threading import Thread

from confluent_kafka import Consumer, Producer, TopicPartition
from rich.table import Table

from benchmarks.worker_mails import Mail, raw_events
from stream_bayes.config import Settings
from stream_bayes.eventlog.kafka import KafkaLog
from stream_bayes.runtime import Worker

SECONDS = 15.0
# Until then the worker and the consumers have found each other.
WARM_UP_SECONDS = 3.0
LOST_SECONDS = 30.0
_STEP_SECONDS = 0.001


def table(address: str, settings: Settings, mails: Sequence[Mail], rate: float) -> Table:
    """The median and the 99th percentile, of mails that arrive at a given rate."""
    waits = measured(address, settings, mails, rate)
    late = quantiles(waits, n=100, method="inclusive")[-1]
    title = f"ms from sending a mail until its prediction is seen, at half load ({rate:,.0f} mails/s)"
    shown = Table(title=title)
    for column in ("mails", "median", "99th percentile", "longest", "commit after, at the latest"):
        shown.add_column(column, justify="right")
    milliseconds = (f"{1e3 * seconds:.0f}" for seconds in (median(waits), late, max(waits)))
    shown.add_row(f"{len(waits):,}", *milliseconds, f"{settings.commit.milliseconds}")
    return shown


def measured(address: str, settings: Settings, mails: Sequence[Mail], rate: float) -> list[float]:
    """Seconds of each mail; the worker is this process, and who sends and sees is another."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mails.json"
        seen = Path(folder) / "seen.json"
        path.write_text(json.dumps([(mail.raw.decode("latin-1"), mail.label) for mail in mails]))
        topics = settings.topics.observations, settings.topics.predictions
        command = [sys.executable, "-m", "benchmarks.kafka_latency", str(path), str(seen), address, *topics, str(rate)]
        with KafkaLog([address], settings.group, (settings.topics.observations, settings.topics.labels)) as log:
            worker = Worker(settings, log)
            with subprocess.Popen(command) as sender:
                Thread(target=stop_after, args=(worker, sender), daemon=True).start()
                worker.run()
            assert sender.returncode == 0, "who sends and sees has failed"
        waits: list[float] = json.loads(seen.read_text())
    return waits


def stop_after(worker: Worker, sender: subprocess.Popen[bytes]) -> None:
    """Stop once the other process has ended."""
    sender.wait()
    worker.stop()


class Sender:
    """Sends mails at a steady rate, and looks for their predictions, which only committed ones are."""

    def __init__(self, address: str, emails: str, predictions: str) -> None:
        servers: dict[str, str | int | bool] = {"bootstrap.servers": address}
        reading: dict[str, str | int | bool] = {"group.id": f"{emails}-seen", "isolation.level": "read_committed"}
        self._topic = emails
        self._producer = Producer(servers | {"linger.ms": 1})
        self._consumer = Consumer(servers | reading | {"enable.auto.commit": False})
        self._consumer.assign([TopicPartition(predictions, 0, 0)])
        self._sent: dict[bytes, float] = {}
        self.waits: list[float] = []

    def send(self, mail: Mail) -> None:
        """One, now."""
        ((_, key, value, headers),) = raw_events([mail])
        self._sent[key] = time.perf_counter()
        self._producer.produce(self._topic, value, key, 0, headers=list(headers))

    def look(self) -> None:
        """For predictions that have come."""
        self._producer.poll(0)
        seen = self._consumer.consume(1000, _STEP_SECONDS)
        now = time.perf_counter()
        self.waits += [now - self._sent.pop(found.key() or b"") for found in seen if found.error() is None]

    def wait(self) -> None:
        """Until the predictions of all have come."""
        deadline = time.perf_counter() + LOST_SECONDS
        while self._sent:
            assert time.perf_counter() < deadline, f"{len(self._sent)} mails have no prediction"
            self.look()

    def close(self) -> None:
        """Let go of the broker."""
        self._consumer.close()


def main(path: str, seen: str, address: str, emails: str, predictions: str, rate: str) -> None:  # noqa: PLR0913, PLR0917
    """Write down the seconds of each mail, but for those of the beginning."""
    contents = json.loads(Path(path).read_text())
    mails = [Mail("", raw.encode("latin-1"), label) for raw, label in contents]
    sender = Sender(address, emails, predictions)
    # The worker loads and compiles with the first mail.
    sender.send(mails[0]._replace(id="first"))
    sender.wait()
    begun = time.perf_counter()
    count = 0
    while (passed := time.perf_counter() - begun) < WARM_UP_SECONDS + SECONDS:
        while count < passed * float(rate):
            sender.send(mails[count % len(mails)]._replace(id=f"mail-{count}"))
            count += 1
        sender.look()
    sender.wait()
    sender.close()
    Path(seen).write_text(json.dumps(sender.waits[int(WARM_UP_SECONDS * float(rate)) :]))


if __name__ == "__main__":
    main(*sys.argv[1:])
