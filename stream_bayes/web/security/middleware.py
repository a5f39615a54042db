"""What stands before the page: every request passes here first, and every answer last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.headers import RequestHead
from stream_bayes.web.security.login import LOGIN, login_page
from stream_bayes.web.security.responses import ErrorResponse, Refusal, busy, not_the_token, unknown

logger = logging.getLogger("stream_bayes.web")

_OPEN = frozenset({"/healthz", "/readyz"})
_API = "/api/"
_EVENTS = "/api/events"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_OWN_SITES = (None, "same-origin", "none")
# The server refuses a head that it has to wait for when it is longer, and not one that comes all at once.
_MAX_HEAD_BYTES = 16 << 10
_MAX_BYTES = 64 << 10
_MAX_BYTES_OF: Mapping[str, int] = {"/api/predict": 2 << 20}
# Read and thrown away, so that a browser gets to the answer: it looks for one only once it has sent everything.
_MAX_THROWN_AWAY = 16 << 20
_MAX_AT_ONCE = 1000
_MAX_STREAMS = 400
_BODY_SECONDS = 30.0
_CLOSE = {"connection": "close"}
_ELSEWHERE = "This was not sent by the page itself but by another site."


class SecurityMiddleware:
    """The page behind its checks: host, token, origin, kind and size of what is sent; every answer gets safe headers.

    Parameters
    ----------
    app
        What answers a request that may pass.
    access
        Who may come in.
    most_at_once
        Requests that are answered at the same time; whoever asks how the page is doing is always answered.
    most_streams
        Streams of events that are open at the same time, besides those requests.
    body_seconds
        How long a body may take to arrive.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Authenticator,
        *,
        most_at_once: int = _MAX_AT_ONCE,
        most_streams: int = _MAX_STREAMS,
        body_seconds: float = _BODY_SECONDS,
    ) -> None:
        self._app = app
        self._access = access
        self._body_seconds = body_seconds
        self._requests = _Room(most_at_once)
        self._streams = _Room(most_streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._answer(scope, receive, ErrorResponse(scope, send))

    async def _answer(self, scope: Scope, receive: Receive, answer: ErrorResponse) -> None:
        head = RequestHead.of(scope)
        try:
            _check_form(head)
            _check_host(head, self._access)
            with self._room(head):
                self._check_sender(head)
                body = await self._body(head, receive)
                if body is not None:
                    await self._app(scope, _again(body, receive), answer.send)
        except Refusal as refusal:
            await answer.refuse(refusal)
        except Exception as problem:
            # The one place where everything is caught: nobody outside is told more than that it happened.
            fields = {"method": ascii(head.method), "path": ascii(head.path)[:200], "error": ascii(str(problem))[:200]}
            logger.error("a request failed", exc_info=problem, extra={"fields": fields})
            await answer.fail()

    def _room(self, head: RequestHead) -> AbstractContextManager[None]:
        if head.path in _OPEN and head.method in _READING:
            return nullcontext()
        return self._streams.one() if head.path == _EVENTS else self._requests.one()

    def _check_sender(self, head: RequestHead) -> None:
        by_bearer = self._check_token(head)
        if head.method not in _READING:
            if not by_bearer:
                self._check_origin(head)
            _check_media_type(head)
        elif not by_bearer and head.path.startswith(_API) and _from_elsewhere(head):
            raise Refusal(403, "csrf", _ELSEWHERE)

    def _check_token(self, head: RequestHead) -> bool:
        """Whether a token in the header let it in."""
        access = self._access
        given = head.bearer
        if not access.secured or head.path in _OPEN:
            return False
        if given is None:
            if not _is_login(head) and not any(access.accepts_cookie(value) for value in head.cookies()):
                raise _stranger(head)
            return False
        if not access.accepts(given):
            raise not_the_token(access.failures, head.address)
        return True

    def _check_origin(self, head: RequestHead) -> None:
        origin = head.one("origin")
        if origin is not None and origin.lower() != head.origin:
            detail = (
                f"This was not sent by the page itself, which is at {head.origin}. If a proxy stands between, let it "
                "pass the field Host on and set X-Forwarded-Proto, and name its address in web.trusted_proxies."
            )
        elif _from_elsewhere(head):
            detail = _ELSEWHERE
        elif not _is_login(head) and not self._access.accepts_csrf(head.one("x-csrf-token") or ""):
            detail = "The field X-CSRF-Token must be what /api/session says: load the page again."
        else:
            return
        raise Refusal(403, "csrf", detail)

    async def _body(self, head: RequestHead, receive: Receive) -> bytes | None:
        """All of it; None if the client went away before its end."""
        if not head.has_body:
            return b""
        most = _MAX_BYTES_OF.get(head.path, _MAX_BYTES)
        too_large = Refusal(413, "too-large", f"At most {most} bytes can be sent here.", _CLOSE)
        announced = head.length or 0
        if announced > _MAX_THROWN_AWAY or (announced > most and head.one("expect") is not None):
            raise too_large
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await _collected(receive, most)
        except TimeoutError:
            raise Refusal(408, "timeout", "What was sent did not arrive in time.", _CLOSE) from None
        if body is not None and len(body) > most:
            raise too_large
        return body


class _Room:
    """For so many at once."""

    def __init__(self, most: int) -> None:
        self._left = most

    @contextmanager
    def one(self) -> Iterator[None]:
        if self._left <= 0:
            raise busy()
        self._left -= 1
        try:
            yield
        finally:
            self._left += 1


def _stranger(head: RequestHead) -> Refusal:
    refusal = unknown("A token is needed: log in, or send it as 'Authorization: Bearer TOKEN'.")
    if not head.wants_page:
        return refusal
    return refusal.shown_by(login_page(elsewhere=_from_elsewhere(head)))


def _is_login(head: RequestHead) -> bool:
    return head.path == LOGIN and head.method == "POST"


def _from_elsewhere(head: RequestHead) -> bool:
    """Whether a browser says that another site made it send this."""
    return head.one("sec-fetch-site") not in _OWN_SITES


def _check_form(head: RequestHead) -> None:
    if head.size > _MAX_HEAD_BYTES:
        raise Refusal(431, "head-too-large", f"Address and header may have {_MAX_HEAD_BYTES} bytes.", _CLOSE)
    if head.all("transfer-encoding") and head.all("content-length"):
        # Whoever passed it on may see its end elsewhere, and then another request in its body.
        raise Refusal(400, "no-http", "Transfer-Encoding and Content-Length exclude each other.", _CLOSE)


def _check_host(head: RequestHead, access: Authenticator) -> None:
    name = head.host
    if name is None:
        raise Refusal(400, "host", "The field Host must be the name of this page's host, with its port.")
    if not access.known_as(name):
        detail = f"This page is not called {name}: open it as localhost, or under the address that it listens on."
        raise Refusal(421, "host", detail)


def _check_media_type(head: RequestHead) -> None:
    kind = head.media_type
    allowed = (_JSON, _FORM) if _is_login(head) else (_JSON,)
    if kind not in allowed and (kind is not None or head.has_body):
        raise Refusal(415, "media-type", f"What is sent must be {_JSON}.")


async def _collected(receive: Receive, most: int) -> bytes | None:
    """What is received, and one byte more than allowed where it is more; None if the client went away."""
    body = bytearray()
    length = 0
    more = True
    while more and length <= _MAX_THROWN_AWAY:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        length += len(part)
        body += part[: most + 1 - len(body)]
        more = message.get("more_body", False)
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body as one message, and then whatever else comes."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def message() -> Message:
        return left.pop() if left else await receive()

    return message
