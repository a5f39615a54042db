"""Which ids have been seen, in bounded memory."""

from __future__ import annotations

import hashlib
from array import array
from typing import Final

MAX_IDS: Final = 1 << 23
_FIRST_SLOTS: Final = 1 << 10


class SeenIds:
    """A set of ids that keeps 8 bytes of a hash for each, at most half of its table in use.

    So it takes at most 32 bytes an id, and while a larger table is filled from the smaller one, half as much again. Two
    different ids are taken for one with a chance of n^2 / 2^65 among n of them: 3e-8 in a million. When it holds
    `most` ids (8 million by default, 128 MiB) it starts over: a duplicate further back than that may pass.

    Parameters
    ----------
    most
        How many ids to hold; a power of two.

    Examples
    --------
    >>> seen = SeenIds()
    >>> [seen.add(id) for id in ("a", "b", "a")]
    [True, True, False]
    """

    def __init__(self, most: int = MAX_IDS) -> None:
        self._most = most
        self._held = 0
        self._first_slots = min(_FIRST_SLOTS, 2 * most)
        self._clear(self._first_slots)

    def __contains__(self, id: str) -> bool:  # noqa: A002
        number = _number(id)
        table = self._table
        last = len(self._table) - 1
        slot = number & last
        while table[slot] and table[slot] != number:
            slot = (slot + 1) & last
        return table[slot] == number

    def add(self, id: str) -> bool:  # noqa: A002
        """Whether the id is new; from now on it is not."""
        if not self._put(_number(id)):
            return False
        self._held += 1
        if 2 * self._held >= len(self._table):
            self._grow()
        return True

    def _put(self, number: int) -> bool:
        table = self._table
        last = len(self._table) - 1
        slot = number & last
        while table[slot]:  # 0 is an empty slot
            if table[slot] == number:
                return False
            slot = (slot + 1) & last
        table[slot] = number
        return True

    def _grow(self) -> None:
        if self._held >= self._most:
            self._clear(self._first_slots)
            return
        numbers = self._table
        held = self._held
        self._clear(2 * len(numbers))
        self._held = held
        for number in filter(None, numbers):
            self._put(number)

    def _clear(self, slots: int) -> None:
        self._table = array("Q", bytes(8 * slots))
        self._held = 0


def _number(id: str) -> int:  # noqa: A002
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
