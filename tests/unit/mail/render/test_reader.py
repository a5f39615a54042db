from __future__ import annotations

import base64
import os
from email.message import EmailMessage
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.evaluation.corpora import open_corpus
from stream_bayes.mail.render.reader import render_mail, render_text
from stream_bayes.mail.render.spans import MAX_SHOWN, TextSpan
from stream_bayes.mail.render.summary import preview
from tests.support.hostile_mails import ATTACKS, SECRET, SENTENCE, TRACKER
from tests.support.mails import make_mails
from tests.support.rendered_mails import ALTERNATIVES, HTML, MIXED, PLAIN, as_text, check_rendered_mail, check_spans

CORPORA = os.environ.get("STREAM_BAYES_CORPORA", "")


@pytest.mark.parametrize(
    ("text", "told_as"),
    [
        ("one\n two\r\n\r\n\tthree\rfour  \n\n", "one\n two\n\n\tthree\nfour"),
        ("\n \n  indented", "  indented"),
        ("a" + "\n" * 1000 + "b", "a\n\n\nb"),
        ("a" + " " * 1000 + "b", "a" + " " * 80 + "b"),
        (
            "see http://x.example/a?b=c(d), or (www.y.example).",
            "see [http://x.example/a?b=c(d) -> x.example], or ([www.y.example -> www.y.example]).",
        ),
        ('<http://x.example>,"www.y.example"', '<[http://x.example -> x.example]>,"[www.y.example -> www.y.example]"'),
        ("http://real.example@evil.example/", "[http://real.example@evil.example/ -> evil.example]"),
        (
            "mailto:a@x.example a@x.example mailto: http://",
            "[mailto:a@x.example -> x.example] a@x.example mailto: http://",
        ),
        ("访问http://x.example/ xhttp://y.example", "访问[http://x.example/ -> x.example] xhttp://y.example"),
        ("javascript:alert(1) data:x file:///etc", "javascript:alert(1) data:x file:///etc"),
        ("http://x.example/\u202eb", "[http://x.example/⟨U+202E⟩b -> x.example]"),
        ("F\u200bR\u200bEE", "F{U+200B ZERO WIDTH SPACE}R{U+200B ZERO WIDTH SPACE}EE"),
        ("<b>as it is &amp; no more</b>", "<b>as it is &amp; no more</b>"),
        ("<html><p>said to be plain", "said to be plain"),
        ("write <html> first", "write <html> first"),
    ],
)
def test_plain_text(text: str, told_as: str) -> None:
    letter = render_mail(PLAIN + text.encode())
    check_rendered_mail(letter)
    assert as_text(letter.spans) == told_as


@pytest.mark.parametrize(
    ("raw", "told_as", "attachments"),
    [
        (
            ALTERNATIVES + b"Content-Type: text/html\n\n<p>html\n--x\nContent-Type: text/plain\n\ntext\n--x--",
            "text\n\n{HTML part, which most mail programs show instead}\nhtml",
            (),
        ),
        (ALTERNATIVES + b"Content-Type: text/plain\n\n \n--x\nContent-Type: text/html\n\n<p>html\n--x--", "html", ()),
        (MIXED + b"\n1\n--x\nContent-Type: text/html\n\n<p>2\n--x\n\n\n--x\n\n3\n--x--", "1\n\n2\n\n3", ()),
        (MIXED + b"Content-Type: image/png\n\n\x89PNG\n--x\n\nafter\n--x--", "after", ("image/png",)),
        (
            MIXED + b"\nread\n--x\nContent-Type: text/plain\nContent-Disposition: attachment;\n"
            b" filename*=utf-8''caf%C3%A9.txt\n\nnot read\n--x--",
            "read",
            ("café.txt (text/plain)",),
        ),
        (MIXED + b"Content-Disposition: attachment\n\nnothing else\n--x--", "nothing else", ("text",)),
        (
            MIXED + b"\nsee\n--x\nContent-Type: message/rfc822\n\nFrom: a@b.example\nSubject: inner\n\nits text\n--x--",
            "see\n\nFrom: a@b.example\nSubject: inner\n\nits text",
            (),
        ),
        (
            MIXED + b"\nfailed\n--x\nContent-Type: message/delivery-status\n\nAction: failed\n--x--",
            "failed",
            ("message/delivery-status",),
        ),
        (
            b'Subject: s\nContent-Type: application/pdf; name="a\x00b.pdf"\n\n%PDF',
            "",
            ("a⟨U+0000⟩b.pdf (application/pdf)",),
        ),
        (b"Subject: s\nContent-Type: nonsense\n\nstill text", "still text", ()),
        (b"Subject: s\n\ncaf\xe9 \x93quoted\x94", "café “quoted”", ()),
        (b"Subject: s\nContent-Transfer-Encoding: base64\n\n" + base64.b64encode("größe".encode()), "größe", ()),
        (b"Subject: s\nContent-Transfer-Encoding: quoted-printable\n\ncaf=C3=A9=\n s", "café s", ()),
        (b"Subject: s\n\n--= y\nContent-Type: text/html\n\n<p>unannounced\n--= y--\nend", "unannounced", ()),
        (b"just a text, as sms are", "just a text, as sms are", ()),
        (b"Subject: nothing\n\n", "", ()),
        (b"", "", ()),
    ],
)
def test_parts(raw: bytes, told_as: str, attachments: tuple[str, ...]) -> None:
    letter = render_mail(raw)
    check_rendered_mail(letter)
    assert (as_text(letter.spans), letter.attachments, letter.size) == (told_as, attachments, len(raw))


