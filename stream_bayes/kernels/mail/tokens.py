"""Tokens of a mail, as hashes: words and pairs of words, byte n-grams, and tokens of its header.

Each feature is a 64-bit hash, folded into a bucket and kept once a mail. Which were kept is looked up in a table of
slots, each a bucket and the mark of the mail that put it there, so that nothing is cleared between mails.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.words import GOLDEN, Bytes

Buckets = NDArray[np.uint32]

OFFSET = np.uint64(0xCBF29CE484222325)  # of FNV-1a
PRIME = np.uint64(0x100000001B3)
SPREAD = np.uint64(0xD6E8FEB86659FD93)
THIRTY_ONE = np.uint64(31)
# A mail made to fill one place of the table would else cost the square of its length.
MAX_PROBES = 64

AT = 64
DASH = np.uint8(ord("-"))
DOT = np.uint8(ord("."))
UNDERSCORE = np.uint8(ord("_"))
DOLLAR = np.uint8(ord("$"))
BANG = np.uint8(ord("!"))
TICK = np.uint8(ord("'"))


def hash_of(name: bytes) -> np.uint64:
    """FNV-1a."""
    hashed = int(OFFSET)
    for byte in name:
        hashed = (hashed ^ byte) * int(PRIME) % 2**64
    return np.uint64(hashed)


@kernel
def bucket_of(hashed: np.uint64, bits: int) -> np.uint32:
    """The highest bits of a multiplicative hash."""
    return np.uint32(((hashed ^ (hashed >> np.uint64(32))) * GOLDEN) >> np.uint64(64 - bits))


@kernel
def note(slots: Buckets, mark: np.uint32, bucket: np.uint32, bits: int) -> bool:
    """Whether the mail has a feature for the first time; from now on it has it."""
    # Unsigned, since numba looks whether an index is below zero when it could be.
    slot = np.uint64(bucket) & np.uint64(len(slots) - 1)
    entry = mark | bucket
    difference = slots[slot] ^ entry
    # Either it is there (0) or what is there is another mail's (the mark differs too). One comparison for both, since
    # which is unpredictable; what is there may be written again.
    if np.uint32(difference - np.uint32(1)) >= np.uint32((1 << bits) - 1):
        slots[slot] = entry
        return bool(difference != 0)
    return _note_elsewhere(slots, mark, entry, slot, bits)


@kernel
def _note_elsewhere(slots: Buckets, mark: np.uint32, entry: np.uint32, slot: np.uint64, bits: int) -> bool:
    for _ in range(MAX_PROBES):
        slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
        if slots[slot] == entry:
            return False
        if (slots[slot] ^ mark) >> np.uint32(bits) != 0:
            slots[slot] = entry
            return True
    return False


@kernel
def fold_mail(text: Bytes, folded: Bytes) -> None:
    """Letters in lower case, what else stands in words as it is, bytes beyond ASCII too; a zero for anything else."""
    for i in range(len(text)):
        byte = text[i]
        lower = byte | np.uint8(0x20)
        letter = np.uint8(lower - np.uint8(0x61)) < np.uint8(26)
        digit = np.uint8(byte - np.uint8(0x30)) < np.uint8(10)
        joint = (
            (byte == DASH) | (byte == DOT) | (byte == UNDERSCORE) | (byte == DOLLAR) | (byte == BANG) | (byte == TICK)
        )
        kept = digit | joint | (byte >= np.uint8(0x80))
        folded[i] = lower if letter else byte if kept else np.uint8(0)
