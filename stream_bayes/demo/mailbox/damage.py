"""Mails as they should not be: what some hundredth of the mails of any real mailbox are like."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Damage = Callable[[bytes, Random], bytes]


def _cut(raw: bytes, random: Random) -> bytes:
    """Ends in the middle."""
    return raw[: len(raw) // 3 + int(random.random() * len(raw) / 2)]


def _without_a_header(raw: bytes, random: Random) -> bytes:
    """From and Subject are missing, or the whole head."""
    head, _, body = raw.partition(b"\n\n")
    if random.random() < 0.3:
        return body
    lines = [line for line in head.split(b"\n") if not line.startswith((b"From:", b"Subject:"))]
    return b"\n".join(lines) + b"\n\n" + body


def _broken_parts(raw: bytes, _: Random) -> bytes:
    """The boundary of the head is not the one in the body, and the encoding is none that exists."""
    broken = raw.replace(b'boundary="=_', b'boundary="=x', 1)
    return broken.replace(b"Transfer-Encoding: quoted-printable", b"Transfer-Encoding: quoted-printed", 1)


def _wrong_charset(raw: bytes, random: Random) -> bytes:
    """Says a charset that does not exist, or that the text is not in."""
    other = b"charset=x-unknown-7" if random.random() < 0.5 else b"charset=utf-16"
    for charset in (b"charset=utf-8", b"charset=iso-8859-1", b"charset=us-ascii"):
        raw = raw.replace(charset, other)
    return raw


def _stray_bytes(raw: bytes, random: Random) -> bytes:
    """Bytes that nobody wrote: in the head, in the text, zeros among them."""
    for _ in range(3):
        place = int(random.random() * len(raw))
        raw = raw[:place] + random.randbytes(1 + int(random.random() * 12)) + b"\x00" + raw[place:]
    return raw


def _line_ends(raw: bytes, random: Random) -> bytes:
    """A head whose second line has no colon, and lines of the body that end in other ways."""
    head, _, body = raw.partition(b"\n\n")
    end = b"\r" if random.random() < 0.5 else b"\r\r\n"
    return head.replace(b"\n", b"\nthis is no header\n", 1) + b"\n\n" + body.replace(b"\n", end)


DAMAGES: tuple[Damage, ...] = (_cut, _without_a_header, _broken_parts, _wrong_charset, _stray_bytes, _line_ends)


def damaged(raw: bytes, random: Random) -> bytes:
    """The mail, broken in one of these ways."""
    return random.choice(DAMAGES)(raw, random)
