"""How a Kafka cluster is reached: its address, and the section `kafka` of the settings."""

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
PORT = 9092
_FORM = f"write {SCHEME}host:port, or several servers as {SCHEME}host:port,host:port"
_SERVER = re.compile(r"(?P<host>\[[^\[\]]*\]|[\w.-]+)(:(?P<port>[0-9]+))?", re.ASCII)

Secret = Annotated[SecretStr, Field(min_length=1)]


def servers_of(url: str) -> tuple[str, ...]:
    """The servers of an address, each with its port; LogError says what is wrong with it, without a password.

    >>> servers_of("kafka://one:9093,two,[::1]:9092")
    ('one:9093', 'two:9092', '[::1]:9092')
    """
    if "@" in url:
        message = (
            f"{without_secrets(url)}: no user or password belongs into the address of a log. Set kafka.username and "
            "kafka.password or kafka.password_file (in the environment STREAM_BAYES__KAFKA__PASSWORD)"
        )
        raise LogError(message)
    rest = url.removeprefix(SCHEME)
    servers, slash, _ = rest.partition("/")
    if not servers:
        problem = "no server is named"
    elif slash:
        problem = "nothing belongs behind the servers, and topics have settings of their own"
    elif any(character.isspace() for character in servers):
        problem = "there are no spaces in it"
    else:
        return tuple(_server(url, server) for server in servers.split(","))
    message = f"{url!r} is not the address of a Kafka cluster: {problem}; {_FORM}"
    raise LogError(message)


def _server(url: str, text: str) -> str:
    found = _SERVER.fullmatch(text)
    if found is None or (found["host"].startswith("[") and not _is_address(found["host"][1:-1])):
        bare = _is_address(text)
        problem = "an IPv6 address stands in brackets, as [::1]:9092" if bare else f"{text!r} is no host and port"
    elif found["port"] is not None and not (len(found["port"]) < 6 and 0 < int(found["port"]) < 65_536):
        problem = f"a port is a number from 1 to 65535, not {found['port']:.20}"
    else:
        return f"{found['host']}:{int(found['port'] or PORT)}"
    message = f"{url!r} is not the address of a Kafka cluster: {problem}; {_FORM}"
    raise LogError(message)


def _is_address(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def without_secrets(url: str) -> str:
    """An address as it may be shown: without what stands before an @.

    >>> without_secrets("kafka://me:secret@host:9092")
    'kafka://...@host:9092'
    """
    return re.sub(r"^([A-Za-z0-9+.-]*:/*)?.*@", r"\1...@", url, flags=re.DOTALL)


class KafkaSettings(Section):
    """How a Kafka cluster is reached and used; without meaning for other logs."""

    client_id: GroupName = "stream-bayes"
    """What the broker's logs and quotas call this program."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    username: Name | None = None
    password: Secret | None = None
    password_file: File | None = None
    """A file with the password and nothing else, read when the connection is made."""
    ca_file: File | None = None
    """Certificates (PEM) of who may vouch for the brokers; by default those that the system trusts."""
    certificate_file: File | None = None
    """This program's own certificate (PEM), where brokers ask for one."""
    key_file: File | None = None
    key_password: Secret | None = None
    check_hostname: bool = True
    """Whether a broker's certificate must be for the name under which it is reached."""
    create_topics: bool = True
    """Whether topics that do not exist are made."""
    replication_factor: Annotated[Annotated[int, Field(ge=1, le=32_767)] | None, *OR_NONE] = None
    """Of topics that are made; "none": as many copies as the broker makes by default."""
    on_offset_gap: Literal["fail", "earliest"] = "fail"
    """What to do where records are gone that were never read: stop, or go on with the first that is still there."""
    session_seconds: Annotated[float, Field(ge=6, le=300, allow_inf_nan=False)] = 10.0
    """A worker that is silent for so long loses its partitions to the others."""
    transaction_seconds: Annotated[float, Field(ge=1, le=900, allow_inf_nan=False)] = 10.0
    """The broker gives up what a worker has begun to write and not committed for so long."""
    instance_id: GroupName | None = None
    """The name of this worker in its group; by default that of the host and a number that is free there."""

    @property
    def sasl(self) -> bool:
        """Whether one logs in with a name and a password."""
        return self.security_protocol.startswith("SASL")

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.security_protocol.endswith("SSL")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = [*self._problems_of_sasl(), *self._problems_of_tls()]
        if problems:
            raise PydanticCustomError("contradiction", "{text}", {"text": "; ".join(problems)})
        return self

    def _problems_of_sasl(self) -> Iterator[str]:
        given = self._given("sasl_mechanism", "username", "password", "password_file")
        if self.password is not None and self.password_file is not None:
            yield "kafka.password and kafka.password_file are both set: keep one of them"
        if not self.sasl and given:
            yield (
                f"{_listed(given)} {_are(given)} for SASL, and kafka.security_protocol is {self.security_protocol}: "
                "set it to SASL_SSL, or to SASL_PLAINTEXT without encryption"
            )
        elif self.sasl:
            missing = ["kafka.sasl_mechanism"] if self.sasl_mechanism is None else []
            missing += ["kafka.username"] if self.username is None else []
            missing += (
                ["kafka.password (or kafka.password_file)"] if not self._given("password", "password_file") else []
            )
            if missing:
                yield f"kafka.security_protocol {self.security_protocol} needs {_listed(missing)}"

    def _problems_of_tls(self) -> Iterator[str]:
        given = self._given("ca_file", "certificate_file", "key_file", "key_password")
        if not self.tls and given:
            encrypted = "SASL_SSL" if self.sasl else "SSL"
            yield (
                f"{_listed(given)} {_are(given)} for TLS, and kafka.security_protocol is {self.security_protocol}: "
                f"set it to {encrypted}"
            )
        if self.certificate_file is not None and self.key_file is None:
            yield "kafka.certificate_file needs kafka.key_file: the same path where one file has both"
        if self.certificate_file is None and (lonely := self._given("key_file", "key_password")):
            yield f"{_listed(lonely)} {'need' if len(lonely) > 1 else 'needs'} kafka.certificate_file"

    def _given(self, *names: str) -> list[str]:
        return [f"kafka.{name}" for name in names if getattr(self, name) is not None]


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _are(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"
