"""From mails to predictions on Kafka: a producer, a worker and a consumer, one after the other in one program.

The producer sends 120 mails, then their labels, then 12 mails without a label. The worker predicts every mail and
learns every label. The consumer is a plain Kafka client: it reads the predictions as JSON, one for each mail.
Look at the column "learned": the first mails were predicted before any label was, so nothing distinguished them.

    python examples/kafka_end_to_end.py --kafka 127.0.0.1:9092    # a broker that runs, such as that of `make kafka`
    python examples/kafka_end_to_end.py                           # starts that broker itself; needs Java 17 and Maven
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from stream_bayes import Worker
from stream_bayes.config import Settings, TopicSettings
from stream_bayes.demo.mailbox import GeneratedMail, mailbox
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.factory import open_log

LABELLED: Final = 120
MAILS: Final = 132


@contextmanager
def running_broker(address: str | None) -> Iterator[str]:
    """Yield the address of the broker: the one given, or one that is started here and removed at the end."""
    if address is not None:
        yield address
        return
    sys.path.insert(0, str(Path(__file__).parents[1]))
    broker = import_module("tests.support.broker")
    if missing := broker.missing_tools():
        sys.exit(f"No {' and no '.join(missing)}: install Java 17 and Maven, or name a running broker by --kafka")
    print("Starting Kafka; the first time it is downloaded, which takes a minute or two.")
    with broker.Broker(broker.kafka_jars()) as own:
        yield own.address


def make_settings(address: str, folder: str) -> Settings:
    """Return settings with topics and a group that no one else uses, so that a broker with other data can be taken."""
    suffix = uuid4().hex[:8]
    topics = {role: f"example-{suffix}-{name}" for role, name in TopicSettings()}
    learner = {"name": "SpamFilter", "parameters": {"buckets": 2**16}}
    content = {"topics": topics, "learner": learner, "checkpoint": {"folder": folder}}
    return Settings.model_validate({"log": f"kafka://{address}", "group": f"example-{suffix}", **content})


def produce(settings: Settings, labelled: Sequence[GeneratedMail], unlabelled: Sequence[GeneratedMail]) -> None:
    """Send the first mails, their labels, and the other mails; each commit is one Kafka transaction."""
    with open_log(settings.log) as log:
        send_mails(log, settings, labelled)
        for mail in labelled:
            label = json.dumps({"id": mail.id, "label": mail.label})
            log.append(settings.topics.labels, label.encode(), key=mail.id.encode())
        log.commit({})
        send_mails(log, settings, unlabelled)


def send_mails(log: Log, settings: Settings, mails: Sequence[GeneratedMail]) -> None:
    """Send raw mails."""
    for mail in mails:
        headers = [("content-type", b"message/rfc822"), ("id", mail.id.encode())]
        log.append(settings.topics.observations, mail.raw, key=mail.id.encode(), headers=headers)
    log.commit({})


def work(settings: Settings) -> None:
    """Predict and learn all there is, as `stream-bayes run --drain` does."""
    inputs = (settings.topics.observations, settings.topics.labels)
    with open_log(settings.log, settings.group, inputs, kafka=settings.kafka) as log:
        Worker(settings, log).run(drain=True)


def consume(address: str, topic: str) -> list[dict[str, Any]]:
    """Read all predictions that are committed."""
    with KafkaConsumer(bootstrap_servers=address, isolation_level="read_committed") as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        records = []
        while consumer.position(partition) < end:
            records += consumer.poll(timeout_ms=1000).get(partition, [])
    return [json.loads(record.value) for record in records]


def main() -> None:
    """Produce, work, consume, and print the predictions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", metavar="HOST:PORT", help="a running broker; without it one is started")
    mails = list(mailbox(seed=1, mails=MAILS))
    with running_broker(parser.parse_args().kafka) as address, tempfile.TemporaryDirectory() as folder:
        settings = make_settings(address, folder)
        produce(settings, mails[:LABELLED], mails[LABELLED:])
        work(settings)
        predictions = consume(address, settings.topics.predictions)
        with KafkaAdminClient(bootstrap_servers=address) as admin:
            admin.delete_topics([topic for topic in admin.list_topics() if topic.startswith(settings.group)])
    truth = {mail.id: mail.label for mail in mails}
    print(f"{'mail':<12}{'learned':>8}  {'prediction':<11}{'P(spam)':>8}  {'action':<12}truth")
    for shown in (*predictions[:3], *predictions[LABELLED:]):
        start = f"{shown['id']:<12}{shown['model_version']:>8}  {shown['label']:<11}"
        print(f"{start}{shown['probabilities']['spam']:>8.4f}  {shown['action']:<12}{truth[shown['id']]}")
    print(f"{len(predictions)} predictions for {len(mails)} mails; {predictions[-1]['model_version']} labels learned")


if __name__ == "__main__":
    main()
