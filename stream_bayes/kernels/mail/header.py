"""The header of a mail: its fields, and which of its words stand in which."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.words import Blocks, Bytes
from stream_bayes.kernels.mail.decode import NAME, SPACE, TAB, line_end, name_end
from stream_bayes.kernels.mail.tokens import OFFSET, PRIME
from stream_bayes.typing import IntArray

# Those beyond count as one field with the last.
MAX_FIELDS = 1024
BEGIN = 0
COLON = 1
END = 2


@kernel
def name_hash(text: Bytes, begin: int, end: int) -> np.uint64:
    """The hash of the name of a header field; never that of the body, 0."""
    hashed = OFFSET
    for place in range(begin, end):
        hashed = (hashed ^ np.uint64(NAME[text[place]])) * PRIME
    return hashed | np.uint64(1)


@kernel
def split_header(text: Bytes, end: int, fields: IntArray, hashes: Blocks) -> int:
    """Write where each field begins, has its colon and ends, and the hash of its name; returns how many there are."""
    place = 0
    count = 0
    while place < end:
        begin = place
        place = min(line_end(text, place, end) + 1, end)
        while place < end and (text[place] == SPACE or text[place] == TAB or count == MAX_FIELDS - 1):
            place = min(line_end(text, place, end) + 1, end)
        # A line of the envelope has no colon: its name is empty.
        colon = max(name_end(text, begin, place), begin)
        fields[count, BEGIN] = begin
        fields[count, COLON] = colon
        fields[count, END] = place
        hashes[count] = name_hash(text, begin, colon)
        count += 1
    hashes[count] = 0
    return count


@kernel
def assign_fields(
    fields: IntArray, begins: IntArray, ends: IntArray, hashes: Blocks, words: int, field_of: IntArray
) -> int:
    """Write the field of each word, that after all fields for words of the body; returns how many words are left.

    The names of fields are no words, and are taken out.
    """
    kept = 0
    field = 0
    for word in range(words):
        while field < len(fields) and begins[word] >= fields[field, END]:
            field += 1
        begins[kept] = begins[word]
        ends[kept] = ends[word]
        hashes[kept] = hashes[word]
        field_of[kept] = field
        kept += field == len(fields) or begins[word] >= fields[field, COLON]
    return kept
