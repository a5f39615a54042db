"""The settings of the test broker's server."""

from __future__ import annotations

from collections.abc import Mapping

# A single node. Few partitions of the internal topics: they are made one by one at the first use. The session timeout
# is how long a killed broker's registration keeps its successor out: 9 s by default.
SINGLE_NODE: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # A topic that is missing is to be noticed, not made by whoever asks for it.
    "auto.create.topics.enable": "false",
}

QUICK: Mapping[str, str] = {
    "group.min.session.timeout.ms": "1000",
    # Not sooner: a broker that was killed and starts again forgets to mark the end of a transaction (KAFKA-20734) if it
    # ends it before it has registered itself, which takes it some seconds.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "5000",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "1000",
}
"""Waits that are shorter than anybody would have them, so that tests need not wait long."""


def listening(ports: Mapping[str, int], protocols: Mapping[str, str], controller_port: int) -> dict[str, str]:
    """The settings of listeners: the port of each by its name, and its security protocol."""
    addresses = [f"{name}://127.0.0.1:{port}" for name, port in ports.items()]
    kinds = [f"{name}:{protocols[name]}" for name in ports]
    return {
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": ",".join([*addresses, f"CONTROLLER://127.0.0.1:{controller_port}"]),
        "advertised.listeners": ",".join(addresses),
        "listener.security.protocol.map": ",".join([*kinds, "CONTROLLER:PLAINTEXT"]),
        "inter.broker.listener.name": next(iter(ports)),
    }


def as_file(properties: Mapping[str, str]) -> str:
    """The properties as the server reads them."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())
