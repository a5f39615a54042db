from __future__ import annotations

import base64
from email.message import EmailMessage

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.features.display import harmless, preview, sender, subject


def test_encoded_words_are_decoded_and_joined() -> None:
    raw = b"Subject: =?utf-8?B?" + base64.b64encode("Größe ".encode()) + b"?=\n =?iso-8859-1?Q?=FCber?= alles\n\n"
    assert subject(raw) == "Größe über alles"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"", ""),
        (b"no headers at all", ""),
        (b"Subject:\n\n", ""),
        (b"subject: low\nSUBJECT: second\n\n", "low"),
        (b"From joe Mon Jan  1\nSubject: mbox\n\n", "mbox"),
        (b"Subject: one\n\ttwo\r\n three\n\n", "one two three"),
        ("Subject: bytes é\n\n".encode(), "bytes é"),
        (b"Subject: bytes \xe9\n\n", "bytes é"),
        (b"Subject: =?no-such-charset?q?caf=E9?=\n\n", "café"),
        (b"Subject: =?utf-8?b?!!!!?=\n\n", ""),
        (b"Subject: =?utf-8?b?abcde?=\n\n", "=?utf-8?b?abcde?="),
        (b"Subject: =?hex?q?41?= =?idna?q?xn--=FF?=\n\n", "41xn--ÿ"),
        (b"Subject: nul\x00bell\x07\n\n", "nul\ufffdbell\ufffd"),
        ("Subject: abc\u202egpj.exe\n\n".encode(), "abc\ufffdgpj.exe"),
        (b"Subject: =?utf-8?q?a=E2=80=AEb=0A=0Dc?=\n\n", "a\ufffdb c"),
        (b"\n\nSubject: in the body\n", ""),
    ],
)
def test_subjects(raw: bytes, shown: str) -> None:
    assert subject(raw) == shown


def test_sender_is_the_from_field() -> None:
    assert sender(b'From: "A, B" <a@example.org>\nSubject: x\n\n') == '"A, B" <a@example.org>'
    assert sender(b"To: a@example.org\n\n") == ""


def test_a_long_subject_is_cut() -> None:
    shown = subject(b"Subject: " + b"a" * 100_000 + b"\n\n")
    assert len(shown) == 500
    assert shown.endswith("a…")


def test_preview_takes_the_first_text_of_nested_parts() -> None:
    message = EmailMessage()
    message["Subject"] = "hello"
    message.set_content("Größe: plain\n", charset="iso-8859-1", cte="base64")
    message.add_alternative("<p>html</p>", subtype="html")
    message.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream")
    assert preview(message.as_bytes()) == "Größe: plain"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"", ""),
        (b"\n\n", ""),
        (b"Subject: x\n\nbody  of\nit", "body of it"),
        (b"just a text, as sms are", "just a text, as sms are"),
        (b"Content-Type: text/html\n\n<style>p {}</style><p>a<script>x</script>b", "a b"),
        (b"Content-Type: text/html\n\n<<<<a <b", ""),
        (b"Content-Transfer-Encoding: quoted-printable\n\nca=66=C3=A9=\n s", "café s"),
        (b"Content-Transfer-Encoding: base64\n\nnot base 64!", "not base 64!"),
        (b"Content-Transfer-Encoding: x-uuencode\n\nnonsense", "nonsense"),
        (b"Content-Type: multipart/mixed\n\nno boundary", "no boundary"),
        (b"Content-Type: multipart/mixed; boundary=\n\n--\nnone", "-- none"),
        (b"Content-Type: multipart/mixed; boundary=x\n\nnever comes", "never comes"),
        (b"Content-Type: text/plain; charset=no-such\n\ncaf\xe9", "café"),
        (b"Content-Type: text/plain; charset*=bad'x'%ff%\n\nok", "ok"),
    ],
)
def test_previews(raw: bytes, shown: str) -> None:
    assert preview(raw) == shown


@given(st.binary(max_size=400), st.integers(0, 60))
def test_any_bytes_have_an_answer(raw: bytes, characters: int) -> None:
    prefixes = (
        b"",
        b"Subject: =?",
        b"From: ",
        b"Content-Type: multipart/mixed; boundary=",
        b"Content-Type: text/html\n\n",
    )
    for prefix in prefixes:
        shown = [subject(prefix + raw), sender(prefix + raw), preview(prefix + raw, characters)]
        assert all(text.isprintable() for text in shown)
        assert len(shown[2]) <= max(characters, 1)


def test_mutated_mails_have_an_answer() -> None:
    generator = np.random.default_rng(7)
    mail = (
        b"From: =?utf-8?q?J=C3=B6rg?= <a@b>\nSubject: =?iso-2022-jp?B?GyRCJUYbKEI=?= x\nMIME-Version: 1.0\n"
        b"Content-Type: multipart/mixed; boundary*0=\"a\"; boundary*1*=utf-8''b%20c\n\n--ab c\n"
        b"Content-Type: text/html; charset=utf-7\nContent-Transfer-Encoding: base64\n\nPGI+aGk8L2I+\n--ab c--\n"
    )
    for _ in range(3000):
        octets = np.frombuffer(mail, dtype=np.uint8).copy()
        places = generator.integers(0, len(octets), generator.integers(1, 12))
        octets[places] = generator.choice(np.frombuffer(b"=?;*'\"\n\r\x00\xff%: -", dtype=np.uint8), len(places))
        raw = octets.tobytes()[: generator.integers(1, len(octets) + 1)]
        assert all(text.isprintable() for text in (subject(raw), sender(raw), preview(raw)))


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: " + b"=?a?q?" * 20_000,
        b"Subject: " + b"=?utf-8?q?a?= " * 20_000,
        b"Subject: a\n" + b" folded\n" * 100_000,
        b"Content-Type: text/html\n\n" + b"<" * 200_000,
        b"Content-Type: text/html\n\n" + b"<style " * 50_000,
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (depth, depth) for depth in range(3000)),
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\n" * 50_000,
        b"Content-Type: text/plain" + b"; a*0*=b" * 50_000 + b"\n\n",
        b"a: b\n" * 1_000_000,
    ],
    ids=["open words", "words", "folds", "markup", "styles", "deep", "parts", "parameters", "headers"],
)
def test_hostile_mails_take_little_work(raw: bytes) -> None:
    # No clock: work that grows as the square of the mail would be noticed as minutes.
    for show in (subject, sender, preview):
        assert show(raw).isprintable()


def test_harmless_keeps_what_can_be_printed() -> None:
    assert harmless("żółć 日本 🙂") == "żółć 日本 🙂"
    assert harmless("a" * 9, characters=4) == "aaa…"
    assert harmless("\ud800\u2066\u200b\ufeff") == "\ufffd" * 4
