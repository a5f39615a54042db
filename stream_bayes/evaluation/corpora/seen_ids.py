"""A set of ids in bounded memory."""

from __future__ import annotations

import hashlib
from array import array
from typing import Final

MAX_IDS: Final = 1 << 23
_FIRST_SLOTS: Final = 1 << 10


class SeenIds:
    """A hash set of ids by open addressing: 8 bytes of a hash for each id, at most half of the table in use.

    It takes at most 32 bytes for an id, and half as much again while it grows. The probability of a collision among n
    ids is n^2 / 2^65: 3e-8 for a million. When it holds `most` ids (8 million by default, 128 MiB) it starts empty
    again: an older duplicate is then not found.

    Parameters
    ----------
    most
        The capacity; a power of two.

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
        """Add an id; returns whether it was new."""
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
