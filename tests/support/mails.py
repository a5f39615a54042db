"""Mails as they come, made up from a seed: every encoding, charset and nesting that a mail program writes."""

from __future__ import annotations

import base64
import quopri
import random
import textwrap
from collections.abc import Callable

HAM_WORDS = "lunch meeting report tomorrow agenda thanks regards project draft review train weekend we'll co-op v2.1"
SPAM_WORDS = "free winner $$$ viagra click offer limited cash!!! prize unsubscribe guaranteed 100 credit ca$h act_now"
COMMON_WORDS = "the a of and to in is you that it for on with as at this be have from or one had by but not what all"
# What a charset can write, and its names in mails.
FOREIGN = {
    "utf-8": "größe naïve 你好 世界 привет ελλάδα 🎉",
    "iso-8859-1": "größe café señor Ærø",
    "windows-1252": "“quoted” – 50 € naïve™",
    "koi8-r": "купить дешево сейчас привет",
    "windows-1251": "встреча завтра спасибо",
    "shift_jis": "こんにちは 世界 無料",
    "iso-2022-jp": "未承諾広告 無料",
    "gb2312": "免费 发票 你好",
    "big5": "免費 發票 你好",
    "euc-kr": "광고 무료 안녕하세요",
    "utf-16": "wide größe 世界",
    "us-ascii": "plain old words",
}
DOMAINS = ("example.org", "mail.example.com", "cheap-pills.example", "lists.example.net", "uni.example.edu", "a.io")
SENDERS = ("ann", "bob.smith", "info", "no-reply", "x1287q", "sales_team", "o'neil")
KINDS = ("plain", "html", "alternative", "mixed", "forwarded", "digest")


def make_mails(count: int, seed: int) -> list[bytes]:
    """This number of mails, every second of them spam."""
    rng = random.Random(seed)
    return [make_mail(rng, spam=bool(number % 2)) for number in range(count)]


def make_mail(rng: random.Random, *, spam: bool, kind: str | None = None) -> bytes:
    """A mail of any kind; its header is as long as that of a mail that came from far away."""
    body = PARTS[kind or rng.choice(KINDS)](rng, spam)
    raw = b"\n".join([*header(rng, spam), body])
    return raw.replace(b"\n", b"\r\n") if rng.random() < 0.4 else raw


def header(rng: random.Random, spam: bool) -> list[bytes]:
    """Lines without those that say what the body is."""
    sender = f"{rng.choice(SENDERS)}@{rng.choice(DOMAINS)}"
    lines = [f"Return-Path: <{sender}>", *(received(rng) for _ in range(rng.choice((0, 1, 3, 3, 20))))]
    lines += [f"From: {rng.choice(('Ann', 'Dr. Who', '', '=?koi8-r?B?8NLJ18XU?='))} <{sender}>"]
    lines += [f"To: {', '.join(address(rng) for _ in range(rng.choice((1, 1, 2, 12))))}"]
    lines += [f"Subject: {subject(rng, spam)}", "Date: Mon, 25 Jun 2001 13:11:28 +0200", "MIME-Version: 1.0"]
    if rng.random() < 0.5:
        lines += [f"Message-ID: <{rng.getrandbits(48):x}@{rng.choice(DOMAINS)}>", "X-Mailer: Mutt/1.4.1i"]
    return [line.encode("utf-8") for line in lines]


def received(rng: random.Random) -> str:
    """One hop, on three lines."""
    numbers = ".".join(str(rng.randrange(300)) for _ in range(4))
    stamp = "\tMon, 25 Jun 2001 13:11:28 +0200 (CEST)"
    return f"Received: from {rng.choice(DOMAINS)} ([{numbers}])\n\tby {rng.choice(DOMAINS)} with ESMTP id x;\n{stamp}"


def address(rng: random.Random) -> str:
    return f'"{rng.choice(SENDERS)}" <{rng.choice(SENDERS)}{rng.randrange(50)}@{rng.choice(DOMAINS)}>'


def subject(rng: random.Random, spam: bool) -> str:
    """As it is, folded over lines, or as an encoded word."""
    text = sentence(rng, spam, 5)
    charset = rng.choice(tuple(FOREIGN))
    packed = base64.b64encode(FOREIGN[charset].encode(charset)).decode()
    return rng.choice((text, text.replace(" ", "\n "), f"=?{charset}?B?{packed}?=", "=?iso-8859-1?Q?caf=E9_?= " + text))


