"""`stream-bayes produce` of mails that are in the log already: skipped, or corrected where the label is another now."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from mailbox import mbox
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.cli.observation_index import ObservationIndex
from stream_bayes.cli.produce_writer import ID_REUSED, CorpusProducer, LabelTiming
from stream_bayes.config import Settings
from stream_bayes.demo.mailbox import mailbox
from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora import Mail, open_corpus
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.factory import open_log
from stream_bayes.eventlog.memory import MemoryLog
from stream_bayes.events import Label, Limits, decode, encode
from stream_bayes.mail.parse.identity import message_digest, message_id_of
from stream_bayes.records import Source
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE, Run
from tests.support.corpora import WRITERS, as_json_lines, mbox_bytes, put
from tests.support.offset_gaps import LogWithGaps
from tests.support.workers import saved_state, settings_in, work, write_config

FROM_LINE = b"A: b\nSubject: lines\n\nFrom here on\n>From there\n\nthe end\n\n\n"


def mails(count: int, seed: int = 1) -> list[Mail]:
    """Generated mails, all different."""
    return [Mail(*mail) for mail in mailbox(seed, count)]


def maildir(folder: Path, boxes: Sequence[str] = ("", ".Junk")) -> Path:
    """An empty Maildir with its folders."""
    for box in boxes:
        for inside in ("cur", "new", "tmp"):
            (folder / box / inside).mkdir(parents=True, exist_ok=True)
    return folder


def produce(run: Run, corpus: Path, log: str, *options: str) -> dict[str, Any]:
    """What the command reports."""
    code, output, errors = run("produce", corpus, "--to", log, "--json", *options)
    assert (code, errors) == (0, "")
    found: dict[str, Any] = json.loads(output)
    return found


def figures(report: dict[str, Any]) -> tuple[int, int, int, int]:
    """Mails, labels, corrections, and mails that were there already."""
    return report["mails"], report["labels"], report["corrections"], report["already_there"]


def labels_in(log: Log) -> list[Label]:
    """The labels topic."""
    found = []
    for place in log.end_offsets("labels"):
        for record in log.read(*place, 0, 10_000):
            event = decode(record, Label, Limits())
            assert isinstance(event, Label)
            assert event.source is None or event.source.partition == record.partition
            found.append(event)
    return found


def append_mail(log: Log, id_: str, raw: bytes, label: str, partition: int | None = None) -> None:
    """Stage a mail with its label, as any producer may."""
    headers = [("content-type", b"message/rfc822"), ("id", id_.encode()), ("label", label.encode())]
    log.append("emails", raw, id_.encode(), partition, headers)


def feed(
    log: Log, corpus: Iterable[Mail], labelling: LabelTiming | None = None, abstain: str | None = None
) -> CorpusProducer:
    """Write a corpus after a look at what is there."""
    with ObservationIndex(log, "emails", "labels", abstain_label=abstain) as index:
        index.refresh()
        producer = CorpusProducer(log, "emails", "labels", labelling or LabelTiming("with"), index=index)
        for mail in corpus:
            producer.add(mail)
        producer.finish()
    return producer


def counts(producer: CorpusProducer) -> tuple[int, int, int, int]:
    """Mails, labels, corrections, and mails that were there already."""
    return producer.written, producer.labels_written, producer.corrections, producer.already_there


@pytest.fixture
def log(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'mail.db'}"


def test_item02_an_id_is_the_same_in_every_folder_and_format(tmp_path: Path) -> None:
    """A digest of the message: neither the file's name, nor quoting, line endings or trace fields are part of it."""
    crlf = FROM_LINE.replace(b"\n", b"\r\n")
    marked = b"Status: RO\nX-Keywords: Junk\nReceived: from a\n\tby b\nX-Spam-Flag: YES\n" + FROM_LINE
    envelope = b"From ann@example.org Mon Jun 25 13:11:28 2001\n" + FROM_LINE
    mail = Mail("1", "ham", FROM_LINE)
    box = maildir(tmp_path / "m")
    put(box / "cur" / "1.a.host:2,S", FROM_LINE)
    put(box / "new" / "2.b.host", crlf)
    put(box / ".Junk" / "cur" / "3.c.host:2,FS", marked)
    put(tmp_path / "folders" / "easy_ham" / "0001.abc", envelope)
    put(tmp_path / "trec" / "data" / "1", marked)
    put(tmp_path / "trec" / "full" / "index", "ham ../data/1\n")
    put(tmp_path / "ham.mbox", mbox_bytes([mail, mail], labelled=False))
    put(tmp_path / "all.mbox", mbox_bytes([mail], labelled=True))
    put(tmp_path / "t.csv", 'label,text\nham,"' + FROM_LINE.decode() + '"\n')
    for name, many in {"m": 3, "folders": 1, "trec": 1, "ham.mbox": 2, "all.mbox": 1, "t.csv": 1}.items():
        ids = [found.event_id for found in open_corpus(tmp_path / name)]
        assert ids == [message_id_of(FROM_LINE)] * many, name


