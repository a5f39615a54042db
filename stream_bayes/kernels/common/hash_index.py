"""An open-addressing table from 64-bit hashes to columns.

Probes of different names do not wait for each other, so their cache misses overlap; a dict follows one pointer after
the other (measured: 17 us instead of 58 for the 200 words of a fresh mail, vocabulary 30,000).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import IntArray

SMALLEST_TABLE = 1024


class HashIndex(NamedTuple):
    """Slots, a power of two of them; an empty one has column -1."""

    hashes: IntArray
    columns: IntArray


@kernel
def find_hashes(wanted: IntArray, index: HashIndex, found: IntArray) -> None:
    """Write the column of each hash, -1 for those not there."""
    mask = len(index.hashes) - 1
    for place in range(len(wanted)):
        slot = wanted[place] & mask
        while index.columns[slot] >= 0 and index.hashes[slot] != wanted[place]:
            slot = (slot + 1) & mask
        found[place] = index.columns[slot]


@kernel
def insert_hashes(new: IntArray, first_column: int, index: HashIndex) -> bool:
    """Add hashes with the columns from `first_column` on; False when one of them was there already."""
    mask = len(index.hashes) - 1
    for place in range(len(new)):
        slot = new[place] & mask
        while index.columns[slot] >= 0:
            if index.hashes[slot] == new[place]:
                return False
            slot = (slot + 1) & mask
        index.hashes[slot] = new[place]
        index.columns[slot] = first_column + place
    return True


def empty_index(count: int) -> HashIndex:
    """Room for `count` names, at most half full."""
    size = SMALLEST_TABLE
    while size < 2 * count:
        size *= 2
    return HashIndex(np.zeros(size, dtype=np.int64), np.full(size, -1, dtype=np.int64))
