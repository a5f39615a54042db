"""The features of a mail by name: they are what stands in the mail, and have the buckets of its batch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.kernels.mail.features import VIEWS, Shape
from stream_bayes.mail.features.batch import Mail, read_batch
from stream_bayes.mail.features.named import named_features

SHAPE = Shape(bits=22, head=1500, tail=500, text=16_000, pairs=True, sources=True)
SMALL = Shape(bits=10, head=0, tail=0, text=300, pairs=True, sources=True)


def texts_of(mail: Mail, kind: str, **changed: Any) -> list[str]:
    return [feature.text for feature in named_features(mail, SHAPE._replace(**changed)) if feature.kind == kind]


def test_words_and_pairs_carry_the_field_they_stand_in() -> None:
    mail = b"From ann Mon Jan 1\nSubject: Cheap Cheap\n\tpills\nX-Odd: pills\n\nCAF\xc3\x89 bad\xe9 a-b.c!"
    named = {feature[2:] for feature in named_features(mail, SHAPE)}
    assert {kind_text for kind_text in named if kind_text[0].startswith("subject")} == {
        ("subject: word", "cheap"),
        ("subject: pair", "cheap cheap"),
        ("subject: word", "pills"),
        ("subject: pair", "cheap pills"),
    }
    assert ("x-odd: word", "pills") in named
    assert ("envelope: pair", "mon jan") in named
    assert texts_of(mail, "word") == ["caf\u00c9", "bad\ufffd", "a-b.c!"]
    assert texts_of(mail, "pair") == ["caf\u00c9 bad\ufffd", "bad\ufffd a-b.c!"]
    assert texts_of(mail, "pair", pairs=False) == []
    assert texts_of(mail, "field") == ["envelope", "subject", "x-odd"]
    assert texts_of(mail, "fields") == ["envelope, subject", "subject, x-odd"]


def test_repeated_fields_give_their_pairs_only() -> None:
    mail = "Received: a\nReceived: b\nDate: c\nReceived: d\n\n"
    named = [feature[2:] for feature in named_features(mail, SHAPE) if feature.view == 2]
    assert named == [
        ("field", "received"),
        ("fields", "received, received"),
        ("field", "date"),
        ("fields", "received, date"),
        ("fields", "date, received"),
    ]


def test_hosts_and_senders_are_named_as_they_stand() -> None:
    mail = (
        "From: Ann Lee <Ann.Lee@Example.org>, bob@example.org\nMessage-Id: <1@mx.example.net>\n\n"
        "http://Shop.example.com/a?b joe@example.org www.example.com http://abc"
    )
    assert texts_of(mail, "sender") == ["ann.lee@example.org", "@example.org", "bob@example.org"]
    assert texts_of(mail, "header: host") == ["@example.org", "@mx.example.net"]
    # Once as structure, once as a host.
    assert texts_of(mail, "host") == 2 * ["shop.example.com", "@example.org"]
    assert not any(feature.view > 1 for feature in named_features(mail, SHAPE._replace(sources=False)))


def test_networks_are_the_beginnings_of_addresses() -> None:
    mail = "Received: from [10.1.2.3] by 10.1.2.4\nReceived: by 10.1.9.9 with 1.2.3\n\n10.9.9.9"
    assert texts_of(mail, "network") == ["10.1.2.3", "10.1.2.*", "10.1.*.*", "10.1.2.4", "10.1.9.9", "10.1.9.*"]


def assert_same_buckets(shape: Shape, mail: Mail) -> None:
    batch = read_batch([mail], shape)
    named = named_features(mail, shape)
    for view in range(1, VIEWS):
        expected = batch.hashed[batch.view_starts[view] : batch.view_starts[view + 1]].tolist()
        assert [feature.bucket for feature in named if feature.view == view] == expected
    assert all(feature.text.isprintable() and feature.kind.isprintable() for feature in named)


@pytest.mark.parametrize(
    "mail",
    [
        b"",
        "Received: x\n" * 1500 + "\n",
        "".join(f"X-{number}: 10.{number % 200}.{number // 200}.7\n" for number in range(600)),
        "From: " + ", ".join(f"user{number}@host{number}.example.org" for number in range(600)),
        "\n" + " ".join(f"http://host{number}.com" for number in range(1200)),
        "From: @abc.def\n\n@abc.de //abc.de",
        "@abc.de",
        "w" * 20_000,
        {"sender": "ann@example.org", "subject": "Lunch", "text": "at noon"},
        "Subject: a\u202eb\u200f c\n\nd\u2066",
    ],
    ids=["empty", "fields", "addresses", "senders", "hosts", "bare", "start", "word", "dict", "marks"],
)
def test_named_buckets_are_those_of_the_batch(mail: Mail) -> None:
    for shape in (SHAPE, SMALL, SHAPE._replace(pairs=False, sources=False)):
        assert_same_buckets(shape, mail)


PIECES = st.sampled_from(
    [b"From: ", b"a@b.cd ", b"\n", b"\r\n", b" ", b"http://x.yz/", b"Received: ", b"1.2.3.4 ", b"@", b"//", b"pills"]
)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(PIECES | st.binary(max_size=9), max_size=30).map(b"".join))
def test_any_bytes_have_names(mail: bytes) -> None:
    assert_same_buckets(SHAPE, mail)
    assert_same_buckets(SMALL, mail)
