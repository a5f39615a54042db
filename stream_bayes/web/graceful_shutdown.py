"""An end in good order: streams of events would go on for ever, so they are ended before the rest is waited for."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DISCONNECT: Message = {"type": "http.disconnect"}


class GracefulShutdown:
    """The application, with streams of events that end when they are told to."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._over = asyncio.Event()
        self.problem: BaseException | None = None
        """What kept the application from starting."""

    def end(self) -> None:
        """End all streams, those too that are still to come."""
        self._over.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        else:
            exchange = _Exchange(self._over, receive, send)
            await self._app(scope, exchange.receive, exchange.send)
            await exchange.close()

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except BaseException as problem:
            self.problem = problem
            raise


class _Exchange:
    """A request and its answer; to the application the client of a stream has left once all is over."""

    def __init__(self, over: asyncio.Event, receive: Receive, send: Send) -> None:
        self._over = over
        self._receive = receive
        self._send = send
        self._received = self._streams = False

    async def receive(self) -> Message:
        if not self._received:
            message = await self._receive()
            self._received = not message.get("more_body", False)
            return message
        waiting = [asyncio.ensure_future(one) for one in (self._receive(), self._over_for_streams())]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in waiting:
                task.cancel()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._streams = any(
                name.lower() == b"content-type" and value.startswith(b"text/event-stream")
                for name, value in message.get("headers", ())
            )
        elif not message.get("more_body", False):
            self._streams = False
        await self._send(message)

    async def close(self) -> None:
        """Write the end of a stream that was ended from here."""
        if self._streams and self._over.is_set():
            await self.send({"type": "http.response.body", "body": b""})

    async def _over_for_streams(self) -> Message:
        await self._over.wait()
        while not self._streams:
            await asyncio.sleep(0.05)
        return _DISCONNECT