def test_a_mail_is_the_same_in_a_maildir_and_in_any_kind_of_mbox(run: Run, tmp_path: Path, log: str) -> None:
    """An mbox may quote each "From " once more, only what is not quoted yet (as Python does), or nothing."""
    put(maildir(tmp_path / "m") / ".Ham" / "new" / "1.a.host", FROM_LINE)
    (tmp_path / "m" / ".Ham" / "cur").mkdir()
    put(tmp_path / "quoted" / "ham.mbox", mbox_bytes([Mail("1", "ham", FROM_LINE)], labelled=False))
    (tmp_path / "once").mkdir()
    once = mbox(tmp_path / "once" / "ham.mbox")
    once.add(FROM_LINE)
    once.close()
    put(tmp_path / "never" / "ham.mbox", b"From ann@example.org Mon Jun 25 13:11:28 2001\n" + FROM_LINE)
    assert figures(produce(run, tmp_path / "m", log)) == (1, 1, 0, 0)
    for name in ("quoted", "once", "never"):
        assert figures(produce(run, tmp_path / name, log)) == (0, 0, 0, 1), name


@pytest.mark.parametrize("name", WRITERS)
def test_item02_ids_of_a_corpus_stay_and_copies_are_all_evaluated(name: str, tmp_path: Path) -> None:
    same = [Mail(f"m{number}", "ham", FROM_LINE) for number in range(4)]
    found = list(open_corpus(WRITERS[name](tmp_path / "c", same)))
    assert len({mail.id for mail in found}) == 4
    has_ids = name.startswith(("json", "csv"))
    assert [mail.event_id for mail in found] == [mail.id if has_ids else message_id_of(FROM_LINE) for mail in same]


def test_item02_a_second_mbox_of_the_same_name_is_written(run: Run, tmp_path: Path, log: str) -> None:
    every = mails(400)
    for part, folder in ((every[:200], "a"), (every[200:], "b")):
        corpus = put(tmp_path / folder / "inbox.mbox", mbox_bytes(part, labelled=True))
        assert figures(produce(run, corpus, log)) == (200, 200, 0, 0)
    with open_log(log) as opened:
        records = opened.read("emails", 0, 0, 1000)
    assert [dict(record.headers)["id"].decode() for record in records] == [message_id_of(mail.raw) for mail in every]
    settings = settings_in(tmp_path).model_copy(update={"log": log})
    with open_log(log, settings.group, ("emails", "labels")) as opened:
        work(settings, opened)
        assert opened.end_offsets("predictions") == {("predictions", 0): 400}


def test_item02_known_mails_are_counted_and_not_written(run: Run, tmp_path: Path, log: str) -> None:
    corpus = put(tmp_path / "inbox.mbox", mbox_bytes(mails(200), labelled=True))
    assert "there already" not in run("produce", corpus, "--to", log)[1]
    again = corpus.rename(tmp_path / "renamed.mbox")
    output = run("produce", again, "--to", log)[1]
    assert output.startswith(f"wrote 0 mails and 0 labels to {log}; 200 were there already\n")
    assert figures(produce(run, again, log, "--labels", "later:10")) == (0, 0, 0, 200)
    assert figures(produce(run, again, log, "--labels", "none")) == (0, 0, 0, 200)
    with open_log(log) as opened:
        assert (opened.end_offsets("emails"), labels_in(opened)) == ({("emails", 0): 200}, [])


