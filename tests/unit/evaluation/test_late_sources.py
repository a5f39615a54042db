"""The source of a mail, and which sources began late."""

from __future__ import annotations

import pytest

from stream_bayes.evaluation.late_sources import late_messages, mail_source


@pytest.mark.parametrize(
    ("raw", "source"),
    [
        (b"From: ann@a.org\nList-Id: Boats <boats.b.org>\n\nHi", "boats.b.org"),
        (b"from: Ann <ann@A.Org>\r\nSubject: x\r\n\r\nHi", "a.org"),
        (b"List-Id: Boats\r\n\t<boats.b.org>\r\nFrom: ann@a.org\r\n\r\nHi", "boats.b.org"),
        (b'List-Id: boats\nFrom: "Ann"\n <ann@a.org>\n\nHi', "a.org"),
        (b"Subject: x\n\nFrom: ann@a.org", None),
        (b"From: nobody\n\nHi", None),
        (b"lunch at noon?", None),
        (b"", None),
    ],
)
def test_the_source_of_a_mail(raw: bytes, source: str | None) -> None:
    assert mail_source(raw) == source


def test_a_source_is_late_if_it_begins_after_a_tenth_of_the_stream() -> None:
    sources = ["a", None, *["a", "b", None, "c", "b"], *["a"] * 13]
    assert len(sources) == 20
    late = late_messages(sources)
    assert late.nonzero()[0].tolist() == [3, 5, 6], "a begins within the first 2; who has no source is not late"


def test_streams_without_messages_or_without_sources() -> None:
    assert late_messages([]).tolist() == []
    assert not late_messages([None] * 30).any()
    assert late_messages(["a"] * 9).all(), "a tenth of nine messages is none"
