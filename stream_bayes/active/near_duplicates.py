"""Near-duplicate detection by one-permutation MinHash, a 32-bit minimum per bin: one label is enough for a campaign.

A content is a set of shingles: all substrings of eight bytes of its text, or the entries of its dict. The similarity of
two contents is the Jaccard index s of their sets. A sketch estimates it: each shingle is hashed once, the hash selects
one of BINS bins, and each bin keeps its least hash. The share of bins that agree, among those that are not empty in
both sketches, has the mean s and a standard deviation of about sqrt(s (1 - s) / BINS).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.message import Message
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from stream_bayes.active.requests import ObservationKey
from stream_bayes.errors import InputError, ParameterError, SnapshotDamaged
from stream_bayes.mail.parse.parsed_mail import ParsedMail
from stream_bayes.persistence.scalars import stored_key, stored_list
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.validation import whole

Sketch = NDArray[np.uint32]
Hashes = NDArray[np.uint64]

BINS = 128
_EMPTY = np.uint32(2**32 - 1)
_SHINGLE = 8
# Only this much of a text is used.
_MAX_TEXT = 16_000
# A mail with less text than this is compared as a whole, with its header.
_LEAST_TEXT = 16
_SUBJECT = re.compile(rb"^subject:(.*(?:\n[ \t].*)*)", re.IGNORECASE | re.MULTILINE)
# Numbers and capitals differ between the copies of a campaign.
_PLAIN = bytes.maketrans(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0" * 10 + b"abcdefghijklmnopqrstuvwxyz")
_MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))


class NearDuplicates:
    """The MinHash sketches of the observations whose labels were requested recently, in bounded memory.

    Parameters
    ----------
    capacity
        The number of sketches; the oldest is removed first.

    Examples
    --------
    >>> near_duplicates = NearDuplicates()
    >>> near_duplicates.add(1, "Dear Ann, you have won the great prize of 1,000,000 dollars. Call us now!")
    >>> near_duplicates.find("Dear Bob, you have won the great prize of 2,500,000 dollars. Call us now!", 0.7)
    True
    >>> near_duplicates.find("The meeting is at ten in the small room, and lunch is after that.", 0.7)
    False
    """

    def __init__(self, capacity: int = 256) -> None:
        self.capacity = int(whole("capacity", capacity, ParameterError))
        self._keys: list[ObservationKey] = []
        self._sketches: Sketch = np.empty((0, BINS), dtype=np.uint32)
        # A cache, no state: the content of the last search, which is usually the next to be added.
        self._last: tuple[Any, Sketch] | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, content: Any, similarity: float) -> bool:
        """Whether the estimated similarity to any kept sketch is at least this; changes nothing."""
        return bool(self._keys) and bool((similarities(self._sketch_of(content), self._sketches) >= similarity).any())

    def add(self, key: ObservationKey, content: Any) -> None:
        """Keep the sketch of an observation."""
        sketch = self._sketch_of(content)
        if key in self._keys:
            self.remove(key)
        self._keys.append(key)
        self._sketches = np.concatenate((self._sketches, sketch[np.newaxis]))
        self._remove_surplus()

    def _sketch_of(self, content: Any) -> Sketch:
        # A dict may have been changed since the last search.
        if not isinstance(content, (bytes, str)):
            return sketch_of(content)
        if self._last is None or self._last[0] is not content:
            self._last = content, sketch_of(content)
        return self._last[1]

    def remove(self, key: ObservationKey) -> None:
        """Remove the sketch of an observation, if there is one: its near-duplicates may be requested again."""
        if key in self._keys:
            row = self._keys.index(key)
            del self._keys[row]
            self._sketches = np.delete(self._sketches, row, axis=0)

    def arrays(self) -> Arrays:
        """The sketches, and their observations as JSON in bytes, for a checkpoint."""
        places = np.frombuffer(json.dumps(self._keys).encode(), dtype=np.uint8)
        return {"near_duplicate_places": places.copy(), "near_duplicate_sketches": self._sketches.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Restore what `arrays` returned; the capacity may be smaller now."""
        places = stored_list(json.loads(arrays["near_duplicate_places"].tobytes()), "near_duplicate_places")
        sketches = arrays["near_duplicate_sketches"].astype(np.uint32).reshape(-1, BINS)
        if len(places) != len(sketches):
            message = f"near_duplicate_places has {len(places)} entries, and near_duplicate_sketches {len(sketches)}"
            raise SnapshotDamaged(message)
        self._keys = [stored_key(key, "near_duplicate_places") for key in places]
        self._sketches = sketches
        self._remove_surplus()

    def _remove_surplus(self) -> None:
        surplus = max(len(self._keys) - self.capacity, 0)
        self._keys = self._keys[surplus:]
        self._sketches = self._sketches[surplus:]


