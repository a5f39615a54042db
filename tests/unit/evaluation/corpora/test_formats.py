"""Each format: what is written is read again, in order, with labels, ids and counts."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from stream_bayes.errors import CorpusError, ParameterError, StreamBayesError
from stream_bayes.evaluation.corpora import Mail, open_corpus
from stream_bayes.evaluation.corpora.seen_ids import SeenIds
from tests.support.corpora import MAILS, WRITERS, mail_at, mbox_bytes, put


def read(path: Path, **options: str) -> list[Mail]:
    return list(open_corpus(path, **options))


def ids(path: Path, **options: str) -> list[str]:
    return [mail.id for mail in read(path, **options)]


@pytest.mark.parametrize("name", WRITERS)
def test_every_written_format_is_read(name: str, tmp_path: Path) -> None:
    corpus = open_corpus(WRITERS[name](tmp_path / "c", MAILS))
    assert corpus.format == name.partition(",")[0]
    assert [(mail.label, mail.raw) for mail in corpus] == [(mail.label, mail.raw) for mail in MAILS]
    assert (corpus.counts.messages, corpus.counts.spam, corpus.counts.ham, corpus.counts.unlabelled) == (7, 3, 4, 0)
    assert not corpus.counts.problems


@pytest.mark.parametrize("name", WRITERS)
def test_reading_again_starts_again(name: str, tmp_path: Path) -> None:
    corpus = open_corpus(WRITERS[name](tmp_path / "c", MAILS))
    first = next(iter(corpus))
    assert corpus.counts.messages == 1
    assert [*corpus][:1] == [first]
    assert corpus.counts.messages == 7


@pytest.mark.parametrize("name", ["trec index", "folders", "mbox"])
def test_a_path_may_be_a_string_relative_to_here(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = WRITERS[name](tmp_path / "c", MAILS)
    monkeypatch.chdir(path if path.is_dir() else path.parent)
    assert len(list(open_corpus("." if path.is_dir() else path.name))) == 7


def test_ids(tmp_path: Path) -> None:
    firsts = {name: ids(write(tmp_path / name, MAILS))[0] for name, write in WRITERS.items()}
    assert firsts == {
        "json lines": "m0",
        "json lines, gzip": "m0",
        "csv": "m0",
        "mbox": "all.mbox/1",
        "trec index": "data/000/000",
        "folders": "easy_spam/0.m0",
        "maildir": ".Junk/1200000000.Mm0.host",
    }


def test_only_ids_with_a_prefix(tmp_path: Path) -> None:
    text = "".join(json.dumps({"id": f"s{n % 2}/{n}", "label": "ham", "text": "x"}) + "\n" for n in range(6))
    corpus = open_corpus(put(tmp_path / "c.jsonl.gz", gzip.compress(text.encode())), prefix="s1/")
    assert [mail.id for mail in corpus] == ["s1/1", "s1/3", "s1/5"]
    assert (corpus.counts.messages, corpus.name) == (3, "c/s1")


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_a_prefix_that_no_id_has(on_error: str, tmp_path: Path) -> None:
    path = put(tmp_path / "c.jsonl", '{"id": "a", "label": "ham", "text": "x"}\n{"id": "b", "text": "x"}\n')
    with pytest.raises(CorpusError, match=r"c\.jsonl: no id begins with 'zzz'"):
        read(path, prefix="zzz", on_error=on_error)
    assert read(path, prefix="b", on_error="skip") == [], "one does, and it has no label"


def test_json_text_gets_subject_and_sender_unless_it_has_a_header(tmp_path: Path) -> None:
    fields = {"label": "SPAM", "subject": "Hi\nthere", "sender": "a@b.example", "date": "2005-12-18"}
    texts = ["Dear you", "Subject: own\r\n\r\nDear", "From a@b Mon Jun 25 13:11:28 2001\nX: y", "from here", "\ud800"]
    lines = [json.dumps({"id": number, "text": text, **fields}) for number, text in enumerate(texts)]
    header = b"From: a@b.example\nSubject: Hi there\n\n"
    raws = [mail.raw for mail in read(put(tmp_path / "c.jsonl", "\n\n".join(lines)))]
    assert raws == [
        header + b"Dear you",
        b"Subject: own\r\n\r\nDear",
        b"From a@b Mon Jun 25 13:11:28 2001\nX: y",
        header + b"from here",
        header + b"\xed\xa0\x80",
    ]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        *((word, "spam") for word in ("Spam", 1, True, 1.0, "yes", "junk", "TRUE", "1")),
        *((word, "ham") for word in ("HAM ", 0, False, 0.0, "No", "good", "false", "0")),
        *((word, None) for word in (None, "unlabelled", "unknown")),
    ],
)
def test_labels(value: object, label: str | None, tmp_path: Path) -> None:
    path = put(tmp_path / "c.jsonl", json.dumps({"label": value, "text": "x"}))
    assert read(path) == [mail_at("line-1", label, b"x")]


def test_a_given_label_is_that_of_unlabelled_mails(tmp_path: Path) -> None:
    path = put(tmp_path / "inbox.mbox", mbox_bytes(MAILS[:2], labelled=False))
    assert [mail.label for mail in read(path, label="ham")] == ["ham", "ham"]
    corpus = open_corpus(path, label="unlabelled")
    assert [mail.label for mail in corpus] == [None, None]
    assert corpus.counts.unlabelled == 2


def test_bad_options(tmp_path: Path) -> None:
    path = put(tmp_path / "c.jsonl", "{}")
    with pytest.raises(ParameterError, match="'fail' or 'skip', not 'ignore'"):
        open_corpus(path, on_error="ignore")
    with pytest.raises(ParameterError, match="'spam', 'ham' or 'unlabelled', not 'maybe'"):
        open_corpus(path, label="maybe")


def test_the_error() -> None:
    assert issubclass(CorpusError, StreamBayesError)
    assert (CorpusError.code, CorpusError.retriable, CorpusError("x").kind) == ("bad-corpus", False, "unrecognised")


@pytest.mark.slow
def test_ids_are_remembered_in_few_bytes_and_not_for_ever() -> None:
    seen = SeenIds(most=1 << 16)
    tracemalloc.start()
    assert all(seen.add(f"id {number}") for number in range(60_000))
    assert tracemalloc.get_traced_memory()[0] < 33 * 60_000
    tracemalloc.stop()
    assert not any(seen.add(f"id {number}") for number in range(60_000))
    assert "id 7" in seen
    assert "id -7" not in seen
    assert all(seen.add(f"more {number}") for number in range(10_000))
    assert seen.add("id 7")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """30 MB of mbox, and never more than a few messages of 100 kB."""
    mails = [Mail("", "ham", b"A: b\n\n" + b"x" * 99 * 1000 + b"\n")] * 300
    path = put(tmp_path / "ham.mbox", mbox_bytes(mails, labelled=False))
    tracemalloc.start()
    assert sum(1 for _ in open_corpus(path)) == 300
    assert tracemalloc.get_traced_memory()[1] < 3_000_000
    tracemalloc.stop()
