"""What every log refuses, on each kind of log."""

from __future__ import annotations

import pytest

from stream_bayes.errors import LogError, ParameterError
from tests.support.logs import Logs, first


def test_a_record_beyond_the_limit_is_refused(logs: Logs, mails: str) -> None:
    log = logs.open()
    most = log.max_record_bytes(mails)
    with pytest.raises(LogError, match=f"{most + 1:,} bytes is too large for a log: at most {most:,}"):
        log.append(mails, bytes(most - 3), b"k", headers=[("n", b"xx")])
    log.commit({})
    assert log.end_offsets(mails) in ({}, {first(mails): 0})


def test_a_closed_log_does_nothing_more(logs: Logs, mails: str) -> None:
    log = logs.open(logs.group("readers"), [mails])
    log.close()
    log.close()
    for call in (lambda: log.poll(1, 0.0), lambda: log.append(mails, b""), lambda: log.commit({}), log.committed,
                 lambda: log.end_offsets(mails), lambda: log.read(mails, 0, 0), log.lag, log.heartbeat):  # fmt: skip
        with pytest.raises(LogError, match="closed"):
            call()


def test_arguments_that_cannot_work_are_refused(logs: Logs, mails: str) -> None:
    log = logs.open()
    group = logs.group("readers")
    for call in (lambda: log.poll(1, 0.0), log.committed, log.lag, log.heartbeat):
        with pytest.raises(LogError, match="opened with a group and its topics"):
            call()
    with pytest.raises(ParameterError, match="at least one record, not 0"):
        log.read(mails, 0, 0, 0)
    for name in ("", "a/b", "..", "a" * 101, "ä", "a b", "\ud800"):
        with pytest.raises(ParameterError, match="cannot be the name of a topic"):
            log.append(name, b"")
        with pytest.raises(ParameterError, match="cannot be the name of a group"):
            logs.open(name, [mails])
    for wrong, topics in ((None, [mails]), (group, []), (group, ["a", "a"]), (group, "mails")):
        with pytest.raises(ParameterError):
            logs.open(wrong, topics)
    with pytest.raises(ParameterError, match="at least one partition, not 0"):
        logs.open(partitions=0)


def test_values_that_are_not_bytes_are_refused(logs: Logs, mails: str) -> None:
    log = logs.open()
    for value, key, headers in (("text", None, ()), (b"", "key", ()), (b"", None, [("name", "text")]),
                                (b"", None, [(b"name", b"")]), (b"", None, [("\ud800", b"")])):  # fmt: skip
        with pytest.raises(ParameterError):
            log.append(mails, value, key, headers=headers)  # type: ignore[arg-type]
    assert log.end_offsets(mails) == {}