def sketch_of(content: Any) -> Sketch:
    """The MinHash sketch of a raw mail (bytes), a text, or a dict of features; the same in every process.

    Of a raw mail only the subject and the decoded text are used, since the rest of the header differs between copies. A
    dict that holds a message as "raw" or "text" is compared by that. Of a text, the first 16,000 bytes are used.
    """
    if isinstance(content, Mapping):
        message = content.get("raw") or content.get("text")
        if isinstance(message, (bytes, bytearray, str)):
            return sketch_of(message)
        return _bin_minima(_mix_bits(np.array([_hash_of(item) for item in content.items()], dtype=np.uint64)))
    if isinstance(content, str):
        return _bin_minima(_shingles(content[:_MAX_TEXT].encode("utf-8", "surrogatepass")))
    if isinstance(content, (bytes, bytearray)):
        content = ParsedMail(bytes(content))
    if isinstance(content, Message):
        content = ParsedMail.of(content)
    if isinstance(content, ParsedMail):
        return _bin_minima(_shingles(_text_of(content)))
    message = f"near-duplicates can be found among raw mails, texts and dicts of features; got {type(content).__name__}"
    raise InputError(message)


def similarities(sketch: Sketch, others: Sketch) -> NDArray[np.float64]:
    """The estimated Jaccard similarity to each of the others; 0 if both are empty."""
    both_empty = np.count_nonzero(others[:, sketch == _EMPTY] == _EMPTY, axis=1)
    agree = np.count_nonzero(others == sketch, axis=1) - both_empty
    shares: NDArray[np.float64] = agree / np.maximum(BINS - both_empty, 1)
    return shares


def _text_of(mail: ParsedMail) -> bytes:
    header = mail.sections.header
    body = mail.sections.body
    subject = _SUBJECT.search(header)
    text = body if subject is None else subject[1] + b"\n" + body
    return text if len(text.strip()) >= _LEAST_TEXT else header + body


def _shingles(text: bytes) -> Hashes:
    """The hashes of all substrings of eight bytes, after digits, case and white space are normalized."""
    plain = b" ".join(text[:_MAX_TEXT].translate(_PLAIN).split())
    if not plain:
        return np.empty(0, dtype=np.uint64)
    padded = plain.ljust(_SHINGLE)
    shingles = np.ndarray((len(padded) - _SHINGLE + 1,), dtype="<u8", buffer=padded, strides=(1,))
    return _mix_bits(shingles.astype(np.uint64))


def _mix_bits(numbers: Hashes) -> Hashes:
    """Finalizer of MurmurHash3: each bit of the result depends on all bits of the number."""
    shift = np.uint64(33)
    for factor in _MIX:
        numbers = (numbers ^ (numbers >> shift)) * factor
    return numbers ^ (numbers >> shift)


def _hash_of(entry: tuple[Any, Any]) -> int:
    name, value = (part.item() if isinstance(part, np.generic) else part for part in entry)
    return crc32(repr((name, value)).encode("utf-8", "surrogatepass"))


def _bin_minima(hashes: Hashes) -> Sketch:
    """The minimum of each bin: the lowest bits of a hash select its bin, the highest 32 are compared."""
    sketch = np.full(BINS, _EMPTY, dtype=np.uint32)
    np.minimum.at(sketch, (hashes % np.uint64(BINS)).astype(np.int64), (hashes >> np.uint64(32)).astype(np.uint32))
    return sketch
