"""LearnedMails: a bounded record of the mails that a filter has learned, with their labels, in the filter's file.

It makes learning idempotent and correctable for callers that see one mail at a time, such as `stream-bayes classify`.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Any

import numpy as np

from stream_bayes.errors import SnapshotDamaged
from stream_bayes.mail.filter.spam_filter import SpamFilter
from stream_bayes.mail.parse.identity import DIGEST_BYTES, message_digest
from stream_bayes.persistence import snapshot
from stream_bayes.persistence.snapshot import Arrays

MAX_LEARNED = 2**16
"""Mails that are remembered, those learned last: 17 bytes each."""
_DIGESTS = "learned.digests"
_LABELS = "learned.labels"


class Change(StrEnum):
    """The effect of learning a mail."""

    LEARNED = "learned"
    CORRECTED = "corrected"
    """It had been learned with the other label."""
    UNCHANGED = "unchanged"
    """It had been learned with this label."""


class LearnedMails:
    """The labels of the mails learned last, by message digest."""

    def __init__(self, capacity: int = MAX_LEARNED) -> None:
        self.capacity = capacity
        self._spam: dict[bytes, bool] = {}

    def __len__(self) -> int:
        return len(self._spam)

    def learn(self, model: SpamFilter, raw: bytes, whole: bytes, *, spam: bool) -> Change:
        """Teach a mail to the filter, unless it knows it with this label; another label is a correction.

        `raw` is what the filter looks at, and `whole` the message that it is the beginning of.
        """
        digest = message_digest(whole)
        before = self._spam.get(digest)
        if before == spam:
            return Change.UNCHANGED
        label = model.classes[spam]
        if before is None:
            model.learn_one(raw, label, remember=True)
        else:
            model.relearn_one(raw, label)
        self._note(digest, spam=spam)
        return Change.LEARNED if before is None else Change.CORRECTED

    def _note(self, digest: bytes, *, spam: bool) -> None:
        self._spam.pop(digest, None)
        self._spam[digest] = spam
        while len(self._spam) > self.capacity:
            del self._spam[next(iter(self._spam))]

    def arrays(self) -> Arrays:
        """The record as arrays of a snapshot, the oldest mail first."""
        digests = np.frombuffer(b"".join(self._spam), dtype=np.uint8).reshape(-1, DIGEST_BYTES)
        return {_DIGESTS: digests, _LABELS: np.array(list(self._spam.values()), dtype=np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LearnedMails:
        """The record of a snapshot; an empty one where it has none, as after `SpamFilter.save`."""
        record = cls()
        if _DIGESTS not in arrays and _LABELS not in arrays:
            return record
        digests: Any = arrays.get(_DIGESTS)
        labels: Any = arrays.get(_LABELS)
        if not _are_sound(digests, labels):
            message = f"the record of learned mails needs a digest of {DIGEST_BYTES} bytes and a label for each mail"
            raise SnapshotDamaged(message)
        for digest, label in zip(digests, labels.tolist(), strict=True):
            record._note(digest.tobytes(), spam=bool(label))
        return record


def _are_sound(digests: Any, labels: Any) -> bool:
    if digests is None or labels is None or digests.dtype != np.uint8 or labels.dtype != np.uint8:
        return False
    return bool(labels.ndim == 1 and digests.shape == (len(labels), DIGEST_BYTES) and (labels <= 1).all())


def save_filter(path: str | os.PathLike[str], model: SpamFilter, learned: LearnedMails) -> None:
    """Write a filter and the record of what it learned to one snapshot, whole or not at all."""
    state = model.state()
    header = {"class": state.kind, "parameters": state.parameters}
    snapshot.write(path, header, {**state.arrays, **learned.arrays()})


def load_filter(path: str | os.PathLike[str]) -> tuple[SpamFilter, LearnedMails]:
    """Read a filter and the record of what it learned; `SpamFilter.load` reads the filter alone."""
    header, arrays = snapshot.read(path)
    model = SpamFilter.from_snapshot(path, header, arrays)
    try:
        return model, LearnedMails.from_arrays(arrays)
    except SnapshotDamaged as problem:
        message = f"{path}: {problem}"
        raise SnapshotDamaged(message) from problem
