"""TLS and SASL: client options from the settings, and reasons of refused connections."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import Any, Self

from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogError, reason_of

_MAX_PASSWORD_BYTES = 64 << 10

# What these log as details are whole requests, that to log in with its password among them.
for _name in ("kafka.net.connection", "kafka.protocol.parser"):
    logging.getLogger(_name).addFilter(lambda record: record.levelno >= logging.INFO)

_CONNECTIONS = logging.getLogger("kafka.net.connection")
# In the words of the client, of OpenSSL and of the brokers; the first that fits.
_SIGNS = {
    "SaslAuthenticationFailed": "the broker knows no such user and password: correct kafka.username, the password, or "
    "kafka.sasl_mechanism",
    "UnsupportedSaslMechanism": "the broker does not take this kafka.sasl_mechanism",
    "IllegalSaslState": "the broker wants no user and password here: correct kafka.security_protocol, or the port",
    "certificate is not valid for": "the broker's certificate is for another name: reach it by that name, or set "
    "kafka.check_hostname = false",
    "Hostname mismatch": "the broker's certificate is for another name: reach it by that name, or set "
    "kafka.check_hostname = false",
    "CERTIFICATE_VERIFY_FAILED": "the broker's certificate is not trusted: set kafka.ca_file to that of who signed it",
    "CERTIFICATE_REQUIRED": "the broker wants to see a certificate: set kafka.certificate_file and kafka.key_file",
    "ALERT_BAD_CERTIFICATE": "the broker wants to see another certificate, or one at all: set kafka.certificate_file "
    "and kafka.key_file",
    "ALERT_UNKNOWN_CA": "the broker does not trust the certificate of kafka.certificate_file",
    "WRONG_VERSION_NUMBER": "the broker does not speak TLS here: correct kafka.security_protocol, or the port",
    "Invalid frame length": "the broker speaks TLS here: correct kafka.security_protocol, or the port",
}


class Refusals(logging.Handler):
    """Context that collects why connections fail; the client only logs it, and tries again."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.reasons: list[str] = []
        """The remedies, each once; empty where the broker only did not answer."""

    def emit(self, record: logging.LogRecord) -> None:
        """Note the reason that the client logs for a lost connection."""
        text = record.getMessage()
        for sign, reason in _SIGNS.items():
            if sign in text:
                if reason not in self.reasons:
                    self.reasons.append(reason)
                return

    def __enter__(self) -> Self:
        _CONNECTIONS.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        _CONNECTIONS.removeHandler(self)


class Hidden(str):
    """Text that is not shown where what holds it is shown: the client logs all its options."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'**********'"


def client_options(settings: KafkaSettings) -> dict[str, Any]:
    """The options of every client for authentication and encryption.

    Files are read now; LogError names one that cannot be used.
    """
    options: dict[str, Any] = {"client_id": settings.client_id, "security_protocol": settings.security_protocol}
    if settings.tls:
        options["ssl_context"] = _context(settings)
        options["ssl_check_hostname"] = settings.check_hostname
    if settings.sasl:
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.username
        options["sasl_plain_password"] = Hidden(_password(settings))
    return options


def _password(settings: KafkaSettings) -> str:
    if settings.password is not None:
        return settings.password.get_secret_value()
    path = settings.password_file
    assert path is not None, "the settings were checked"
    content = _content("password_file", path)
    if len(content) > _MAX_PASSWORD_BYTES:
        problem = "is too large"
    else:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            problem = "is no UTF-8 text"
        else:
            password = text.removesuffix("\n").removesuffix("\r")
            if password:
                return password
            problem = "is empty"
    message = f"kafka.password_file {path} {problem}: it holds the password and nothing else"
    raise LogError(message)


def _context(settings: KafkaSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = settings.check_hostname
    if settings.ca_file is None:
        context.load_default_certs()
    else:
        _content("ca_file", settings.ca_file)
        try:
            context.load_verify_locations(settings.ca_file)
        except (ssl.SSLError, ValueError):
            message = f"kafka.ca_file {settings.ca_file} holds no certificate: it must be a file of PEM certificates"
            raise LogError(message) from None
    if settings.certificate_file is not None and settings.key_file is not None:
        _load_own(context, settings.certificate_file, settings.key_file, settings)
    return context


def _load_own(context: ssl.SSLContext, certificate: Path, key: Path, settings: KafkaSettings) -> None:
    """The certificate that this program shows, and its key."""
    _content("certificate_file", certificate)
    content = _content("key_file", key)
    secret = settings.key_password
    # Without one OpenSSL would ask on the terminal.
    password = "" if secret is None else secret.get_secret_value()
    try:
        context.load_cert_chain(certificate, key, password=password)
    except (ssl.SSLError, ValueError) as problem:
        if b"ENCRYPTED" in content and "MISMATCH" not in str(problem):
            wrong = "the key has a password: set kafka.key_password" if secret is None else "wrong kafka.key_password"
        elif "MISMATCH" in str(problem):
            wrong = "the key is not that of the certificate"
        else:
            wrong = "one of them is no PEM file of a certificate and its key"
        message = f"kafka.certificate_file {certificate} and kafka.key_file {key} cannot be used: {wrong}"
        raise LogError(message) from None


def _content(name: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_PASSWORD_BYTES + 1)
    except OSError as problem:
        message = f"kafka.{name} cannot be read: {reason_of(problem)}"
        raise LogError(message) from problem
