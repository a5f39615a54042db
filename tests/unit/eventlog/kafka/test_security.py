"""What the Kafka client is told of passwords and certificates, and what is said where they cannot be used."""

from __future__ import annotations

import logging
import shutil
import ssl
import subprocess
import traceback
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import InvalidReceiveError, KafkaConnectionError, SaslAuthenticationFailedError
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest

from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogError
from stream_bayes.eventlog.kafka.security import Refusals, client_options
from tests.support.broker.certificates import Authority, Identity
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE
from tests.support.corpora import MAILS, as_json_lines

SECRET = "hunter2-of-me"
KEY_SECRET = "hunter2-of-the-key"
LOGIN = {"sasl_mechanism": "PLAIN", "username": "me"}
SASL = {**LOGIN, "security_protocol": "SASL_PLAINTEXT"}
TLS = {"security_protocol": "SSL"}


def test_without_security_the_client_gets_few_options() -> None:
    assert client_options(KafkaSettings()) == {"client_id": "stream-bayes", "security_protocol": "PLAINTEXT"}


def test_the_client_knows_every_given_option(authority: Authority) -> None:
    options = client_options(
        KafkaSettings.model_validate(
            {**LOGIN, "security_protocol": "SASL_SSL", "password": SECRET, "ca_file": authority.certificate_file}
        )
    )
    for client in (KafkaConsumer, KafkaProducer, KafkaAdminClient):
        assert options.keys() <= client.DEFAULT_CONFIG.keys()
    assert (options["sasl_mechanism"], options["sasl_plain_username"]) == ("PLAIN", "me")
    assert options["sasl_plain_password"] == SECRET
    assert options["sasl_plain_password"].encode() == SECRET.encode()
    assert "hunter2" not in f"{options}"


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_password_from_a_file(ending: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    settings = KafkaSettings.model_validate({**SASL, "password_file": file})
    for password in (" two words ", "caf\u00e9"):
        # Read anew with each connection.
        file.write_bytes((password + ending).encode())
        assert client_options(settings)["sasl_plain_password"] == password


def test_a_file_without_a_password(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    settings = KafkaSettings.model_validate({**SASL, "password_file": file})
    with pytest.raises(LogError, match=rf"kafka\.password_file cannot be read: No such file or directory \({file}\)"):
        client_options(settings)
    for content, problem in ((b"\n", "is empty"), (b"hunter2\xff", "is no UTF-8"), (b"x" * 100_000, "is too large")):
        file.write_bytes(content)
        with pytest.raises(LogError, match=rf"kafka\.password_file {file} {problem}") as caught:
            client_options(settings)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(LogError, match=rf"Is a directory \({tmp_path}\)"):
        client_options(KafkaSettings.model_validate({**SASL, "password_file": tmp_path}))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def own(authority: Authority) -> Identity:
    return authority.sign("client")


@pytest.fixture(scope="module")
def locked(own: Identity) -> Path:
    return own.locked_key(KEY_SECRET)


def certified(**files: Any) -> ssl.SSLContext:
    context = client_options(KafkaSettings.model_validate({**TLS, **files}))["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    return context


def test_certificates(authority: Authority, own: Identity, locked: Path) -> None:
    context = certified(ca_file=authority.certificate_file)
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert len(context.get_ca_certs()) == 1
    context = certified(check_hostname=False)
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_REQUIRED)
    certified(certificate_file=own.certificate_file, key_file=own.key_file)
    certified(certificate_file=own.in_one_file(), key_file=own.in_one_file())
    certified(certificate_file=own.certificate_file, key_file=locked, key_password=KEY_SECRET)


def test_certificates_that_cannot_be_used(authority: Authority, own: Identity, locked: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.pem"
    missing = tmp_path / "missing.pem"
    text.write_text("no certificate")
    pair = {"certificate_file": own.certificate_file, "key_file": own.key_file}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"ca_file": missing}, f"kafka.ca_file cannot be read: No such file or directory ({missing})"),
        ({"ca_file": tmp_path}, f"kafka.ca_file cannot be read: Is a directory ({tmp_path})"),
        ({"ca_file": text}, f"kafka.ca_file {text} holds no certificate"),
        ({**pair, "certificate_file": missing}, "kafka.certificate_file cannot be read"),
        ({**pair, "key_file": missing}, "kafka.key_file cannot be read"),
        ({**pair, "key_file": text}, f"and kafka.key_file {text} cannot be used: one of them is no PEM file"),
        ({**pair, "certificate_file": text}, f"kafka.certificate_file {text} and kafka.key_file {own.key_file} cannot"),
        ({**pair, "certificate_file": authority.certificate_file}, "the key is not that of the certificate"),
        ({**pair, "key_file": locked}, "the key has a password: set kafka.key_password"),
        (
            {**pair, "key_file": locked, "key_password": "hunter2"},
            f"kafka.key_file {locked} cannot be used: wrong kafka",
        ),
    ]
    for files, message in cases:
        with pytest.raises(LogError) as caught:
            certified(**files)
        assert message in str(caught.value)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_the_client_does_not_log_passwords(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    parser = KafkaProtocol(client_id="a", api_version=(4, 0))
    parser.send_request(SaslAuthenticateRequest(auth_bytes=f"\0me\0{SECRET}".encode(), version=1))
    parser.send_bytes()
    logging.getLogger("kafka").debug("but other things")
    assert "but other things" in caplog.text
    assert "hunter2" not in caplog.text


def test_why_the_client_was_refused_is_noted() -> None:
    logger = logging.getLogger("kafka.net.connection")
    name = "<KafkaConnection 1>"
    with Refusals() as refusals:
        logger.error("%s: Connection lost: %s", name, SaslAuthenticationFailedError("Authentication failed"))
        logger.error("%s: Connection lost: %s", name, SaslAuthenticationFailedError("Authentication failed"))
        logger.error("%s: Connection lost: %s", name, KafkaConnectionError("socket disconnected"))
        logger.error(
            "%s: Connection lost: %s", name, KafkaConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed")
        )
    logger.error("%s: Connection lost: %s", name, InvalidReceiveError("Invalid frame length: 352518912"))
    assert [reason.partition(":")[0] for reason in refusals.reasons] == [
        "the broker knows no such user and password",
        "the broker's certificate is not trusted",
    ]


@pytest.mark.long
def test_a_broker_that_is_not_there_is_one_line_from_each_command_but_run(tmp_path: Path) -> None:
    corpus = as_json_lines(tmp_path, MAILS)
    log = "kafka://127.0.0.1:1"
    commands = [("tail", "status", "--log", log), ("produce", str(corpus), "--to", log)]
    given = {f"STREAM_BAYES__KAFKA__{name.upper()}": value for name, value in {**SASL, "password": SECRET}.items()}
    running = [
        subprocess.Popen(
            [*COMMAND, *command],
            env={**ENVIRONMENT, **given},
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for command in commands
    ]
    for process in running:
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors.count("\n")) == (2, "", 1)
        assert errors.startswith(f"stream-bayes: {log} does not answer")
        assert "hunter2" not in errors
    assert not (tmp_path / "checkpoints").exists()
