"""Damage to mails, as about one in a hundred mails of a real mailbox has it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Damage = Callable[[bytes, Random], bytes]


def _cut(raw: bytes, random: Random) -> bytes:
    """Truncate the mail."""
    return raw[: len(raw) // 3 + int(random.random() * len(raw) / 2)]


def _without_a_header(raw: bytes, random: Random) -> bytes:
    """Remove From and Subject, or all headers."""
    head, _, body = raw.partition(b"\n\n")
    if random.random() < 0.3:
        return body
    lines = [line for line in head.split(b"\n") if not line.startswith((b"From:", b"Subject:"))]
    return b"\n".join(lines) + b"\n\n" + body


def _broken_parts(raw: bytes, _: Random) -> bytes:
    """Change the boundary in the header, and name an unknown transfer encoding."""
    broken = raw.replace(b'boundary="=_', b'boundary="=x', 1)
    return broken.replace(b"Transfer-Encoding: quoted-printable", b"Transfer-Encoding: quoted-printed", 1)


def _wrong_charset(raw: bytes, random: Random) -> bytes:
    """Name an unknown charset or a wrong one."""
    other = b"charset=x-unknown-7" if random.random() < 0.5 else b"charset=utf-16"
    for charset in (b"charset=utf-8", b"charset=iso-8859-1", b"charset=us-ascii"):
        raw = raw.replace(charset, other)
    return raw


def _stray_bytes(raw: bytes, random: Random) -> bytes:
    """Insert random bytes and zeros."""
    for _ in range(3):
        place = int(random.random() * len(raw))
        raw = raw[:place] + random.randbytes(1 + int(random.random() * 12)) + b"\x00" + raw[place:]
    return raw


def _line_ends(raw: bytes, random: Random) -> bytes:
    """Insert a header line without a colon, and change the line ends of the body."""
    head, _, body = raw.partition(b"\n\n")
    end = b"\r" if random.random() < 0.5 else b"\r\r\n"
    return head.replace(b"\n", b"\nthis is no header\n", 1) + b"\n\n" + body.replace(b"\n", end)


DAMAGES: tuple[Damage, ...] = (_cut, _without_a_header, _broken_parts, _wrong_charset, _stray_bytes, _line_ends)


def damage_mail(raw: bytes, random: Random) -> bytes:
    """Return the mail with one kind of damage, drawn at random."""
    return random.choice(DAMAGES)(raw, random)
