from __future__ import annotations

import base64
import os
import re
from email.message import EmailMessage
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.evaluation.corpora import open_corpus
from stream_bayes.mail.render.sanitize import printable
from stream_bayes.mail.render.summary import preview, sender, subject, text_preview

CORPORA = os.environ.get("STREAM_BAYES_CORPORA", "")


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
        (b"Content-Type: text/html\n\n<<<<a <b", "<<<<a <b"),
        (b"Content-Type: text/html\n\n<!--#rotate>Terrific <b>&nbsp;offer", "Terrific offer"),
        (b"Content-Type: text/html\n\n<head><title>x</title>\n<body>no end of the head", "no end of the head"),
        (
            b"Content-Type: text/html\n\n<!-- a > b -->&#8226;&nbsp;Cut your payments &#27;[2J",
            "• Cut your payments [2J",
        ),
        (b"Subject: x\n\ncaf&eacute; &lt;#&gt; minutes", "café <#> minutes"),
        (b"Subject: x\n\nHello\n<P>you<BR>there", "Hello you there"),
        (b"Subject: all there is\r\n", "Subject: all there is"),
        (b"From here after The performance award is calculated", "From here after The performance award is calculated"),
        (b"S:)no competition for him.", "S:)no competition for him."),
        (b"K..k:)where are you?\n\nhow?", "K..k:)where are you? how?"),
        (b"From joe Mon Jan  1\nX-Label: spam\n\nan mbox", "an mbox"),
        (b"To: a\n b\n\tc\nfirst line that is no header\nsecond", "first line that is no header second"),
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


PICTURE = b"Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n" + base64.b64encode(
    b"<img src='http://x.example'>"
)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"--x\nContent-Type: text/plain\n\n\n\n--x\nContent-Type: text/html\n\n<p>second\n--x--\n", "second"),
        (b"Not announced.\n\n--= y y\nContent-Type: text/plain; charset=utf-8\n\nhello\n--= y y--\nend", "hello"),
        (b"--646.JavaMail\r\nContent-Type: text/plain\r\n\r\nYour issue", "Your issue"),
        (
            b"\n--x\nContent-Type: multipart/alternative; boundary=xAA\n\n--xAA\nContent-Type: text/plain\n\nwithin\n"
            b"--xAA--\n--x--\n",
            "within",
        ),
        (b"\n--x\n" + PICTURE + b"\n--x--", "<img src='http://x.example'>"),
        (b"\n--x\nContent-Type: message/rfc822\n\nSubject: forwarded\n\nits text\n--x--", "its text"),
        (b"\n--x\nContent-Type: image/png\n\n\x89PNG\n--x\n\nafter the picture\n--x--", "after the picture"),
    ],
    ids=["an empty part first", "unannounced", "another boundary", "a prefix", "a picture", "a mail", "an image first"],
)
def test_parts(body: bytes, shown: str) -> None:
    assert preview(b"Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n" + body) == shown


@given(
    st.binary(max_size=300), st.sampled_from([b"", b"Content-Type: multipart/mixed; boundary=a\n\n--a\n", b"S:", b"<b"])
)
def test_there_is_a_preview_of_whatever_is_not_blank(raw: bytes, prefix: bytes) -> None:
    content = prefix + raw
    if any(33 <= octet < 127 for octet in content):
        assert preview(content)
        assert text_preview(content.decode("latin-1"))


@pytest.mark.slow
@pytest.mark.skipif(not CORPORA, reason="no real mail: name a folder of corpora in STREAM_BAYES_CORPORA")
@pytest.mark.parametrize("name", ["sms_spam_collection", "spamassassin"])
def test_previews_of_real_mails(name: str) -> None:
    shown = [preview(mail.raw) for mail in islice(open_corpus(Path(CORPORA) / f"{name}.jsonl.gz"), 2000)]
    assert all(shown)
    odd = [text for text in shown if re.search(r"&(nbsp|amp|#\d+);|^(--\S+|This is a multi.*) Content-", text)]
    assert odd == []


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


@pytest.mark.slow
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


def test_printable_characters_are_kept() -> None:
    assert printable("żółć 日本 🙂") == "żółć 日本 🙂"
    assert printable("a" * 9, characters=4) == "aaa…"
    assert printable("\ud800\u2066\u200b\ufeff") == "\ufffd" * 4
