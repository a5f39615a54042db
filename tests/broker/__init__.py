"""A real Apache Kafka broker for the tests, downloaded once and run on this machine."""

from __future__ import annotations

from tests.broker.broker import Broker, BrokerError, RemoteBroker
from tests.broker.jars import JarsError, install_missing_tools, kafka_jars, missing_tools

__all__ = ["Broker", "BrokerError", "JarsError", "RemoteBroker", "install_missing_tools", "kafka_jars", "missing_tools"]
