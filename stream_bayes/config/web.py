"""Where the page is, who may use it, and for how long a question is one person's: the section `web` of the settings."""

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from stream_bayes.config.fields import File, Name, Section, Span
from stream_bayes.errors import ConfigError, reason_of

_TOKEN = re.compile(r"[!-~]{16,1024}", re.ASCII)
_TOKEN_FORM = "must be 16 to 1024 letters, digits and signs without spaces"
_MAX_FILE_BYTES = 4096
_NOTHING = re.compile(r"0+(\.0+)? ?[a-z]*", re.ASCII)


def _token(secret: SecretStr) -> SecretStr:
    if _TOKEN.fullmatch(secret.get_secret_value()) is None:
        raise ValueError(_TOKEN_FORM)
    return secret


def _longer_than_nothing(span: Any) -> Any:
    if isinstance(span, str) and _NOTHING.fullmatch(span.strip()) is not None:
        message = "must be longer than 0"
        raise ValueError(message)
    return span


def _addresses(given: Any) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)) or not all(map(_is_address, given)):
        message = "must be a list of addresses and networks, such as ['10.0.0.1', '172.16.0.0/12']"
        raise ValueError(message)
    return tuple(given)


def _is_address(text: Any) -> bool:
    try:
        # Of whole numbers, too, it would make one.
        return isinstance(text, str) and bool(ip_network(text))
    except ValueError:
        return False


class WebSettings(Section):
    """The page: `stream-bayes web`."""

    host: Name = "127.0.0.1"
    """What it listens on; whatever is not the machine itself needs a token."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8765
    """0: any that is free."""
    token: Annotated[SecretStr, AfterValidator(_token)] | None = None
    """What everybody must show; where it is needed and not set, one is made up and printed."""
    token_file: File | None = None
    """A file with the token and nothing else, read when the page is started."""
    trusted_proxies: Annotated[tuple[str, ...], BeforeValidator(_addresses)] = ()
    """Where requests come from whose X-Forwarded-For and X-Forwarded-Proto are believed: addresses and networks."""
    lease: Annotated[Span, BeforeValidator(_longer_than_nothing)] = "5m"
    """For so long a question is one person's; what is not answered by then goes to others."""

    @model_validator(mode="after")
    def _one_token(self) -> Self:
        if self.token is not None and self.token_file is not None:
            text = "web.token and web.token_file are both set: keep one of them"
            raise PydanticCustomError("contradiction", "{text}", {"text": text})
        return self

    def secret(self) -> str | None:
        """The token, from its file if it has one; None where none is set."""
        if self.token is not None:
            return self.token.get_secret_value()
        return None if self.token_file is None else _in_file(self.token_file)


def _in_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES)
    except OSError as problem:
        message = f"web.token_file cannot be read: {reason_of(problem)}"
        raise ConfigError(message) from problem
    token = content.decode("latin-1").removesuffix("\n").removesuffix("\r")
    if _TOKEN.fullmatch(token) is None:
        message = f"web.token_file {path}: the token in it {_TOKEN_FORM}, and nothing else is in the file"
        raise ConfigError(message)
    return token
