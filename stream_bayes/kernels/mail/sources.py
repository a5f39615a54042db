"""Where a mail comes from and where it points to: header fields, internet addresses, hosts and senders.

Three small views, of which a mail has a few dozen features: its structure, its senders, and the hosts in its body.
"""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.words import Blocks, Bytes
from stream_bayes.kernels.mail.decode import SLASH
from stream_bayes.kernels.mail.tokens import AT, DOT, SPREAD, THIRTY_ONE, Buckets, bucket_of, hash_of, note
from stream_bayes.typing import IntArray

STRUCTURE = 0
SENDERS = 1
HOSTS = 2
FEW_VIEWS = 3
FEW_BITS = 18
# Of one of these views a mail has no more; what comes after that is left out.
MAX_FEW = 1024
FEW_SLOTS = 4 * MAX_FEW

FROM = hash_of(b"from") | np.uint64(1)
SHORTEST_HOST = 4
LONGEST_HOST = 60
ZERO = 48
NINE = 57
# Kinds of features of one view are hashed apart.
ADDRESS = np.uint64(99)
DOMAIN = np.uint64(98)
HEADER_HOST = np.uint64(7)
BODY_HOST = np.uint64(8)


@kernel
def note_few(
    view: int,
    hashed: np.uint64,
    origin: int,
    slots: Buckets,
    mark: np.uint32,
    few: Buckets,
    origins: IntArray,
    counts: IntArray,
) -> None:
    """Append a feature to a view unless the mail has it, or is full of them, with where it comes from."""
    bucket = bucket_of(hashed, FEW_BITS)
    count = counts[view]
    if count < MAX_FEW and note(slots[view], mark, bucket, FEW_BITS):
        few[view, count] = bucket
        origins[view, count] = origin
        counts[view] = count + 1


@kernel
def name_fields(
    names: Blocks, slots: Buckets, mark: np.uint32, few: Buckets, origins: IntArray, counts: IntArray
) -> None:
    """Append the names of header fields, and pairs of names that follow each other; their origins are below zero."""
    before = np.uint64(0)
    for field in range(len(names)):
        note_few(STRUCTURE, names[field], ~field, slots, mark, few, origins, counts)
        note_few(STRUCTURE, before * THIRTY_ONE + names[field], ~field, slots, mark, few, origins, counts)
        before = names[field]


@kernel
def is_host(text: Bytes, begin: int) -> bool:
    """Whether a word that begins here is the domain of an address or the host of a link."""
    if begin < 2:
        return False
    return bool(text[begin - 1] == AT or (text[begin - 1] == SLASH and text[begin - 2] == SLASH))


@kernel
def address_at(text: Bytes, begin: int, end: int) -> np.int64:
    """The internet address that stands here as four numbers with dots; -1 if none does."""
    value = np.int64(0)
    part = 0
    digits = 0
    dots = 0
    for place in range(begin, end):
        byte = text[place]
        if ZERO <= byte <= NINE and digits < 3:
            part = 10 * part + byte - ZERO
            digits = digits + 1
        elif byte == DOT and digits > 0 and dots < 3:
            value = value << 8 | part & 255
            part = 0
            digits = 0
            dots = dots + 1
        else:
            return np.int64(-1)
    return value << 8 | part & 255 if dots == 3 and digits > 0 else np.int64(-1)


@kernel
def find_sources(
    text: Bytes,
    begins: IntArray,
    ends: IntArray,
    hashes: Blocks,
    field_of: IntArray,
    names: Blocks,
    slots: Buckets,
    mark: np.uint32,
    few: Buckets,
    origins: IntArray,
    counts: IntArray,
) -> None:
    """Append hosts, senders and the networks of internet addresses; their origin is the word that names them."""
    for at in range(len(begins)):
        begin = begins[at]
        word = hashes[at]
        field = names[field_of[at]]
        if is_host(text, begin):
            if not SHORTEST_HOST <= ends[at] - begin <= LONGEST_HOST:
                continue
            hashed = (word ^ np.uint64(text[begin - 1])) + (BODY_HOST if field == 0 else HEADER_HOST)
            note_few(STRUCTURE, hashed, at, slots, mark, few, origins, counts)
            if field == 0:
                note_few(HOSTS, hashed, at, slots, mark, few, origins, counts)
            elif field == FROM and text[begin - 1] == AT and at > 0:
                sender = hashes[at - 1] * THIRTY_ONE + word + ADDRESS
                note_few(SENDERS, sender, at, slots, mark, few, origins, counts)
                note_few(SENDERS, word + DOMAIN, at, slots, mark, few, origins, counts)
        elif field != 0 and ZERO <= text[begin] <= NINE:
            address = address_at(text, begin, ends[at])
            for shift in range(0, 24, 8):
                hashed = np.uint64(address >> shift) * SPREAD + np.uint64(shift)
                if address >= 0:
                    note_few(STRUCTURE, hashed, at, slots, mark, few, origins, counts)
