"""Density-weighted sampling: which mails are common although few labels were requested for their like.

A learner that is sure of a new kind of mail, and wrong, states no uncertainty for it, so no score finds it. Coverage
does not ask the learner. It counts where the mails of the stream come from, and where the requested ones come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import SnapshotDamaged
from stream_bayes.kernels.mail.features import WORDS, Shape
from stream_bayes.kernels.mail.sources import FEW_BITS
from stream_bayes.mail.features.batch import mail_bytes, read_batch
from stream_bayes.persistence.snapshot import Arrays

BITS = 16
"""Features are hashed into 2^BITS buckets: a table of 256 KiB each for the stream and for the requests."""
# The mails that count as recent, with exponential decay.
MEMORY = 4000.0
# Header fields, addresses and hosts in the beginning of a mail. Its words, or both, were worse on the tuning streams:
# where mailboxes follow each other, 1.5 (1-ROCA)% instead of 0.7 with 350 labels.
_SHAPE = Shape(BITS, 0, 0, 4000, False, True)
_STRUCTURE = WORDS + 1
# Of a text with a line or two above it there is nothing to count.
_FEWEST_FIELDS = 4
_HEADER = re.compile(rb"(?:From [^\n]*\n)?(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){%d}" % _FEWEST_FIELDS)
_LARGEST_WEIGHT = 1e6

Features = NDArray[np.int64]


class Coverage:
    r"""Counts of the features of recent mails and of requested ones, in bounded memory.

    The score of a mail is the mean, over its features, of s / (1 + n): s is the share of recent mails that had the
    feature, n the number of requests that had it. Features are header fields, addresses and hosts.

    >>> mail = b"From: a@%s.org\nTo: b@example.org\nDate: today\nSubject: Hello\n\nHow are you?"
    >>> coverage = Coverage()
    >>> for _ in range(9):
    ...     coverage.add(mail % b"list")
    >>> coverage.add(mail % b"other")
    >>> round(coverage.score(mail % b"list"), 2), round(coverage.score(mail % b"other"), 2)
    (0.99, 0.9)
    >>> coverage.add_request(mail % b"list")
    >>> round(coverage.score(mail % b"list"), 2), round(coverage.score(mail % b"other"), 2)
    (0.49, 0.46)
    """

    def __init__(self) -> None:
        self._seen = np.zeros(2**BITS, dtype=np.float32)
        self._requested = np.zeros(2**BITS, dtype=np.uint32)
        self._total = 0.0
        # Instead of a decay of all counts, new mails weigh more and more.
        self._weight = 1.0
        # A cache, no state: the content that was read last is usually the next to be counted.
        self._last: tuple[Any, Features] | None = None

    def score(self, content: Any) -> float:
        """How common the features of a mail are for the labels requested; 0 if nothing came before."""
        features = self._features_of(content)
        if not self._total or not len(features):
            return 0.0
        return float(np.mean(self._seen[features] / (1.0 + self._requested[features]))) / self._total

    def add(self, content: Any) -> None:
        """Count a mail."""
        self._seen[self._features_of(content)] += np.float32(self._weight)
        self._total += self._weight
        self._weight *= 1.0 + 1.0 / MEMORY
        if self._weight > _LARGEST_WEIGHT:
            self._seen /= np.float32(self._weight)
            self._total /= self._weight
            self._weight = 1.0

    def add_request(self, content: Any) -> None:
        """Count a request."""
        self._requested[self._features_of(content)] += np.uint32(1)

    def _features_of(self, content: Any) -> Features:
        if self._last is None or self._last[0] is not content:
            self._last = content, features_of(content)
        return self._last[1]

    def arrays(self) -> Arrays:
        """The counts that are not 0, for a checkpoint."""
        buckets = np.flatnonzero((self._seen > 0.0) | (self._requested > 0))
        return {
            "coverage_buckets": buckets.astype(np.uint32),
            "coverage_seen": self._seen[buckets],
            "coverage_requested": self._requested[buckets],
            "coverage_totals": np.array((self._total, self._weight)),
        }

    def restore(self, arrays: Arrays) -> None:
        """Restore what `arrays` returned into empty counts."""
        buckets = arrays["coverage_buckets"].astype(np.int64)
        seen = arrays["coverage_seen"]
        total, weight = arrays["coverage_totals"].tolist()
        sound = len(buckets) == 0 or (buckets.min() >= 0 and buckets.max() < 2**BITS)
        sound &= len(seen) == len(buckets) == len(arrays["coverage_requested"]) and bool((seen >= 0.0).all())
        if not sound or not (0.0 <= total < np.inf and 1.0 <= weight <= 2.0 * _LARGEST_WEIGHT):
            message = f"coverage needs two counts for each of its buckets, below {2**BITS}, and two totals from 0 on"
            raise SnapshotDamaged(message)
        self._seen[buckets] = seen
        self._requested[buckets] = arrays["coverage_requested"]
        self._total = total
        self._weight = weight


def is_message(content: Any) -> bool:
    """Whether a content is a mail or a text: raw, or a dict that holds one as "raw" or "text"."""
    if isinstance(content, Mapping):
        return bool(content.get("raw") or content.get("text"))
    return isinstance(content, (bytes, bytearray, str))


def has_header(content: Any) -> bool:
    r"""Whether a message is a mail with a header; a line or two above a text are none.

    >>> has_header("Subject: Hello\n\nHow are you?"), has_header("A: 1\nB: 2\nC: 3\nD: 4\n\nHow are you?")
    (False, True)
    """
    return _HEADER.match(mail_bytes(content)) is not None


def features_of(content: Any) -> Features:
    """The buckets of the header fields, addresses and hosts of a message; none if it is a text without a header."""
    if not has_header(content):
        return np.empty(0, dtype=np.int64)
    batch = read_batch([content], _SHAPE)
    structure = batch.hashed[batch.view_starts[_STRUCTURE] : batch.view_starts[_STRUCTURE + 1]]
    return np.unique(structure.astype(np.int64) >> (FEW_BITS - BITS))
