"""ASGI middleware before the routes, one class for each job; `api.app` composes them.

From the outside to the inside:

RejectWebSockets    closes every WebSocket
SecurityHeaders     adds the security headers to every response
ErrorResponses      turns a `Refusal` and an unexpected exception into an error response
HeadCheck           limits the head of a request, and refuses an ambiguous length
HostCheck           refuses unknown host names
ConcurrencyLimit    limits requests and event streams that are answered at once
TokenCheck          refuses requests without the token
CsrfCheck           refuses requests that another site made a browser send
MediaTypeCheck      refuses bodies of other media types
BodyLimit           reads the body within limits of size and time
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.http_messages import (
    JSON,
    Refusal,
    RequestHead,
    busy,
    unauthorized,
    with_security_headers,
    wrong_token,
)
from stream_bayes.web.security.login import LOGIN, login_page

logger = logging.getLogger("stream_bayes.web")

_PUBLIC_PATHS = frozenset({"/healthz", "/readyz"})
_API = "/api/"
_EVENTS = "/api/events"
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_FORM = "application/x-www-form-urlencoded"
_OWN_SITES = (None, "same-origin", "none")
# uvicorn limits a head that arrives in parts, but not one that arrives at once.
_MAX_HEAD_BYTES = 16 << 10
_MAX_BODY_BYTES = 64 << 10
_MAX_BODY_BYTES_OF: Mapping[str, int] = {"/api/predict": 2 << 20}
# Bytes that are read and discarded: a browser reads the response only after it has sent the whole body.
_MAX_DISCARDED_BYTES = 16 << 20
_CLOSE = {"connection": "close"}
_CROSS_SITE = "This was not sent by the page itself but by another site."
_INTERNAL = "Something failed here. The reason is in the page's log, on the error output of the program."


class RejectWebSockets:
    """Closes every WebSocket: the page has none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Close a WebSocket, or pass the request on."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._app(scope, receive, send)


