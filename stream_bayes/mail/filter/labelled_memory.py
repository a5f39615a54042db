"""LabelledMemory: a bounded memory of labelled mails, and the linear support vector machine that is optimal over them.

Counts and steps learn a mail once and never look at it again, so their evidence is skewed where labels were requested
for what was doubtful. The weights of a support vector machine depend on the mails near its margin only, and not on how
many mails like them were requested. They are optimal again after each label, which costs about 10 ms with 1,000 mails.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from stream_bayes.features.values import IntArray
from stream_bayes.kernels.mail import margin
from stream_bayes.kernels.mail.features import VIEWS
from stream_bayes.kernels.mail.margin import BIAS, LARGEST_COEFFICIENT, MARGIN_VIEWS, SHARES, Weights
from stream_bayes.kernels.mail.sources import FEW_BITS
from stream_bayes.mail.features.batch import MailBatch
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import BoolArray, FloatArray

Array = TypeVar("Array", bound=NDArray[Any])

_NAMES = ("starts", "features", "signs", "coefficients", "products", "weights")
# Weights are sums in single precision of up to thousands of terms, in the order in which they came.
_ROUNDING = 1e-3


class _FoundMail(NamedTuple):
    """A mail of a batch with its label, as 1 or -1, and its score times that."""

    batch: MailBatch
    row: int
    sign: float
    margin: float


class _Scratch(NamedTuple):
    """Memory that is used while a mail is learned."""

    mark: BoolArray
    scores: FloatArray
    changes: FloatArray


class LabelledMemory:
    """At most `capacity` labelled mails, and linear weights that separate them with the widest margin.

    The features of mail m in view v begin at `starts[3 m + v]`. All arrays of mails have room for more.
    """

    def __init__(self, capacity: int, buckets: int) -> None:
        self.capacity = capacity
        # Without room for mails no weight is ever used.
        sizes = (buckets, buckets, 2**FEW_BITS) if capacity else (0, 0, 0)
        # Zeros that were never written take no memory.
        self.weights: tuple[Weights, ...] = tuple(np.zeros(size, dtype=np.float32) for size in sizes)
        """The weight of each bucket of grams, words and structure."""
        self._count = 0
        self._starts: IntArray = np.zeros(1, dtype=np.int64)
        self._features: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        self._signs: FloatArray = np.empty(0)
        self._coefficients: FloatArray = np.empty(0)
        self._products: FloatArray = np.empty((0, 0))

    def __len__(self) -> int:
        return self._count

    @property
    def bytes_used(self) -> int:
        """The memory of the mails, and of the weights once there are mails."""
        mails = (self._starts, self._features, self._signs, self._coefficients, self._products)
        tables: list[NDArray[Any]] = [*self.weights, *mails]
        return sum(table.nbytes for table in tables) if self._count else 0

    @property
    def bias(self) -> float:
        """The weight of the input BIAS that every mail has."""
        return BIAS * float(self._coefficients[: self._count].sum())

    def fold(
        self, batch: MailBatch, rows: IntArray, outcomes: IntArray, remember: BoolArray, scores: FloatArray
    ) -> None:
        """Write the score of each mail in order; add those that are to be remembered, each after its score.

        Memory comes first: where there is none, nothing has changed.
        """
        learned = np.flatnonzero(remember & (outcomes >= 0) & (self.capacity > 0))
        scratch = self._reserve(batch, rows[learned])
        begin = 0
        for at in [*learned.tolist(), len(rows)]:
            end = min(at + 1, len(rows))
            if self._count:
                margin.margin_scores(
                    batch.view_starts, batch.hashed, rows[begin:end], self.bias, scores[begin:end], *self.weights
                )
            if at < len(rows):
                sign = 1.0 if outcomes[at] == 1 else -1.0
                self._learn(_FoundMail(batch, int(rows[at]), sign, sign * float(scores[at])), scratch)
            begin = end

    def _reserve(self, batch: MailBatch, rows: IntArray) -> _Scratch:
        """Make room for these mails, all or nothing."""
        if not len(rows):
            return _Scratch(np.empty(0, dtype=np.bool_), np.empty(0), np.empty(0))
        count = min(self._count + len(rows), self.capacity)
        lengths = batch.view_starts[VIEWS * rows + MARGIN_VIEWS] - batch.view_starts[VIEWS * rows]
        features = int(self._starts[MARGIN_VIEWS * self._count] + lengths.sum())
        scratch = _Scratch(np.zeros(max(map(len, self.weights)), dtype=np.bool_), np.empty(count), np.empty(count))
        grown = (
            _with_room(self._starts, MARGIN_VIEWS * count + 1),
            _with_room(self._features, features),
            _with_room(self._signs, count),
            _with_room(self._coefficients, count),
            _square_with_room(self._products, count),
        )
        self._starts, self._features, self._signs, self._coefficients, self._products = grown
        return scratch

    def _learn(self, mail: _FoundMail, scratch: _Scratch) -> None:
        """Add a mail while there is room; one that is there already only gets this label.

        A mail beyond the margin on its own side is not added: the weights are optimal with it as they are.
        """
        starts = mail.batch.view_starts[VIEWS * mail.row : VIEWS * mail.row + MARGIN_VIEWS + 1]
        features = mail.batch.hashed[starts[0] : starts[-1]]
        sign = mail.sign
        before = scratch.changes
        before[: self._count] = -self._coefficients[: self._count]
        place = self._find(starts - starts[0], features)
        if place >= 0:
            if self._signs[place] == sign:
                return
            self._signs[place] = sign
            self._coefficients[place] = 0.0
        elif self._count < self.capacity and mail.margin < 1.0:
            place = self._count
            first = self._starts[MARGIN_VIEWS * place]
            self._starts[MARGIN_VIEWS * place : MARGIN_VIEWS * (place + 1) + 1] = first + starts - starts[0]
            self._features[first : first + len(features)] = features
            self._signs[place] = sign
            self._coefficients[place] = before[place] = 0.0
            self._count += 1
            margin.products(self._starts, self._features, place, scratch.mark, self._products)
        else:
            return
        count = self._count
        margin.optimise(self._products, count, self._signs, self._coefficients, scratch.scores)
        changes = before
        changes[:count] += self._coefficients[:count]
        margin.add_to_weights(self._starts, self._features, count, changes, *self.weights)

    def _find(self, starts: IntArray, features: NDArray[np.uint32]) -> int:
        """The place of a mail with the same features, -1 if there is none."""
        ends = self._starts[: MARGIN_VIEWS * self._count + 1]
        firsts = ends[:-1:MARGIN_VIEWS]
        sizes = np.diff(ends[::MARGIN_VIEWS])
        for place in np.flatnonzero(sizes == len(features)).tolist():
            first = firsts[place]
            views = ends[MARGIN_VIEWS * place : MARGIN_VIEWS * (place + 1) + 1] - first
            own = self._features[first : first + len(features)]
            if np.array_equal(views, starts) and np.array_equal(own, features):
                return int(place)
        return -1

    def copy_into(self, target: LabelledMemory) -> None:
        """Overwrite another memory of the same capacity."""
        if not self._count and not target._count:
            return
        mails = self._trimmed()
        target._count = self._count
        target._starts = mails[0].copy()
        target._features = mails[1].copy()
        target._signs = mails[2].copy()
        target._coefficients = mails[3].copy()
        target._products = self._products[: self._count, : self._count].copy()
        for new, old in zip(self.weights, target.weights, strict=True):
            np.copyto(old, new)

    def _trimmed(self) -> tuple[IntArray, NDArray[np.uint32], FloatArray, FloatArray]:
        """Starts, features, signs and coefficients, without the room for more."""
        starts = self._starts[: MARGIN_VIEWS * self._count + 1]
        return (
            starts,
            self._features[: starts[-1]],
            self._signs[: self._count],
            self._coefficients[: self._count],
        )

    def arrays(self) -> Arrays:
        """Copies for a snapshot."""
        known = [table[buckets] for table, buckets in zip(self.weights, self._used_buckets(), strict=True)]
        parts: list[NDArray[Any]] = [
            *(part.copy() for part in self._trimmed()),
            self._products[np.tril_indices(self._count)],
            np.concatenate(known),
        ]
        return {f"memory.{name}": part for name, part in zip(_NAMES, parts, strict=True)}

    def _used_buckets(self) -> list[NDArray[np.uint32]]:
        """The buckets of each view that some mail has, in order."""
        starts, features, _, _ = self._trimmed()
        views = np.repeat(np.arange(len(starts) - 1) % MARGIN_VIEWS, np.diff(starts))
        return [np.unique(features[views == view]) for view in range(MARGIN_VIEWS)]

    def restore(self, arrays: Arrays) -> None:
        """Take over what `arrays` gave into a memory that is empty."""
        starts, features, signs, coefficients, products, weights = _checked_parts(arrays)
        if len(signs) > self.capacity:
            message = f"the memory has room for {self.capacity} mails; got {len(signs)}"
            raise ValueError(message)
        self._count = len(signs)
        self._starts = starts
        self._features = features
        self._signs = signs
        self._coefficients = coefficients
        self._products = _full(products, starts)
        self._restore_weights(weights)

    def _restore_weights(self, weights: Weights) -> None:
        used = self._used_buckets()
        too_large = any(len(own) and own[-1] >= len(table) for own, table in zip(used, self.weights, strict=True))
        if too_large or len(weights) != sum(map(len, used)):
            message = "there must be a weight for each bucket that some mail has"
            raise ValueError(message)
        margin.add_to_weights(self._starts, self._features, self._count, self._coefficients, *self.weights)
        ends = np.cumsum([len(own) for own in used])
        for table, own, values in zip(self.weights, used, np.split(weights, ends[:-1]), strict=True):
            if not (np.abs(values - table[own]) <= _ROUNDING).all():
                message = "the weights must be the sums of the mails times their coefficients"
                raise ValueError(message)
            table[own] = values


def _with_room(known: Array, size: int) -> Array:
    """The array, or one with room for this many entries and more that begins with it."""
    if size <= len(known):
        return known
    grown: Any = np.zeros(max(size, 2 * len(known)), dtype=known.dtype)
    grown[: len(known)] = known
    return cast(Array, grown)


def _square_with_room(known: FloatArray, count: int) -> FloatArray:
    if count <= len(known):
        return known
    room = max(count, 2 * len(known))
    grown = np.zeros((room, room))
    grown[: len(known), : len(known)] = known
    return grown


def _checked_parts(arrays: Arrays) -> list[Any]:
    """The arrays of a memory, if they are those of mails with labels."""
    parts: list[Any] = [arrays[f"memory.{name}"] for name in _NAMES]
    kinds = np.int64, np.uint32, np.float64, np.float64, np.float64, np.float32
    if any(part.dtype != kind or part.ndim != 1 for part, kind in zip(parts, kinds, strict=True)):
        message = "the memory of mails needs arrays of one dimension"
        raise ValueError(message)
    starts, features, signs, coefficients, products, _ = parts
    count = len(signs)
    sizes = MARGIN_VIEWS * count + 1, count, count * (count + 1) // 2
    if (len(starts), len(coefficients), len(products)) != sizes:
        message = "the memory of mails needs a coefficient for each mail, and products with those before it"
        raise ValueError(message)
    if starts[0] != 0 or starts[-1] != len(features) or (np.diff(starts) < 0).any():
        message = "the features of the mails in the memory must follow each other"
        raise ValueError(message)
    within = (signs * coefficients >= 0.0) & (np.abs(coefficients) <= LARGEST_COEFFICIENT)
    if not within.all() or not np.isin(signs, (-1.0, 1.0)).all():
        message = "labels are 1 or -1, and coefficients have their sign and a bounded size"
        raise ValueError(message)
    return parts


def _full(triangle: FloatArray, starts: IntArray) -> FloatArray:
    """The symmetric matrix with this lower triangle; refused if the mails have other numbers of features."""
    sizes = np.diff(starts).reshape(-1, MARGIN_VIEWS)
    squares = BIAS * BIAS + (sizes * np.array(SHARES) / (sizes + 1.0)).sum(axis=1)
    places = np.tril_indices(len(squares))
    full = np.zeros((len(squares), len(squares)))
    full[places] = triangle
    full.T[places] = triangle
    # The inequality of Cauchy and Schwarz.
    largest = np.sqrt(squares[places[0]] * squares[places[1]]) + 1e-9
    own = np.abs(np.diagonal(full) - squares) <= 1e-9
    if not own.all() or not ((triangle >= 0.0) & (triangle <= largest)).all():
        message = "the products of mails must fit the numbers of their features"
        raise ValueError(message)
    return full
