"""Folders, mbox files, Maildirs and TREC indexes: where messages begin, their order, and what names say."""

from __future__ import annotations

import gzip
import mailbox
from pathlib import Path

import pytest

from stream_bayes.evaluation.corpora import Mail, open_corpus
from tests.support.corpora import HAM, MAILS, SPAM, assert_named_and_counted, mail_at, mbox_bytes, put


def read(path: Path) -> list[Mail]:
    return list(open_corpus(path))


def ids(path: Path) -> list[str]:
    return [mail.id for mail in read(path)]


def test_folders_are_interleaved_by_file_name_and_numbers_sort_by_value(tmp_path: Path) -> None:
    """The order does not tell the label: folders called spam or ham do not count in it."""
    names = [
        "enron2/ham/1.txt",
        "enron10/spam/1.txt",
        "enron1/ham/0001.a.txt",
        "enron1/spam/2.b.txt",
        "enron1/ham/10.txt",
    ]
    for name in names:
        put(tmp_path / "c" / name, name)
    for name in ("enron1/Summary.txt", "enron1/ham/cmds", "readme", ".git/config", "enron1/spam/.DS_Store"):
        put(tmp_path / "c" / name, "not a mail")
    mails = read(tmp_path / "c")
    order = [
        "enron1/ham/0001.a.txt",
        "enron1/spam/2.b.txt",
        "enron1/ham/10.txt",
        "enron2/ham/1.txt",
        "enron10/spam/1.txt",
    ]
    assert [mail.id for mail in mails] == order
    assert [mail.label for mail in mails] == ["ham", "spam", "ham", "ham", "spam"]


def test_names_of_folders(tmp_path: Path) -> None:
    folders = {
        "easy_ham": "ham",
        "hard_ham_2": "ham",
        "spam-2": "spam",
        "Spam": "spam",
        "not-spam": "ham",
        "junk": "spam",
        "spam/ham": "ham",
    }
    for folder in folders:
        put(tmp_path / "c" / folder / "deep" / "er" / "1", folder)
    assert {mail.raw.decode(): mail.label for mail in read(tmp_path / "c")} == folders


def test_a_linked_folder_is_read_and_a_circle_of_links_ends(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "1", SPAM)
    (tmp_path / "c" / "ham").mkdir(parents=True)
    (tmp_path / "c" / "spam").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "c" / "ham" / "again").symlink_to(tmp_path / "c")
    assert ids(tmp_path / "c") == ["spam/1"]


def test_the_folder_itself_may_be_the_label(tmp_path: Path) -> None:
    put(tmp_path / "spam" / "1", SPAM)
    assert read(tmp_path / "spam") == [mail_at("1", "spam", SPAM)]


def test_mbox_files_labelled_by_name_folder_or_header(tmp_path: Path) -> None:
    put(tmp_path / "c" / "2003-spam.mbox", mbox_bytes(MAILS[:2], labelled=False))
    put(tmp_path / "c" / "ham.mbox.gz", gzip.compress(mbox_bytes(MAILS[2:4], labelled=False)))
    put(tmp_path / "c" / "mixed.mbox", mbox_bytes(MAILS[3:5], labelled=True))
    put(tmp_path / "c" / "spam" / "a.mbx", mbox_bytes(MAILS[:1], labelled=False))
    assert {mail.id: mail.label for mail in read(tmp_path / "c")} == {
        "2003-spam.mbox/1": "spam",
        "2003-spam.mbox/2": "spam",
        "ham.mbox.gz/1": "ham",
        "ham.mbox.gz/2": "ham",
        "mixed.mbox/1": "spam",
        "mixed.mbox/2": "ham",
        "spam/a.mbx/1": "spam",
    }


def test_the_label_header_is_removed_and_the_file_name_takes_precedence(tmp_path: Path) -> None:
    text = b"From a 1:11\r\nA: b\r\nx-label: ham\r\n more\r\nC: d\r\nX-Label: work\r\n\r\nX-Label: spam\r\n\r\n"
    raw = b"A: b\r\nC: d\r\nX-Label: work\r\n\r\nX-Label: spam\r\n"
    assert read(put(tmp_path / "all", text)) == [mail_at("all/1", "ham", raw)]
    assert read(put(tmp_path / "spam", text)) == [mail_at("spam/1", "spam", raw)]


