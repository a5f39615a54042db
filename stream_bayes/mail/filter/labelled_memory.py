"""LabelledMemory: a bounded memory of labelled mails, and the linear support vector machine that is optimal over them.

Counts and steps learn a mail once and never look at it again, so their evidence is skewed where labels were requested
for what was doubtful. The weights of a support vector machine depend on the mails near its margin only, however often
their like was requested. They are optimal again after each label, at a cost of about 10 ms when the memory is full.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.features.values import IntArray
from stream_bayes.kernels.mail import margin
from stream_bayes.kernels.mail.features import VIEWS
from stream_bayes.kernels.mail.margin import BIAS, LARGEST_COEFFICIENT, MARGIN_VIEWS, Weights
from stream_bayes.kernels.mail.sources import FEW_BITS
from stream_bayes.mail.features.batch import MailBatch
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import BoolArray, FloatArray

_FIRST_ROOM = 16
_LARGEST = 1e6
_NAMES = ("starts", "features", "signs", "coefficients", "products", "weights")


class _RememberedMail(NamedTuple):
    """The features of a mail, view after view, and where each view begins."""

    starts: IntArray
    features: NDArray[np.uint32]


class LabelledMemory:
    """At most `capacity` labelled mails, and linear weights that separate them with the widest margin."""

    def __init__(self, capacity: int, buckets: int) -> None:
        self.capacity = capacity
        self._buckets = buckets
        # Without room for mails no weight is ever used.
        sizes = (buckets, buckets, 2**FEW_BITS) if capacity else (0, 0, 0)
        # Zeros that were never written take no memory.
        self.weights: tuple[Weights, ...] = tuple(np.zeros(size, dtype=np.float32) for size in sizes)
        """The weight of each bucket of grams, words and structure."""
        self._clear()

    def _clear(self) -> None:
        self._starts: IntArray = np.zeros(1, dtype=np.int64)
        self._features: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        self._signs: FloatArray = np.empty(0)
        self._coefficients: FloatArray = np.empty(0)
        self._products: FloatArray = np.empty((0, 0))

    def __len__(self) -> int:
        return len(self._signs)

    @property
    def bytes_used(self) -> int:
        """The memory of the mails, and of the weights once there are mails."""
        mails = (self._starts, self._features, self._signs, self._coefficients, self._products)
        tables: list[NDArray[Any]] = [*self.weights, *mails]
        return sum(table.nbytes for table in tables) if len(self) else 0

    @property
    def bias(self) -> float:
        """The weight of the input BIAS that every mail has."""
        return BIAS * float(self._coefficients.sum())

    def fold(
        self, batch: MailBatch, rows: IntArray, outcomes: IntArray, remember: BoolArray, scores: FloatArray
    ) -> None:
        """Write the score of each mail in order; add those that are to be remembered, each after its score."""
        begin = 0
        for at in [*np.flatnonzero(remember & (outcomes >= 0)).tolist(), len(rows)]:
            end = min(at + 1, len(rows))
            if len(self):
                margin.margin_scores(
                    batch.view_starts, batch.hashed, rows[begin:end], self.bias, scores[begin:end], *self.weights
                )
            if at < len(rows):
                self._learn(_remembered(batch, int(rows[at])), 1.0 if outcomes[at] == 1 else -1.0)
            begin = end

    def _learn(self, mail: _RememberedMail, sign: float) -> None:
        """Add a mail while there is room; one that is there already only gets this label."""
        before = self._coefficients.copy()
        place = self._find(mail)
        if place >= 0:
            if self._signs[place] == sign:
                return
            self._signs[place] = sign
            self._coefficients[place] = 0.0
        elif len(self) < self.capacity:
            self._append(mail, sign)
            before = np.append(before, 0.0)
        else:
            return
        count = len(self)
        margin.optimise(self._products[:count, :count], self._signs, self._coefficients)
        changes = self._coefficients - before
        margin.add_to_weights(self._starts, self._features, changes, *self.weights)

    def _find(self, mail: _RememberedMail) -> int:
        """The place of a mail with the same features, -1 if there is none."""
        firsts = self._starts[:-1:MARGIN_VIEWS]
        sizes = np.diff(self._starts[::MARGIN_VIEWS])
        for place in np.flatnonzero(sizes == len(mail.features)).tolist():
            first = firsts[place]
            views = self._starts[MARGIN_VIEWS * place : MARGIN_VIEWS * (place + 1) + 1] - first
            own = self._features[first : first + len(mail.features)]
            if np.array_equal(views, mail.starts) and np.array_equal(own, mail.features):
                return int(place)
        return -1

    def _append(self, mail: _RememberedMail, sign: float) -> None:
        count = len(self) + 1
        if count > len(self._products):
            room = min(max(_FIRST_ROOM, 2 * len(self._products)), self.capacity)
            grown = np.zeros((room, room))
            grown[: count - 1, : count - 1] = self._products[: count - 1, : count - 1]
            self._products = grown
        self._starts = np.concatenate((self._starts, self._starts[-1] + mail.starts[1:]))
        self._features = np.concatenate((self._features, mail.features))
        self._signs = np.append(self._signs, sign)
        self._coefficients = np.append(self._coefficients, 0.0)
        row = np.empty(count)
        mark = np.zeros(max(self._buckets, 2**FEW_BITS), dtype=np.bool_)
        margin.products(self._starts, self._features, count, mark, row)
        self._products[count - 1, :count] = row
        self._products[:count, count - 1] = row

    def copy_into(self, target: LabelledMemory) -> None:
        """Overwrite another memory of the same capacity."""
        if not len(self) and not len(target):
            return
        target._starts = self._starts.copy()
        target._features = self._features.copy()
        target._signs = self._signs.copy()
        target._coefficients = self._coefficients.copy()
        target._products = self._products.copy()
        for new, old in zip(self.weights, target.weights, strict=True):
            np.copyto(old, new)

    def arrays(self) -> Arrays:
        """Copies for a snapshot."""
        count = len(self)
        known = (table[buckets] for table, buckets in zip(self.weights, self._used_buckets(), strict=True))
        parts: list[NDArray[Any]] = [
            self._starts.copy(),
            self._features.copy(),
            self._signs.copy(),
            self._coefficients.copy(),
            self._products[np.tril_indices(count)],
            np.concatenate([np.empty(0, dtype=np.float32), *known]),
        ]
        return {f"memory.{name}": part for name, part in zip(_NAMES, parts, strict=True)}

    def _used_buckets(self) -> list[NDArray[np.uint32]]:
        """The buckets of each view that some mail has, in order."""
        views = np.repeat(np.arange(len(self._starts) - 1) % MARGIN_VIEWS, np.diff(self._starts))
        return [np.unique(self._features[views == view]) for view in range(MARGIN_VIEWS)]

    def restore(self, arrays: Arrays) -> None:
        """Take over what `arrays` gave into a memory that is empty."""
        starts, features, signs, coefficients, products, weights = _checked_parts(arrays)
        count = len(signs)
        if count > self.capacity:
            message = f"the memory has room for {self.capacity} mails; got {count}"
            raise ValueError(message)
        self._starts = starts
        self._features = features
        self._signs = signs
        self._coefficients = coefficients
        self._products = _full(products, count)
        used = self._used_buckets()
        too_large = any(len(own) and own[-1] >= len(table) for own, table in zip(used, self.weights, strict=True))
        if too_large or len(weights) != sum(map(len, used)) or not (np.abs(weights) < _LARGEST).all():
            message = "the weights must be finite numbers, one for each bucket that some mail has"
            raise ValueError(message)
        ends = np.cumsum([len(own) for own in used])
        for table, own, values in zip(self.weights, used, np.split(weights, ends[:-1]), strict=True):
            table[own] = values


def _checked_parts(arrays: Arrays) -> list[Any]:
    """The arrays of a memory, if they are those of mails with labels."""
    parts: list[Any] = [arrays[f"memory.{name}"] for name in _NAMES]
    starts, features, signs, coefficients, _, weights = parts
    count = len(signs)
    kinds = np.int64, np.uint32, np.float64, np.float64, np.float64, np.float32
    sizes = count * MARGIN_VIEWS + 1, len(features), count, count, count * (count + 1) // 2, len(weights)
    rows = zip(parts, kinds, sizes, strict=True)
    if any(part.dtype != kind or part.shape != (size,) for part, kind, size in rows):
        message = "the memory of mails needs a label, a coefficient and products with those before it for each mail"
        raise ValueError(message)
    if starts[0] != 0 or starts[-1] != len(features) or (np.diff(starts) < 0).any():
        message = "the features of the mails in the memory must follow each other"
        raise ValueError(message)
    within = (signs * coefficients >= 0.0) & (np.abs(coefficients) <= LARGEST_COEFFICIENT)
    if not within.all() or not np.isin(signs, (-1.0, 1.0)).all():
        message = "labels are 1 or -1, and coefficients have their sign and a bounded size"
        raise ValueError(message)
    return parts


def _remembered(batch: MailBatch, row: int) -> _RememberedMail:
    starts = batch.view_starts[VIEWS * row : VIEWS * row + MARGIN_VIEWS + 1]
    return _RememberedMail(starts - starts[0], batch.hashed[starts[0] : starts[-1]].copy())


def _full(triangle: FloatArray, count: int) -> FloatArray:
    """The symmetric matrix of which this is the lower triangle."""
    places = np.tril_indices(count)
    full = np.zeros((count, count))
    full[places] = triangle
    full.T[places] = triangle
    diagonal = np.diagonal(full)
    # By the inequality of Cauchy and Schwarz no product of two mails is larger than the greater of their squares.
    if not (np.abs(triangle) <= 2.0).all() or not (diagonal >= BIAS * BIAS).all():
        message = "products of mails are numbers below 2, and that of a mail with itself is above 0"
        raise ValueError(message)
    return full