def test_a_mail_as_programs_write_it() -> None:
    message = EmailMessage()
    message["Subject"] = "Größe \u202e"
    message["From"] = "Jörg <joerg@example.org>"
    message.set_content("Größe: plain\n", charset="iso-8859-1", cte="base64")
    message.add_alternative("<p>Größe: <b>plain</b></p>", subtype="html")
    message.add_attachment(b"\x00\x01", maintype="application", subtype="zip", filename="rechnung–1.zip")
    letter = render_mail(message.as_bytes())
    assert letter[:5] == (
        "Jörg <joerg@example.org>",
        "Größe ⟨U+202E⟩",
        (TextSpan("text", "Größe: plain"),),
        ("rechnung–1.zip (application/zip)",),
        len(message.as_bytes()),
    )


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_inert(name: str) -> None:
    letter = render_mail(ATTACKS[name])
    check_rendered_mail(letter)
    assert SENTENCE in as_text(letter.spans)
    assert letter.cut == name.startswith("5 MB")
    assert letter.size == len(ATTACKS[name])
    urls = [piece.url for piece in letter.spans if piece.url and TRACKER in piece.url]
    assert urls == (["https://base.tracker.example/login"] if name == "base" else [])


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        (
            "javascript links",
            "one {javascript: link} two {javascript: link} three {javascript: link} "
            "four {javascript: link} five {vbscript: link} six {data: link} seven {file: link}",
        ),
        ("script in plain text", f"<script>{SECRET} = true</script>"),
        ("userinfo", "[http://real.example@evil.example/ -> evil.example]"),
        ("homograph", "[https://apple.com/ -> xn--80ak6aa92e.com]"),
        ("lying link", "[https://bank.example/login -> evil.example]"),
        ("bidi override in the body", "file{U+202E RIGHT-TO-LEFT OVERRIDE}gpj.exe{U+202C POP DIRECTIONAL FORMATTING}"),
        ("bidi override by reference", "[a⟨U+202E⟩b -> a.example]"),
        ("unclosed script", "{script without an end}"),
        ("nul bytes", "{U+0000 NUL ×3} a{U+0000 NUL}b{U+001B ESCAPE}[2J"),
        ("numbers for hosts", "[http://3232235777/ -> 192.168.1.1]"),
    ],
)
def test_attacks_are_marked(name: str, seen: str) -> None:
    assert seen in as_text(render_mail(ATTACKS[name]).spans)


def test_texts() -> None:
    assert as_text(render_text("2 &lt; 3 www.x.example")[0]) == "2 < 3 [www.x.example -> www.x.example]"
    assert as_text(render_text("a<br>b<script>x</script>")[0]) == "a\nb {script}"
    assert as_text(render_text("<3 you\nand <john> too")[0]) == "<3 you\nand <john> too"
    assert as_text(render_text("<br>")[0]) == "<br>"
    assert as_text(render_text("a\x85b\ud800")[0]) == "a{U+0085 NEXT LINE}b{U+D800 HALF OF A PAIR}"
    assert render_text("") == ((), False)
    assert render_text("a" * (MAX_SHOWN + 1)) == ((TextSpan("text", "a" * MAX_SHOWN),), True)
    assert not render_text("a" * MAX_SHOWN)[1]


@pytest.mark.parametrize("cut", [1999, 2000, 2001, 2002, 2003])
@pytest.mark.parametrize("encoding", ["8bit", "base64"])
def test_a_text_cut_within_a_character_is_not_taken_for_latin_1(cut: int, encoding: str) -> None:
    body = ("é€😀" * 1000).encode()
    coded = base64.b64encode(body) if encoding == "base64" else body
    raw = (
        b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: "
        + encoding.encode()
        + b"\n\n"
        + coded[:cut]
    )
    assert as_text(render_mail(raw).spans).startswith("é€😀" * 100)
    assert preview(raw).startswith("é€😀" * 60)


def test_numbers_beyond_all_characters_are_no_characters() -> None:
    assert preview(b"Subject: s\n\n&#" + b"9" * 5000) == "\ufffd"
    assert as_text(render_mail(HTML + b"a&#" + b"0" * 9000 + b"66;" + b"&#x" + b"f" * 9000).spans) == "aB\ufffd"


@given(
    st.sampled_from(
        [b"", HTML, PLAIN, ALTERNATIVES, MIXED, b"Subject: =?", b"Content-Type: ", HTML + b"<a href='http:"]
    ),
    st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
def test_any_bytes_are_a_letter(prefix: bytes, rest: bytes) -> None:
    letter = render_mail(prefix + rest)
    check_rendered_mail(letter)
    assert letter == render_mail(prefix + rest)
    assert letter.size == len(prefix + rest)


@given(st.text() | st.text("<>/a!-\"'= &#;bhtp:.\u200b\u0301\n", max_size=200))
def test_any_text_has_pieces(text: str) -> None:
    pieces, cut = render_text(text)
    check_spans(pieces)
    assert not cut
    if any("!" < character < "\x7f" for character in text) and "<" not in text and "&" not in text:
        assert pieces


@pytest.mark.slow
def test_mails_of_every_encoding_are_read() -> None:
    for raw in make_mails(300, seed=8):
        letter = render_mail(raw)
        check_rendered_mail(letter)
        assert letter.spans
        assert not letter.cut


@pytest.mark.long
@pytest.mark.skipif(not CORPORA, reason="no real mail: name a folder of corpora in STREAM_BAYES_CORPORA")
def test_real_mails_are_read() -> None:
    mails = islice(open_corpus(Path(CORPORA) / "spamassassin.jsonl.gz"), 2000)
    letters = [render_mail(mail.raw) for mail in mails]
    for letter in letters:
        check_rendered_mail(letter)
    assert all(letter.spans or letter.attachments for letter in letters)
