from __future__ import annotations

import time

import pytest

from stream_bayes.mail.parse.parsed_mail import MAX_PARSED
from stream_bayes.mail.render.reader import render_mail, render_text
from stream_bayes.mail.render.spans import MAX_SHOWN, MAX_SPANS
from tests.support.rendered_mails import ALTERNATIVES, HTML, PLAIN, check_rendered_mail


def test_an_address_that_was_cut_is_no_link() -> None:
    text = "a" * (MAX_SHOWN - 20) + " http://x.example.evil.example/"
    assert [piece.kind for piece in render_text(text)[0]] == ["text"]


def test_bytes_beyond_the_limit_change_nothing() -> None:
    start = HTML + b"<p>hello " + b"<b>" * MAX_PARSED
    first, second = (
        render_mail(start[:MAX_PARSED] + rest) for rest in (b"x" * 10, b"</b><a href=http://x.example>y" * 9)
    )
    assert first.spans == second.spans
    assert first.cut
    assert second.cut


HOSTILE = {
    "tags": (HTML, b"<b>"),
    "open tags": (HTML, b"<a "),
    "quotes": (HTML, b"<a b='\" "),
    "quoted ends": (HTML + b"<a b='>", b"<a b='>\" "),
    "comments": (HTML, b"<!--"),
    "scripts": (HTML + b"text", b"<script></scrip"),
    "titles": (HTML, b"<title><p>"),
    "ends": (HTML, b"</script </p"),
    "pictures": (HTML, b"<img alt=a>"),
    "links": (HTML + b"<base href=http://x.example/>", b"<a href=x>y</a>"),
    "references": (HTML, b"&#x202e;&a"),
    "zero width": (PLAIN, "F\u200b".encode()),
    "accents": (PLAIN, "\u0301\u0316".encode()),
    "blank lines": (PLAIN, b"\n \t"),
    "addresses": (PLAIN, b"http://a@"),
    "escapes": (b"Subject: s\nContent-Transfer-Encoding: quoted-printable\n\n", b"=\n=41"),
    "punycode": (b"Content-Type: text/plain; charset=punycode\n\n", b"ab-c"),
    "mails": (b"", b"Content-Type: message/rfc822\n\n"),
    "parts": (b"Content-Type: multipart/mixed; boundary=b\n\n", b"--b\n\n"),
    "parameters": (b"Content-Type: text/plain", b"; name*0*=b"),
    "words": (b"Subject: ", b"=?utf-8?q?a?= "),
    "hidden": (HTML, b"<i hidden>a</i>"),
    "hidden in hidden": (HTML, b"<i style='display:none'>a"),
    "comments in styles": (HTML + b"<i style='", b"/*"),
    "sizes": (HTML + b"<i style='font-size:", b"1.1"),
    "names": (b'Content-Type: application/pdf; name*0="', b'"; name*1*="%'),
    "alternatives": (ALTERNATIVES, b"Content-Type: text/html\n\n<a href=http://x.example>y</a>\n--x\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_four_times_the_mail_takes_about_four_times_as_long(name: str) -> None:
    head, unit = HOSTILE[name]
    seconds = []
    for size in (MAX_PARSED // 4, MAX_PARSED):
        raw = (head + unit * (size // len(unit)))[:size]
        start = time.process_time()
        check_rendered_mail(render_mail(raw))
        seconds.append(time.process_time() - start)
    # Work that grows as the square of 256 KiB takes minutes; the half second is for small times that vary.
    assert seconds[1] < 8 * seconds[0] + 0.5


def test_parts_within_parts() -> None:
    raw = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (depth, depth) for depth in range(3000))
    letter = render_mail(raw)
    check_rendered_mail(letter)
    assert letter.cut


def test_pieces_are_bounded() -> None:
    pieces, cut = render_text("F\u200b" * 10_000)
    assert (len(pieces), cut) == (MAX_SPANS, True)
    assert render_mail(HTML + b"<a href=http://x.example>y</a> " * 8000).cut
    letter = render_mail(HTML + "F\u200b".encode() * 10_000)
    assert (len(letter.spans), letter.cut) == (MAX_SPANS, True)
    assert render_mail(HTML + b"<img>" * 30_000).cut
