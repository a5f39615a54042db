"""The section `web` of the settings: address, access token, trusted proxies and leases."""

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from stream_bayes.config.fields import Duration, File, Name, Section
from stream_bayes.errors import ConfigError, reason_of

_TOKEN = re.compile(r"[!-~]{16,1024}", re.ASCII)
_TOKEN_FORM = "must be 16 to 1024 letters, digits and signs without spaces"
_MAX_FILE_BYTES = 4096
_ZERO_DURATION = re.compile(r"0+(\.0+)? ?[a-z]*", re.ASCII)


def _check_token(secret: SecretStr) -> SecretStr:
    if _TOKEN.fullmatch(secret.get_secret_value()) is None:
        raise ValueError(_TOKEN_FORM)
    return secret


def _refuse_zero(span: Any) -> Any:
    if isinstance(span, str) and _ZERO_DURATION.fullmatch(span.strip()) is not None:
        message = "must be longer than 0"
        raise ValueError(message)
    return span


def _check_addresses(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(map(_is_address, value)):
        message = "must be a list of addresses and networks, such as ['10.0.0.1', '172.16.0.0/12']"
        raise ValueError(message)
    return tuple(value)


def _is_address(text: Any) -> bool:
    try:
        # ip_network also accepts integers.
        return isinstance(text, str) and bool(ip_network(text))
    except ValueError:
        return False


class WebSettings(Section):
    """The web page, `stream-bayes web`."""

    host: Name = "127.0.0.1"
    """Address to listen on; any but a loopback address requires a token."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8765
    """0: any free port."""
    token: Annotated[SecretStr, AfterValidator(_check_token)] | None = None
    """The access token; if it is required and not set, a random one is generated and printed."""
    token_file: File | None = None
    """A file that holds only the token; read at startup."""
    trusted_proxies: Annotated[tuple[str, ...], BeforeValidator(_check_addresses)] = ()
    """Addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted."""
    lease: Annotated[Duration, BeforeValidator(_refuse_zero)] = "5m"
    """How long a label request is reserved for one labeller; after that others get it."""

    @model_validator(mode="after")
    def _check_one_token(self) -> Self:
        if self.token is not None and self.token_file is not None:
            text = "web.token and web.token_file are both set: keep one of them"
            raise PydanticCustomError("contradiction", "{text}", {"text": text})
        return self

    def read_token(self) -> str | None:
        """Return the token, read from its file if there is one; None if none is set."""
        if self.token is not None:
            return self.token.get_secret_value()
        return None if self.token_file is None else _read_token_file(self.token_file)


def _read_token_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES)
    except OSError as problem:
        message = f"web.token_file cannot be read: {reason_of(problem)}"
        raise ConfigError(message) from problem
    token = content.decode("latin-1").removesuffix("\n").removesuffix("\r")
    if _TOKEN.fullmatch(token) is None:
        message = f"web.token_file {path}: the token in it {_TOKEN_FORM}, and nothing else may be in the file"
        raise ConfigError(message)
    return token