class HttpMiddleware(ABC):
    """Base of the other layers: `handle` gets HTTP requests, the lifespan is passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or pass the lifespan on."""
        if scope["type"] == "http":
            await self.handle(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    @abstractmethod
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an HTTP request."""


class RequestCheck(HttpMiddleware):
    """Base of layers that only look at the head of a request."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the head, then pass the request on."""
        self.check(RequestHead.of(scope))
        await self._app(scope, receive, send)

    @abstractmethod
    def check(self, head: RequestHead) -> None:
        """Raise a `Refusal` if the request must not pass."""


class SecurityHeaders(HttpMiddleware):
    """Adds the security headers to every response."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add headers to its response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = with_security_headers(message.get("headers", ()), scope["path"])
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_with_headers)


class ErrorResponses(HttpMiddleware):
    """Turns a `Refusal` and every unexpected exception into an error response, which does not reveal the reason."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and respond to its errors."""
        response = _Response(send)
        try:
            await self._app(scope, receive, response.send)
        except Refusal as refusal:
            await response.refuse(refusal)
        except Exception as problem:
            # The one place where everything is caught: the client only learns that it happened.
            fields = {
                "method": ascii(scope["method"]),
                "path": ascii(scope["path"])[:200],
                "error": ascii(str(problem))[:200],
            }
            logger.error("a request failed", exc_info=problem, extra={"fields": fields})
            await response.fail()


class _Response:
    """The response to one request. An internal error is sent once, and only if no response has started."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = False
        self._failed = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if message["status"] == HTTPStatus.INTERNAL_SERVER_ERROR and not _is_json(message):
                await self.fail()
                return
            self._started = True
        if not self._failed:
            await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        await self._send({"type": "http.response.start", "status": refusal.status, "headers": refusal.fields()})
        await self._send({"type": "http.response.body", "body": refusal.content})

    async def fail(self) -> None:
        if not self._started:
            self._started = True
            self._failed = True
            await self.refuse(Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", _INTERNAL))


class HeadCheck(RequestCheck):
    """Limits the bytes of the head, and refuses a body whose length is ambiguous."""

    def check(self, head: RequestHead) -> None:
        """Raise a `Refusal` for a head that is too large or ambiguous."""
        if head.size > _MAX_HEAD_BYTES:
            raise Refusal(431, "head-too-large", f"Address and header may have {_MAX_HEAD_BYTES} bytes.", _CLOSE)
        if head.all("transfer-encoding") and head.all("content-length"):
            # Request smuggling: a proxy may see the end of the body elsewhere, and another request in it.
            raise Refusal(400, "no-http", "Transfer-Encoding and Content-Length exclude each other.", _CLOSE)


class HostCheck(RequestCheck):
    """Refuses host names that are not those of the page."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        super().__init__(app)
        self._authenticator = authenticator

    def check(self, head: RequestHead) -> None:
        """Raise a `Refusal` for a missing or unknown host."""
        name = head.host
        if name is None:
            raise Refusal(400, "host", "The field Host must be the name of this page's host, with its port.")
        if not self._authenticator.accepts_host(name):
            detail = f"This page is not called {name}: open it as localhost, or under the address that it listens on."
            raise Refusal(421, "host", detail)


class ConcurrencyLimit(HttpMiddleware):
    """Limits the requests and event streams that are answered at once. Health checks are always answered."""

    def __init__(self, app: ASGIApp, max_requests: int, max_streams: int) -> None:
        super().__init__(app)
        self._requests = _Slots(max_requests)
        self._streams = _Slots(max_streams)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on within a free slot."""
        with self._slot(RequestHead.of(scope)):
            await self._app(scope, receive, send)

    def _slot(self, head: RequestHead) -> AbstractContextManager[None]:
        if head.path in _PUBLIC_PATHS and head.method in _READ_METHODS:
            return nullcontext()
        return self._streams.acquire() if head.path == _EVENTS else self._requests.acquire()


class _Slots:
    """A counting semaphore that refuses instead of waiting."""

    def __init__(self, count: int) -> None:
        self._free = count

    @contextmanager
    def acquire(self) -> Iterator[None]:
        if self._free <= 0:
            raise busy()
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


class TokenCheck(RequestCheck):
    """Refuses requests without the token, sent as a bearer token or exchanged for a session cookie."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        super().__init__(app)
        self._authenticator = authenticator

    def check(self, head: RequestHead) -> None:
        """Raise a `Refusal` for a missing or wrong token."""
        authenticator = self._authenticator
        if not _needs_token(head, authenticator):
            return
        if head.bearer is None:
            if not _is_login(head) and not any(authenticator.accepts_cookie(value) for value in head.cookies()):
                raise _login_required(head)
        elif not authenticator.accepts(head.bearer):
            raise wrong_token(authenticator.failures, head.address)


class CsrfCheck(RequestCheck):
    """Refuses what another site made a browser send. A bearer token, checked by `TokenCheck`, is proof enough."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        super().__init__(app)
        self._authenticator = authenticator

    def check(self, head: RequestHead) -> None:
        """Raise a `Refusal` for a write without CSRF token, and for an API request of another site."""
        if _needs_token(head, self._authenticator) and head.bearer is not None:
            return
        if head.method not in _READ_METHODS:
            self._check_write(head)
        elif head.path.startswith(_API) and _is_cross_site(head):
            raise Refusal(403, "csrf", _CROSS_SITE)

    def _check_write(self, head: RequestHead) -> None:
        origin = head.one("origin")
        if origin is not None and origin.lower() != head.origin:
            detail = (
                f"This was not sent by the page itself, which is at {head.origin}. If a proxy stands between, let it "
                "pass the field Host on and set X-Forwarded-Proto, and name its address in web.trusted_proxies."
            )
        elif _is_cross_site(head):
            detail = _CROSS_SITE
        elif not _is_login(head) and not self._authenticator.accepts_csrf(head.one("x-csrf-token") or ""):
            detail = "The field X-CSRF-Token must be the one of /api/session: load the page again."
        else:
            return
        raise Refusal(403, "csrf", detail)


class MediaTypeCheck(RequestCheck):
    """Refuses bodies that are not JSON. A login may also be a form."""

    def check(self, head: RequestHead) -> None:
        """Raise a `Refusal` for a write with another media type."""
        if head.method in _READ_METHODS:
            return
        media_type = head.media_type
        allowed = (JSON, _FORM) if _is_login(head) else (JSON,)
        if media_type not in allowed and (media_type is not None or head.has_body):
            raise Refusal(415, "media-type", f"What is sent must be {JSON}.")


class BodyLimit(HttpMiddleware):
    """Reads the whole body before the request is passed on, within limits of size and time.

    Parameters
    ----------
    app
        The next layer.
    seconds
        The longest time for a body to arrive.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        super().__init__(app)
        self._seconds = seconds

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, unless the client has disconnected."""
        body = await self._read(RequestHead.of(scope), receive)
        if body is not None:
            await self._app(scope, _replay(body, receive), send)

    async def _read(self, head: RequestHead, receive: Receive) -> bytes | None:
        """Return the body. None if the client disconnected before its end."""
        if not head.has_body:
            return b""
        max_bytes = _MAX_BODY_BYTES_OF.get(head.path, _MAX_BODY_BYTES)
        too_large = Refusal(413, "too-large", f"At most {max_bytes} bytes can be sent here.", _CLOSE)
        announced = head.length or 0
        if announced > _MAX_DISCARDED_BYTES or (announced > max_bytes and head.one("expect") is not None):
            raise too_large
        try:
            async with asyncio.timeout(self._seconds):
                body = await _receive_body(receive, max_bytes)
        except TimeoutError:
            raise Refusal(408, "timeout", "What was sent did not arrive in time.", _CLOSE) from None
        if body is not None and len(body) > max_bytes:
            raise too_large
        return body


async def _receive_body(receive: Receive, max_bytes: int) -> bytes | None:
    """Return the body, cut to one byte more than allowed. None if the client disconnected."""
    body = bytearray()
    length = 0
    more = True
    while more and length <= _MAX_DISCARDED_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        length += len(part)
        body += part[: max_bytes + 1 - len(body)]
        more = message.get("more_body", False)
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body as one message, and then the messages that follow."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


def _needs_token(head: RequestHead, authenticator: Authenticator) -> bool:
    return authenticator.secured and head.path not in _PUBLIC_PATHS


def _is_login(head: RequestHead) -> bool:
    return head.path == LOGIN and head.method == "POST"


def _is_cross_site(head: RequestHead) -> bool:
    """Whether the browser reports that another site made it send the request."""
    return head.one("sec-fetch-site") not in _OWN_SITES


def _login_required(head: RequestHead) -> Refusal:
    refusal = unauthorized("A token is needed: log in, or send it as 'Authorization: Bearer TOKEN'.")
    if not head.wants_page:
        return refusal
    return refusal.with_page(login_page(cross_site=_is_cross_site(head)))


def _is_json(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(JSON.encode())
        for name, value in message.get("headers", ())
    )
