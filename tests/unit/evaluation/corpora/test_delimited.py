"""CSV and tab-separated files: columns, quotes, and rows that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.evaluation.corpora import Mail, open_corpus
from tests.support.corpora import assert_named_and_counted, mail_at, put

TABLES = {
    "missing-label": (",x", "no label"),
    "bad-label": ("maybe,x", "'maybe' is none of"),
    "bad-row": ("ham", "1 column where 2 are expected"),
    "bad-row, wide": ("ham,x,y", "3 columns where 2 are expected"),
    "bad-row, quote": ('ham,"x"y', "not a row of CSV"),
    "bad-row, carriage return": ("ham,x\ry", "not a row of CSV"),
}


def read(path: Path) -> list[Mail]:
    return list(open_corpus(path))


@pytest.mark.parametrize(
    "table",
    [
        'label,text\nspam,"a ""b"", c"\nham,d\n',
        'v1,v2,,,\nspam,"a ""b"", c",,,\nham,d,,,\n',
        '\ufeffText;Extra;Spam\n"a ""b"", c";x;1\nd;;0\n',
        'Message ID\tMessage\tSpam/Ham\nx\t"a ""b"", c"\tspam\ny\td\tham\n',
        'spam,"a ""b"", c"\r\nham,d\r\n',
        'spam,"a ""b"", c",,\nham,d,,\n',
        'spam,a "b", c\nham,d\n',
        'ham\td\nspam\ta "b", c',
    ],
)
def test_tables(table: str, tmp_path: Path) -> None:
    mails = read(put(tmp_path / "c.txt", table))
    assert sorted((mail.label, mail.raw) for mail in mails) == [("ham", b"d"), ("spam", b'a "b", c')]


def test_a_table_without_quotes_has_a_message_on_each_line(tmp_path: Path) -> None:
    """As SMSSpamCollection does, where some messages begin with a quote that never ends."""
    path = put(tmp_path / "SMSSpamCollection", b'ham\t"Go\tnow\nspam\tWin \xa31000\r\n\nham\t"\n')
    assert read(path) == [
        mail_at("line-1", "ham", b'"Go\tnow'),
        mail_at("line-2", "spam", b"Win \xa31000"),
        mail_at("line-4", "ham", b'"'),
    ]
    assert open_corpus(path).format == "tab separated"


def test_a_table_as_river_keeps_trec07(tmp_path: Path) -> None:
    text = 'sender,recipients,date,subject,body,y\na@b.example,c,2007,Hello,"one\n\ntwo",True\n,,,,empty,False\n'
    assert read(put(tmp_path / "trec07p.csv", text)) == [
        mail_at("line-2", "spam", b"From: a@b.example\nSubject: Hello\n\none\n\ntwo"),
        mail_at("line-5", "ham", b"empty"),
    ]


def test_fields_far_beyond_what_the_csv_module_allows_by_default(tmp_path: Path) -> None:
    assert len(read(put(tmp_path / "c.csv", f'label,text\nham,"{"x " * 300_000}"\n'))[0].raw) == 600_000


@pytest.mark.parametrize("kind", TABLES)
def test_a_bad_row(kind: str, tmp_path: Path) -> None:
    line, words = TABLES[kind]
    path = put(tmp_path / "c.csv", f'label,text\nham,"two\nlines"\n{line}\nspam,y\n')
    assert_named_and_counted(path, kind, rf"c\.csv, line 4.*{words}", 2)


def test_a_quote_that_never_ends(tmp_path: Path) -> None:
    path = put(tmp_path / "c.csv", 'label,text\nham,x\nham,"y\nham,z\n')
    assert_named_and_counted(
        path, "bad-row", r"line 3: not a row of CSV: a quote that never ends\? the rest is not read", 1
    )


def test_an_id_for_the_second_time_in_a_table(tmp_path: Path) -> None:
    path = put(tmp_path / "c.csv", "id,label,text\n7,ham,x\n8,ham,x\n7,ham,y\n")
    assert_named_and_counted(path, "duplicate-id", "line 4: the id 7 has", 2)


@pytest.mark.parametrize(
    ("row", "text"),
    [("spam,message", b"message"), ("ham,label,text", b"label,text"), ("Junk\ttext\tlabel", b"text\tlabel")],
)
def test_a_first_message_that_reads_like_a_header(row: str, text: bytes, tmp_path: Path) -> None:
    mails = read(put(tmp_path / "c.csv", f"{row}\n{row}\n"))
    assert [(mail.id, mail.raw) for mail in mails] == [("line-1", text), ("line-2", text)]


@pytest.mark.parametrize(
    "text",
    [
        *("spam,message\n1,hello\n", "spam,message\nTrue,hello\n", "spam,message\nyes,hello\n"),
        *("no,message,label\n1,hello,spam\n", "ham,message,label\nx,hello,spam\n"),
    ],
)
def test_a_header_that_reads_like_a_message(text: str, tmp_path: Path) -> None:
    """A column called spam holds truths, one called no numbers."""
    assert read(put(tmp_path / "c.csv", text)) == [mail_at("line-2", "spam", b"hello")]
