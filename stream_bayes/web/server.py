"""The HTTP server of the page: uvicorn with a listening socket, limits, log output and graceful shutdown."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from ipaddress import ip_network
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from stream_bayes.config import WebSettings
from stream_bayes.errors import ConfigError, reason_of
from stream_bayes.runtime.logging import LogFormatter
from stream_bayes.signals import is_ignored
from stream_bayes.web.graceful_shutdown import GracefulShutdown
from stream_bayes.web.security.auth import in_url, is_loopback
from stream_bayes.web.security.http_messages import Refusal

logger = logging.getLogger("stream_bayes.web")

_KEEP_ALIVE_SECONDS = 30
_SHUTDOWN_SECONDS = 2
_HEAD_SECONDS = 30.0
_MAX_HEAD_BYTES = 16 << 10
# 200 browsers with six connections each, and as many that are closing.
_MAX_CONNECTIONS = 2400
_OPEN_FILES = 4096
_EXIT_CODE = 130
_ALL_INTERFACES = frozenset({"0.0.0.0", "::"})
_PLAIN_HTTP = "Plain HTTP: anybody on the network path can read the token"


def serve(
    app: ASGIApp,
    settings: WebSettings,
    *,
    new_token: str | None = None,
    as_json: bool = False,
    failures: Sequence[Exception] = (),
) -> None:
    """Serve an application until SIGINT or SIGTERM. An inherited ignored SIGINT stays ignored.

    Parameters
    ----------
    app
        The application. An error in its lifespan is raised from here.
    settings
        Host, port, and the proxies whose X-Forwarded fields are trusted.
    new_token
        A generated token, which is printed once on the error output.
    as_json
        Whether to log JSON, one object a line on the error output.
    failures
        Errors of background threads. The server ends at the first one and raises it.
    """
    report_to_stderr(as_json=as_json)
    _raise_file_limit(_OPEN_FILES)
    with bind(settings.host, settings.port) as listener:

        def report_ready() -> None:
            if not is_loopback(settings.host):
                _warn_plain_http(as_json=as_json)
            _report_ready(_address(settings.host, listener), new_token, as_json=as_json)

        Server(app, report_ready, settings.trusted_proxies, failures).run([listener])


class Server(uvicorn.Server):
    """uvicorn's server with a ready callback, graceful shutdown of event streams, and its own signal handling."""

    def __init__(
        self,
        app: ASGIApp,
        ready: Callable[[], None],
        trusted_proxies: Sequence[str] = (),
        failures: Sequence[Exception] = (),
    ) -> None:
        self._shutdown = GracefulShutdown(app)
        self._ready = ready
        self._failures = failures
        # uvicorn handles SIGINT even if it was inherited as ignored.
        self._ignores_sigint = is_ignored(signal.SIGINT)
        super().__init__(_config(self._shutdown, trusted_proxies))

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until stopped. Raise the error that prevented the start, or that of a background thread."""
        try:
            super().run(sockets)
        except SystemExit:
            if self._shutdown.problem is None:
                raise
            raise self._shutdown.problem from None
        if self._failures:
            raise self._failures[0]

    async def on_tick(self, counter: int) -> bool:
        """Whether to end. uvicorn calls it ten times a second."""
        return bool(self._failures) or await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Enter the lifespan, listen, and report readiness."""
        await super().startup(sockets)
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, wait for other responses, and leave the lifespan."""
        self._shutdown.end_streams()
        # It would log tracebacks of responses that are cut off now.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down gracefully at the first signal, and at once at the second."""
        if sig == signal.SIGINT and self._ignores_sigint:
            return
        if self.should_exit:
            os._exit(_EXIT_CODE)
        self.should_exit = True


class HttpProtocol(H11Protocol):
    """HTTP/1.1 with a timeout for the head of a request, and JSON error responses to invalid HTTP."""

    head_seconds = _HEAD_SECONDS
    """Seconds from the first byte of a request, or from the start of the connection."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(transport)
        self._start_timeout()

    def data_received(self, data: bytes) -> None:
        """Stop the timeout when the head is complete, and start it with the next request."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timeout()
        elif self._deadline is None and not self.transport.is_closing():
            self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout."""
        self._stop_timeout()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Respond to invalid HTTP, or to a head that is too large."""
        refusal = Refusal(400, "no-http", msg, {"connection": "close"})
        response = h11.Response(status_code=400, headers=refusal.fields(), reason=STATUS_PHRASES[400])
        for event in (response, h11.Data(data=refusal.content), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _start_timeout(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_timeout(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _config(app: ASGIApp, trusted_proxies: Sequence[str]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Set explicitly: by default uvicorn trusts this machine, or an environment variable.
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=_with_mapped(trusted_proxies),
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
    )


def _with_mapped(addresses: Sequence[str]) -> list[str]:
    """Return the addresses, and those of IPv4 also as mapped IPv6 addresses.

    >>> _with_mapped(["10.0.0.0/8", "::1"])
    ['10.0.0.0/8', '::1', '::ffff:10.0.0.0/104']
    """
    networks = [ip_network(address) for address in addresses]
    mapped = [f"::ffff:{one.network_address}/{96 + one.prefixlen}" for one in networks if one.version == 4]
    return [*addresses, *mapped]


class WebLogFormatter(LogFormatter):
    """The worker's log format, with the traceback of unexpected errors."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, followed by a traceback. JSON is always one line."""
        line = super().format(record)
        if record.exc_info is None:
            return line
        trace = self.formatException(record.exc_info)
        return json.dumps({**json.loads(line), "trace": trace}) if self._as_json else f"{line}\n{trace}"


def report_to_stderr(*, as_json: bool) -> None:
    """Log this package and critical errors of uvicorn to the error output."""
    handler = logging.StreamHandler()
    handler.setFormatter(WebLogFormatter(as_json=as_json))
    # The reason of a failed start is raised, and reported in one line.
    for name, level in (("stream_bayes", logging.INFO), ("uvicorn", logging.CRITICAL)):
        root = logging.getLogger(name)
        root.handlers = [handler]
        root.setLevel(level)
        root.propagate = False


def _warn_plain_http(*, as_json: bool) -> None:
    if as_json:
        logger.warning(_PLAIN_HTTP)
    else:
        print(_PLAIN_HTTP, file=sys.stderr, flush=True)


def _report_ready(address: str, new_token: str | None, *, as_json: bool) -> None:
    if as_json:
        fields = {"url": address} if new_token is None else {"url": address, "token": new_token}
        logger.info("listening", extra={"fields": fields})
        return
    if new_token is not None:
        print(f"Everybody needs this token, which is not shown again: {new_token}", file=sys.stderr, flush=True)
    print(f"The page is at {address} (Ctrl-C ends it)", flush=True)


def _address(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    name = socket.gethostname() if host in _ALL_INTERFACES else host
    return f"http://{in_url(name)}:{port}/"


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise a `ConfigError` that says why there is none."""
    address_text = f"{in_url(host)}:{port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as problem:
        raise ConfigError(_bind_problem(address_text, problem)) from problem
    return listener


def _bind_problem(address: str, problem: Exception) -> str:
    number = problem.errno if isinstance(problem, OSError) else None
    if number == errno.EADDRINUSE:
        return f"{address} is in use by another program; choose another with --port"
    if number == errno.EACCES:
        return f"{address} needs special permission: choose a port above 1023 with --port"
    if number == errno.EADDRNOTAVAIL:
        return f"{address} is no address of this machine; choose another with --host"
    return f"cannot listen on {address}: {reason_of(problem)}"


def _raise_file_limit(needed: int) -> None:
    """Raise the limit of open files, and so of connections, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