def test_where_a_message_of_an_mbox_begins(tmp_path: Path) -> None:
    text = (
        b"From a\nA: b\n\nFrom here on, a sentence.\nFrom b Mon 10:00\n\nFrom c Mon Jun 25 13:11:28 2001\n\n"
        b">From x\n>>From y\n> From z\n\nFrom d Mon Jun 25 13:11:28 2001\n\nFrom e Mon Jun 25 13:11:28 2001"
    )
    assert [mail.raw for mail in read(put(tmp_path / "ham.mbox", text))] == [
        b"A: b\n\nFrom here on, a sentence.\nFrom b Mon 10:00\n",
        b"\nFrom x\n>From y\n> From z\n",
        b"",
        b"",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a@b", "c@d "),
        ("a@b Mon Jun 25 2001", "c@d Tue Jun 26 2001"),
        ("ann", "bob"),
        ("a@b", "c@d Mon 13:11"),
        ("", ""),
    ],
)
def test_an_mbox_that_has_no_times(first: str, second: str, tmp_path: Path) -> None:
    """As the first line is, so may the others be; no other line."""
    body = "A: b\n\nFrom here on it is text.\n\nFrom c@d and others\n"
    text = f"From {first}\r\n{body}\nFrom {second}\r\n{body}\n"
    assert [mail.raw for mail in read(put(tmp_path / "ham.mbox", text))] == [body.encode()] * 2


@pytest.mark.parametrize("doubtful", ["From c@d", "From c@d\r", "From c@d  Mon Jun 25 2001"])
@pytest.mark.parametrize("first", ["a@b Mon Jun 25 13:11:28 2001", "a"])
def test_a_line_that_may_begin_a_message_of_an_mbox(first: str, doubtful: str, tmp_path: Path) -> None:
    rest = "\nFrom e@f Mon Jun 25 13:11:28 2001\nA: b\n\nFrom c@d I hear\nFrom c@d\n"
    path = put(tmp_path / "ham.mbox", f"From {first}\nA: b\n\n{doubtful}\nA: c\n{rest}")
    assert_named_and_counted(path, "bad-separator", r"message 1: 'From c@d.*' may begin the next message", 1)


def test_lines_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    raw = b"A: b\n\n" + b"From " * 400_000 + b"\n" + b"y" * (1 << 20) + b"\n"
    mails = [Mail("", "ham", raw), Mail("", "ham", raw)]
    assert [mail.raw for mail in read(put(tmp_path / "ham.mbox", mbox_bytes(mails, labelled=False)))] == [raw, raw]


def test_a_piece_of_a_long_line_is_no_line(tmp_path: Path) -> None:
    """It is read a MiB at a time, and what comes next looks like a blank line, a quoted line, a new message."""
    body = b"y" * (1 << 20) + b"\nFrom a 10:00\n" + b"y" * (1 << 20) + b">From b\n" + b"y" * (1 << 20) + b"\n"
    assert [mail.raw for mail in read(put(tmp_path / "ham.mbox", b"From a\n" + body))] == [body]


def test_a_maildir_by_time_of_delivery(tmp_path: Path) -> None:
    for name in (
        "cur/30.a:2,S",
        "new/4.b",
        "tmp/1.c",
        ".Junk/cur/20.d:2,",
        ".Junk/new/100.e",
        ".Sent/cur/5.f",
        ".INBOX.Trash/cur/6",
    ):
        put(tmp_path / "m" / name, name)
    for box in ("", ".Junk", ".Sent", ".INBOX.Trash"):
        for inside in ("cur", "new"):
            (tmp_path / "m" / box / inside).mkdir(parents=True, exist_ok=True)
    mails = [(mail.id, mail.label) for mail in read(tmp_path / "m")]
    assert mails == [("4.b", "ham"), (".Junk/20.d", "spam"), ("30.a", "ham"), (".Junk/100.e", "spam")]


@pytest.mark.parametrize("place", ["index", "delay/index", "partial/index"])
def test_other_indexes_of_trec(place: str, tmp_path: Path) -> None:
    """With delayed feedback each message stands there twice: in capitals and not."""
    put(tmp_path / "data" / "inmail.1", HAM)
    put(tmp_path / "data" / "inmail.2", SPAM)
    up = "../" if "/" in place else "./"
    lines = f"HAM {up}data/inmail.1 user genre\nSPAM {up}data/inmail.2\nham {up}data/inmail.1\n"
    path = put(tmp_path / place, lines)
    expected = [mail_at("data/inmail.1", "ham", HAM), mail_at("data/inmail.2", "spam", SPAM)]
    assert read(tmp_path) == read(path) == read(path.parent) == expected


def test_full_comes_before_the_other_indexes(tmp_path: Path) -> None:
    put(tmp_path / "data" / "1", HAM)
    put(tmp_path / "delay" / "index", "")
    put(tmp_path / "full" / "index", "ham ../data/1\n")
    assert ids(tmp_path) == ["data/1"]
    assert ids(tmp_path / "delay") == []


def test_an_mbox_and_a_maildir_written_by_the_standard_library(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "ham.mbox")
    (tmp_path / "m").mkdir()
    folders = {name: mailbox.Maildir(tmp_path / "m" / name) for name in ("spam", "ham")}
    for mail in MAILS:
        box.add(mail.raw)
        folders[str(mail.label)].add(mail.raw)
    box.close()
    assert [mail.raw for mail in read(tmp_path / "ham.mbox")] == [mail.raw for mail in MAILS]
    assert sorted(mail[1:3] for mail in read(tmp_path / "m")) == sorted(mail[1:3] for mail in MAILS)
