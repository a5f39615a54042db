"""`stream-bayes produce`: a corpus into a log."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from stream_bayes.cli.produce_writer import LABELLER, CorpusProducer, LabelTiming, parse_label_timing
from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.eventlog.factory import open_log
from stream_bayes.eventlog.memory import MemoryLog
from stream_bayes.events import Label, Limits, Observation, decode
from stream_bayes.mail.parse.identity import message_id_of
from stream_bayes.records import Record, Source
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE, Run, on_a_terminal
from tests.support.corpora import MAILS, as_class_mboxes, as_json_lines, put
from tests.support.tiers import short_first

LIMITS = Limits()
NUMBERED = [mail._replace(id=f"m{number}") for number, mail in enumerate((MAILS[1], MAILS[0], MAILS[2]) * 20)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return as_json_lines(tmp_path, MAILS)


@pytest.fixture
def log(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'mail.db'}"


def read(log: str, topic: str, most: int = 10_000) -> list[Record]:
    with open_log(log) as opened:
        return opened.read(topic, 0, 0, most)


def observations(log: str) -> list[Observation]:
    found = [decode(record, Observation, LIMITS) for record in read(log, "emails")]
    return [each for each in found if isinstance(each, Observation)]


def test_mails_come_in_order_with_their_labels(run: Run, corpus: Path, log: str) -> None:
    code, output, errors = run("produce", corpus, "--to", log)
    assert (code, errors) == (0, "")
    assert output.startswith(f"wrote 7 mails and 7 labels to {log}\n")
    assert [(each.id, each.label, each.content) for each in observations(log)] == [mail[:3] for mail in MAILS]
    assert read(log, "labels") == []


def test_mailboxes_of_one_class_each_are_written_mixed_unless_told_otherwise(
    run: Run, tmp_path: Path, log: str
) -> None:
    corpus = as_class_mboxes(
        tmp_path / "c", [mail._replace(raw=mail.raw + mail.id.encode() + b"\n") for mail in NUMBERED]
    )
    code, output, errors = run("produce", corpus, "--to", log)
    assert (code, errors) == (0, "")
    assert "\n  with the classes mixed evenly\n" in output
    assert [each.label for each in observations(log)][:6] == ["ham", "spam", "ham", "ham", "spam", "ham"]
    code, output, _ = run("produce", corpus, "--to", f"{log}2", "--order", "stored")
    assert (code, [each.label for each in observations(f"{log}2")][:40]) == (0, ["ham"] * 40)
    assert "\n  warning: the first 40 messages with a label are all ham: " in output


def test_mails_without_labels_need_the_option_labels_none(run: Run, tmp_path: Path, log: str) -> None:
    lines = "".join(json.dumps({"id": f"m{place}", "text": "hello"}) + "\n" for place in range(5))
    corpus = put(tmp_path / "unlabelled.jsonl", lines)
    code, _, errors = run("produce", corpus, "--to", log)
    assert (code, errors.count("\n")) == (2, 1)
    assert errors.endswith("Mail without labels is written with --labels none\n")
    code, output, _ = run("produce", corpus, "--to", log, "--labels", "none", "--json")
    assert code == 0
    found = json.loads(output)
    assert (found["mails"], found["labels"], found["stopped"]) == (5, 0, False)
    assert [each.label for each in observations(log)] == [None] * 5


@pytest.mark.parametrize("later", [1, 2, 3, 100])
def test_labels_come_later_with_the_place_of_their_mail(run: Run, corpus: Path, log: str, later: int) -> None:
    code, output, _ = run("produce", corpus, "--to", log, "--labels", f"later:{later}", "--json")
    assert (code, json.loads(output)["labels"]) == (0, 7)
    assert [each.label for each in observations(log)] == [None] * 7
    labels = [decode(record, Label, LIMITS) for record in read(log, "labels")]
    places = {Source(*record[:3]): mail for record, mail in zip(read(log, "emails"), MAILS, strict=True)}
    for label, mail in zip(labels, MAILS, strict=True):
        assert isinstance(label, Label)
        assert label.source is not None
        assert (label.id, label.label, label.labeller) == (mail.id, mail.label, LABELLER)
        assert places[label.source] == mail


def test_a_label_comes_after_the_delay_in_mails() -> None:
    log = MemoryLog()
    most = 0
    producer = CorpusProducer(log, "emails", "labels", LabelTiming("later", 4))
    for place in range(50):
        producer.add(Mail(f"m{place}", "ham", b"x"))
        mails, labels = (len(log.read(topic, 0, 0, 100)) for topic in ("emails", "labels"))
        assert labels <= max(mails - 4, 0)
        most = max(most, labels)
    assert most >= 42
    producer.finish()
    assert (producer.written, producer.labels_written, producer.labels_waiting) == (50, 50, 0)


def test_labels_find_their_mails_among_those_of_others_and_in_every_partition() -> None:
    log = MemoryLog(partitions=3)
    producer = CorpusProducer(log, "emails", "labels", LabelTiming("later", 10))
    for place in range(60):
        log.append("emails", b"of somebody else", f"other{place}".encode())
        producer.add(Mail(f"m{place}", "spam", b"x"))
    producer.finish()
    labels = [record for number in range(3) for record in log.read("labels", number, 0, 100)]
    assert len(labels) == 60
    for record in labels:
        label = decode(record, Label, LIMITS)
        assert isinstance(label, Label)
        assert label.source is not None
        assert record.partition == label.source.partition
        (mail,) = log.read(*label.source)
        assert (mail.key, mail.value) == (label.id.encode(), b"x")


def test_an_id_that_the_engine_refuses_is_replaced_by_the_message_digest() -> None:
    log = MemoryLog()
    producer = CorpusProducer(log, "emails", "labels", LabelTiming("later", 1))
    producer.add(Mail("x" * 600, "spam", b"x"))
    producer.finish()
    (mail,) = log.read("emails", 0, 0)
    (label,) = log.read("labels", 0, 0)
    seen = decode(mail, Observation, LIMITS)
    result = decode(label, Label, LIMITS)
    assert seen.id == result.id == message_id_of(b"x")


def test_only_the_first_mails_and_at_a_rate(run: Run, corpus: Path, log: str) -> None:
    code, output, _ = run("produce", corpus, "--to", log, "--limit", "3", "--rate", "20", "--json")
    assert (code, json.loads(output)["mails"]) == (0, 3)
    assert json.loads(output)["seconds"] >= 2 / 20


def test_the_log_and_the_topics_are_those_of_the_settings(run: Run, corpus: Path, tmp_path: Path, log: str) -> None:
    settings = put(tmp_path / "own.toml", f'log = "{log}"\n[topics]\nobservations = "post"\n')
    code, output, _ = run("produce", corpus, "--config", settings)
    assert (code, len(read(log, "post"))) == (0, 7)
    assert output.endswith(f"\nTo filter them: stream-bayes run --config {settings}\n")
    other = f"sqlite:///{tmp_path / 'a b.db'}"
    output = run("produce", corpus, "--config", settings, "--to", other)[1]
    assert output.endswith(f"\nTo filter them: stream-bayes run --config {settings} --log '{other}'\n")


def test_a_second_run_without_a_check_repeats_the_ids(run: Run, corpus: Path, log: str) -> None:
    for _ in range(2):
        assert run("produce", corpus, "--to", log, "--no-check")[0] == 0
    assert [each.id for each in observations(log)] == [mail.id for mail in MAILS] * 2


def test_corpus_errors_stop_after_whole_mails_or_are_counted(run: Run, tmp_path: Path, log: str) -> None:
    corpus = as_json_lines(tmp_path, MAILS)
    corpus.write_text(corpus.read_text() + "no json\n")
    code, output, errors = run("produce", corpus, "--to", log)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.endswith(". 7 mails before it went into the log; --on-error skip leaves such messages out\n")
    assert len(read(log, "emails")) == 7
    code, output, _ = run("produce", corpus, "--to", log, "--on-error", "skip", "--json")
    assert (code, json.loads(output)["mails"], json.loads(output)["already_there"]) == (0, 0, 7)
    assert sum(json.loads(output)["left_out"].values()) == 1


def test_an_error_of_the_whole_corpus_has_no_such_advice(run: Run, corpus: Path, log: str) -> None:
    for option in ("fail", "skip"):
        code, _, errors = run("produce", corpus, "--to", log, "--order", "time", "--on-error", option)
        assert code == 2
        assert errors.endswith("so there is no order of time: choose --order mixed or stored\n")


def test_where_nothing_is_written_neither_the_order_nor_the_next_command_is_said(
    run: Run, tmp_path: Path, log: str
) -> None:
    mails = [mail._replace(raw=mail.raw + mail.id.encode() + b"\n") for mail in NUMBERED]
    corpus = as_class_mboxes(tmp_path / "c", mails)
    for order, expected in (("mixed", "  with the classes mixed evenly\n"), ("stored", "  warning: the first 40 ")):
        output = run("produce", corpus, "--to", f"{log}{order}", "--order", order)[1]
        assert expected in output
        assert "\nTo filter them: " in output
        code, output, errors = run("produce", corpus, "--to", f"{log}{order}", "--order", order)
        assert (code, errors) == (0, "")
        assert output == f"wrote 0 mails and 0 labels to {log}{order}; 60 were there already\n"
        assert json.loads(run("produce", corpus, "--to", f"{log}{order}", "--json")[1])["warnings"] == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--labels", "later:0"], "labels must be with, later:N"),
        (["--labels", "always"], "labels must be with, later:N"),
        (["--rate", "0"], "rate must be"),
        (["--rate", "nan"], "rate must be"),
        (["--to", "mail.db"], "is not the address of a log"),
    ],
)
def test_a_wrong_call_gets_one_line_and_writes_nothing(
    run: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], problem: str
) -> None:
    monkeypatch.chdir(corpus.parent)
    code, output, errors = run("produce", corpus, *arguments)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert problem in errors
    assert not list(corpus.parent.glob("*.db"))


def test_labellings_by_name() -> None:
    assert [parse_label_timing(text) for text in ("with", "none", "later:7")] == [
        LabelTiming("with"),
        LabelTiming("none"),
        LabelTiming("later", 7),
    ]
    for text in ("", "with:1", "later", "later:", "later:-1", "later:1.5", "later:1e3", "later:²"):
        with pytest.raises(ParameterError):
            parse_label_timing(text)


@pytest.mark.slow
@pytest.mark.parametrize("as_json", short_first([False, True]))
def test_ctrl_c_ends_it_between_transactions_and_says_how_many_were_written(
    tmp_path: Path, log: str, as_json: bool
) -> None:
    corpus = as_json_lines(tmp_path, [Mail(f"m{place}", "ham", b"x" * 100) for place in range(5000)])
    command = [*COMMAND, "produce", str(corpus), "--to", log, "--rate", "100", "--labels", "later:5"]
    command += ["--json"] if as_json else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        while not (tmp_path / "mail.db").exists() or len(read(log, "emails")) < 20:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, b"stream-bayes: stopped\n")
    if not as_json:
        assert output.startswith(b"wrote ")
        assert b"stopped" not in output, "it is said once"
        return
    found = json.loads(output)
    assert found["stopped"] is True
    assert found["mails"] == len(read(log, "emails")) < 5000
    assert found["labels"] == len(read(log, "labels"))
    assert found["mails"] == found["labels"] + found["labels_not_sent"]


@pytest.mark.slow
def test_a_terminal_sees_how_far_it_is(corpus: Path, log: str) -> None:
    code, shown, output = on_a_terminal("produce", corpus, "--to", log, "--rate", "20", errors=True)
    assert code == 0
    assert b"mails/s" in shown
    assert output.startswith(b"wrote 7 mails")
