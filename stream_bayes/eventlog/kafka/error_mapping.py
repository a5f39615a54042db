"""Mapping of errors of the Kafka client to errors of a log that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka import errors

from stream_bayes.errors import LogConflict, LogError, LogRebalanced, LogUnavailable
from stream_bayes.eventlog.kafka.codecs import PACKAGES, missing_codec_error

_UNAUTHENTICATED = (
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
    errors.IllegalSaslStateError,
)
_UNAUTHORIZED = (errors.AuthorizationError,)
# Another process has the same transactional id or instance id; or the broker ended a transaction that took too long,
# which it reports with the same error.
FENCED = (errors.ProducerFencedError, errors.InvalidProducerEpochError)
# Records that the topic rejects: a retry would fail too.
_REJECTED = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError, errors.InvalidRecordError)
_UNAVAILABLE = (errors.RetriableError, errors.BrokerNotAvailableError, errors.UnknownBrokerIdError)


def to_log_error(problem: Exception, servers: str) -> LogError:
    """The error of a log for an error of the client."""
    if isinstance(problem, _UNAUTHENTICATED):
        message = (
            f"{servers} refuses to let us in ({_reason(problem)}): correct kafka.username, the password, or "
            "kafka.sasl_mechanism"
        )
        return LogError(message)
    if isinstance(problem, _UNAUTHORIZED):
        message = f"{servers} does not allow it ({_reason(problem)}): an operator has to grant it to kafka.username"
        return LogError(message)
    if isinstance(problem, errors.FencedInstanceIdError):
        return _fenced_error(servers)
    if isinstance(problem, errors.UnsupportedCodecError):
        return _codec_error(problem, servers)
    if isinstance(problem, _UNAVAILABLE):
        return to_unavailable(problem, servers)
    message = f"{servers}: {_reason(problem)}"
    return LogError(message)


def to_unavailable(problem: Exception, servers: str) -> LogUnavailable:
    """The error of a broker that does not answer."""
    message = (
        f"{servers} does not answer ({_reason(problem)}). Is the broker running, are address and "
        "kafka.security_protocol right?"
    )
    return LogUnavailable(message)


def to_transaction_error(problem: Exception, servers: str) -> LogError:
    """The error of a log for an error that ended a transaction of a group consumer."""
    if isinstance(problem, errors.FencedInstanceIdError):
        return _fenced_error(servers)
    if isinstance(problem, errors.CommitFailedError):
        reason = "other workers of the group have taken over its partitions"
    elif isinstance(problem, FENCED):
        reason = "it took longer than kafka.transaction_seconds, or another worker has the same kafka.instance_id"
    elif isinstance(problem, (*_UNAUTHENTICATED, *_UNAUTHORIZED, *_REJECTED)):
        return to_log_error(problem, servers)
    else:
        reason = _reason(problem)
    message = f"{servers}: a transaction was aborted, and its records are processed again: {reason}"
    return LogRebalanced(message)


@contextmanager
def mapped_errors(servers: str) -> Iterator[None]:
    """Context in which every error of the client is raised as the error of a log."""
    try:
        yield
    except errors.KafkaError as problem:
        raise to_log_error(problem, servers) from problem


def _fenced_error(servers: str) -> LogConflict:
    message = (
        f"{servers}: another worker has taken the place of this one in the group. Stop one of them, or give each a "
        "kafka.instance_id of its own"
    )
    return LogConflict(message)


def _codec_error(problem: Exception, servers: str) -> LogError:
    codec = next((codec for codec in PACKAGES if codec in str(problem)), None)
    if codec is not None:
        return missing_codec_error(codec, f"{servers}: records")
    message = f"{servers}: records are compressed in a way that is not known here ({_reason(problem)})"
    return LogError(message)


def _reason(problem: Exception) -> str:
    text = str(problem)
    name = type(problem).__name__
    return text if name in text else f"{name}: {text}" if text else name
