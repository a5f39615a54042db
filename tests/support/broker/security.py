"""A broker that also listens behind passwords and certificates, for the tests of a client's security settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.broker.broker import PLAINTEXT, Broker
from tests.support.broker.certificates import Authority, Identity
from tests.support.broker.processes import HOST, free_ports
from tests.support.broker.properties import listening

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM)
SASL = ("SASL_PLAINTEXT", "SASL_SSL")
MUTUAL_TLS = "MUTUAL_TLS"
OTHER_NAME = "OTHER_NAME"
PROTOCOLS = {
    PLAINTEXT: "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    MUTUAL_TLS: "SSL",
    OTHER_NAME: "SSL",
}
LOGIN = "org.apache.kafka.common.security"


class SecureBroker(Broker):
    """A broker with a listener for each kind of security, which are all refused without their proofs.

    Who came in, by whichever listener, may do everything, but for `powerless`, who may do nothing.

    Parameters
    ----------
    jars
        The folder of Kafka's jars.
    settings
        Properties of the server besides its own, or instead of them.
    """

    username = "alice"
    password = "the password of alice"
    """Known on SASL_PLAINTEXT and SASL_SSL, by each of MECHANISMS."""
    powerless = "powerless"
    powerless_password = "the password of powerless"
    """Comes in as well, and then may do nothing."""
    key_password = "the password of the key"
    """Of `locked_key_file`."""

    def __init__(self, jars: Path, *, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(jars, settings=settings)
        others = [name for name in PROTOCOLS if name != PLAINTEXT]
        self._ports = {PLAINTEXT: self._port, **dict(zip(others, free_ports(len(others)), strict=True))}
        self.addresses = {name: f"{HOST}:{port}" for name, port in self._ports.items()}
        """host:port of each listener: PLAINTEXT, SASL_PLAINTEXT, SSL, SASL_SSL, MUTUAL_TLS (SSL that wants the client's
        certificate) and OTHER_NAME (SSL whose certificate is of another host)."""
        authority = Authority(self.folder, "authority")
        self.ca_file = authority.certificate_file
        """Signed all certificates."""
        self.other_ca_file = Authority(self.folder, "stranger").certificate_file
        """Signed none of them."""
        self.client = authority.sign("client")
        """The client's certificate and key, for MUTUAL_TLS."""
        self.locked_key_file = self.client.locked_key(self.key_password)
        """The client's key behind `key_password`."""
        self._server = authority.sign("server", f"IP:{HOST},DNS:localhost")
        self._other = authority.sign("other", "DNS:kafka.example")

    def listeners(self) -> dict[str, str]:
        """The settings of what it listens on, and of who may come in."""
        return {
            **listening(self._ports, PROTOCOLS, free_ports(1)[0]),
            **_presented("", self._server),
            **_presented(f"listener.name.{OTHER_NAME.lower()}.", self._other),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
            f"listener.name.{MUTUAL_TLS.lower()}.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            **{key: value for name in SASL for key, value in self._logins(name).items()},
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;User:{self.username};User:CN=client",
        }

    def format_arguments(self) -> list[str]:
        """The users that log in by SCRAM, which Kafka keeps in its data."""
        return [
            f"--add-scram={mechanism}=[name={name},password={password}]"
            for mechanism in SCRAM
            for name, password in self._users().items()
        ]

    def _users(self) -> dict[str, str]:
        return {self.username: self.password, self.powerless: self.powerless_password}

    def _logins(self, listener: str) -> dict[str, str]:
        prefix = f"listener.name.{listener.lower()}"
        users = " ".join(f'user_{name}="{password}"' for name, password in self._users().items())
        scram = {
            f"{prefix}.{mechanism.lower()}.sasl.jaas.config": f"{LOGIN}.scram.ScramLoginModule required;"
            for mechanism in SCRAM
        }
        return {f"{prefix}.plain.sasl.jaas.config": f"{LOGIN}.plain.PlainLoginModule required {users};", **scram}


def _presented(prefix: str, identity: Identity) -> dict[str, str]:
    return {f"{prefix}ssl.keystore.type": "PEM", f"{prefix}ssl.keystore.location": str(identity.in_one_file())}
