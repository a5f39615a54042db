"""Density-weighted sampling: which mails are common although few labels were requested for similar ones.

A learner that is sure of a new kind of mail, and wrong, states no uncertainty for it, so no score finds it. Coverage
does not ask the learner. It counts where the mails of the stream come from, and where the requested ones come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.message import Message
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import SnapshotDamaged
from stream_bayes.kernels.mail.features import WORDS, Shape
from stream_bayes.kernels.mail.sources import FEW_BITS
from stream_bayes.mail.features.batch import read_batch
from stream_bayes.mail.parse.parsed_mail import message_bytes
from stream_bayes.persistence.snapshot import Arrays

BITS = 16
"""Features are hashed into 2^BITS buckets: a table of 256 KiB each for the stream and for the requests."""
# The mails that count as recent, with exponential decay.
RECENT_MAILS = 4000.0
# Header fields, addresses and hosts in the beginning of a mail. Its words, or both, were worse on the tuning streams:
# where mailboxes follow each other, 1.5 (1-ROCA)% instead of 0.7 with 350 labels. The bits are those of the words of
# the default mail filter, which are read too: other bits would clear the scratch memory that both use.
_SHAPE = Shape(bits=22, head=0, tail=0, text=4000, pairs=False, sources=True)
_STRUCTURE = WORDS + 1
# A text may have a line or two above it. They say nothing of where it comes from.
_FEWEST_FIELDS = 4
_HEADER = re.compile(rb"(?:From [^\n]*\n)?(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){%d}" % _FEWEST_FIELDS)
_LARGEST_WEIGHT = 1e6
# Of a mail's weight. A smaller count is forgotten when weights start again.
_NEGLIGIBLE = 1e-3

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
        self._last: tuple[bytes | str, Features] | None = None

    def score(self, message: bytes | str) -> float:
        """How common the features of a mail are for the labels requested; 0 for a text, or if nothing came before."""
        features = self._features_of(message)
        if not self._total or not len(features):
            return 0.0
        return float(np.mean(self._seen[features] / (1.0 + self._requested[features]))) / self._total

    def add(self, message: bytes | str) -> None:
        """Count a mail or a text."""
        self._seen[self._features_of(message)] += np.float32(self._weight)
        self._total += self._weight
        self._weight *= 1.0 + 1.0 / RECENT_MAILS
        if self._weight > _LARGEST_WEIGHT:
            self._seen /= np.float32(self._weight)
            self._seen[self._seen < _NEGLIGIBLE] = 0.0
            self._total /= self._weight
            self._weight = 1.0

    def add_request(self, message: bytes | str) -> None:
        """Count a request. Requests are never forgotten."""
        self._requested[self._features_of(message)] += np.uint32(1)

    def _features_of(self, message: bytes | str) -> Features:
        if self._last is None or self._last[0] is not message:
            self._last = message, features_of(message)
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
        sound &= len(seen) == len(buckets) == len(arrays["coverage_requested"])
        sound &= bool((seen >= 0.0).all() and (seen < np.inf).all() and (np.diff(buckets) > 0).all())
        if not sound or not (0.0 <= total < np.inf and 1.0 <= weight <= 2.0 * _LARGEST_WEIGHT):
            message = f"coverage needs two counts for each of its buckets, below {2**BITS}, and two totals from 0 on"
            raise SnapshotDamaged(message)
        self._seen[buckets] = seen
        self._requested[buckets] = arrays["coverage_requested"]
        self._total = total
        self._weight = weight


def message_of(content: Any) -> bytes | str | None:
    """The mail or text that a content is, or that a dict holds as "raw" or "text"; None if there is none."""
    if isinstance(content, Mapping):
        content = content.get("raw") or content.get("text")
    if isinstance(content, bytearray):
        return bytes(content)
    if isinstance(content, Message):
        return message_bytes(content)
    return content if isinstance(content, (bytes, str)) else None


def has_header(message: bytes | str) -> bool:
    r"""Whether a message is a mail with a header; a line or two above a text are none.

    >>> has_header("Subject: Hello\n\nHow are you?"), has_header("A: 1\nB: 2\nC: 3\nD: 4\n\nHow are you?")
    (False, True)
    """
    if isinstance(message, str):
        message = message[: _SHAPE.text].encode("utf-8", "surrogatepass")
    return _HEADER.match(message) is not None


def features_of(message: bytes | str) -> Features:
    """The buckets of the header fields, addresses and hosts of a mail; none if it is a text without a header."""
    if not has_header(message):
        return np.empty(0, dtype=np.int64)
    batch = read_batch([message], _SHAPE)
    structure = batch.hashed[batch.view_starts[_STRUCTURE] : batch.view_starts[_STRUCTURE + 1]]
    return np.unique(structure.astype(np.int64) >> (FEW_BITS - BITS))