def sentence(rng: random.Random, spam: bool, words: int) -> str:
    own = (SPAM_WORDS if spam else HAM_WORDS).split()
    common = COMMON_WORDS.split()
    return " ".join(rng.choice(own if rng.random() < 0.3 else common) for _ in range(words))


def text_of(rng: random.Random, spam: bool) -> str:
    """Some paragraphs, with a link here and there."""
    links = [f"See http://www.{rng.choice(DOMAINS)}/x?id={rng.randrange(999)} now." for _ in range(rng.randrange(3))]
    paragraphs = ["\n".join(textwrap.wrap(sentence(rng, spam, 40), 70)) for _ in range(rng.randrange(1, 4))]
    return "\n\n".join([*paragraphs, *links]) + "\n"


def encoded(rng: random.Random, text: str, kind: str) -> bytes:
    """A part of text, with its header, in some charset and some encoding."""
    charset = rng.choice(tuple(FOREIGN))
    content = (text + FOREIGN[charset] + "\n").encode(charset)
    encodings = ("base64",) if charset == "utf-16" else ("8bit", "base64", "quoted-printable", "QUOTED-PRINTABLE")
    encoding = rng.choice(encodings)
    lines = [f'Content-Type: {kind}; charset="{charset}"', f"Content-Transfer-Encoding: {encoding}"]
    if encoding == "base64":
        content = base64.encodebytes(content)
    elif encoding != "8bit":
        content = quopri.encodestring(content)
    return "\n".join(lines).encode() + b"\n\n" + content


def attachment(rng: random.Random) -> bytes:
    """Bytes of some program, with the header of the part."""
    kind = rng.choice(("image/gif", "application/octet-stream", "application/pdf", "audio/x-wav"))
    name = f'Content-Type: {kind}; name="x.bin"\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment\n\n'
    return name.encode() + base64.encodebytes(rng.randbytes(rng.choice((10, 400, 1500))))


def multipart(rng: random.Random, kind: str, parts: list[bytes]) -> bytes:
    boundary = f"----=_Part_{rng.getrandbits(40):x}".encode()
    begun = b"".join(b"--" + boundary + b"\n" + part.rstrip(b"\n") + b"\n\n" for part in parts)
    first = f'Content-Type: multipart/{kind};\n\tboundary="'.encode() + boundary
    return first + b'"\n\nThis is a message in MIME format.\n' + begun + b"--" + boundary + b"--\n"


def plain(rng: random.Random, spam: bool) -> bytes:
    return encoded(rng, text_of(rng, spam), "text/plain")


def html(rng: random.Random, spam: bool) -> bytes:
    marked = text_of(rng, spam).replace("\n\n", '\n<p style="color:#f00">').replace("http", '<a href="http')
    return encoded(rng, f"<html><body>\n{marked}</body></html>\n", "text/html")


def alternative(rng: random.Random, spam: bool) -> bytes:
    return multipart(rng, "alternative", [plain(rng, spam), html(rng, spam)])


def mixed(rng: random.Random, spam: bool) -> bytes:
    """A text or an alternative of two, then attachments."""
    first = alternative(rng, spam) if rng.random() < 0.5 else plain(rng, spam)
    return multipart(rng, "mixed", [first, *(attachment(rng) for _ in range(rng.randrange(1, 3)))])


def forwarded(rng: random.Random, spam: bool) -> bytes:
    """A mail within a mail."""
    inner = b"Content-Type: message/rfc822\n\n" + b"\n".join([*header(rng, spam), alternative(rng, spam)])
    return multipart(rng, "mixed", [plain(rng, spam), inner])


def digest(rng: random.Random, spam: bool) -> bytes:
    """Multiparts in multiparts, six deep."""
    body = plain(rng, spam)
    for _ in range(6):
        body = multipart(rng, "mixed", [plain(rng, spam), body] if rng.random() < 0.3 else [body])
    return body


PARTS: dict[str, Callable[[random.Random, bool], bytes]] = {
    "plain": plain,
    "html": html,
    "alternative": alternative,
    "mixed": mixed,
    "forwarded": forwarded,
    "digest": digest,
}
