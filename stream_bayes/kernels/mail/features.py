"""From an arena of raw mails to the features of each, in one pass.

The features of a mail stand in five views, one after the other: byte n-grams of the head and the tail of its text;
words and pairs of words, those of a header field apart from those of others; its structure, which is names of header
fields, pairs of them, internet addresses and hosts; its senders; and the hosts its body points to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.words import CHUNK, GOLDEN, MARGIN, Blocks, Bytes, find_words, hash_each, with_space
from stream_bayes.kernels.mail.decode import MAX_TEXT, RAW_A_BYTE, decode_mail
from stream_bayes.kernels.mail.header import MAX_FIELDS, assign_fields, split_header
from stream_bayes.kernels.mail.sources import FEW_BITS, FEW_SLOTS, FEW_VIEWS, MAX_FEW, find_sources, name_fields
from stream_bayes.kernels.mail.tokens import SPREAD, THIRTY_ONE, Buckets, bucket_of, fold_mail, note
from stream_bayes.typing import IntArray

GRAMS = 0
WORDS = 1
VIEWS = 2 + FEW_VIEWS
# What one mail can have: a word takes two bytes, and a pair one word.
MAX_FEATURES = MAX_TEXT + 1
MAX_WORDS = MAX_TEXT // 2 + 64
# A quarter of the slots in use is filled at most; a short mail uses few of them, which stay in the fastest cache.
SLOTS = 2 ** (4 * MAX_TEXT - 1).bit_length()
FEWEST_SLOTS = 2048

GRAM = 5
GRAM_MASK = np.uint64(2 ** (8 * GRAM) - 1)
WORD = np.uint64(12345)


class Shape(NamedTuple):
    """Which features are wanted, and of how much of the text."""

    bits: int
    """Grams and words have 2^bits buckets, the other views 2^FEW_BITS."""
    head: int
    tail: int
    """Bytes at both ends of the text whose n-grams are taken."""
    text: int
    """Bytes whose words are taken."""
    pairs: bool
    """Whether pairs of words are."""
    sources: bool
    """Whether structure, senders and hosts are."""


class Scratch(NamedTuple):
    """Scratch arrays that one mail after the other is written to."""

    text: Bytes
    blocks: Blocks
    """The text folded, eight bytes each."""
    begins: IntArray
    ends: IntArray
    hashes: Blocks
    """The hashes of each word."""
    fields: IntArray
    """Beginning, colon and end of each header field."""
    field_hashes: Blocks
    """The hash of the name of each header field; the last is 0, for the body."""
    field_of: IntArray
    """The field of each word."""
    slots: Buckets
    few_slots: Buckets
    grams: Buckets
    words: Buckets
    word_origins: IntArray
    few: Buckets
    few_origins: IntArray
    counts: IntArray
    """Numbers of features, by view."""
    stamps: IntArray
    """How many bits the entries of the slots leave to the stamp, and the stamp of the last mail."""


def new_scratch() -> Scratch:
    """For any number of mails."""
    return Scratch(
        text=np.empty(MAX_TEXT, np.uint8),
        blocks=np.zeros((MAX_TEXT + MARGIN) // 8 + 1, np.uint64),
        begins=np.empty(MAX_WORDS, np.int64),
        ends=np.empty(MAX_WORDS, np.int64),
        hashes=np.empty(MAX_WORDS, np.uint64),
        fields=np.empty((MAX_FIELDS, 3), np.int64),
        field_hashes=np.zeros(MAX_FIELDS + 1, np.uint64),
        field_of=np.empty(MAX_WORDS, np.int64),
        slots=np.zeros((2, SLOTS), np.uint32),
        few_slots=np.zeros((FEW_VIEWS, FEW_SLOTS), np.uint32),
        grams=np.empty(MAX_FEATURES, np.uint32),
        words=np.empty(MAX_FEATURES, np.uint32),
        word_origins=np.empty(MAX_FEATURES, np.int64),
        few=np.empty((FEW_VIEWS, MAX_FEW), np.uint32),
        few_origins=np.empty((FEW_VIEWS, MAX_FEW), np.int64),
        counts=np.zeros(VIEWS, np.int64),
        stamps=np.zeros(2, np.int64),
    )


@kernel
def find_all(text: Bytes, blocks: Blocks, begins: IntArray, ends: IntArray, hashes: Blocks, longer: IntArray) -> int:
    """Write the beginnings, ends and hashes of the words of a text; returns how many there are."""
    folded = blocks.view(np.uint8)
    fold_mail(text, folded[: len(text)])
    folded[len(text) : len(text) + MARGIN] = 0
    opened = 0
    closed = 0
    for first in range(0, (len(text) >> 3) + 1, CHUNK):
        opened, ended = find_words(blocks, first, len(text), begins, ends[closed:], opened)
        closed += ended
    hash_each(blocks, begins, ends, closed, hashes, longer)
    return closed


@kernel
def note_words(
    hashes: Blocks,
    field_of: IntArray,
    field_hashes: Blocks,
    pairs: bool,
    slots: Buckets,
    mark: np.uint32,
    bits: int,
    features: Buckets,
    origins: IntArray,
) -> int:
    """Append the words, each with its field, and the pairs of them that stand in one field; returns how many there are.

    `origins` says which word a feature ends with, and by its sign whether it is a pair.
    """
    before = np.uint64(0)
    before_field = -1
    count = 0
    for at in range(len(hashes)):
        field = field_of[at]
        word = hashes[at] ^ field_hashes[field] * GOLDEN
        bucket = bucket_of(word + WORD, bits)
        features[count] = bucket
        origins[count] = at
        count += note(slots, mark, bucket, bits)
        if pairs and field == before_field:
            bucket = bucket_of((before * THIRTY_ONE + word) * SPREAD + WORD, bits)
            features[count] = bucket
            origins[count] = ~at
            count += note(slots, mark, bucket, bits)
        before = word
        before_field = field
    return count


@kernel
def note_grams(text: Bytes, slots: Buckets, mark: np.uint32, bits: int, features: Buckets, count: int) -> int:
    """Append the byte n-grams of a run of text; returns how many there are."""
    gram = np.uint64(0)
    for place in range(min(GRAM - 1, len(text))):
        gram = gram << np.uint64(8) | np.uint64(text[place])
    for place in range(GRAM - 1, len(text)):
        gram = (gram << np.uint64(8) | np.uint64(text[place])) & GRAM_MASK
        bucket = bucket_of(gram * SPREAD + np.uint64(GRAM), bits)
        features[count] = bucket
        count += note(slots, mark, bucket, bits)
    return count


@kernel
def slots_for(features: int) -> int:
    """Four times as many as a mail may fill, as a power of two."""
    slots = FEWEST_SLOTS
    while slots < 4 * features:
        slots *= 2
    return slots


@kernel
def next_stamp(scratch: Scratch, bits: int) -> int:
    """The number that marks the entries of the next mail; when all numbers are used up, the slots are cleared."""
    if scratch.stamps[0] != bits or scratch.stamps[1] + 1 == 1 << (32 - max(bits, FEW_BITS)):
        scratch.slots[:] = 0
        scratch.few_slots[:] = 0
        scratch.stamps[0] = bits
        scratch.stamps[1] = 0
    scratch.stamps[1] += 1
    return int(scratch.stamps[1])


@kernel
def read_mail(raw: Bytes, shape: Shape, scratch: Scratch) -> None:
    """Write all features of one mail."""
    room = MAX_TEXT if shape.tail > 0 else max(shape.head, shape.text)
    length, header_end = decode_mail(raw[: RAW_A_BYTE * room], scratch.text[:room])
    text = scratch.text[:length]
    counts = scratch.counts
    stamp = next_stamp(scratch, shape.bits)
    mark = np.uint32(stamp << shape.bits)
    few_mark = np.uint32(stamp << FEW_BITS)
    counts[:] = 0
    slots = scratch.slots[GRAMS, : slots_for(shape.head + shape.tail)]
    count = note_grams(text[: shape.head], slots, mark, shape.bits, scratch.grams, 0)
    tail = text[max(shape.head, length - shape.tail) :]
    counts[GRAMS] = note_grams(tail, slots, mark, shape.bits, scratch.grams, count)
    text = text[: shape.text]
    begins = scratch.begins
    ends = scratch.ends
    hashes = scratch.hashes
    field_of = scratch.field_of
    words = find_all(text, scratch.blocks, begins, ends, hashes, field_of)
    fields = split_header(text, min(header_end, len(text)), scratch.fields, scratch.field_hashes)
    words = assign_fields(scratch.fields[:fields], begins, ends, hashes, words, field_of)
    names = scratch.field_hashes
    hashes = hashes[:words]
    field_of = field_of[:words]
    slots = scratch.slots[WORDS, : slots_for(2 * words)]
    counts[WORDS] = note_words(
        hashes, field_of, names, shape.pairs, slots, mark, shape.bits, scratch.words, scratch.word_origins
    )
    if shape.sources:
        few = scratch.few_slots, few_mark, scratch.few, scratch.few_origins, counts[2:]
        name_fields(names[:fields], *few)
        find_sources(text, begins[:words], ends, hashes, field_of, names, *few)


@kernel
def read_mails(arena: Bytes, starts: IntArray, shape: Shape, scratch: Scratch) -> tuple[IntArray, Buckets]:
    """The features of each mail, view after view: where each view begins, and their buckets."""
    rows = len(starts) - 1
    view_starts = np.zeros(rows * VIEWS + 1, np.int64)
    buckets = np.empty(len(arena) // 2 + 1024, np.uint32)
    filled = 0
    for row in range(rows):
        read_mail(arena[starts[row] : starts[row + 1]], shape, scratch)
        buckets = with_space(buckets, filled, scratch.counts.sum())
        for view in range(VIEWS):
            count = scratch.counts[view]
            source = scratch.grams if view == GRAMS else scratch.words if view == WORDS else scratch.few[view - 2]
            buckets[filled : filled + count] = source[:count]
            filled += count
            view_starts[row * VIEWS + view + 1] = filled
    return view_starts, buckets[:filled]
