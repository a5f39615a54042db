"""HTTP messages: the head of a request, the security headers of every response, and error responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from stream_bayes.web.schemas import Problem
from stream_bayes.web.security.auth import FailedAttempts

JSON = "application/json"
Fields = list[tuple[bytes, bytes]]

SESSION_COOKIE = "stream_bayes_session"
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
_FORBIDDEN_FEATURES = (
    *("accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen", "geolocation"),
    *("gyroscope", "hid", "magnetometer", "microphone", "midi", "payment", "picture-in-picture", "screen-wake-lock"),
    *("publickey-credentials-get", "serial", "usb", "xr-spatial-tracking"),
)
SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": ", ".join(f"{feature}=()" for feature in _FORBIDDEN_FEATURES),
    "cache-control": "no-store",
}
"""Headers of every response that does not set them itself."""

_STATIC = "/static/"
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253})(:[0-9]{1,5})?", re.ASCII)
_BEARER = re.compile(r"bearer +([!-~]+) *", re.ASCII | re.IGNORECASE)


def with_security_headers(fields: Iterable[tuple[bytes, bytes]], path: str = "") -> Fields:
    """Return response headers with the security headers. Static files may be cached if they are revalidated."""
    own = list(fields)
    names = {name.lower() for name, _ in own}
    added = {**SECURITY_HEADERS, "cache-control": "no-cache"} if path.startswith(_STATIC) else SECURITY_HEADERS
    return own + [(name.encode(), text.encode()) for name, text in added.items() if name.encode() not in names]


class RequestHead(NamedTuple):
    """Method, target and header fields of a request."""

    method: str
    path: str
    scheme: str
    address: str
    fields: Fields
    size: int
    """Bytes of the target and of all fields."""

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> RequestHead:
        """Return the head of an ASGI scope."""
        client = scope.get("client")
        fields = scope["headers"]
        size = len(scope["path"]) + len(scope["query_string"]) + sum(len(name) + len(value) for name, value in fields)
        return cls(scope["method"], scope["path"], scope["scheme"], client[0] if client else "", fields, size)

    def all(self, name: str) -> list[str]:
        """Return every value of a field."""
        wanted = name.encode()
        return [value.decode("latin-1").strip() for field, value in self.fields if field.lower() == wanted]

    def one(self, name: str) -> str | None:
        """Return the value of a field. A repeated field is ambiguous, and counts as empty."""
        values = self.all(name)
        return None if not values else values[0] if len(values) == 1 else ""

    @property
    def host(self) -> str | None:
        """The host name without its port. None if it is invalid."""
        found = _HOST.fullmatch(self.one("host") or "")
        return found["name"] if found else None

    @property
    def origin(self) -> str:
        """The origin of the page, as a browser sends it."""
        return f"{self.scheme}://{self.one('host')}".lower()

    @property
    def bearer(self) -> str | None:
        """The bearer token. None without one; empty if the field is malformed."""
        values = self.all("authorization")
        if not any(value.lower().startswith("bearer") for value in values):
            return None
        found = _BEARER.fullmatch(values[0]) if len(values) == 1 else None
        return found[1] if found else ""

    def cookies(self) -> Iterator[str]:
        """Yield the values of all session cookies: other sites of the host may set some of that name."""
        for line in self.all("cookie"):
            for pair in line.split(";"):
                name, _, value = pair.partition("=")
                if name.strip() == SESSION_COOKIE:
                    yield value.strip()

    @property
    def media_type(self) -> str | None:
        """The media type of the body. None without the field."""
        value = self.one("content-type")
        return None if value is None else value.partition(";")[0].strip().lower()

    @property
    def has_body(self) -> bool:
        """Whether a body follows."""
        return bool(self.all("transfer-encoding")) or self.length != 0

    @property
    def length(self) -> int | None:
        """The announced bytes of the body. None if unknown, 0 without a body."""
        value = self.one("content-length")
        if value is None:
            return None if self.all("transfer-encoding") else 0
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None

    @property
    def wants_page(self) -> bool:
        """Whether a browser navigates there, and not a script or program."""
        return self.method == "GET" and any("text/html" in value.lower() for value in self.all("accept"))


def session_cookie(value: str | None, scheme: str) -> str:
    """Return the Set-Cookie field that sets or removes the session cookie.

    >>> session_cookie("a1", "https")
    'stream_bayes_session=a1; Path=/; HttpOnly; SameSite=Strict; Secure'
    >>> session_cookie(None, "http")
    'stream_bayes_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'
    """
    max_age = "; Max-Age=0" if value is None else ""
    secure = "; Secure" if scheme == "https" else ""
    return f"{SESSION_COOKIE}={value or ''}; Path=/; HttpOnly; SameSite=Strict{max_age}{secure}"


class HtmlPage(NamedTuple):
    """An HTML page with its own response headers."""

    content: bytes
    headers: Mapping[str, str]


class Refusal(Exception):
    """An error response: a status, a `Problem` or an HTML page, and header fields."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = dict(headers or {})
        self.problem = Problem(code=code, detail=detail)
        self.content = self.problem.model_dump_json().encode()
        self.media_type = JSON

    def with_page(self, page: HtmlPage) -> Refusal:
        """Return the response with a page instead of JSON."""
        self.headers |= page.headers
        self.content = page.content
        self.media_type = "text/html; charset=utf-8"
        return self

    def fields(self) -> Fields:
        """Return all header fields of the response."""
        own = {"content-type": self.media_type, "content-length": str(len(self.content)), **self.headers}
        return with_security_headers([(name.encode(), text.encode()) for name, text in own.items()])


def unauthorized(detail: str) -> Refusal:
    """Return the response to a request without the token."""
    return Refusal(HTTPStatus.UNAUTHORIZED, "token", detail, {"www-authenticate": 'Bearer realm="stream-bayes"'})


def wrong_token(failures: FailedAttempts, address: str) -> Refusal:
    """Return the response to a wrong token, and count the failure unless there were too many."""
    if seconds := failures.seconds_to_wait(address):
        return _too_many_failures(seconds)
    failures.add(address)
    return unauthorized("This is not the token.")


def busy() -> Refusal:
    """Return the response to a request above the limit of concurrent requests."""
    detail = "Too many requests at once: try again in a moment."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail, {"retry-after": "1"})


def _too_many_failures(seconds: int) -> Refusal:
    detail = f"Too many wrong tokens came from this address: try again in {seconds} seconds."
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "too-many-failures", detail, {"retry-after": str(seconds)})