def test_item02_mails_moved_to_another_mbox_are_corrected(run: Run, tmp_path: Path, log: str) -> None:
    every = mails(30)
    folder = tmp_path / "boxes"
    put(folder / "ham.mbox", mbox_bytes(every, labelled=False))
    assert figures(produce(run, folder, log)) == (30, 30, 0, 0)
    put(folder / "ham.mbox", mbox_bytes(every[3:], labelled=False))
    put(folder / "spam.mbox", mbox_bytes(every[:3], labelled=False))
    output = run("produce", folder, "--to", log)[1]
    assert output.startswith(f"wrote 0 mails and 3 labels to {log}; 30 were there already; 3 corrections among")
    assert figures(produce(run, folder, log)) == (0, 0, 0, 30)
    with open_log(log) as opened:
        found = {label.source: label for label in labels_in(opened)}
        assert len(found) == 3
        for number, mail in enumerate(every[:3]):
            label = found[Source("emails", 0, number)]
            assert (label.id, label.label) == (message_id_of(mail.raw), "spam")


@pytest.mark.parametrize("kind", [MemoryLog, LogWithGaps])
def test_item02_corrections_go_to_the_place_of_their_mail(kind: type[MemoryLog]) -> None:
    log = kind(partitions=3)
    every = mails(700)
    feed(log, every)
    changed = [mail._replace(label="other") for mail in every[::7]]
    assert counts(feed(log, [*every[1:7], *changed])) == (0, 100, 100, 106)
    found = labels_in(log)
    assert sorted(label.id for label in found) == sorted(mail.id for mail in changed)
    for label in found:
        assert label.source is not None
        (record,) = log.read(*label.source)
        assert (record[:3], dict(record.headers)["id"]) == (label.source, label.id.encode())


def test_item02_a_moved_mail_is_corrected_unless_the_label_is_already_sent() -> None:
    """Who did not know has given no label."""
    log = MemoryLog()
    every = [Mail(f"m{number}", "ham", b"x%d" % number) for number in range(3)]
    feed(log, every)
    for id_, label in (("m0", "spam"), ("m1", "spam"), ("m1", "unsure"), ("m2", "spam"), ("m2", "ham"), ("m9", "ham")):
        log.append("labels", encode(Label(id=id_, label=label)))
    log.append("labels", b"no event")
    log.commit({})
    before = len(log.read("labels", 0, 0, 100))
    corpus = [mail._replace(label="spam") for mail in every]
    assert counts(feed(log, corpus, abstain="unsure")) == (0, 1, 1, 3)
    (record,) = log.read("labels", 0, before, 100)
    event = decode(record, Label, Limits())
    assert (event.id, event.label) == ("m2", "spam")


def test_item02_the_label_of_a_person_stands_while_the_mail_does_not_move() -> None:
    log = MemoryLog()
    every = [Mail(f"m{number}", "ham", b"x%d" % number) for number in range(3)]
    feed(log, every)
    log.append("labels", encode(Label(id="m0", label="spam", labeller="ann")))
    log.commit({})
    for _ in range(2):
        producer = feed(log, every)
        assert (counts(producer), producer.labels_kept) == ((0, 0, 0, 3), 1)
    moved = [every[0], every[1]._replace(label="spam"), every[2]]
    producer = feed(log, moved)
    assert (counts(producer), producer.labels_kept) == ((0, 1, 1, 3), 1)
    producer = feed(log, every)
    assert (counts(producer), producer.labels_kept) == ((0, 1, 1, 3), 1), "and back"


def test_item02_a_label_of_a_person_stands_where_the_mail_was_fed_without_one() -> None:
    log = MemoryLog()
    every = [Mail(f"m{number}", "ham", b"x%d" % number) for number in range(3)]
    feed(log, every, LabelTiming("none"))
    log.append("labels", encode(Label(id="m0", label="spam", labeller="ann")))
    log.commit({})
    producer = feed(log, every)
    assert (counts(producer), producer.labels_kept) == ((0, 2, 0, 3), 1)


def test_item02_a_mail_in_two_folders_gets_one_label_at_every_feed() -> None:
    log = MemoryLog()
    corpus = [Mail(name, label, b"x", named_by_place=True) for name, label in (("a", "ham"), ("b", "spam"))]
    assert counts(feed(log, corpus)) == (1, 1, 0, 0)
    for _ in range(2):
        producer = feed(log, corpus)
        assert (counts(producer), producer.copies) == ((0, 0, 0, 1), 1)


