"""Mails and labels of other people's clients, whose partitioners hash keys each in its own way."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import confluent_kafka
import pytest

from stream_bayes.events import Prediction
from stream_bayes.records import Source
from tests.support.broker import ConsoleProducer
from tests.support.kafka_workers import KafkaTestBed, Make
from tests.support.workers import all_records

pytestmark = pytest.mark.broker

PARTITIONS = 4
MAILBOXES = [f"mailbox-{number}" for number in range(5)]
MAILS = 100
"""Of each client."""
WORDS = {"spam": ("cheap", "pills", "prize"), "ham": ("lunch", "agenda", "train")}


class Outside(NamedTuple):
    """A record as a client that is not ours writes it."""

    key: str
    value: str


class LibrdkafkaProducer:
    """confluent-kafka with its default partitioner, CRC32 of the key."""

    def __init__(self, address: str) -> None:
        self._address = address

    def produce(self, topic: str, records: Sequence[Outside], compression: str = "none") -> None:
        """Write records; returns once all are written."""
        options = {"bootstrap.servers": self._address, "compression.type": compression, "linger.ms": 50}
        producer = confluent_kafka.Producer(options)
        problems: list[Any] = []
        for record in records:
            producer.produce(topic, record.value, record.key, on_delivery=lambda problem, _: problems.append(problem))
        assert producer.flush(60) == 0
        assert problems == [None] * len(records)


def mails_of(client: str, *, with_ids: bool) -> list[Outside]:
    """Mails of a client, keyed by their mailbox: texts and raw mails, all of them different."""
    rng = random.Random(client)
    mails = []
    for number in range(MAILS):
        label = ("ham", "spam")[number % 2]
        text = f"{client} number {number} {' '.join(rng.choices(WORDS[label], k=6))}"
        raw = f"From: {client}@example.com\nSubject: {label} {number}\n\n{text}\n"
        content = {"raw": b64encode(raw.encode()).decode()} if number % 3 == 0 else {"text": text}
        name = {"id": f"{client}-{number}"} if with_ids else {}
        mails.append(Outside(MAILBOXES[number % len(MAILBOXES)], json.dumps({**name, **content})))
    return mails


def predictions(scene: KafkaTestBed) -> list[Prediction]:
    """All predictions, of all partitions."""
    topic = scene.settings.topics.predictions
    return [
        Prediction.model_validate_json(record.value)
        for number in range(PARTITIONS)
        for record in all_records(scene.log, topic, number)
    ]


@pytest.mark.parametrize("with_ids", [pytest.param(True, marks=pytest.mark.long), False], ids=["ids", "no ids"])
def test_item05_mails_and_labels_of_clients_that_hash_keys_differently(
    make: Make, console_producer: ConsoleProducer, with_ids: bool
) -> None:
    """Mails of both clients keyed by 5 mailboxes, labels by the other one: one prediction each, every label learned."""
    scene = make(PARTITIONS, commit={"events": 100}, labels={"budget": 40, "max_open_requests": 40})
    for topic in (scene.emails, scene.labels):
        scene.create(topic, **{"message.timestamp.type": "LogAppendTime"})
    clients: dict[str, LibrdkafkaProducer | ConsoleProducer]
    clients = {"librdkafka": LibrdkafkaProducer(scene.address), "java": console_producer}
    sent = {name: mails_of(name, with_ids=with_ids) for name in clients}
    clients["librdkafka"].produce(scene.emails, sent["librdkafka"], "lz4")
    clients["java"].produce(scene.emails, sent["java"], "zstd")
    scene.work()

    # One prediction for each mail.
    mails = [record for number in range(PARTITIONS) for record in all_records(scene.log, scene.emails, number)]
    predicted = predictions(scene)
    assert len(mails) == 2 * MAILS
    assert Counter(one.source for one in predicted) == Counter(record[:3] for record in mails)
    assert len({one.id for one in predicted}) == 2 * MAILS

    # The labels come by the other client, with the same keys, and with the source that the prediction has.
    other = {"librdkafka": "java", "java": "librdkafka"}
    client_of = {mail.value: name for name in clients for mail in sent[name]}
    found = {one.source: one for one in predicted}
    labels: dict[str, list[Outside]] = {name: [] for name in clients}
    for record in mails:
        value = record.value.decode()
        client = client_of[value]
        place = found[Source(*record[:3])]
        answer = ("ham", "spam")[sent[client].index(Outside((record.key or b"").decode(), value)) % 2]
        label = {"id": place.id, "label": answer, "source": place.source._asdict()}
        labels[other[client]].append(Outside((record.key or b"").decode(), json.dumps(label)))
    for name, producer in clients.items():
        producer.produce(scene.labels, labels[name], "snappy")
    worker = scene.work()

    # Every label was learned, once, although many came to another partition than their mail.
    counts: Counter[str] = Counter()
    for processor in worker.processors.values():
        counts.update(processor.engine.counts)
    assert {name: counts[name] for name in ("predict", "learn", "repeat", "correct", "duplicate", "refuse")} == {
        **{"predict": 2 * MAILS, "learn": 2 * MAILS},
        **{"repeat": 0, "correct": 0, "duplicate": 0, "refuse": 0},
    }
    assert counts["forward"] > 0
    assert sum(processor.engine.model_version for processor in worker.processors.values()) == 2 * MAILS
    assert [letter for number in range(PARTITIONS) for letter in scene.letters(number)] == []
    scene.check()
