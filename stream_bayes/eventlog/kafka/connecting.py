"""Making a client: what the broker has against it is said at once, and nothing is left of one that was not let in."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka import errors
from kafka.net.compat import KafkaNetClient

from stream_bayes.errors import LogError, LogUnavailable
from stream_bayes.eventlog.kafka.client_workarounds import net_client
from stream_bayes.eventlog.kafka.error_mapping import explained
from stream_bayes.eventlog.kafka.security import Refusals

# A broker that wants a password says nothing to who gives none. One that is going away hangs up as well, but hardly so
# often after it has answered: worth a hint, and another try.
_HUNG_UP = re.compile(r"broker_version=\(.*socket disconnected")
_HUNG_UP_TIMES = 4
_UNWANTED = (
    "the broker hangs up as soon as it is asked for something, as one does that wants a password: correct "
    "kafka.security_protocol, or the port"
)


class _Beginning(Refusals):
    """Ends the attempts of a client at the first refusal: more of them lock a user out, and none will succeed."""

    def __init__(self) -> None:
        super().__init__()
        self._client: KafkaNetClient | None = None
        self._hung_up = 0

    def client(self, **options: Any) -> KafkaNetClient:
        """What the client of the broker is to use for its connections."""
        self._client = net_client(**options)
        return self._client

    def emit(self, record: logging.LogRecord) -> None:
        """In the client's own thread, where nothing may be done at once."""
        super().emit(record)
        self._hung_up += _HUNG_UP.search(record.getMessage()) is not None
        if self._hung_up >= _HUNG_UP_TIMES and not self.reasons:
            self.reasons.append(_UNWANTED)
        if self.reasons and self._client is not None:
            self._client._manager.call_soon(self._client._manager.close)

    def close_client(self) -> None:
        """The client itself would leave its thread running when it fails to begin."""
        if self._client is not None:
            self._client.close()
            self._client._manager._net.stop()


@contextmanager
def connecting(servers: str) -> Iterator[Callable[..., KafkaNetClient]]:
    """Context for making a client, which is to be given what this yields as `kafka_client`."""
    with _Beginning() as beginning:
        try:
            yield beginning.client
        except errors.KafkaError as problem:
            beginning.close_client()
            if beginning.reasons == [_UNWANTED]:
                # It may be going away all the same.
                message = f"{servers}: {_UNWANTED}"
                raise LogUnavailable(message) from problem
            if beginning.reasons and problem.retriable:
                message = f"{servers}: {'; '.join(beginning.reasons)}"
                raise LogError(message) from problem
            raise explained(problem, servers) from problem
