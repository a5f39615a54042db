"""A real Apache Kafka broker for the tests, downloaded once and run on this machine."""

from __future__ import annotations

from tests.support.broker.broker import Broker, RemoteBroker
from tests.support.broker.console_producer import ConsoleProducer
from tests.support.broker.jars import JarsError, install_missing_tools, kafka_jars, missing_tools
from tests.support.broker.processes import BrokerError
from tests.support.broker.security import SecureBroker

__all__ = [
    "Broker",
    "BrokerError",
    "ConsoleProducer",
    "JarsError",
    "RemoteBroker",
    "SecureBroker",
    "install_missing_tools",
    "kafka_jars",
    "missing_tools",
]
