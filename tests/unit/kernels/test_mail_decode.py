"""The text of a mail as the compiled decoder has it, against Python's email package."""

from __future__ import annotations

import email
import random
import re
from email.message import Message

import numpy as np
import pytest

from stream_bayes.kernels.mail.decode import MAX_OPAQUE, MAX_RAW, MAX_TEXT, decode_mail
from stream_bayes.mail.parse.parsed_mail import decode_sections
from tests.support.mails import KINDS, make_mail, make_mails
from tests.support.mutations import mutated


def text_of(raw: bytes, room: int = MAX_RAW) -> tuple[bytes, int]:
    """The decoded text and the end of its header, with as much space as is asked for."""
    text = np.full(room, 0xEE, np.uint8)
    length, header_end = decode_mail(np.frombuffer(raw, np.uint8), text)
    assert 0 <= header_end <= length <= room
    assert (text[length:] == 0xEE).all(), "nothing is written behind the end"
    return text[:length].tobytes(), header_end


def one_kind_of_lines(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").strip(b"\n")


def leaves(raw: bytes) -> list[Message]:
    return [part for part in email.message_from_bytes(raw).walk() if not part.is_multipart()]


def payload(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    return content


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_there_decoded_and_no_attachment(kind: str) -> None:
    rng = random.Random(7)
    texts = 0
    attachments = 0
    for number in range(60):
        raw = make_mail(rng, spam=bool(number % 2), kind=kind)
        found = one_kind_of_lines(text_of(raw)[0])
        for part in leaves(raw):
            if part.get_content_maintype() == "text":
                assert one_kind_of_lines(payload(part)) in found
                texts += 1
            else:
                packed = "".join(part.get_payload().split())  # type: ignore[union-attr]
                assert packed[:MAX_OPAQUE].encode() in found
                assert packed[: MAX_OPAQUE + 1].encode() not in found or len(packed) <= MAX_OPAQUE
                attachments += 1
    assert texts >= 60
    assert (attachments > 0) == (kind == "mixed")


def test_the_header_ends_at_the_first_empty_line() -> None:
    for raw in make_mails(100, seed=3):
        text, header_end = text_of(raw)
        match = re.search(rb"\r?\n\r?\n", raw)
        assert match is not None
        assert raw.startswith(text[:header_end]), "it is copied as it is"
        assert header_end == raw.index(b"\n", match.start()) + 1
        assert text[header_end : header_end + 1] == b"\n"


@pytest.mark.parametrize(
    ("raw", "header"),
    [
        (b"Subject: x\r\nbody, no more", b"Subject: x\r\n"),
        (b"Subject: x\nbody: is a field too\nbut this is none\n", b"Subject: x\nbody: is a field too\n"),
        (b"Subject: x\n folded\n\tagain\nbody", b"Subject: x\n folded\n\tagain\n"),
        (b"Free entry in 2 a wkly comp: text FA to 87121", b""),
        (b" Subject: not with a blank in front", b""),
        (b"\nSubject: x", b""),
        (b"\r\nSubject: x", b""),
        (
            b"From ann@example.org Mon Jun 25 2001\nSubject: x\n\nbody",
            b"From ann@example.org Mon Jun 25 2001\nSubject: x\n",
        ),
        (b"Subject: x\nFrom ann@example.org Mon Jun 25 2001\n", b"Subject: x\n"),
        (b"Subject: no end", b"Subject: no end"),
        (b"a" * 63 + b": x\nb", b"a" * 63 + b": x\n"),
        (b"a" * 64 + b": x\nb", b"a" * 64 + b": x\n"),
        (b"a" * 65 + b": x\nb", b""),
        (b": x\nb", b""),
        (b"S\xfcbject: x\nb", b""),
        (b"\x00: x\nb", b""),
        (b"", b""),
        (b"\n", b""),
        (b"\r", b""),
        (b":", b""),
        (b"a:", b"a:"),
    ],
)
def test_recognised_headers(raw: bytes, header: bytes) -> None:
    text, header_end = text_of(raw)
    assert text[:header_end] == header
    assert text[header_end:] == raw[len(header) :] or raw in (b"\r\nSubject: x", b"\r")


BASE64 = b"Content-Transfer-Encoding: base64\n"
QUOTED_PRINTABLE = b"content-TRANSFER-encoding:   Quoted-Printable\n"


@pytest.mark.parametrize(
    ("header", "packed", "text"),
    [
        (BASE64, b"QQ==", b"A"),
        (BASE64, b"QUI=", b"AB"),
        (BASE64, b"QUJD", b"ABC"),
        (BASE64, b"Q\nU\nJ\nD", b"ABC"),
        (BASE64, b"QUJ", b"AB"),
        (BASE64, b"Q", b""),
        (BASE64, b"!Q?U*J~D", b"ABC"),
        (BASE64, b"////+++A", b"\xff\xff\xff\xfb\xef\x80"),
        (BASE64, b"", b""),
        (QUOTED_PRINTABLE, b"a=3Db", b"a=b\n"),
        (QUOTED_PRINTABLE, b"a=3db=\nc", b"a=bc\n"),
        (QUOTED_PRINTABLE, b"a=\r\nb\r\n", b"ab\n"),
        (QUOTED_PRINTABLE, b"caf=E9", b"caf\xe9\n"),
        (QUOTED_PRINTABLE, b"=ZZ = =4", b"=ZZ = =4\n"),
        (QUOTED_PRINTABLE, b"=3", b"=3\n"),
        (QUOTED_PRINTABLE, b"=", b""),
        (QUOTED_PRINTABLE, b"=00", b"\x00\n"),
    ],
)
def test_transfer_encodings_are_decoded(header: bytes, packed: bytes, text: bytes) -> None:
    assert decode_sections(header + b"\n" + packed) == (header, b"\n" + text)


@pytest.mark.parametrize("encoding", [b"base64", b"quoted-printable", b"Base64", b"QUOTED-printable"])
def test_only_the_beginning_of_other_parts_is_kept(encoding: bytes) -> None:
    header = b"Content-Type: application/x-thing\nContent-Transfer-Encoding: " + encoding + b"\n"
    for length in (0, 1, MAX_OPAQUE - 1, MAX_OPAQUE, MAX_OPAQUE + 1, 5000):
        body = b"\n".join([b"abcd" * 10] * 125)[:length]
        assert decode_sections(header + b"\n" + body)[1] == b"\n" + body.replace(b"\n", b"")[:MAX_OPAQUE]


def test_a_part_in_base64_ends_at_its_boundary() -> None:
    part = b"--bound\nContent-Transfer-Encoding: base64\n\naGVsbG8gd29ybGQ=\n--bound--\nThe end: AAAA\n"
    assert decode_sections(b"Subject: x\n\n" + part)[1].endswith(b"hello world--bound--\nThe end: AAAA\n")


def test_a_text_that_does_not_fit_is_cut() -> None:
    for raw in [*make_mails(20, seed=5), *mutated(make_mails(20, seed=6), 200, seed=1)]:
        whole, header_end = text_of(raw)
        for room in (0, 1, 63, 64, 65, 500):
            assert text_of(raw, room) == (whole[:room], min(header_end, room))


def test_mutated_mails_stay_in_their_bounds() -> None:
    for raw in mutated(make_mails(40, seed=8), 4000, seed=2):
        text, _ = text_of(raw, MAX_TEXT)
        assert len(text) <= 2 * len(raw) + 1


def test_a_part_may_begin_with_any_field() -> None:
    for first in (b"X-Y: z\n", b"", b"X-Y: a\n b\nX-Z: c\n"):
        raw = (
            b"Subject: x\n\n--bbbb\n"
            + first
            + b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nYnV5IG5vdyE=\n"
        )
        assert b"buy now!" in text_of(raw)[0]


def test_quoted_replies_begin_no_part() -> None:
    raw = b"Content-Transfer-Encoding: quoted-printable\n\n-----Original Message-----\nFrom: a\nTo: b\n\ncaf=C3=A9"
    assert text_of(raw)[0].endswith(b"caf\xc3\xa9\n")


def test_an_encoding_may_stand_on_the_next_line() -> None:
    assert b"buy now!" in text_of(b"Content-Transfer-Encoding:\n base64\n\nYnV5IG5vdyE=\n")[0]


def test_only_an_envelope_is_one() -> None:
    assert text_of(b"from 8pm tonight we party\nhello")[1] == 0
    assert text_of(b"From a@b Mon\nSubject: x\n\nhello")[1] == 24
