"""A connection that does not wait for ever, and whose refusals are as safe as other answers."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from stream_bayes.web.security.responses import Refusal

_HEAD_SECONDS = 30.0


class HttpProtocol(H11Protocol):
    """HTTP/1.1 where the head of a request must arrive in time, and what is no HTTP is told so as JSON."""

    head_seconds = _HEAD_SECONDS
    """From the first byte of a request, or from the beginning of the connection."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on with a request, or wait for the rest of its head."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._deadline is None and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or has more header than anybody needs."""
        refusal = Refusal(400, "no-http", msg, {"connection": "close"})
        response = h11.Response(status_code=400, headers=refusal.fields(), reason=STATUS_PHRASES[400])
        for event in (response, h11.Data(data=refusal.content), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