def test_copies_with_different_labels_are_named(run: Run, tmp_path: Path, log: str) -> None:
    box = maildir(tmp_path / "m")
    every = mails(8)
    for number, mail in enumerate(every):
        put(box / "cur" / f"1{number}.a:2,S", mail.raw)
        put(box / ".Junk" / "cur" / f"2{number}.b:2,S", b"Status: RO\n" + mail.raw)
    put(box / ".Junk" / "new" / "30.c", b"Subject: only here\n\nx")
    for _ in range(2):
        output = run("produce", box, "--to", log)[1]
        (warning,) = [line for line in output.splitlines() if "warning: 8 copies" in line]
        start = "  warning: 8 copies have another label than the first copy of the same mail, which counts: "
        assert warning.startswith(f"{start}10.a is ham and .Junk/20.b is spam; 11.a is ham and .Junk/21.b is spam; ")
        assert warning.endswith("; 14.a is ham and .Junk/24.b is spam; and 3 more")
    report = produce(run, box, log)
    assert (report["conflicting_copies"], report["warnings"]) == (8, [warning.removeprefix("  warning: ")])
    assert produce(run, box, log, "--labels", "none")["conflicting_copies"] == 0


def test_item02_mails_of_a_maildir_that_are_marked_as_deleted_are_not_read(tmp_path: Path) -> None:
    """As a mail reader leaves them that has copied the mail to the folder Junk."""
    for folder, name in (("cur", "1.a:2,ST"), ("cur", "2.b:2,S"), (".Junk/cur", "3.c:2,S")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder).with_name("new").mkdir(exist_ok=True)
        content = b"Subject: two\n\nb" if name.startswith("2") else b"Subject: one\n\na"
        (tmp_path / folder / name).write_bytes(content)
    found = {mail.event_id: mail.label for mail in open_corpus(tmp_path)}
    assert found == {message_id_of(b"Subject: one\n\na"): "spam", message_id_of(b"Subject: two\n\nb"): "ham"}


def test_item02_a_mail_twice_in_a_corpus_is_one_mail_whose_first_label_counts() -> None:
    for labelling in (LabelTiming("with"), LabelTiming("later", 2)):
        log = MemoryLog()
        corpus = [Mail("a", "ham", b"x", named_by_place=True), Mail("b", "ham", b"y", named_by_place=True)]
        corpus += [Mail("c", label, b"x\n", named_by_place=True) for label in ("ham", "spam", "spam", None)]
        producer = feed(log, corpus, labelling)
        assert counts(producer) == (2, 2, 0, 0)
        assert producer.copies == 4
        assert len(log.read("emails", 0, 0, 10)) == 2


def test_item02_labels_that_were_not_sent_follow_and_are_no_corrections() -> None:
    log = MemoryLog(partitions=2)
    every = mails(50)
    assert counts(feed(log, every, LabelTiming("none"))) == (50, 0, 0, 0)
    assert counts(feed(log, every[:20], LabelTiming("later", 5))) == (0, 20, 0, 20)
    assert counts(feed(log, every)) == (0, 30, 0, 50)
    assert {label.id: label.label for label in labels_in(log)} == {mail.id: mail.label for mail in every}


def test_item02_another_mail_under_a_known_id_is_refused(run: Run, tmp_path: Path, log: str) -> None:
    """Not taken for a mail that is there: no mail may go without a prediction in silence."""
    corpus = as_json_lines(tmp_path / "a", [Mail(f"{number}", "ham", b"a%d" % number) for number in range(5)])
    assert figures(produce(run, corpus, log)) == (5, 5, 0, 0)
    other = as_json_lines(tmp_path / "b", [Mail(f"{number}", "ham", b"b%d" % number) for number in range(3, 9)])
    code, output, errors = run("produce", other, "--to", log)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "mail '3' has the id of another mail, which is in the log already at emails-0-3" in errors
    report = produce(run, other, log, "--on-error", "skip")
    assert (figures(report), report["left_out"]) == ((4, 4, 0, 0), {ID_REUSED: 2})


