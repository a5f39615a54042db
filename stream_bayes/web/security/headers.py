"""The header fields of requests, read with suspicion, and those that every answer has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

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
SAFETY: Mapping[str, str] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": ", ".join(f"{feature}=()" for feature in _FORBIDDEN_FEATURES),
    "cache-control": "no-store",
}
"""What every answer has, unless it says something else of itself."""

_STATIC = "/static/"
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253})(:[0-9]{1,5})?", re.ASCII)
_BEARER = re.compile(r"bearer +([!-~]+) *", re.ASCII | re.IGNORECASE)


def with_safety(fields: Iterable[tuple[bytes, bytes]], path: str = "") -> Fields:
    """The header of an answer with what every answer has; files of the page may be kept if they are asked for again."""
    given = list(fields)
    names = {name.lower() for name, _ in given}
    safety = {**SAFETY, "cache-control": "no-cache"} if path.startswith(_STATIC) else SAFETY
    return given + [(name.encode(), text.encode()) for name, text in safety.items() if name.encode() not in names]


class RequestHead(NamedTuple):
    """What a request says of itself before its body."""

    method: str
    path: str
    scheme: str
    address: str
    fields: Fields
    size: int
    """Bytes of the target and of all fields."""

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> RequestHead:
        """That of an ASGI scope."""
        client = scope.get("client")
        fields = scope["headers"]
        size = len(scope["path"]) + len(scope["query_string"]) + sum(len(name) + len(value) for name, value in fields)
        return cls(scope["method"], scope["path"], scope["scheme"], client[0] if client else "", fields, size)

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        wanted = name.encode()
        return [value.decode("latin-1").strip() for field, value in self.fields if field.lower() == wanted]

    def one(self, name: str) -> str | None:
        """The value of a field; what stands there twice is nothing one could rely on, and empty."""
        values = self.all(name)
        return None if not values else values[0] if len(values) == 1 else ""

    @property
    def host(self) -> str | None:
        """The name, without its port, under which the page was reached; None where that is no name."""
        found = _HOST.fullmatch(self.one("host") or "")
        return found["name"] if found else None

    @property
    def origin(self) -> str:
        """The origin of the page itself, as a browser would name it."""
        return f"{self.scheme}://{self.one('host')}".lower()

    @property
    def bearer(self) -> str | None:
        """The token, where it is sent as such; empty where it is sent in a way that no token can be."""
        values = self.all("authorization")
        if not any(value.lower().startswith("bearer") for value in values):
            return None
        found = _BEARER.fullmatch(values[0]) if len(values) == 1 else None
        return found[1] if found else ""

    def cookies(self) -> Iterator[str]:
        """The values of all cookies that are called as that of the session: other sites of the host may set some."""
        for line in self.all("cookie"):
            for pair in line.split(";"):
                name, _, value = pair.partition("=")
                if name.strip() == SESSION_COOKIE:
                    yield value.strip()

    @property
    def media_type(self) -> str | None:
        """What the body is; None where nothing is said."""
        value = self.one("content-type")
        return None if value is None else value.partition(";")[0].strip().lower()

    @property
    def has_body(self) -> bool:
        """Whether something follows."""
        return bool(self.all("transfer-encoding")) or self.length != 0

    @property
    def length(self) -> int | None:
        """The bytes that follow by its own account; None where it does not say, 0 where nothing does."""
        value = self.one("content-length")
        if value is None:
            return None if self.all("transfer-encoding") else 0
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None

    @property
    def wants_page(self) -> bool:
        """Whether a browser goes there, and not a script or program."""
        return self.method == "GET" and any("text/html" in value.lower() for value in self.all("accept"))


def session_cookie(value: str | None, scheme: str) -> str:
    """The field that sets the cookie of the session, or takes it away.

    >>> session_cookie("a1", "https")
    'stream_bayes_session=a1; Path=/; HttpOnly; SameSite=Strict; Secure'
    >>> session_cookie(None, "http")
    'stream_bayes_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'
    """
    ending = "; Max-Age=0" if value is None else ""
    secure = "; Secure" if scheme == "https" else ""
    return f"{SESSION_COOKIE}={value or ''}; Path=/; HttpOnly; SameSite=Strict{ending}{secure}"
