"""What can happen to a mail on its way, or be done to it on purpose."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

# How long what is put in or taken out may be; a mutated mail stays about as long as it was.
_LONGEST = 200


def mutated(mails: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """This number of mails, each with one to three mutations."""
    rng = random.Random(seed)
    for number in range(count):
        raw = mails[number % len(mails)]
        for _ in range(rng.randrange(1, 4)):
            raw = rng.choice(MUTATIONS)(raw, mails, rng)
        yield raw


def flip_bits(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    changed = bytearray(raw)
    for _place in range(min(len(raw), 8)):
        changed[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut_short(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def cut_out(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    return raw[:place] + raw[place + rng.randrange(_LONGEST) :]


def double(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    return raw[: place + rng.randrange(_LONGEST)] + raw[place:]


def splice(raw: bytes, mails: Sequence[bytes], rng: random.Random) -> bytes:
    other = mails[rng.randrange(len(mails))]
    return raw[: rng.randrange(len(raw) + 1)] + other[rng.randrange(len(other) + 1) :]


def insert(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    return raw[:place] + rng.choice(PIECES) + raw[place:]


def insert_noise(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    return raw[:place] + rng.randbytes(rng.randrange(_LONGEST)) + raw[place:]


def break_lines_otherwise(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    length = rng.randrange(1000)
    changed = raw[place : place + length].replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\r", b"\n\n", b"", b"\x00")))
    return raw[:place] + changed + raw[place + length :]


def flood_header(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    lines = b"".join(b"X-%d: %d.%d.1.2 a@b%d.example\n" % (n % 7, n, rng.randrange(300), n) for n in range(20))
    return lines + raw


def take_header_off(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    return raw[raw.find(b"\n\n", rng.randrange(len(raw) + 1)) + rng.randrange(3) :]


def leave_base64_open(raw: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    return raw + b"\n--xyz12\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + b"QUJD" * 50


# What the decoder and the features look for, whole and in halves.
PIECES = (
    *(
        b"\x00",
        b"\x00" * 50,
        b"\n\n",
        b"\r\n\r\n",
        b"\r",
        b"=",
        b"=\n",
        b"=3",
        b"=3D=ZZ",
        b"====",
        b"\n--",
        b"\n-----\n",
    ),
    *(b"\nContent-", b"\n--abcde\nContent-Type: image/gif\n", b"\nContent-Transfer-Encoding: base64\n\n", b"\nFrom "),
    *(b"Content-Transfer-Encoding: quoted-printable\n", b"\n \n\t", b"From: @\n", b"From: a@b.c@d.e", b"@@@@", b"////"),
    *(b"http://", b"http://1.2.3.4", b"\nReceived: 1.2.3.4.5", b"[999.999.999.999]", b"...", b"\xff\xfe", b"\x80" * 9),
    *(
        b"a" * 61,
        b"a " * 99,
        b"http://" * 20,
        b":" * 70,
        b"x" * 80 + b": y\n",
        b"\n\n--\n--\n",
        b"=?utf-8?B?",
        b"\x1b$B",
    ),
)
Mutation = Callable[[bytes, Sequence[bytes], random.Random], bytes]
MUTATIONS: tuple[Mutation, ...] = (
    *(flip_bits, cut_short, cut_out, double, splice, insert, insert, insert_noise),
    *(break_lines_otherwise, flood_header, take_header_off, leave_base64_open),
)