def test_item02_mails_that_others_sent_as_json_are_known() -> None:
    log = MemoryLog()
    raw = b"Subject: one\n\nx"
    log.append("emails", json.dumps({"id": message_id_of(raw), "text": raw.decode(), "label": "ham"}).encode())
    log.append("emails", json.dumps({"features": {"a": 1}}).encode())
    log.append("emails", b"no event")
    log.commit({})
    assert counts(feed(log, [Mail("a", "spam", raw, named_by_place=True)])) == (0, 1, 1, 1)


def test_item02_a_corpus_ends_where_an_id_is_reused() -> None:
    log = MemoryLog()
    feed(log, [Mail("a", "ham", b"x")])
    with pytest.raises(CorpusError, match="has the id of another mail") as caught:
        feed(log, [Mail("a", "ham", b"y")])
    assert caught.value.kind == ID_REUSED


def test_item02_copies_within_a_corpus_are_counted_apart(run: Run, tmp_path: Path, log: str) -> None:
    one = Mail("1", "ham", b"Subject: a\n\nx\n")
    two = Mail("2", "spam", b"Subject: b\n\ny\n")
    corpus = put(tmp_path / "a.mbox", mbox_bytes([one, one, two, two, two], labelled=True))
    report = produce(run, corpus, log)
    assert (figures(report), report["copies"]) == ((2, 2, 0, 0), 3)
    report = produce(run, corpus, log)
    assert (figures(report), report["copies"]) == ((0, 0, 0, 2), 3)
    output = run("produce", corpus, "--to", log)[1]
    told = "2 were there already; 3 copies within the corpus were not written again\n"
    assert output.startswith(f"wrote 0 mails and 0 labels to {log}; {told}")
    other = f"sqlite:///{tmp_path / 'other.db'}"
    corpus = put(tmp_path / "b.mbox", mbox_bytes([one, one], labelled=True))
    output = run("produce", corpus, "--to", other)[1]
    assert output.startswith(f"wrote 1 mail and 1 label to {other}; 1 copy within the corpus was not written again\n")


@pytest.mark.parametrize("name", ["sms.csv", "sms.tsv", "sms.jsonl"])
def test_item02_equal_rows_of_a_table_without_ids_are_different_messages(
    run: Run, tmp_path: Path, log: str, name: str
) -> None:
    rows = [("ham", "ok"), ("ham", "see you"), ("spam", "ok"), ("ham", "ok"), ("ham", "see you")]

    def write(chosen: Sequence[tuple[str, str]]) -> Path:
        if name.endswith("jsonl"):
            text = "".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in chosen)
        elif name.endswith("tsv"):
            text = "".join(f"{label}\t{text}\n" for label, text in chosen)
        else:
            text = "label,text\n" + "".join(f"{label},{text}\n" for label, text in chosen)
        return put(tmp_path / name, text)

    corpus = write(rows)
    ok = message_id_of(b"ok")
    see_you = message_id_of(b"see you")
    expected = [ok, see_you, f"{ok}-2", f"{ok}-3", f"{see_you}-2"]
    assert [mail.event_id for mail in open_corpus(corpus)] == expected
    assert [mail.event_id for mail in open_corpus(corpus)] == expected, "the same in each pass"
    report = produce(run, corpus, log)
    assert (figures(report), report["copies"]) == ((5, 5, 0, 0), 0)
    report = produce(run, write([*rows, ("ham", "ok")]), log)
    assert (figures(report), report["copies"]) == ((1, 1, 0, 5), 0)
    with open_log(log) as opened:
        ids = [dict(record.headers)["id"].decode() for record in opened.read("emails", 0, 0, 10)]
    assert ids == [*expected, f"{ok}-4"]
    settings = settings_in(tmp_path).model_copy(update={"log": log})
    with open_log(log, settings.group, ("emails", "labels")) as opened:
        work(settings, opened)
        assert opened.end_offsets("predictions") == {("predictions", 0): 6}
        assert sum(opened.end_offsets("dead-letters").values()) == 0


