"""What a broker can answer, and what is said of it: every error of the client as one of ours that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka import errors

from stream_bayes.errors import LogConflict, LogError, LogRebalanced, LogUnavailable
from stream_bayes.eventlog.kafka.codecs import PACKAGES, missing_codec_error

_REFUSED = (
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
    errors.IllegalSaslStateError,
)
_FORBIDDEN = (errors.AuthorizationError,)
# Another process has the same transactional id or the same name in the group; or a transaction took so long that the
# broker ended it, which it tells in the same words.
FENCED = (errors.ProducerFencedError, errors.InvalidProducerEpochError)
# Records that the topic does not take: another try would end the same way.
_UNFIT = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError, errors.InvalidRecordError)
_AWAY = (errors.RetriableError, errors.BrokerNotAvailableError, errors.UnknownBrokerIdError)


def explained(problem: Exception, servers: str) -> LogError:
    """The error to raise instead of the client's."""
    if isinstance(problem, _REFUSED):
        message = (
            f"{servers} refuses to let us in ({_reason(problem)}): correct kafka.username, the password, or "
            "kafka.sasl_mechanism"
        )
        return LogError(message)
    if isinstance(problem, _FORBIDDEN):
        message = f"{servers} does not allow it ({_reason(problem)}): an operator has to grant it to kafka.username"
        return LogError(message)
    if isinstance(problem, errors.FencedInstanceIdError):
        return _taken(servers)
    if isinstance(problem, errors.UnsupportedCodecError):
        return _compressed(problem, servers)
    if isinstance(problem, _AWAY):
        return unavailable(problem, servers)
    message = f"{servers}: {_reason(problem)}"
    return LogError(message)


def unavailable(problem: Exception, servers: str) -> LogUnavailable:
    """The error of a broker that does not answer."""
    message = (
        f"{servers} does not answer ({_reason(problem)}). Is the broker running, are address and "
        "kafka.security_protocol right?"
    )
    return LogUnavailable(message)


def given_up(problem: Exception, servers: str) -> LogError:
    """The error of a transaction that came to nothing, of a log that reads for a group."""
    if isinstance(problem, errors.FencedInstanceIdError):
        return _taken(servers)
    if isinstance(problem, errors.CommitFailedError):
        reason = "the group has given its partitions to others meanwhile"
    elif isinstance(problem, FENCED):
        reason = "it took longer than kafka.transaction_seconds, or another worker has the same kafka.instance_id"
    elif isinstance(problem, (*_REFUSED, *_FORBIDDEN, *_UNFIT)):
        return explained(problem, servers)
    else:
        reason = _reason(problem)
    message = f"{servers}: a transaction came to nothing: {reason}"
    return LogRebalanced(message)


@contextmanager
def told(servers: str) -> Iterator[None]:
    """Context in which every error of the client becomes one of ours."""
    try:
        yield
    except errors.KafkaError as problem:
        raise explained(problem, servers) from problem


def _taken(servers: str) -> LogConflict:
    message = (
        f"{servers}: another worker has taken the place of this one in the group. Stop one of them, or give each a "
        "kafka.instance_id of its own"
    )
    return LogConflict(message)


def _compressed(problem: Exception, servers: str) -> LogError:
    codec = next((codec for codec in PACKAGES if codec in str(problem)), None)
    if codec is not None:
        return missing_codec_error(codec, f"{servers}: records")
    message = f"{servers}: records are compressed in a way that is not known here ({_reason(problem)})"
    return LogError(message)


def _reason(problem: Exception) -> str:
    text = str(problem)
    name = type(problem).__name__
    return text if name in text else f"{name}: {text}" if text else name
