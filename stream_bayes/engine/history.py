"""The memory of an engine, bounded: label history, deduplication window (ids) and observation cache."""

from __future__ import annotations

import json
from array import array
from collections import OrderedDict
from enum import Enum
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from stream_bayes.errors import SnapshotDamaged
from stream_bayes.events import Observation
from stream_bayes.learners.base.labels import Label
from stream_bayes.mail.parse.identity import message_digest
from stream_bayes.persistence.scalars import stored_int, stored_label, stored_list
from stream_bayes.persistence.snapshot import Arrays

Known = Label | float
"""A label, or the target of a regression."""


class Unlabelled(Enum):
    """The label of an observation that has no label yet."""

    YET = "no label yet"


UNLABELLED: Final = Unlabelled.YET
_NOTHING = 0
_DUPLICATE = 1
_NO_LABEL = 2
_FIRST_LABEL = 3
_MAX_IN_A_BYTE = 255
_MAX_DISTINCT_LABELS = 1000


class LabelHistory:
    """A ring with the labels of the last observations, by offset: a byte each, and for regressions the target.

    A slot is 0 where the offset held no observation (a dead letter, a gap of the log), 1 where it held one that had
    come before, 2 where there is no label yet, else 3 + the number of the label in `labels`.
    """

    def __init__(self, capacity: int, *, numbers: bool) -> None:
        self.capacity = capacity
        """How many of the last offsets are remembered."""
        self._codes = array("B", bytes(capacity))
        # Zeros that were never written take no memory.
        self._targets = np.zeros(capacity if numbers else 0)
        self._numbers: dict[Known, int] = {}
        self._labels: list[Known] = []
        self.end = 0
        """The offset after the newest."""

    def label_of(self, offset: int) -> Known | Unlabelled | None:
        """The label of an observation; None if the offset is outside of the ring or held no observation."""
        if not max(0, self.end - len(self._codes)) <= offset < self.end:
            return None
        slot = offset % len(self._codes)
        code = self._codes[slot]
        if code in (_NOTHING, _DUPLICATE):
            return None
        if code == _NO_LABEL:
            return UNLABELLED
        return float(self._targets[slot]) if len(self._targets) else self._labels[code - _FIRST_LABEL]

    def is_duplicate(self, offset: int, end: int) -> bool:
        """Whether an offset, within the ring that ends at `end`, held a duplicate."""
        if not max(0, end - len(self._codes)) <= offset < self.end:
            return False
        return self._codes[offset % len(self._codes)] == _DUPLICATE

    def has_room(self, label: Known, others: set[Known]) -> bool:
        """Whether one more label can be remembered, besides `others`: there are at most 1,000 different ones."""
        if len(self._targets) or label in self._numbers or len(self._numbers) + len(others) < _MAX_DISTINCT_LABELS:
            return True
        return label in others or len(self._numbers.keys() | others) < _MAX_DISTINCT_LABELS

    def advance(self, end: int, *, is_duplicate: bool = False) -> None:
        """Move the end of the ring to `end`; the last offset may be a duplicate, the other new ones stay empty."""
        if end <= self.end:
            return
        codes = self._codes
        if end == self.end + 1:
            codes[self.end % len(codes)] = _NOTHING
        else:
            for offset in range(max(self.end, end - len(codes)), end):
                codes[offset % len(codes)] = _NOTHING
        if is_duplicate:
            codes[(end - 1) % len(codes)] = _DUPLICATE
        self.end = end

    def put(self, offset: int, label: Known | Unlabelled) -> None:
        """Remember an observation and its label, unless a newer offset has taken its slot."""
        if offset < self.end - len(self._codes):
            return
        slot = offset % len(self._codes)
        if label is UNLABELLED:
            self._codes[slot] = _NO_LABEL
        elif len(self._targets):
            self._codes[slot] = _FIRST_LABEL
            self._targets[slot] = label
        else:
            if label not in self._numbers:
                self._numbers[label] = len(self._labels)
                self._labels.append(label)
            code = self._numbers[label] + _FIRST_LABEL
            if code > _MAX_IN_A_BYTE and self._codes.typecode == "B":
                self._codes = array("H", self._codes)
            self._codes[slot] = code

    def scalars(self) -> dict[str, Any]:
        """The state besides the arrays, as JSON."""
        return {"end": self.end, "labels": self._labels.copy()}

    def arrays(self) -> Arrays:
        """Copies of the slots in use."""
        used = min(self.end, len(self._codes))
        # Copied once: a slice would be a copy already, and the stream waits.
        return {"label_codes": np.asarray(self._codes)[:used].copy(), "targets": self._targets[:used].copy()}

    def restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        """Restore the state that `scalars` and `arrays` gave."""
        codes = arrays["label_codes"]
        targets = arrays["targets"]
        self.end = stored_int(scalars["end"], "labels.end")
        self._labels = [
            stored_label(label, "labels.labels") for label in stored_list(scalars["labels"], "labels.labels")
        ]
        self._numbers = {label: number for number, label in enumerate(self._labels)}
        known = 1 if len(self._targets) else len(self._numbers)
        if len(codes) != min(self.end, len(self._codes)) or not np.isfinite(targets).all():
            message = f"{len(codes)} labels up to offset {self.end}, or a target that is no finite number"
            raise SnapshotDamaged(message)
        if codes.max(initial=0) >= _FIRST_LABEL + known or len(self._numbers) < len(self._labels):
            message = "the labels of the observations are not those that were seen"
            raise SnapshotDamaged(message)
        kept = array("H" if codes.dtype == np.uint16 else "B", codes.tobytes())
        self._codes = kept + array(kept.typecode, bytes(kept.itemsize * (len(self._codes) - len(kept))))
        self._targets[: len(targets)] = targets