def test_item02_the_label_of_other_content_under_a_known_id_does_not_count() -> None:
    """The worker refuses it (id-reused), so the mail still has its first label and the correction must be sent."""
    log = MemoryLog()
    append_mail(log, "a", b"x", "ham")
    append_mail(log, "a", b"y", "spam")
    # The same characters as a text are other content to the engine.
    append_mail(log, "b", b"x", "ham")
    log.append("emails", json.dumps({"id": "b", "text": "x", "label": "spam"}).encode())
    log.commit({})
    assert counts(feed(log, [Mail(id_, "spam", b"x") for id_ in "ab"])) == (0, 2, 2, 2)
    assert [(label.id, label.label, label.source) for label in labels_in(log)] == [
        ("a", "spam", Source("emails", 0, 0)),
        ("b", "spam", Source("emails", 0, 2)),
    ]


def test_item02_the_label_of_a_duplicate_in_another_partition_does_not_count() -> None:
    """Each partition has a model of its own: the label of the one is not known to the other."""
    log = MemoryLog(partitions=2)
    append_mail(log, "a", b"x", "ham", 0)
    append_mail(log, "a", b"x", "spam", 1)
    log.commit({})
    assert counts(feed(log, [Mail("a", "spam", b"x")])) == (0, 1, 1, 1)


@pytest.mark.parametrize(
    "source", [Source("emails", 0, 1), Source("emails", 0, 9), Source("emails", 1, 0), Source("other", 0, 0)]
)
def test_item02_a_label_whose_source_is_another_place_does_not_count(source: Source) -> None:
    """The worker refuses it, so the label of the corpus must be sent."""
    log = MemoryLog(partitions=2)
    append_mail(log, "a", b"x", "ham", 0)
    append_mail(log, "b", b"y", "ham", 0)
    log.append("labels", encode(Label(id="a", label="spam", source=source)), partition=source.partition)
    log.commit({})
    assert counts(feed(log, [Mail("a", "spam", b"x")])) == (0, 1, 1, 1)
    # With the right source it counts.
    assert counts(feed(log, [Mail("a", "spam", b"x")])) == (0, 0, 0, 1)


def test_item02_a_move_to_junk_reaches_the_model_in_spite_of_refused_labels(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, learner={"name": "MultinomialNB"})
    moved = Mail("a", "spam", b"Subject: a\n\nx")
    with open_log(settings.log, settings.group, ("emails", "labels")) as log:
        append_mail(log, "a", moved.raw, "ham")
        append_mail(log, "a", b"Subject: another\n\ny", "spam")
        append_mail(log, "b", b"Subject: b\n\nz", "ham")
        log.append("labels", encode(Label(id="a", label="spam", source=Source("emails", 0, 2))))
        log.commit({})
        work(settings, log)
        assert sum(log.end_offsets("dead-letters").values()) == 2
        assert counts(feed(log, [moved])) == (0, 1, 1, 1)
        work(settings, log)
        assert sum(log.end_offsets("dead-letters").values()) == 2
    _, state = saved_state(settings)
    assert state.scalars["counts"]["correct"] == 1


def test_item02_the_index_finds_labels_and_places_after_a_refresh() -> None:
    log = MemoryLog()
    with ObservationIndex(log, "emails", "labels") as index:
        index.add("a", message_digest(b"x"), None)
        known = index.find("a")
        assert known is not None
        assert (known.content, known.source, known.label) == (message_digest(b"x"), None, None)
        headers = [("content-type", b"message/rfc822"), ("id", b"a"), ("label", b"ham")]
        log.append("emails", b"x", headers=headers)
        log.commit({})
        assert index.unread == 1
        assert sum(index.scan()) == 1
        known = index.find("a")
        assert known is not None
        assert (known.source, known.label) == (Source("emails", 0, 0), "ham")
        index.set_label("a", "spam")
        index.refresh()
        assert index.unread == 0
        found = index.find("a")
        assert found is not None
        assert found.label == "spam"
        assert index.find("b") is None


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    call = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(call, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=5 * PATIENCE)
    assert done.returncode == 0, done.stderr
    return done


def write_maildir(folder: Path, every: Sequence[Mail], misplaced: int) -> tuple[Path, list[Path]]:
    """Mails as a mail server delivers them; some spam mails lie in the inbox, and their paths are returned too."""
    box = maildir(folder)
    in_inbox: list[Path] = []
    for number, mail in enumerate(every):
        is_misplaced = mail.label == "spam" and number >= 100 and len(in_inbox) < misplaced
        name = f"{1_700_000_000 + number}.M{number}P1.host"
        place = box / ".Junk" if mail.label == "spam" and not is_misplaced else box
        path = place / "new" / name if number % 2 else place / "cur" / f"{name}:2,"
        put(path, mail.raw)
        if is_misplaced:
            in_inbox.append(path)
    assert len(in_inbox) == misplaced
    return box, in_inbox


