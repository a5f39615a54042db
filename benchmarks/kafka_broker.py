"""A Kafka broker to measure on: the one that STREAM_BAYES_KAFKA names, else our own, as the tests start it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.support.broker import Broker, kafka_jars, missing_tools

REMOTE_BROKER = "STREAM_BAYES_KAFKA"


def missing_broker() -> str | None:
    """Why there can be no broker here; None if there can."""
    missing = missing_tools()
    if os.environ.get(REMOTE_BROKER) or not missing:
        return None
    tools = " and ".join(missing)
    return f"a broker needs {tools}: install Java 17 and Maven, or set {REMOTE_BROKER} to the host:port of one"


@contextmanager
def open_broker() -> Iterator[str]:
    """The host:port of a broker; one of our own ends with the context, and its data with it."""
    address = os.environ.get(REMOTE_BROKER)
    if address:
        yield address
        return
    with Broker(kafka_jars()) as own:
        yield own.address


@contextmanager
def new_topics(address: str, names: Sequence[str], partitions: int = 1) -> Iterator[list[str]]:
    """Empty topics, with unique names derived from these; deleted with the end of the context.

    Records get the broker's time, as in topics that KafkaLog makes.
    """
    options = {"message.timestamp.type": "LogAppendTime"}
    token = uuid4().hex[:8]
    topics = [f"benchmark-{token}-{name}" for name in names]
    admin = KafkaAdminClient(bootstrap_servers=address)
    try:
        admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=options) for topic in topics])
        yield topics
        admin.delete_topics(topics)
    finally:
        admin.close()
