"""Encoding of a draft as a mail: headers, charsets, transfer encodings, parts."""

from __future__ import annotations

import base64
import binascii
import html
import re
import time
from dataclasses import dataclass, field
from random import Random

from stream_bayes.demo.mailbox.names import Person

EPOCH = 1_736_150_400
"""The time of the first mail: 6 January 2025."""
_LINK = re.compile(r"http://[^\s<>]+")
_AGENTS = (
    *(
        "Mozilla Thunderbird",
        "Apple Mail (2.3696)",
        "Microsoft Outlook 16.0",
        "Evolution 3.46",
        "Roundcube Webmail/1.6",
    ),
    *("PHPMailer 6.8", "mutt/2.2.9", "Sendwell 4.1", "KMail 5.22"),
)
_RELAYS = ("mx1.westbrook.example", "mx2.westbrook.example")


@dataclass
class Draft:
    """A mail before it is encoded."""

    sender: Person
    subject: str
    paragraphs: list[str]
    shape: str = "plain"
    """"plain", "html" or "alternative"."""
    headers: list[tuple[str, str]] = field(default_factory=list)
    """Further headers."""
    attachment: str = ""
    """The name of the attachment. Empty: none."""
    relay: str = ""
    """The host that sent it. By default that of the sender's address."""


def encode_mail(draft: Draft, to: Person, number: int, random: Random) -> bytes:
    """Return the bytes of a mail, the `number`-th of the mailbox."""
    parts = []
    if draft.shape != "html":
        parts.append(_part("\n\n".join(draft.paragraphs) + "\n", "plain", random))
    if draft.shape != "plain":
        parts.append(_part(_html(draft.paragraphs, random), "html", random))
    body = parts[0] if len(parts) == 1 else _multipart("alternative", parts, random)
    if draft.attachment:
        body = _multipart("mixed", [body, _file(draft.attachment, random)], random)
    return b"\n".join([*_head(draft, to, number, random), body])


def _head(draft: Draft, to: Person, number: int, random: Random) -> list[bytes]:
    host = draft.relay or draft.sender.address.partition("@")[2]
    at = time.strftime("%a, %d %b %Y %H:%M:%S", time.gmtime(EPOCH + 97 * number + int(random.random() * 90)))
    address = ".".join([str(11 + int(random.random() * 200)) for _ in range(4)])
    serial = f"{random.getrandbits(48):012x}"
    relay = _RELAYS[int(random.random() * 2)]
    fields = [
        ("Return-Path", f"<{draft.sender.address}>"),
        ("Received", f"from mail.{host} (mail.{host} [{address}])\n\tby {relay} with ESMTPS id {serial}; {at} +0000"),
        ("Received", f"from [10.{serial[0:1]}.0.{number % 200}] (unknown)\n\tby mail.{host} with ESMTPA; {at} +0000"),
        ("Date", f"{at} +0000"),
        ("From", f"{_word(draft.sender.name, random)} <{draft.sender.address}>"),
        ("To", f"{to.name} <{to.address}>" if random.random() < 0.7 else to.address),
        ("Subject", _word(draft.subject, random)),
        ("Message-ID", f"<{serial[::-1]}.{number}@{host}>"),
        *draft.headers,
    ]
    if random.random() < 0.5:
        fields.append(("X-Mailer", _AGENTS[int(random.random() ** 1.5 * len(_AGENTS))]))
    return [f"{name}: {value}".encode() for name, value in (*fields, ("MIME-Version", "1.0"))]


def _word(text: str, random: Random) -> str:
    """Return the text of a header, as encoded words if it is not ASCII."""
    if text.isascii():
        return text
    charset = "iso-8859-1" if random.random() < 0.4 and _latin(text) else "utf-8"
    octets = text.encode(charset)
    if random.random() < 0.5:
        return f"=?{charset}?B?{base64.b64encode(octets).decode()}?="
    return f"=?{charset}?Q?{_quoted(octets)}?="


def _quoted(octets: bytes) -> str:
    return "".join([chr(byte) if chr(byte).isalnum() and byte < 128 else f"={byte:02X}" for byte in octets])


def _latin(text: str) -> bool:
    try:
        text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return False
    return True


def _part(text: str, kind: str, random: Random) -> bytes:
    chance = random.random()
    if text.isascii() and chance < 0.6:
        return f"Content-Type: text/{kind}; charset=us-ascii\n\n{text}".encode()
    charset = "iso-8859-1" if random.random() < 0.35 and _latin(text) else "utf-8"
    octets = text.encode(charset)
    head = f"Content-Type: text/{kind}; charset={charset}\nContent-Transfer-Encoding: "
    if chance < 0.15:
        return f"{head}8bit\n\n".encode() + octets
    if chance < 0.8:
        return f"{head}quoted-printable\n\n".encode() + binascii.b2a_qp(octets)
    return f"{head}base64\n\n".encode() + base64.encodebytes(octets)


def _html(paragraphs: list[str], random: Random) -> str:
    size = 12 + int(random.random() * 5)
    parts = [_marked(paragraph) for paragraph in paragraphs]
    if random.random() < 0.5:
        body = "".join([f"<p>{part}</p>\n" for part in parts])
    else:
        rows = "".join([f'<tr><td style="padding:{size - 6}px">{part}</td></tr>\n' for part in parts])
        body = f'<table width="600" cellpadding="0">\n{rows}</table>\n'
    head = '<meta name="viewport" content="width=device-width">' if random.random() < 0.5 else ""
    return f'<html><head>{head}</head>\n<body style="font-size:{size}px">\n{body}</body></html>\n'


def _marked(paragraph: str) -> str:
    lines = html.escape(paragraph, quote=False).replace("\n", "<br>\n")
    return _LINK.sub(r'<a href="\g<0>">\g<0></a>', lines) if "http" in lines else lines


def _multipart(kind: str, parts: list[bytes], random: Random) -> bytes:
    boundary = f"=_{random.getrandbits(56):014x}".encode()
    line = b"\n--" + boundary + b"\n"
    head = b"Content-Type: multipart/" + kind.encode() + b'; boundary="' + boundary + b'"\n'
    return head + line + line.join(parts) + b"\n--" + boundary + b"--\n"


def _file(name: str, random: Random) -> bytes:
    octets = random.randbytes(150 + int(random.random() * 700))
    kind = "application/pdf" if name.endswith("pdf") else "application/octet-stream"
    return (
        f'Content-Type: {kind}; name="{name}"\nContent-Disposition: attachment; filename="{name}"\n'
        "Content-Transfer-Encoding: base64\n\n"
    ).encode() + base64.encodebytes(octets)
