"""The server of the page: where it listens, what it says, and how it ends."""

from __future__ import annotations

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

import uvicorn
from starlette.types import ASGIApp

from stream_bayes.config import WebSettings
from stream_bayes.errors import ConfigError, reason_of
from stream_bayes.runtime.logging import LogFormatter
from stream_bayes.signals import is_ignored
from stream_bayes.web.graceful_shutdown import GracefulShutdown
from stream_bayes.web.http_protocol import HttpProtocol
from stream_bayes.web.security.auth import in_url, is_loopback

logger = logging.getLogger("stream_bayes.web")

_KEEP_ALIVE_SECONDS = 30
_LAST_SECONDS = 2
_MAX_HEAD_BYTES = 16 << 10
# 200 browsers with six connections each, and as many again on their way out.
_MAX_CONNECTIONS = 2400
_OPEN_FILES = 4096
_STOPPED = 130
_EVERYWHERE = frozenset({"0.0.0.0", "::"})
_OPEN_LINE = "Plain HTTP: whoever can listen on the way can read the token"


def serve(
    app: ASGIApp,
    place: WebSettings,
    *,
    made_up: str | None = None,
    as_json: bool = False,
    failures: Sequence[Exception] = (),
) -> None:
    """Serve an application until SIGINT or SIGTERM; a SIGINT that was inherited as ignored stays so.

    Parameters
    ----------
    app
        Its lifespan is entered first; an error in it is raised from here.
    place
        Where to listen, and which proxies are believed when they say for whom they ask, and whether by HTTPS.
    made_up
        A token that nobody knows yet: it is printed on the error output, once.
    as_json
        Whether it says everything as JSON, one object a line on the error output.
    failures
        Errors of background threads: as soon as there is one the server ends, and it is raised from here.
    """
    report_to_stderr(as_json=as_json)
    _allow_files(_OPEN_FILES)
    with bound(place.host, place.port) as listener:

        def say_ready() -> None:
            if not is_loopback(place.host):
                _warn(as_json=as_json)
            _say_ready(_address(place.host, listener), made_up, as_json=as_json)

        Server(app, say_ready, place.trusted_proxies, failures).run([listener])


class Server(uvicorn.Server):
    """uvicorn's, which says when it is ready, ends streams before it waits, and takes a signal for an order."""

    def __init__(
        self,
        app: ASGIApp,
        ready: Callable[[], None],
        trusted_proxies: Sequence[str] = (),
        failures: Sequence[Exception] = (),
    ) -> None:
        self._ending = GracefulShutdown(app)
        self._ready = ready
        self._failures = failures
        # uvicorn handles both, whatever was inherited.
        self._ignores_sigint = is_ignored(signal.SIGINT)
        super().__init__(_config(self._ending, trusted_proxies))

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the end; raise what kept the application from starting, or what ended one of its threads."""
        try:
            super().run(sockets)
        except SystemExit:
            if self._ending.problem is None:
                raise
            raise self._ending.problem from None
        if self._failures:
            raise self._failures[0]

    async def on_tick(self, counter: int) -> bool:
        """Whether to end, which uvicorn asks ten times a second."""
        return bool(self._failures) or await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Enter the lifespan, listen, and say so."""
        await super().startup(sockets)
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, wait for other answers, and leave the lifespan."""
        self._ending.end()
        # Of answers that are cut off now it would show traces.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in good order at the first signal, and at once at the second."""
        if sig == signal.SIGINT and self._ignores_sigint:
            return
        if self.should_exit:
            os._exit(_STOPPED)
        self.should_exit = True


def _config(app: ASGIApp, trusted_proxies: Sequence[str]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Told explicitly, as it would otherwise believe everything on this machine, or what a variable says.
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=_both_ways(trusted_proxies),
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_LAST_SECONDS,
        h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
    )


def _both_ways(addresses: Sequence[str]) -> list[str]:
    """The same, and those of IPv4 also as a socket of IPv6 names them.

    >>> _both_ways(["10.0.0.0/8", "::1"])
    ['10.0.0.0/8', '::1', '::ffff:10.0.0.0/104']
    """
    networks = [ip_network(address) for address in addresses]
    mapped = [f"::ffff:{one.network_address}/{96 + one.prefixlen}" for one in networks if one.version == 4]
    return [*addresses, *mapped]


class WebLogFormatter(LogFormatter):
    """The lines of a worker, and below them the trace of what was not foreseen."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, or with a trace several; as JSON always one."""
        line = super().format(record)
        if record.exc_info is None:
            return line
        trace = self.formatException(record.exc_info)
        return json.dumps({**json.loads(line), "trace": trace}) if self._as_json else f"{line}\n{trace}"


def report_to_stderr(*, as_json: bool) -> None:
    """Let everything be seen that this package logs, and errors of the server."""
    handler = logging.StreamHandler()
    handler.setFormatter(WebLogFormatter(as_json=as_json))
    # Why it could not start is raised, and told in one line.
    for name, level in (("stream_bayes", logging.INFO), ("uvicorn", logging.CRITICAL)):
        root = logging.getLogger(name)
        root.handlers = [handler]
        root.setLevel(level)
        root.propagate = False


def _warn(*, as_json: bool) -> None:
    if as_json:
        logger.warning(_OPEN_LINE)
    else:
        print(_OPEN_LINE, file=sys.stderr, flush=True)


def _say_ready(address: str, made_up: str | None, *, as_json: bool) -> None:
    if as_json:
        fields = {"url": address} if made_up is None else {"url": address, "token": made_up}
        logger.info("listening", extra={"fields": fields})
        return
    if made_up is not None:
        print(f"Everybody needs this token, which is not shown again: {made_up}", file=sys.stderr, flush=True)
    print(f"The page is at {address} (Ctrl-C ends it)", flush=True)


def _address(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    name = socket.gethostname() if host in _EVERYWHERE else host
    return f"http://{in_url(name)}:{port}/"


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; ConfigError says why there is none."""
    place = f"{in_url(host)}:{port}"
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
        raise ConfigError(_why_not(place, problem)) from problem
    return listener


def _why_not(place: str, problem: Exception) -> str:
    number = problem.errno if isinstance(problem, OSError) else None
    if number == errno.EADDRINUSE:
        return f"{place} is in use by another program; choose another with --port"
    if number == errno.EACCES:
        return f"{place} is not for everybody: choose a port above 1023 with --port"
    if number == errno.EADDRNOTAVAIL:
        return f"{place} is no address of this machine; choose another with --host"
    return f"cannot listen on {place}: {reason_of(problem)}"


def _allow_files(wanted: int) -> None:
    """Let so many connections be open at once as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
