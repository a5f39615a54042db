"""Two Kafka clients made to do the same: read a topic, write plainly, write in transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple
from uuid import uuid4

import confluent_kafka
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from stream_bayes.config import KafkaSettings
from stream_bayes.eventlog.kafka.connection import KafkaConnection

PATIENCE = 30.0
# Plain writing, with either client: large batches, since kafka-python has one batch of a partition under way at most.
BATCH_BYTES = 1 << 20
LINGER_MILLISECONDS = 100
# A prediction is about as long; a transaction's journal record has this number of bytes for each mail.
PREDICTION = b'{"id": "mail-1", "label": "ham", "scores": {"ham": 0.9987, "spam": 0.0013}}'.ljust(300)
JOURNAL_BYTES = 12


class Row(NamedTuple):
    """A record, as far as a worker looks at it."""

    offset: int
    key: bytes | None
    value: bytes | None


class Topics(NamedTuple):
    """Mails to read, mails that are written, predictions and a journal; each of one partition."""

    mails: str
    written: str
    predictions: str
    journal: str


class Adapter(ABC):
    """A client that stands at the first mail; it reads committed records only, and waits for all replicas."""

    @abstractmethod
    def __init__(self, address: str, topics: Topics) -> None: ...

    @abstractmethod
    def rewind(self) -> None:
        """Read the mails from the first one on."""

    @abstractmethod
    def poll(self, most: int) -> list[Row]:
        """The next mails."""

    @abstractmethod
    def write(self, mails: Sequence[bytes]) -> None:
        """Write mails, and wait until the last one is acknowledged."""

    @abstractmethod
    def transact(self, rows: Sequence[Row]) -> None:
        """A prediction for each, a journal record and the position behind the last one, in one transaction."""

    @abstractmethod
    def close(self) -> None: ...


class PythonAdapter(Adapter):
    """kafka-python, reading and transacting with the very options of KafkaLog."""

    def __init__(self, address: str, topics: Topics) -> None:
        self._topics = topics
        self._mails = TopicPartition(topics.mails, 0)
        self._consumer, self._transactions = self._clients(address, uuid4().hex)
        self._consumer.assign([self._mails])
        self.rewind()
        self._transactions.init_transactions()
        options = {"batch_size": BATCH_BYTES, "linger_ms": LINGER_MILLISECONDS, "metrics_enabled": False}
        self._plain = KafkaProducer(bootstrap_servers=address, **options)

    def _clients(self, address: str, name: str) -> tuple[KafkaConsumer, KafkaProducer]:
        connection = KafkaConnection([address], KafkaSettings())
        return connection.group_consumer(name, None), connection.producer(name)

    def rewind(self) -> None:
        self._consumer.seek(self._mails, 0)

    def poll(self, most: int) -> list[Row]:
        polled = self._consumer.poll(timeout_ms=1000, max_records=most)
        return [Row(found.offset, found.key, found.value) for found in polled.get(self._mails, ())]

    def write(self, mails: Sequence[bytes]) -> None:
        for place, mail in enumerate(mails):
            self._plain.send(self._topics.written, mail, b"%d" % place, partition=0)
        self._plain.flush(PATIENCE)

    def transact(self, rows: Sequence[Row]) -> None:
        producer = self._transactions
        producer.begin_transaction()
        for row in rows:
            producer.send(self._topics.predictions, PREDICTION, row.key, partition=0)
        producer.send(self._topics.journal, bytes(JOURNAL_BYTES * len(rows)), partition=0)
        position = OffsetAndMetadata(rows[-1].offset + 1, "", -1)
        producer.send_offsets_to_transaction({self._mails: position}, self._consumer.group_metadata())
        self._flush(producer)
        producer.commit_transaction()

    def _flush(self, producer: KafkaProducer) -> None:
        producer.flush(PATIENCE)

    def close(self) -> None:
        for client in (self._consumer, self._transactions, self._plain):
            client.close()


class DefaultsAdapter(PythonAdapter):
    """kafka-python as it comes, but for what makes a transaction one; without the flush that makes it fast."""

    def _clients(self, address: str, name: str) -> tuple[KafkaConsumer, KafkaProducer]:
        consumer = KafkaConsumer(
            bootstrap_servers=address, group_id=name, isolation_level="read_committed", enable_auto_commit=False
        )
        return consumer, KafkaProducer(bootstrap_servers=address, transactional_id=name)

    def _flush(self, producer: KafkaProducer) -> None:
        pass


class ConfluentAdapter(Adapter):
    """confluent-kafka, which is librdkafka in C, with its defaults but for what would make it wait; it checks CRCs too.

    After 100 ms, its default, it would ask again for the next transaction while the last one is being completed; and a
    rewinding would wait for the answer of the fetch at the end of the topic, up to 500 ms.
    """

    def __init__(self, address: str, topics: Topics) -> None:
        name = uuid4().hex
        self._topics = topics
        options: dict[str, str | int | bool] = {"bootstrap.servers": address}
        reading = {"group.id": name, "isolation.level": "read_committed", "enable.auto.commit": False}
        reading |= {"check.crcs": True, "fetch.wait.max.ms": 5}
        self._consumer = confluent_kafka.Consumer(options | reading)
        self._consumer.assign([confluent_kafka.TopicPartition(topics.mails, 0, 0)])
        self._transactions = confluent_kafka.Producer(options | {"transactional.id": name, "retry.backoff.ms": 1})
        self._transactions.init_transactions(PATIENCE)
        writing = {"enable.idempotence": True, "batch.size": BATCH_BYTES, "linger.ms": LINGER_MILLISECONDS}
        self._plain = confluent_kafka.Producer(options | writing)

    def rewind(self) -> None:
        self._consumer.seek(confluent_kafka.TopicPartition(self._topics.mails, 0, 0))

    def poll(self, most: int) -> list[Row]:
        polled = self._consumer.consume(most, 1.0)
        # Only an error has no offset.
        return [Row(found.offset() or 0, found.key(), found.value()) for found in polled]

    def write(self, mails: Sequence[bytes]) -> None:
        for place, mail in enumerate(mails):
            self._plain.produce(self._topics.written, mail, b"%d" % place, 0)
        self._plain.flush(PATIENCE)

    def transact(self, rows: Sequence[Row]) -> None:
        producer = self._transactions
        producer.begin_transaction()
        for row in rows:
            producer.produce(self._topics.predictions, PREDICTION, row.key, 0)
        producer.produce(self._topics.journal, bytes(JOURNAL_BYTES * len(rows)), None, 0)
        position = confluent_kafka.TopicPartition(self._topics.mails, 0, rows[-1].offset + 1)
        producer.send_offsets_to_transaction([position], self._consumer.consumer_group_metadata(), PATIENCE)
        producer.commit_transaction(PATIENCE)

    def close(self) -> None:
        self._consumer.close()
        self._transactions.close()
        self._plain.close()


ADAPTERS: dict[str, type[Adapter]] = {"kafka-python": PythonAdapter, "confluent-kafka": ConfluentAdapter}