class DedupWindow:
    """Deduplication window: the offsets of the last observations by their ids, with digests of their contents.

    Of ids and contents 64 bits are kept.
    """

    def __init__(self, capacity: int) -> None:
        self._offsets: dict[int, int] = {}
        self._digests = array("Q", bytes(8 * capacity))
        self._contents = array("Q", bytes(8 * capacity))
        self._owners = array("q", [-1]) * capacity

    @property
    def capacity(self) -> int:
        """How many of the last offsets are in the window."""
        return len(self._owners)

    def find(self, digest: int, end: int) -> int | None:
        """The offset of an id, if it is in the window that ends at `end`."""
        offset = self._offsets.get(digest)
        return offset if offset is not None and offset >= end - len(self._owners) else None

    def content_of(self, offset: int) -> int:
        """The digest of the content of an observation that was found."""
        return self._contents[offset % len(self._owners)]

    def put(self, digest: int, offset: int, content: int) -> None:
        """Remember the id and the content of an observation, in place of the one that leaves the window."""
        slot = offset % len(self._owners)
        owner = self._owners[slot]
        if owner >= 0 and self._offsets.get(before := self._digests[slot]) == owner:
            del self._offsets[before]
        self._offsets[digest] = offset
        self._digests[slot] = digest
        self._contents[slot] = content
        self._owners[slot] = offset

    def arrays(self) -> Arrays:
        """Copies of the window."""
        return {
            "id_digests": np.array(self._digests),
            "id_contents": np.array(self._contents),
            "id_offsets": np.array(self._owners),
        }

    def restore(self, arrays: Arrays) -> None:
        """Restore the state that `arrays` gave."""
        digests = arrays["id_digests"]
        contents = arrays["id_contents"]
        owners = arrays["id_offsets"]
        if not len(digests) == len(contents) == len(owners) == self.capacity:
            message = (
                f"{len(digests)} ids of {len(contents)} contents at {len(owners)} offsets, where there is place for "
                f"{self.capacity}"
            )
            raise SnapshotDamaged(message)
        self._digests = array("Q", digests.tobytes())
        self._contents = array("Q", contents.tobytes())
        self._owners = array("q", owners.tobytes())
        # In the order of the offsets: of an id that left the window and came back, the newer place counts.
        used = np.argsort(owners)[np.count_nonzero(owners < 0) :]
        self._offsets = dict(zip(digests[used].tolist(), owners[used].tolist(), strict=True))


def digest_of(name: str) -> int:
    """64 bits of an id, the same in every process."""
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


_canonical = json.JSONEncoder(sort_keys=True).encode


def content_digest(observation: Observation) -> int:
    """64 bits of the content of an observation, the same in every process.

    What delivery changes in a raw mail does not count (`message_digest`), nor does the order of features. The label,
    the time and the key are not content.
    """
    if observation.raw is not None:
        digest = message_digest(observation.raw)
    else:
        fields = observation.text, observation.subject, observation.sender
        canonical = _canonical(fields if observation.features is None else observation.features)
        digest = blake2b(canonical.encode(), digest_size=8).digest()
    return int.from_bytes(digest[:8], "little")


# The memory that Python needs for an event, for a byte of its record, and for a feature with its value, about.
_EVENT_BYTES = 1000
_BYTES_A_BYTE = 2
_FEATURE_BYTES = 150
# One observation takes at most this share of the memory, or this number of bytes.
_SHARE_OF_ONE = 8
_SMALL_BYTES = 1 << 16


class ObservationCache:
    """The newest observations themselves, so that most late labels need no read of the log.

    It is not part of the state: an observation that is not here is read from the log, with the same result.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._max_of_one = max(max_bytes // _SHARE_OF_ONE, _SMALL_BYTES)
        self._kept: OrderedDict[int, tuple[Observation, int]] = OrderedDict()
        self._bytes = 0

    def get(self, offset: int) -> Observation | None:
        """The observation, if it is still here."""
        found = self._kept.get(offset)
        return None if found is None else found[0]

    def put(self, offset: int, observation: Observation, size: int) -> None:
        """Keep an observation, until `shrink` at least: a batch relies on what was in the cache when it was planned.

        `size` is the size of its record. An observation that would take the room of many others is not kept.
        """
        size = _EVENT_BYTES + _BYTES_A_BYTE * size + _FEATURE_BYTES * len(observation.features or ())
        if size > self._max_of_one:
            return
        self._kept[offset] = observation, size
        self._bytes += size

    def shrink(self) -> None:
        """Drop the oldest observations while all together are too large."""
        while self._bytes > self._max_bytes and self._kept:
            self._bytes -= self._kept.popitem(last=False)[1][1]

    def drop_before(self, offset: int) -> None:
        """Drop what the log no longer has: the result of a late label must not depend on the cache."""
        while self._kept and next(iter(self._kept)) < offset:
            self._bytes -= self._kept.popitem(last=False)[1][1]
