"""The test broker behind passwords and certificates: it accepts only clients that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError

from tests.support.broker.security import MECHANISMS, MUTUAL_TLS, OTHER_NAME, PROTOCOLS, SASL
from tests.support.tiers import short_first

if TYPE_CHECKING:
    from tests.support.broker import SecureBroker

pytestmark = pytest.mark.broker

# kafka-python tries again until then, whatever the reason is; the broker answers a wrong password after 0.3 s.
REFUSED_MILLISECONDS = (1000, 5000, 20_000, 60_000)


def client(broker: SecureBroker, listener: str, milliseconds: int = 30_000, **options: Any) -> KafkaAdminClient:
    """A client of one listener, which trusts the authority unless told otherwise."""
    return KafkaAdminClient(
        bootstrap_servers=broker.addresses[listener],
        bootstrap_timeout_ms=milliseconds,
        **{"security_protocol": PROTOCOLS[listener], "ssl_cafile": str(broker.ca_file), **options},
    )


def login(mechanism: str, username: str, password: str) -> dict[str, Any]:
    return {"sasl_mechanism": mechanism, "sasl_plain_username": username, "sasl_plain_password": password}


def assert_let_in(broker: SecureBroker, listener: str, **options: Any) -> None:
    with client(broker, listener, **options) as admin:
        assert len(admin.describe_cluster()["brokers"]) == 1


def assert_refused(
    broker: SecureBroker, caplog: pytest.LogCaptureFixture, listener: str, *reasons: str, **options: Any
) -> None:
    """Check that the client is not let in and logs one of these reasons; a busy broker needs longer to say so."""
    for milliseconds in REFUSED_MILLISECONDS:
        with pytest.raises(KafkaTimeoutError, match="Unable to bootstrap"):
            client(broker, listener, milliseconds, **options)
        if any(reason in caplog.text for reason in reasons):
            return
    pytest.fail(f"none of {reasons} in {caplog.text}")


@pytest.mark.parametrize("mechanism", short_first(MECHANISMS))
@pytest.mark.parametrize("listener", short_first(SASL))
def test_a_password_opens(secure_broker: SecureBroker, listener: str, mechanism: str) -> None:
    assert_let_in(secure_broker, listener, **login(mechanism, secure_broker.username, secure_broker.password))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_does_not(
    secure_broker: SecureBroker, caplog: pytest.LogCaptureFixture, mechanism: str
) -> None:
    wrong = login(mechanism, secure_broker.username, "wrong")
    # It drops an answer that comes together with the end of the connection, which is about every second one.
    reasons = ("SaslAuthenticationFailedError", "socket disconnected")
    assert_refused(secure_broker, caplog, "SASL_SSL", *reasons, **wrong)


def test_a_client_with_the_authority_trusts_the_broker(secure_broker: SecureBroker) -> None:
    assert_let_in(secure_broker, "SSL")


def test_a_client_with_another_authority_distrusts_the_broker(
    secure_broker: SecureBroker, caplog: pytest.LogCaptureFixture
) -> None:
    other = str(secure_broker.other_ca_file)
    assert_refused(secure_broker, caplog, "SSL", "CERTIFICATE_VERIFY_FAILED", ssl_cafile=other)


def test_a_certificate_of_another_host_is_refused_unless_names_are_not_checked(
    secure_broker: SecureBroker, caplog: pytest.LogCaptureFixture
) -> None:
    assert_refused(secure_broker, caplog, OTHER_NAME, "not valid for")
    assert_let_in(secure_broker, OTHER_NAME, ssl_check_hostname=False)


def test_a_clients_certificate_opens(secure_broker: SecureBroker) -> None:
    own = secure_broker.client
    locked = str(secure_broker.locked_key_file)
    certificate = str(own.certificate_file)
    assert_let_in(secure_broker, MUTUAL_TLS, ssl_certfile=certificate, ssl_keyfile=str(own.key_file))
    password = secure_broker.key_password
    assert_let_in(secure_broker, MUTUAL_TLS, ssl_certfile=certificate, ssl_keyfile=locked, ssl_password=password)


def test_without_a_certificate_it_stays_shut(secure_broker: SecureBroker, caplog: pytest.LogCaptureFixture) -> None:
    assert_refused(secure_broker, caplog, MUTUAL_TLS, "BAD_CERTIFICATE")


def test_a_user_without_rights_can_connect_and_do_nothing(secure_broker: SecureBroker) -> None:
    powerless = login("PLAIN", secure_broker.powerless, secure_broker.powerless_password)
    options = {"mine": {"num_partitions": 1, "replication_factor": 1}}
    with client(secure_broker, "SASL_PLAINTEXT", **powerless) as admin, pytest.raises(KafkaError) as refused:
        admin.create_topics(options)
    assert isinstance(refused.value, TopicAuthorizationFailedError), refused.value
