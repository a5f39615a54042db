"""The Kafka log behind passwords and certificates: who is let in, and what is said to whom who is not."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pytest

from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogError, LogUnavailable
from stream_bayes.eventlog.kafka import KafkaLog, connection
from tests.support.broker.security import MECHANISMS, MUTUAL_TLS, OTHER_NAME
from tests.support.logs import commit, everything, values

if TYPE_CHECKING:
    from tests.support.broker import SecureBroker

pytestmark = pytest.mark.broker

WRONG = "not the password, but as secret"
BAD_LOGIN = r"knows no such user and password.*kafka\.username.*password.*kafka\.sasl_mechanism"


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who does not answer is not waited for so long, and no thread of the client stays behind."""
    monkeypatch.setattr(connection, "_BOOTSTRAP_SECONDS", 4.0)
    before = set(threading.enumerate())
    yield
    # A thread that was told to end may need a moment.
    until = time.monotonic() + 120.0
    while set(threading.enumerate()) - before and time.monotonic() < until:
        time.sleep(0.02)
    assert not set(threading.enumerate()) - before


def login(mechanism: str, username: str, password: str, protocol: str = "SASL_PLAINTEXT") -> dict[str, Any]:
    return {
        "security_protocol": protocol,
        "sasl_mechanism": mechanism,
        "username": username,
        "password": password,
    }


def write(address: str, settings: dict[str, Any]) -> list[bytes]:
    """Write a record where one is let in; gives what can be read then."""
    topic = f"mails-{uuid4().hex}"
    with KafkaLog([address], settings=KafkaSettings.model_validate(settings)) as log:
        log.append(topic, b"mail")
        commit(log)
        return values(everything(log, topic))


class Refusal(NamedTuple):
    """The error of who is not let in; not the error itself, which holds on to sockets."""

    retriable: bool
    text: str
    shown: str
    """All that a traceback shows."""


def refusal(address: str, settings: dict[str, Any], group: str | None = None) -> Refusal:
    """What is said to who is not let in."""
    topics = [f"mails-{uuid4().hex}"]
    chosen = KafkaSettings.model_validate(settings)
    try:
        with KafkaLog([address], group, topics if group else (), settings=chosen, instance_id=group) as log:
            log.append(topics[0], b"mail")
    except LogError as problem:
        shown = "".join(traceback.format_exception(problem)) + repr(problem)
        return Refusal(isinstance(problem, LogUnavailable), str(problem), shown)
    pytest.fail(f"{address} lets everybody in")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_password_opens(secure_broker: SecureBroker, protocol: str, mechanism: str) -> None:
    settings = login(mechanism, secure_broker.username, secure_broker.password, protocol)
    if protocol == "SASL_SSL":
        settings["ca_file"] = secure_broker.ca_file
    assert write(secure_broker.addresses[protocol], settings) == [b"mail"]


def test_certificates_open(secure_broker: SecureBroker) -> None:
    tls = {"security_protocol": "SSL", "ca_file": secure_broker.ca_file}
    assert write(secure_broker.addresses["SSL"], tls) == [b"mail"]
    assert write(secure_broker.addresses[OTHER_NAME], {**tls, "check_hostname": False}) == [b"mail"]
    own = {
        "certificate_file": secure_broker.client.certificate_file,
        "key_file": secure_broker.locked_key_file,
        "key_password": secure_broker.key_password,
    }
    assert write(secure_broker.addresses[MUTUAL_TLS], {**tls, **own}) == [b"mail"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("group", [None, "readers"])
def test_a_wrong_password_is_reported_once_and_not_shown(
    secure_broker: SecureBroker, caplog: pytest.LogCaptureFixture, mechanism: str, group: str | None
) -> None:
    caplog.set_level(logging.DEBUG)
    problem = refusal(secure_broker.addresses["SASL_PLAINTEXT"], login(mechanism, secure_broker.username, WRONG), group)
    assert not problem.retriable
    assert re.search(BAD_LOGIN, problem.text)
    assert WRONG not in problem.shown + caplog.text
    assert caplog.records


def test_a_user_without_rights_is_reported(secure_broker: SecureBroker) -> None:
    powerless = login("PLAIN", secure_broker.powerless, secure_broker.powerless_password)
    for group in (None, "readers"):
        problem = refusal(secure_broker.addresses["SASL_PLAINTEXT"], powerless, group)
        assert not problem.retriable
        assert re.search(
            r"does not allow it \(.*mails-.*\): an operator has to grant it to kafka\.username", problem.text
        )


def test_an_unknown_authority(secure_broker: SecureBroker) -> None:
    tls = {"security_protocol": "SSL", "ca_file": secure_broker.other_ca_file}
    problem = refusal(secure_broker.addresses["SSL"], tls)
    assert not problem.retriable
    assert re.search(r"certificate is not trusted: set kafka\.ca_file", problem.text)


def test_a_certificate_of_another_host(secure_broker: SecureBroker) -> None:
    tls = {"security_protocol": "SSL", "ca_file": secure_broker.ca_file}
    problem = refusal(secure_broker.addresses[OTHER_NAME], tls)
    assert not problem.retriable
    assert re.search(r"for another name.*kafka\.check_hostname", problem.text)


def test_a_broker_that_wants_a_certificate(secure_broker: SecureBroker) -> None:
    tls = {"security_protocol": "SSL", "ca_file": secure_broker.ca_file}
    problem = refusal(secure_broker.addresses[MUTUAL_TLS], tls)
    assert not problem.retriable
    assert re.search(r"set kafka\.certificate_file and kafka\.key_file", problem.text)


def test_a_broker_with_tls_is_reported(secure_broker: SecureBroker) -> None:
    problem = refusal(secure_broker.addresses["SSL"], {})
    assert not problem.retriable
    assert re.search(r"speaks TLS here: correct kafka\.security_protocol, or the port", problem.text)


def test_a_broker_without_tls_is_reported(secure_broker: SecureBroker) -> None:
    tls = {"security_protocol": "SSL", "ca_file": secure_broker.ca_file}
    problem = refusal(secure_broker.addresses["PLAINTEXT"], tls)
    # It hangs up without a word, as one does that is not ready yet.
    assert problem.retriable
    assert re.search(r"are address and kafka\.security_protocol right\?", problem.text)


def test_a_broker_that_wants_a_password(secure_broker: SecureBroker) -> None:
    problem = refusal(secure_broker.addresses["SASL_PLAINTEXT"], {})
    # So does one that is going away.
    assert problem.retriable
    assert re.search(r"closes the connection.*needs a password: correct kafka\.security_protocol", problem.text)


def test_a_broker_that_wants_no_password(secure_broker: SecureBroker) -> None:
    problem = refusal(secure_broker.addresses["PLAINTEXT"], login("PLAIN", "me", WRONG))
    assert not problem.retriable
    assert re.search(r"wants no user and password here: correct kafka\.security_protocol, or the port", problem.text)


@pytest.mark.parametrize("group", [None, "readers"])
def test_an_address_without_a_broker_is_an_error(
    group: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "_BOOTSTRAP_SECONDS", 1.0)
    # What is logged holds on to sockets.
    caplog.set_level(logging.CRITICAL, "kafka")
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        places = [f"127.0.0.1:{one.getsockname()[1]}" for one in (silent, bound)]
        for address in [*places, "no-such-host.invalid:9092"]:
            problem = refusal(address, {}, group)
            assert problem.retriable
            assert re.search(rf"kafka://{address} does not answer.*Is the broker running, are address", problem.text)
