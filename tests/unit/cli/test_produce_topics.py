"""`stream-bayes produce` into topics with gaps, with several partitions, and with room for small mails only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_bayes.cli.produce_writer import TOO_LARGE, CorpusProducer, LabelTiming
from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.eventlog.factory import open_log
from stream_bayes.eventlog.memory import MemoryLog
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.events import Label, Limits, decode
from tests.support.commands import Run
from tests.support.corpora import MAILS, as_json_lines
from tests.support.offset_gaps import LogWithGaps

LIMITS = Limits()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return as_json_lines(tmp_path, MAILS)


@pytest.fixture
def log(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'mail.db'}"


def test_labels_find_their_mails_where_offsets_have_gaps() -> None:
    log = LogWithGaps(partitions=2)
    log.append("emails", b"before", b"m0")
    log.commit({})
    producer = CorpusProducer(log, "emails", "labels", LabelTiming("later", 5))
    for place in range(40):
        producer.add(Mail(f"m{place}", "spam", b"x"))
    producer.finish()
    assert (producer.written, producer.labels_written, producer.labels_waiting) == (40, 40, 0)
    for number in range(2):
        for record in log.read("labels", number, 0, 100):
            label = decode(record, Label, LIMITS)
            assert isinstance(label, Label)
            assert label.source is not None
            (mail,) = log.read(*label.source)
            assert (mail[:3], mail.key, mail.value) == (label.source, label.id.encode(), b"x")


class SmallLog(MemoryLog):
    """One that takes small records only."""

    def max_record_bytes(self, topic: str) -> int:
        """Little."""
        return 100


def test_a_mail_that_the_topic_does_not_take_is_named_or_left_out() -> None:
    log = SmallLog()
    producer = CorpusProducer(log, "emails", "labels", LabelTiming("with"))
    producer.add(Mail("small", "ham", b"x"))
    with pytest.raises(CorpusError, match=r"mail 'large' of 1,000 bytes is too large .* takes 100") as caught:
        producer.add(Mail("large", "ham", b"x" * 1000))
    assert caught.value.kind == TOO_LARGE
    producer.skips_errors = True
    for name, size in (("large", 1000), ("small too", 2)):
        producer.add(Mail(name, "ham", b"x" * size))
    producer.finish()
    assert (producer.written, producer.labels_written, producer.skipped) == (2, 2, {TOO_LARGE: 1})
    assert [record.key for record in log.read("emails", 0, 0, 10)] == [b"small", b"small too"]


def test_oversized_mails_are_counted(run: Run, corpus: Path, log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = sorted(len(mail.raw) for mail in MAILS)
    monkeypatch.setattr(SqliteLog, "max_record_bytes", lambda *_: sizes[-1])
    code, output, errors = run("produce", corpus, "--to", log)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert (
        "takes 86: let it take more (max.message.bytes on Kafka, sqlite.record_bytes). 0 mails before it went" in errors
    )
    found = json.loads(run("produce", corpus, "--to", log, "--on-error", "skip", "--json")[1])
    assert found["left_out"] == {TOO_LARGE: 7 - found["mails"]}
    assert found["mails"] < 7


def test_partitions_of_new_topics(run: Run, corpus: Path, log: str) -> None:
    assert run("produce", corpus, "--to", log, "--partitions", "3", "--labels", "later:2")[0] == 0
    with open_log(log) as opened:
        assert [len(opened.end_offsets(topic)) for topic in ("emails", "labels")] == [3, 3]
    assert run("produce", corpus, "--to", log, "--labels", "later:2")[0] == 0
    code, _, errors = run("produce", corpus, "--to", log, "--partitions", "4")
    assert (code, errors.count("\n")) == (2, 1)
    assert "'emails' has 3 partitions, not 4: leave --partitions out" in errors


def test_labels_get_as_many_partitions_as_the_mails_have(run: Run, corpus: Path, log: str) -> None:
    with open_log(log, partitions=2) as opened:
        opened.append("emails", b"x", partition=1)
        opened.commit({})
    assert run("produce", corpus, "--to", log, "--labels", "later:2")[0] == 0
    with open_log(log) as opened:
        assert len(opened.end_offsets("labels")) == 2
