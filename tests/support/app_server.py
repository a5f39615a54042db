"""Applications behind the page's own server, on a port of 127.0.0.1, for tests that talk to them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import NamedTuple

import httpx
from starlette.types import ASGIApp

from stream_bayes.web.server import Server, bind
from tests.support.commands import PATIENCE


class Served(NamedTuple):
    """Where an application is."""

    server: Server
    port: int

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, **headers: str) -> httpx.Client:
        """A client that sends these fields with everything."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False)

    def say(self, content: bytes) -> bytes:
        """What is answered to bytes, until the connection is closed."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(content)
            answer = b""
            while part := connection.recv(65536):
                answer += part
            return answer


@contextmanager
def served(app: ASGIApp, *trusted_proxies: str) -> Iterator[Served]:
    """Serve an application while the context lasts."""
    ready = Event()
    with bind("127.0.0.1", 0) as listener:
        server = Server(app, ready.set, trusted_proxies)
        thread = Thread(target=server.run, args=([listener],), name="server")
        thread.start()
        try:
            assert ready.wait(PATIENCE)
            yield Served(server, listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()
