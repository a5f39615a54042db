"""What every log refuses, on each kind of log."""

from __future__ import annotations

import pytest

from stream_bayes.errors import LogConflict, LogError, ParameterError
from stream_bayes.log.arguments import MOST_RECORD_BYTES
from tests.logs import Logs, drained, first, logs, put, values

__all__ = ["logs"]


def test_a_refused_commit_writes_nothing_and_keeps_what_is_staged(logs: Logs) -> None:
    log = logs.open("readers", ["mails"])
    put(log, "mails", b"one", b"two", b"three")
    log.append("out", b"kept")
    with pytest.raises(LogError, match=r"mails\[0\] ends at offset 3, so 4 cannot be a position"):
        log.commit({first("mails"): 4})
    assert log.read("out", 0, 0) == []
    assert log.committed() == {first("mails"): 0}
    log.commit({first("mails"): 3})
    assert values(log.read("out", 0, 0, 10)) == [b"kept"]
    assert log.committed() == {first("mails"): 3}


def test_one_log_at_a_time_reads_for_a_group(logs: Logs) -> None:
    holder = logs.open("readers", ["mails"])
    with pytest.raises(LogConflict, match=r"already reads for the group 'readers'\. .* another group"):
        logs.open("readers", ["mails"])
    put(holder, "mails", b"still works")
    assert values(drained(holder)) == [b"still works"]
    holder.close()
    assert values(drained(logs.open("readers", ["mails"]))) == [b"still works"]


def test_a_record_beyond_the_limit_is_refused(logs: Logs) -> None:
    log = logs.open()
    with pytest.raises(LogError, match="67,108,865 bytes is too large for a log: at most 67,108,864"):
        log.append("mails", bytes(MOST_RECORD_BYTES - 3), b"k", headers=[("n", b"xx")])
    log.commit({})
    assert log.ends("mails") in ({}, {first("mails"): 0})


def test_a_closed_log_does_nothing_more(logs: Logs) -> None:
    log = logs.open("readers", ["mails"])
    log.close()
    log.close()
    for call in (lambda: log.poll(1, 0.0), lambda: log.append("mails", b""), lambda: log.commit({}), log.committed,
                 lambda: log.ends("mails"), lambda: log.read("mails", 0, 0)):  # fmt: skip
        with pytest.raises(LogError, match="closed"):
            call()


def test_arguments_that_cannot_work_are_refused(logs: Logs) -> None:
    log = logs.open()
    for call in (lambda: log.poll(1, 0.0), log.committed):
        with pytest.raises(LogError, match="opened with a group and its topics"):
            call()
    with pytest.raises(ParameterError, match="at least one record, not 0"):
        log.read("mails", 0, 0, 0)
    for name in ("", "a/b", "..", "a" * 101, "ä", "a b", "\ud800"):
        with pytest.raises(ParameterError, match="cannot be the name of a topic"):
            log.append(name, b"")
        with pytest.raises(ParameterError, match="cannot be the name of a group"):
            logs.open(name, ["mails"])
    for group, topics in ((None, ["mails"]), ("readers", []), ("readers", ["a", "a"]), ("readers", "mails")):
        with pytest.raises(ParameterError):
            logs.open(group, topics)
    with pytest.raises(ParameterError, match="at least one partition, not 0"):
        logs.open(partitions=0)


def test_what_is_not_bytes_is_refused(logs: Logs) -> None:
    log = logs.open()
    for value, key, headers in (("text", None, ()), (b"", "key", ()), (b"", None, [("name", "text")]),
                                (b"", None, [(b"name", b"")]), (b"", None, [("\ud800", b"")])):  # fmt: skip
        with pytest.raises(ParameterError):
            log.append("mails", value, key, headers=headers)  # type: ignore[arg-type]
    assert log.ends("mails") == {}
