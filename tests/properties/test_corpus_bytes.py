"""Whatever bytes are in a file, mails or CorpusError come out; and mails that were written come back."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora import Mail, open_corpus
from stream_bayes.evaluation.corpora.ordering import STORED
from tests.support.corpora import HAM, WRITERS, put

quick = settings(max_examples=75, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def fragments(*parts: bytes) -> st.SearchStrategy[bytes]:
    """Bytes in which the syntax of a format turns up often."""
    return st.lists(st.one_of(st.sampled_from(parts), st.binary(max_size=12)), max_size=30).map(b"".join)


def assert_mails_or_error(path: Path) -> None:
    for on_error in ("fail", "skip"):
        try:
            corpus = open_corpus(path, on_error=on_error)
            mails = list(corpus)
        except CorpusError as problem:
            said = str(problem)
            assert said.isprintable(), said
        else:
            assert (
                len(mails)
                == corpus.counts.messages
                == corpus.counts.spam + corpus.counts.ham + corpus.counts.unlabelled
            )
            assert all(mail.id.encode() for mail in mails)
            assert len({mail.id for mail in mails}) == len(mails)


@quick
@given(content=fragments(b"\nFrom ", b"\n", b"\r\n", b"a 10:11\n", b">From ", b"X-Label: spam\n", b"X-Label:", b"\n "))
def test_any_bytes_in_an_mbox(content: bytes, tmp_path: Path) -> None:
    assert_mails_or_error(put(tmp_path / "file.mbox", b"From " + content))
    assert_mails_or_error(put(tmp_path / "folder" / "spam.mbox", content).parent)


@quick
@given(
    content=fragments(b"\n", b"\r", b'"', b",", b"spam", b"ham,", b"7,", b"label", b"\t", b'""', b"\xff", b"\0", b";")
)
@example(content=b'spam,"')
@example(content=b"ham\r\rx")
def test_any_bytes_in_a_table(content: bytes, tmp_path: Path) -> None:
    for head in (b"id,label,text,subject\n", b"label\ttext\n", b"ham,", b"ham\t", b""):
        assert_mails_or_error(put(tmp_path / "file", head + content))


@quick
@given(
    content=fragments(
        b"\n",
        b'{"id":1',
        b'"label":',
        b'"spam"',
        b',"text":',
        b'"raw":"',
        b"}",
        b'"',
        b"{",
        b"[",
        b"null",
        b"\\ud800",
        b"9" * 5000,
    )
)
def test_any_bytes_in_json_lines(content: bytes, tmp_path: Path) -> None:
    assert_mails_or_error(put(tmp_path / "file", b"{" + content))
    assert_mails_or_error(put(tmp_path / "file.gz", gzip.compress(b"{" + content)[: 20 + len(content)]))


values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just("ham"), st.just([])
)


@quick
@given(records=st.lists(st.dictionaries(st.sampled_from(["id", "label", "text", "raw", "subject", "sender"]), values)))
def test_any_objects_in_json_lines(records: list[dict[str, object]], tmp_path: Path) -> None:
    assert_mails_or_error(put(tmp_path / "file", "\n".join(["{}", *map(json.dumps, records)])))


@quick
@given(content=fragments(b"\n", b"spam ", b"ham ", b"../", b"data/", b"000", b"/", b"..", b" ", b"\0", b"HAM "))
def test_any_bytes_in_an_index(content: bytes, tmp_path: Path) -> None:
    put(tmp_path / "data" / "000", HAM)
    assert_mails_or_error(put(tmp_path / "full" / "index", content).parent.parent)


lines = st.lists(
    st.one_of(
        st.sampled_from([b"From x 10:00", b">From ", b">>From y", b"", b'a","b', b"Subject: x"]), st.binary(max_size=20)
    )
)


@quick
@given(
    bodies=st.lists(lines.map(b"\n".join), max_size=5),
    labels=st.lists(st.sampled_from(["spam", "ham"]), min_size=5, max_size=5),
)
@pytest.mark.parametrize("name", WRITERS)
def test_any_mails_come_back_from_each_format(
    name: str, bodies: Sequence[bytes], labels: Sequence[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each begins with a header and ends with a line's end, as mails do."""
    mails = [
        Mail(f"m{place}", label, b"A: b\n" + body + b"\n")
        for place, (body, label) in enumerate(zip(bodies, labels, strict=False))
    ]
    folder = tmp_path_factory.mktemp("trip")
    path = WRITERS[name](folder / "c", mails)
    if mails:
        found = [(mail.label, mail.raw) for mail in open_corpus(path, order=STORED)]
        assert found == [(mail.label, mail.raw) for mail in mails]