def move_to_junk(box: Path, paths: Sequence[Path]) -> None:
    """As mail programs do: into .Junk/cur, under another name with flags, some with fields of their own added."""
    for number, path in enumerate(paths):
        raw = path.read_bytes()
        fields = (b"", b"Status: RO\n", b"X-Keywords: Junk\n", b"X-Spam-Flag: YES\nX-Status: F\n")[number % 4]
        first = path.name.partition(":")[0]
        name = first if number % 3 else first.replace(".host", f"Q{number}.other")
        put(box / ".Junk" / "cur" / f"{name}:2,{('S', 'FS')[number % 2]}", fields + raw)
        path.unlink()


def feed_maildir(settings: Settings, box: Path) -> dict[str, Any]:
    """The report of `produce`."""
    report: dict[str, Any] = json.loads(command("produce", box, "--to", settings.log, "--json").stdout)
    return report


def feed_and_run(settings: Settings, box: Path) -> dict[str, Any]:
    """Both commands; gives the report of `produce`."""
    report = feed_maildir(settings, box)
    config = write_config(settings, settings.checkpoint_folder.parent / "settings.toml")
    command("run", "--config", config, "--drain")
    return report


def tail(settings: Settings, topic: str) -> list[dict[str, Any]]:
    """All events of a topic, as the command prints them."""
    done = command("tail", topic, "--log", settings.log, "--lines", "5000", "--json")
    return [json.loads(line) for line in done.stdout.splitlines()]


def maildir_settings(folder: Path, learner: str) -> Settings:
    folder.mkdir()
    engine = {"dedup_window": 5000, "observation_cache_bytes": 1 << 20}
    return settings_in(folder, learner={"name": learner}, engine=engine, labels={"budget": 1}, commit={"events": 200})


@pytest.mark.slow
@pytest.mark.parametrize("learner", [pytest.param("MultinomialNB", marks=pytest.mark.long), "SpamFilter"])
def test_item02_maildir_of_1000_mails_with_20_moved_to_junk(tmp_path: Path, learner: str) -> None:
    """1,000 predictions, 20 corrections, nothing lost; an additive learner ends where the right labels would lead."""
    every = mails(1000, seed=16)
    assert len({message_id_of(mail.raw) for mail in every}) == 1000
    box, in_inbox = write_maildir(tmp_path / "Maildir", every, 20)
    settings = maildir_settings(tmp_path / "first", learner)
    assert figures(feed_and_run(settings, box)) == (1000, 1000, 0, 0)
    assert len(tail(settings, "predictions")) == 1000
    move_to_junk(box, in_inbox)
    assert figures(feed_and_run(settings, box)) == (0, 20, 20, 1000)
    assert figures(feed_maildir(settings, box)) == (0, 0, 0, 1000), "a third time there is nothing left to do"

    predictions = tail(settings, "predictions")
    assert len(predictions) == 1000
    assert {event["id"] for event in predictions} == {message_id_of(mail.raw) for mail in every}
    status = tail(settings, "status")[-1]
    assert (status["predictions"], status["duplicates"], status["dead_letters"], status["lag"]) == (1000, 0, 0, 0)
    assert status["labels_learned"] == 1020
    _, state = saved_state(settings)
    assert (state.scalars["counts"]["predict"], state.scalars["counts"]["correct"]) == (1000, 20)
    with open_log(settings.log) as log:
        assert sum(log.end_offsets("dead-letters").values()) == 0

    if learner == "MultinomialNB":
        other = maildir_settings(tmp_path / "second", learner)
        assert figures(feed_and_run(other, box)) == (1000, 1000, 0, 0)
        assert learner_arrays(settings) == learner_arrays(other)


def learner_arrays(settings: Settings) -> dict[str, bytes]:
    """The state of the learner in the newest checkpoint."""
    _, state = saved_state(settings)
    found = {name: array.tobytes() for name, array in state.arrays.items() if name.startswith("learner.")}
    assert found
    return found
