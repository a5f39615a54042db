"""Which column a feature name stands for: kept by name, or hashed into a fixed number of buckets."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence, Set
from itertools import islice, repeat
from typing import Any, NoReturn

import numpy as np

from stream_bayes.errors import InputError, ParameterError, SnapshotDamaged, shown
from stream_bayes.features.values import MAX_BUCKETS, FeatureName, IntArray, check_name
from stream_bayes.kernels.common.hash_index import HashIndex, empty_index, find_hashes, insert_hashes

# Below this many names a dict is faster than the call of a kernel.
FEW = 16

ByteArray = np.ndarray[Any, np.dtype[np.uint8]]


class Vocabulary:
    """Feature names in the order they were first learned; a name's place is its column.

    >>> vocabulary = Vocabulary()
    >>> vocabulary.register(["free", "money"]), vocabulary.lookup(["money", "lunch"])
    (array([0, 1]), array([ 1, -1]))
    """

    def __init__(self) -> None:
        self._columns: dict[FeatureName, int] = {}
        # The same, by Python's hash of the name, while all names are strings whose hashes differ; None otherwise.
        # Hashes have 64 bits and a salt that only this process knows: of a million words, that a new one is taken for
        # another happens once in 10^13. They are no part of the state, and no process inherits them.
        self._index: HashIndex | None = empty_index(0)
        # Features that came as texts: {"sender": "bob"} is kept as ("sender", "bob"), and a plain
        # "sender" must not come beside it, since a feature does not change its type in mid-stream.
        self._texts: frozenset[FeatureName] = frozenset()

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def names(self) -> list[FeatureName]:
        """All names, by column."""
        return list(self._columns)

    @property
    def texts(self) -> frozenset[FeatureName]:
        """Features that came as texts."""
        return self._texts

    def lookup(self, names: Sequence[FeatureName]) -> IntArray:
        """Columns of the names, -1 for those never registered."""
        if self._index is None or len(names) < FEW:
            return np.fromiter(map(self._columns.get, names, repeat(-1)), np.int64, len(names))
        found = np.empty(len(names), dtype=np.int64)
        find_hashes(np.fromiter(map(hash, names), np.int64, len(names)), self._index, found)
        return found

    def check(self, names: Sequence[FeatureName], columns: IntArray, texts: Set[FeatureName]) -> None:
        """Refuse names that could not be registered; nothing changes either way."""
        for place in np.flatnonzero(columns < 0).tolist():
            if check_name(names[place]) in self._texts:
                refuse_change(names[place], "a text", "a number")
        for name in texts:
            if name in self._columns:
                refuse_change(name, "a number", "a text")

    def register(self, names: Sequence[FeatureName], texts: Set[FeatureName] = frozenset()) -> IntArray:
        """Columns of the names, the new ones appended; `check` has let them pass."""
        columns = self._columns
        before = len(self._columns)
        self._texts |= texts
        for name in names:
            if name not in columns:
                columns[check_name(name)] = len(columns)
        self._extend_index(before)
        return self.lookup(names)

    def _extend_index(self, known: int) -> None:
        """Add the names from a column on, or give the index up when it could not tell names apart."""
        new = list(islice(self._columns, known, None))
        if self._index is None or not all(type(name) is str for name in new):
            self._index = None
            return
        if 2 * len(self._columns) > len(self._index.hashes):
            self._index = empty_index(2 * len(self._columns))
            known = 0
            new = list(self._columns)
        hashes = np.fromiter(map(hash, new), np.int64, len(new))
        if not insert_hashes(hashes, known, self._index):
            self._index = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_columns": self._columns, "_texts": self._texts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._index = empty_index(0)
        self._extend_index(0)

    def truncate(self, count: int, texts: Set[FeatureName] | None = None) -> None:
        """Keep only the first names, and of the features that came as texts only these."""
        kept = self._texts if texts is None else frozenset(texts)
        self.__setstate__({"_columns": dict(list(self._columns.items())[:count]), "_texts": kept})

    def state(self) -> dict[str, ByteArray]:
        """The names as one arena of JSON bytes; tuples are arrays there."""
        return {"names": pack_json(self.names), "texts": pack_json(sorted(self._texts, key=repr))}

    @classmethod
    def from_state(cls, arrays: dict[str, Any]) -> Vocabulary:
        """The vocabulary that `state` described."""
        vocabulary = cls()
        names = unpack_json(arrays["names"])
        columns = {name: column for column, name in enumerate(names)}
        vocabulary.__setstate__({"_columns": columns, "_texts": frozenset(unpack_json(arrays["texts"]))})
        if len(columns) != len(names):
            message = "the snapshot names a feature twice"
            raise SnapshotDamaged(message)
        return vocabulary


class HashedVocabulary:
    """A fixed number of buckets: constant memory for an unbounded stream of names, none of them kept."""

    def __init__(self, buckets: int) -> None:
        if type(buckets) is not int or not 2 <= buckets <= MAX_BUCKETS or buckets & (buckets - 1):
            message = f"buckets must be a power of two, at least 2 and at most 2**32; got {shown(buckets)}"
            raise ParameterError(message)
        self._buckets = buckets
        self._shift = np.uint64(65 - buckets.bit_length())

    def __len__(self) -> int:
        return self._buckets

    @property
    def texts(self) -> frozenset[FeatureName]:
        """None: no types are remembered."""
        return frozenset()

    def lookup(self, names: Sequence[FeatureName]) -> IntArray:
        """Buckets of the names: the top bits of a multiplicative mix of their CRC-32."""
        sums = np.fromiter((zlib.crc32(_name_bytes(name)) for name in names), np.uint64, len(names))
        return ((sums * np.uint64(0x9E3779B97F4A7C15)) >> self._shift).astype(np.int64)

    def check(self, names: Sequence[FeatureName], columns: IntArray, texts: Set[FeatureName]) -> None:
        """Hashing takes any name that can be written down, and remembers no types."""

    def register(self, names: Sequence[FeatureName], texts: Set[FeatureName] = frozenset()) -> IntArray:
        """Look up the names as `lookup` does: every bucket is there from the start."""
        return self.lookup(names)

    def truncate(self, count: int, texts: Set[FeatureName] | None = None) -> None:
        """Nothing to drop: no names are kept."""

    def state(self) -> dict[str, ByteArray]:
        """Nothing: the number of buckets is a constructor parameter."""
        return {}


def open_vocabulary(buckets: int | None) -> Vocabulary | HashedVocabulary:
    """Names kept when `buckets` is None, hashed otherwise."""
    return Vocabulary() if buckets is None else HashedVocabulary(buckets)


def pack_json(values: Sequence[Any]) -> ByteArray:
    """A list of names or labels as one array of bytes."""
    return np.frombuffer(json.dumps(values, separators=(",", ":")).encode(), dtype=np.uint8)


def unpack_json(arena: ByteArray) -> list[Any]:
    """The list that `pack_json` wrote; JSON arrays come back as tuples."""
    try:
        values = json.loads(bytes(arena))
        return [_as_name(value) for value in values]
    except (RecursionError, TypeError, ValueError):
        message = "the snapshot's list of names cannot be read"
        raise SnapshotDamaged(message) from None


def _as_name(value: Any) -> Any:
    return tuple(map(_as_name, value)) if isinstance(value, list) else value


def _name_bytes(name: FeatureName) -> bytes:
    # surrogatepass: a mail may hold bytes that are not valid text, and they hash as they are.
    if isinstance(name, str):
        return name.encode("utf-8", "surrogatepass")
    # The zero keeps 1 apart from "1".
    return b"\0" + json.dumps(check_name(name)).encode()


def refuse_change(name: FeatureName, before: str, now: str) -> NoReturn:
    """Say that a feature has another type of value than before."""
    message = f"feature {shown(name)} was {before} before and is {now} now: a feature keeps its type"
    raise InputError(message)
