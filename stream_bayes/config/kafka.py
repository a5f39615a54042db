"""The section `kafka` of the settings, and the parsing of kafka:// addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv6Address
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from stream_bayes.config.fields import OR_NONE, File, GroupName, Name, Section
from stream_bayes.errors import LogError

SCHEME = "kafka://"
DEFAULT_PORT = 9092
_FORM = f"write {SCHEME}host:port, or several servers as {SCHEME}host:port,host:port"
_SERVER = re.compile(r"(?P<host>\[[^\[\]]*\]|[\w.-]+)(:(?P<port>[0-9]+))?", re.ASCII)

Secret = Annotated[SecretStr, Field(min_length=1)]


def parse_servers(url: str) -> tuple[str, ...]:
    """Parse the bootstrap servers of an address, each with its port; raise `LogError` without showing a password.

    >>> parse_servers("kafka://one:9093,two,[::1]:9092")
    ('one:9093', 'two:9092', '[::1]:9092')
    """
    if "@" in url:
        message = (
            f"{redact_url(url)}: the address of a log must not have a user or password. Set kafka.username and "
            "kafka.password or kafka.password_file (in the environment STREAM_BAYES__KAFKA__PASSWORD)"
        )
        raise LogError(message)
    rest = url.removeprefix(SCHEME)
    servers, slash, _ = rest.partition("/")
    if not servers:
        problem = "no server is named"
    elif slash:
        problem = "nothing may follow the servers; topics have settings of their own"
    elif any(character.isspace() for character in servers):
        problem = "it must not have spaces"
    else:
        return tuple(_server(url, server) for server in servers.split(","))
    message = f"{url!r} is not the address of a Kafka cluster: {problem}; {_FORM}"
    raise LogError(message)


def _server(url: str, text: str) -> str:
    found = _SERVER.fullmatch(text)
    if found is None or (found["host"].startswith("[") and not _is_address(found["host"][1:-1])):
        bare = _is_address(text)
        problem = "an IPv6 address must be in brackets, as [::1]:9092" if bare else f"{text!r} is not host:port"
    elif found["port"] is not None and not (len(found["port"]) < 6 and 0 < int(found["port"]) < 65_536):
        problem = f"a port must be a number from 1 to 65535, not {found['port']:.20}"
    else:
        return f"{found['host']}:{int(found['port'] or DEFAULT_PORT)}"
    message = f"{url!r} is not the address of a Kafka cluster: {problem}; {_FORM}"
    raise LogError(message)


def _is_address(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def redact_url(url: str) -> str:
    """Replace the user and password of an address by dots.

    >>> redact_url("kafka://me:secret@host:9092")
    'kafka://...@host:9092'
    """
    return re.sub(r"^([A-Za-z0-9+.-]*:/*)?.*@", r"\1...@", url, flags=re.DOTALL)


class KafkaSettings(Section):
    """Connection to a Kafka cluster and its use; ignored by other logs."""

    client_id: GroupName = "stream-bayes"
    """The client id in the logs and quotas of the broker."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """Whether the connection is encrypted (SSL), and whether a user name and password are sent (SASL)."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    """How the password is sent; required by SASL."""
    username: Name | None = None
    """The user name for SASL."""
    password: Secret | None = None
    """The password for SASL; never printed."""
    password_file: File | None = None
    """A file that holds only the password; read when connecting."""
    ca_file: File | None = None
    """CA certificates (PEM) for the brokers; by default those of the system."""
    certificate_file: File | None = None
    """Client certificate (PEM), if the brokers require one."""
    key_file: File | None = None
    """Private key (PEM) of the client certificate."""
    key_password: Secret | None = None
    """Password of the private key; never printed."""
    check_hostname: bool = True
    """Whether the certificate of a broker must match its host name."""
    create_topics: bool = True
    """Whether missing topics are created."""
    replication_factor: Annotated[Annotated[int, Field(ge=1, le=32_767)] | None, *OR_NONE] = None
    """Replication factor of topics that are created; "none": the default of the broker."""
    on_offset_gap: Literal["fail", "earliest"] = "fail"
    """If unread records were deleted: fail, or continue with the earliest record that is left."""
    session_seconds: Annotated[float, Field(ge=6, le=300, allow_inf_nan=False)] = 10.0
    """Session timeout: a worker without heartbeat for this long loses its partitions."""
    transaction_seconds: Annotated[float, Field(ge=1, le=900, allow_inf_nan=False)] = 10.0
    """Transaction timeout: the broker aborts a transaction that is open for this long."""
    instance_id: GroupName | None = None
    """Static group instance id of this worker; by default the host name and a number that is free there."""

    @property
    def sasl(self) -> bool:
        """Whether the client authenticates with user name and password."""
        return self.security_protocol.startswith("SASL")

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.security_protocol.endswith("SSL")

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        problems = [*self._sasl_problems(), *self._tls_problems()]
        if problems:
            raise PydanticCustomError("contradiction", "{text}", {"text": "; ".join(problems)})
        return self

    def _sasl_problems(self) -> Iterator[str]:
        names = self._names_set("sasl_mechanism", "username", "password", "password_file")
        if self.password is not None and self.password_file is not None:
            yield "kafka.password and kafka.password_file are both set: keep one of them"
        if not self.sasl and names:
            yield (
                f"{_enumerate(names)} {_are(names)} for SASL, and kafka.security_protocol is {self.security_protocol}: "
                "set it to SASL_SSL, or to SASL_PLAINTEXT without encryption"
            )
        elif self.sasl:
            missing = ["kafka.sasl_mechanism"] if self.sasl_mechanism is None else []
            missing += ["kafka.username"] if self.username is None else []
            missing += (
                ["kafka.password (or kafka.password_file)"] if not self._names_set("password", "password_file") else []
            )
            if missing:
                yield f"kafka.security_protocol {self.security_protocol} needs {_enumerate(missing)}"

    def _tls_problems(self) -> Iterator[str]:
        names = self._names_set("ca_file", "certificate_file", "key_file", "key_password")
        if not self.tls and names:
            encrypted = "SASL_SSL" if self.sasl else "SSL"
            yield (
                f"{_enumerate(names)} {_are(names)} for TLS, and kafka.security_protocol is {self.security_protocol}: "
                f"set it to {encrypted}"
            )
        if self.certificate_file is not None and self.key_file is None:
            yield "kafka.certificate_file needs kafka.key_file: the same path where one file has both"
        if self.certificate_file is None and (unused := self._names_set("key_file", "key_password")):
            yield f"{_enumerate(unused)} {'need' if len(unused) > 1 else 'needs'} kafka.certificate_file"

    def _names_set(self, *names: str) -> list[str]:
        return [f"kafka.{name}" for name in names if getattr(self, name) is not None]


def _enumerate(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _are(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"
