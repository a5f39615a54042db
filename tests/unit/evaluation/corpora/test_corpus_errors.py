"""What is wrong is named, or counted and left out, as the caller chose."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora import Mail, delimited, files, mbox, open_corpus
from tests.support.corpora import (
    HAM,
    MAILS,
    SPAM,
    WRITERS,
    as_json_gzip,
    as_trec,
    assert_named_and_counted,
    mbox_bytes,
    put,
)

NOBODY = 65534
GOOD = json.dumps({"id": "good", "label": "ham", "text": "x"})
JSON_LINES = {
    "missing-label": ('{"id": "b", "text": "x"}', "no label"),
    "bad-label": ('{"id": "b", "label": "maybe", "text": "x"}', "'maybe' is none of spam/ham"),
    "invalid-json": ('{"id": "b"', "not valid JSON"),
    "invalid-json, deep": ("[" * 100_000, "not valid JSON"),
    "invalid-json, list": ('["b"]', "not a JSON object"),
    "duplicate-id": (GOOD, "the id good has come before"),
    "bad-id": ('{"id": [1], "label": "ham", "text": "x"}', r"the id \[1\]"),
    "bad-id, truth": ('{"id": true, "label": "ham", "text": "x"}', "the id True"),
    "bad-text": ('{"id": "b", "label": "ham", "text": 7}', "id b: the text is 7, not a string"),
    "bad-text, none": ('{"id": "b", "label": "ham"}', "id b: the message has neither a text nor raw"),
    "bad-text, both": ('{"id": "b", "label": "ham", "text": "x", "raw": ""}', "the message has both a text and raw"),
    "bad-text, base64": ('{"id": "b", "label": "ham", "raw": "aG*kh"}', "not base64"),
    "bad-text, letters": ('{"id": "b", "label": "ham", "raw": "\\u00e9"}', "not base64"),
    "bad-text, subject": ('{"id": "b", "label": "ham", "text": "", "subject": {}}', "the subject is {}"),
}
INDEX = {
    "missing-label": ("../data/000/000", "not a label and the path"),
    "bad-index-line": ("ham", "not a label and the path"),
    "bad-label": ("maybe ../data/000/000", "'maybe' is none of"),
    "missing-file": ("ham ../data/none", "none: there is no such file"),
    "unreadable": ("ham ../data", "is not a file"),
    "unreadable, long": (f"ham ../data/{'x' * 300}", "name too long"),
    "outside-corpus": ("ham ../../data/000/000", "outside the folder"),
    "outside-corpus, absolute": ("ham /etc/hostname", "outside the folder"),
    "outside-corpus, hidden": ("ham ../data/../../x", "outside the folder"),
    "duplicate-id": ("ham ../data/000/001", "has come before"),
}


@pytest.mark.parametrize("kind", JSON_LINES)
def test_a_bad_line_of_json(kind: str, tmp_path: Path) -> None:
    line, words = JSON_LINES[kind]
    path = put(tmp_path / "c.jsonl", f'{GOOD}\n\n{line}\n{{"id": "last", "label": 1, "text": ""}}')
    assert_named_and_counted(path, kind, rf"c\.jsonl, line 3.*{words}", 2)


def test_json_that_is_not_utf_8(tmp_path: Path) -> None:
    path = put(tmp_path / "c.jsonl", b'{"label": "ham", "text": "\xa3"}')
    assert_named_and_counted(path, "invalid-json", "line 1.*utf-8", 0)


@pytest.mark.parametrize("kind", INDEX)
def test_a_bad_line_of_an_index(kind: str, tmp_path: Path) -> None:
    line, words = INDEX[kind]
    folder = as_trec(tmp_path / "c", MAILS[:3])
    index = folder / "full" / "index"
    index.write_text(f"{index.read_text()}\n{line}\n")
    assert_named_and_counted(folder, kind, rf"index, line 5.*{words}", 3)


def test_an_index_may_name_links_but_no_pipes(tmp_path: Path) -> None:
    folder = as_trec(tmp_path / "c", MAILS[:2])
    os.mkfifo(folder / "data" / "pipe")
    (folder / "data" / "link").symlink_to(put(tmp_path / "elsewhere", SPAM))
    (folder / "full" / "index").write_text("ham ../data/pipe\nspam ../data/link\n")
    assert_named_and_counted(folder, "unreadable", "line 1.*pipe: is not a file", 1)


def test_a_compressed_file_cut_short_or_damaged(tmp_path: Path) -> None:
    mails = [Mail(f"{number}", "ham", os.urandom(2000)) for number in range(100)]
    path = as_json_gzip(tmp_path, mails)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match=r"mails\.jsonl\.gz: the compressed file is cut short") as caught:
        list(open_corpus(path))
    assert caught.value.kind == "damaged-file"
    corpus = open_corpus(path, on_error="skip")
    assert 30 < len(list(corpus)) < 60
    assert corpus.counts.problems == {"damaged-file": 1}
    path.write_bytes(whole[:100_000] + b"\0" * 100 + whole[100_100:])
    with pytest.raises(CorpusError):
        list(open_corpus(path))


@pytest.mark.parametrize("size", [20_000, 150])
def test_a_compressed_file_cut_short_near_its_beginning(size: int, tmp_path: Path) -> None:
    """Within the 64 KiB that tell what it is: what came before is read all the same."""
    mails = [Mail(f"{number}", "ham", os.urandom(2000)) for number in range(20)]
    path = as_json_gzip(tmp_path, mails)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorpusError, match="the compressed file is cut short"):
        list(open_corpus(path))
    corpus = open_corpus(path, on_error="skip")
    found = [mail.raw for mail in corpus]
    assert found == [mail.raw for mail in mails[: len(found)]]
    assert (size // 2200) - 1 <= len(found) <= size // 2000
    assert corpus.counts.problems == {"damaged-file": 1}


def test_files_and_folders_that_cannot_be_read(tmp_path: Path) -> None:
    put(tmp_path / "c" / "ham" / "1", HAM)
    (tmp_path / "c" / "spam").mkdir()
    (tmp_path / "c" / "spam" / "2").symlink_to("nowhere")
    assert_named_and_counted(tmp_path / "c", "missing-file", "spam/2: there is no such file", 1)
    (tmp_path / "c" / "spam" / "2").unlink()
    os.mkfifo(tmp_path / "c" / "spam" / "2")
    assert_named_and_counted(tmp_path / "c", "unreadable", "spam/2: is not a file", 1)


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder for the test while it is not root, who may read everything."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder:
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield Path(folder)
        if root:
            os.seteuid(0)


def test_permissions(own_folder: Path) -> None:
    put(own_folder / "ham" / "1", HAM)
    put(own_folder / "spam" / "2", SPAM).chmod(0)
    assert_named_and_counted(own_folder, "unreadable", "spam/2: cannot be read: permission denied", 1)
    (own_folder / "spam").chmod(0)
    try:
        assert_named_and_counted(own_folder, "unreadable", "spam: cannot be read: permission denied", 1)
        with pytest.raises(CorpusError, match="cannot be read: permission denied"):
            open_corpus(own_folder / "spam")
    finally:
        (own_folder / "spam").chmod(0o700)


def test_folders_of_a_maildir_that_cannot_be_read_are_named(own_folder: Path) -> None:
    for name in (".Junk", ".Spam", ".Sent"):
        put(own_folder / "box" / name / "cur" / "1", SPAM)
        (own_folder / "box" / name / "new").mkdir()
    put(own_folder / "box" / "new" / "2", HAM)
    (own_folder / "box" / "cur").mkdir()
    folders = [own_folder / "box" / ".Junk", own_folder / "box" / ".Sent"]
    for mode in (0, 0o600):
        for folder in folders:
            folder.chmod(mode)
        words = r"box/\.Junk: cannot be read: permission denied"
        try:
            assert_named_and_counted(own_folder / "box", "unreadable", words, 2)
        finally:
            for folder in folders:
                folder.chmod(0o700)


def test_a_folder_whose_only_corpus_cannot_be_read(own_folder: Path) -> None:
    put(own_folder / "box" / "cur" / "1", SPAM)
    (own_folder / "box" / "new").mkdir()
    (own_folder / "box").chmod(0)
    try:
        with pytest.raises(CorpusError, match="box: cannot be read: permission denied"):
            open_corpus(own_folder)
    finally:
        (own_folder / "box").chmod(0o700)


def test_messages_without_a_label(tmp_path: Path) -> None:
    put(tmp_path / "c" / "ham" / "1", HAM)
    put(tmp_path / "c" / "other" / "2", SPAM)
    assert_named_and_counted(tmp_path / "c", "missing-label", r"other/2 \(no folder above it says spam", 1)
    two = mbox_bytes(MAILS[:1], labelled=False) + mbox_bytes(MAILS[1:2], labelled=True)
    assert_named_and_counted(put(tmp_path / "all.mbox", two), "missing-label", "mbox, message 1 .*no label", 1)
    for place in ("m/ham/cur/1", "m/ham/new/2", "m/work/cur/3", "m/work/new/4", "m/.Spam/new/5", "m/.Spam/cur/6"):
        put(tmp_path / place, HAM)
    with pytest.raises(CorpusError, match=r"work/cur/3 \(the name of its folder does not say"):
        list(open_corpus(tmp_path / "m"))


def test_an_invalid_x_label_header_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "all.mbox", b"From a 1:11\nX-Label: work\n\nx\n")
    assert_named_and_counted(path, "bad-label", "message 1 .*'work' is none of", 0)


def test_a_file_named_mbox_that_is_none_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "c" / "ham.mbox", "not so")
    put(tmp_path / "c" / "spam.mbox", mbox_bytes(MAILS[:2], labelled=False))
    assert_named_and_counted(tmp_path / "c", "not-mbox", r"ham\.mbox: not an mbox file", 2)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("Dear friend", r"not a file of mails; looked for JSON lines .* CSV .* mbox .* TREC index"),
        (b"PK\x03\x04", "archive"),
        (b"\x1f\x8b\x08", "cut short"),
        (b"\0" * 300, "not a file of mails"),
        ("label,nothing\n", "not a file of mails"),
    ],
)
def test_files_that_are_no_corpus(content: bytes | str, words: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=words):
        open_corpus(put(tmp_path / "file", content))


def test_folders_that_are_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        CorpusError, match=r"empty: not a folder of mails; looked for a TREC index .*Maildir .*easy_ham"
    ):
        open_corpus(tmp_path / "empty")
    put(tmp_path / "several" / "a.jsonl", GOOD)
    put(tmp_path / "several" / "spam" / "1", SPAM)
    with pytest.raises(CorpusError, match=r"a folder of them: name one of a\.jsonl"):
        open_corpus(tmp_path / "several")
    with pytest.raises(CorpusError, match="there is no such file or folder"):
        open_corpus(tmp_path / "none")
    for odd in ("a\0b", "x" * 5000):
        with pytest.raises(CorpusError):
            open_corpus(odd)


def test_names_and_ids_that_no_screen_can_show(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/c/spam/\xff\x1b[2J"
    put(tmp_path / "c" / "ham" / "1", HAM)
    put(Path(os.fsdecode(name)), SPAM)
    assert [mail.id for mail in open_corpus(tmp_path / "c")][1].encode() == b"spam/\\udcff\x1b[2J"
    Path(os.fsdecode(name)).unlink()
    Path(os.fsdecode(name)).symlink_to("nowhere")
    with pytest.raises(CorpusError, match=r"spam/\\udcff\\x1b\[2J: there is no") as caught:
        list(open_corpus(tmp_path / "c"))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", WRITERS)
def test_messages_beyond_the_largest_size(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is set low here: 256 MiB would take long. The end of an oversized CSV field is unknown."""
    for module in (files, mbox, delimited):
        monkeypatch.setattr(module, "MAX_BYTES", 2000)
    large = Mail("large", "ham", b"A: b\n\n" + b"x" * 50 + b"\n" * 5000)
    path = WRITERS[name](tmp_path / "c", [MAILS[0], large, MAILS[1]])
    corpus = open_corpus(path, on_error="skip")
    assert [mail.raw for mail in corpus] == [MAILS[0].raw, MAILS[1].raw][: 1 if name == "csv" else 2]
    assert corpus.counts.problems == {"too-large": 1}
    with pytest.raises(CorpusError, match="more than"):
        list(open_corpus(path))
