"""Answers on their way out: each gets its safe headers, and none says how something failed."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from starlette.types import Message, Scope, Send

from stream_bayes.web.api.schemas import Problem
from stream_bayes.web.security.auth import FailedAttempts
from stream_bayes.web.security.headers import Fields, with_safety

JSON = "application/json"
_INTERNAL = "Something failed here. What it was is in the page's log, on the error output of the program."


class HtmlPage(NamedTuple):
    """HTML, and what its answer says besides what every answer does."""

    content: bytes
    headers: Mapping[str, str]


class Refusal(Exception):
    """Why a request goes no further: a status and a `Problem`, or a page for people, and header fields."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = dict(headers or {})
        self.problem = Problem(code=code, detail=detail)
        self.content = self.problem.model_dump_json().encode()
        self.media_type = JSON

    def shown_by(self, page: HtmlPage) -> Refusal:
        """The same with a page instead of JSON."""
        self.headers |= page.headers
        self.content = page.content
        self.media_type = "text/html; charset=utf-8"
        return self

    def fields(self) -> Fields:
        """The whole header of the answer."""
        given = {"content-type": self.media_type, "content-length": str(len(self.content)), **self.headers}
        return with_safety([(name.encode(), text.encode()) for name, text in given.items()])


class ErrorResponse:
    """The answer to one request: what the application sends passes through here."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._path: str = scope["path"]
        self._send = send
        self._begun = self._failed = False

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer; that something failed is said in this package's words, once."""
        if message["type"] == "http.response.start":
            if message["status"] == HTTPStatus.INTERNAL_SERVER_ERROR and not _is_json(message):
                await self.fail()
                return
            self._begun = True
            message = {**message, "headers": with_safety(message.get("headers", ()), self._path)}
        if not self._failed:
            await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer by a refusal."""
        await self._send({"type": "http.response.start", "status": refusal.status, "headers": refusal.fields()})
        await self._send({"type": "http.response.body", "body": refusal.content})

    async def fail(self) -> None:
        """Say that something failed, unless an answer has begun."""
        if not self._begun:
            self._begun = self._failed = True
            await self.refuse(Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", _INTERNAL))


def unknown(detail: str) -> Refusal:
    """Of somebody without the token."""
    return Refusal(HTTPStatus.UNAUTHORIZED, "token", detail, {"www-authenticate": 'Bearer realm="stream-bayes"'})


def not_the_token(failures: FailedAttempts, address: str) -> Refusal:
    """Of somebody with a wrong token, which is counted unless there were too many already."""
    if seconds := failures.seconds_to_wait(address):
        return _too_many_failures(seconds)
    failures.note(address)
    return unknown("This is not the token.")


def busy() -> Refusal:
    """Of one request more than are answered at once."""
    detail = "Too many requests at once: try again in a moment."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail, {"retry-after": "1"})


def _too_many_failures(seconds: int) -> Refusal:
    detail = f"Too many wrong tokens came from this address: try again in {seconds} seconds."
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "too-many-failures", detail, {"retry-after": str(seconds)})


def _is_json(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(JSON.encode())
        for name, value in message.get("headers", ())
    )
