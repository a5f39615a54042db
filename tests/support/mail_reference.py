"""The features of a mail in plain Python, as the docstrings of the kernels describe them: slow, and easy to believe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stream_bayes.kernels.mail.features import Shape
from stream_bayes.mail.parse.parsed_mail import decode_sections

GOLDEN = 0x9E3779B97F4A7C15
SPREAD = 0xD6E8FEB86659FD93
WORD = re.compile(rb"[A-Za-z0-9._$!'\x80-\xff-]+")
NAME = re.compile(rb"([!-9;-~]{1,64}):")
ADDRESS = re.compile(rb"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})")
FEW_BITS = 18
MAX_FEW = 1024
MAX_FIELDS = 1024


class Word(NamedTuple):
    begin: int
    end: int
    hashed: int
    field: int
    """-1 in the body."""


def bucket(hashed: int, bits: int) -> int:
    hashed %= 2**64
    return (hashed ^ hashed >> 32) * GOLDEN % 2**64 >> 64 - bits


def distinct(values: Iterable[int], most: int) -> list[int]:
    return list(dict.fromkeys(values))[:most]


def word_hash(word: bytes) -> int:
    state = 0
    for begin in range(0, len(word), 8):
        state = (int.from_bytes(word[begin : begin + 8], "little") ^ state) * GOLDEN % 2**64
        state ^= state >> 32
    return state


def name_hash(name: bytes) -> int:
    hashed = 0xCBF29CE484222325
    for byte in name.lower():
        hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
    return hashed | 1


def header_fields(header: bytes) -> list[tuple[int, int, int]]:
    """Where each begins, has its colon (an envelope: begins) and ends."""
    begins: list[int] = []
    place = 0
    for line in re.findall(rb"[^\n]*\n|[^\n]+", header):
        if not begins or (line[:1] not in b" \t" and len(begins) < MAX_FIELDS):
            begins.append(place)
        place += len(line)
    fields = []
    for begin, end in zip(begins, [*begins[1:], len(header)], strict=False):
        match = NAME.match(header, begin, end)
        fields.append((begin, match.end() - 1 if match else begin, end))
    return fields


def words_of(text: bytes, fields: list[tuple[int, int, int]]) -> Iterator[Word]:
    """Words of the body and of the values of fields, in order."""
    header_end = fields[-1][2] if fields else 0
    for match in WORD.finditer(text):
        field = -1
        if match.start() < header_end:
            field = next(at for at, (_, _, end) in enumerate(fields) if match.start() < end)
            if match.start() < fields[field][1]:
                continue
        yield Word(match.start(), match.end(), word_hash(match.group().lower()), field)


def gram_features(text: bytes, shape: Shape) -> Iterator[int]:
    for run in (text[: shape.head], text[max(shape.head, len(text) - shape.tail) :]):
        for place in range(len(run) - 4):
            yield bucket(int.from_bytes(run[place : place + 5], "big") * SPREAD + 5, shape.bits)


def word_features(words: list[Word], names: list[int], shape: Shape) -> Iterator[int]:
    before: tuple[int, int] | None = None
    for word in words:
        marked = word.hashed ^ (names[word.field] if word.field >= 0 else 0) * GOLDEN % 2**64
        yield bucket(marked + 12345, shape.bits)
        if shape.pairs and before is not None and before[0] == word.field:
            yield bucket((before[1] * 31 + marked) * SPREAD + 12345, shape.bits)
        before = word.field, marked


def source_features(text: bytes, words: list[Word], names: list[int]) -> Iterator[tuple[int, int]]:
    """The view (structure, senders, hosts: 2, 3, 4) and the hash of each."""
    for before, name in zip([0, *names], names, strict=False):
        yield from ((2, name), (2, before * 31 + name))
    for at, word in enumerate(words):
        sign = text[max(word.begin - 1, 0) : word.begin] if word.begin >= 2 else b""
        if sign == b"@" or text[max(word.begin - 2, 0) : word.begin] == b"//":
            yield from host_features(words, at, sign[0], names)
        elif word.field >= 0 and (match := ADDRESS.fullmatch(text, word.begin, word.end)):
            number = sum((int(part) & 255) << shift for part, shift in zip(match.groups(), (24, 16, 8, 0), strict=True))
            yield from ((2, (number >> shift) * SPREAD + shift) for shift in (0, 8, 16))


def host_features(words: list[Word], at: int, sign: int, names: list[int]) -> Iterator[tuple[int, int]]:
    word = words[at]
    if not 4 <= word.end - word.begin <= 60:
        return
    hashed = (word.hashed ^ sign) + (7 if word.field >= 0 else 8)
    yield 2, hashed
    if word.field < 0:
        yield 4, hashed
    elif names[word.field] == name_hash(b"from") and sign == ord("@") and at > 0:
        yield 3, words[at - 1].hashed * 31 + word.hashed + 99
        yield 3, word.hashed + 98


def reference_features(raw: bytes, shape: Shape) -> list[list[int]]:
    """The buckets of each view."""
    header, body = decode_sections(raw)
    text = header + body
    kept = (header + body)[: shape.text]
    fields = header_fields(header[: shape.text])
    names = [name_hash(kept[begin:colon]) for begin, colon, _ in fields]
    words = list(words_of(kept, fields))
    found = list(source_features(kept, words, names)) if shape.sources else []
    few = [
        distinct((bucket(value, FEW_BITS) for view, value in found if view == wanted), MAX_FEW) for wanted in (2, 3, 4)
    ]
    everything = 2**63
    grams = distinct(gram_features(text, shape), everything)
    return [grams, distinct(word_features(words, names, shape), everything), *few]
