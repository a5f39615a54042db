"""Graceful shutdown of event streams: they never end by themselves, so they are ended before the server waits."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DISCONNECT: Message = {"type": "http.disconnect"}


class GracefulShutdown:
    """ASGI wrapper that ends the event streams of an application on shutdown."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._shutdown = asyncio.Event()
        self.problem: BaseException | None = None
        """The error that prevented the application's start."""

    def end_streams(self) -> None:
        """End all event streams, also those that start later."""
        self._shutdown.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(scope, receive, send)
        else:
            exchange = _Exchange(self._shutdown, receive, send)
            await self._app(scope, exchange.receive, exchange.send)
            await exchange.close()

    async def _run_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except BaseException as problem:
            self.problem = problem
            raise


class _Exchange:
    """A request and its response. On shutdown the application sees a disconnect of every event stream."""

    def __init__(self, shutdown: asyncio.Event, receive: Receive, send: Send) -> None:
        self._shutdown = shutdown
        self._receive = receive
        self._send = send
        self._received = False
        self._streams = False

    async def receive(self) -> Message:
        if not self._received:
            message = await self._receive()
            self._received = not message.get("more_body", False)
            return message
        tasks = [asyncio.ensure_future(one) for one in (self._receive(), self._disconnect_stream())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in tasks:
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
        """Send the end of a stream that was ended by the shutdown."""
        if self._streams and self._shutdown.is_set():
            await self.send({"type": "http.response.body", "body": b""})

    async def _disconnect_stream(self) -> Message:
        await self._shutdown.wait()
        while not self._streams:
            await asyncio.sleep(0.05)
        return _DISCONNECT
