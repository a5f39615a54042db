"""Receiving, around a fault of the client (3.0.12): what comes just before a connection ends would be lost.

That is what a broker says to whom it does not let in.
"""

from __future__ import annotations

import ssl
from functools import partial
from typing import Any

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaTCPTransport

# With the client's own 4 KiB a mail takes 3 µs more.
_MOST_BYTES = 256 << 10
_NOTHING_YET = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _Connections(KafkaConnectionManager):  # type: ignore[misc] # the client has no types
    """Connections that hear a broker out."""

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> KafkaTCPTransport:
        transport = await super()._build_transport(node, timeout_at=timeout_at)
        transport._sock_recv = partial(_received, transport)
        return transport


def net_client(**options: Any) -> KafkaNetClient:
    """What a client of the broker is to use for its connections."""
    net = NetworkSelector(**options)
    return KafkaNetClient(net, _Connections(net, **options))


def _received(transport: KafkaTCPTransport) -> tuple[bytes, errors.KafkaError | None]:
    """What has come, or why nothing more will: an end is told again to who asks again."""
    chunks: list[bytes] = []
    while True:
        try:
            chunk = transport._sock.recv(_MOST_BYTES)
        except _NOTHING_YET:
            return b"".join(chunks), None
        except OSError as problem:
            end = errors.KafkaConnectionError(problem)
        else:
            if chunk:
                chunks.append(chunk)
                continue
            end = errors.KafkaConnectionError("socket disconnected")
        return b"".join(chunks), None if chunks else end
