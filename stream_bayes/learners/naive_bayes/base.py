"""What the naive Bayes learners share: evidence in growable arrays, and the sums that make them additive."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.errors import InputError, UnlearnError
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, Features, IntArray
from stream_bayes.features.vocabulary import pack_json, unpack_json
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.rows import RESIDUE, Rows
from stream_bayes.kernels.special import log_table
from stream_bayes.learners.base import Additive
from stream_bayes.learners.classifier import ColumnClassifier
from stream_bayes.learners.labels import Label, check_label
from stream_bayes.posteriors.checked import non_negative
from stream_bayes.snapshot import Arrays

SMALLEST_ROOM = 64
TABLE_SIZE = 4096
# Whole numbers are exact in floating point up to here, and no sum of events overflows.
LARGEST_COUNT = 2.0**53


class NaiveBayes(ColumnClassifier, Additive):
    """Classes with a Dirichlet prior, and one table of evidence a feature: evidence[column, class].

    Evidence is a named tuple of arrays: those of one dimension run over classes, those of two over columns and
    classes. Rows beyond the registered names are room to grow and stay zero. Everything else a subclass keeps
    follows from the evidence and is made anew by `_refresh`.
    """

    _evidence: Any
    _evidence_kind: ClassVar[type[tuple[Any, ...]]]

    def __init__(self, class_prior_count: float, classes: tuple[Label, ...] | None, buckets: int | None) -> None:
        super().__init__(classes, buckets)
        self.class_prior_count = non_negative("class_prior_count", class_prior_count)
        self._evidence = self._evidence_kind(*(np.zeros(self._shape(name)) for name in self._fields()))

    @abstractmethod
    def _refresh(self) -> None:
        """Derive again what follows from the evidence, after it was replaced or scaled."""

    @classmethod
    def _fields(cls) -> tuple[str, ...]:
        return cls._evidence_kind._fields  # type: ignore[attr-defined, no-any-return]

    def _height(self, name: str) -> int:
        """How many rows of this array are in use."""
        return len(self._vocabulary)

    def _shape(self, name: str) -> tuple[int, ...]:
        classes = len(self._labels)
        return (classes,) if name in ("class_weight", "class_total") else (self._height(name), classes)

    def _reserve(self) -> None:
        grown = [
            _with_room(array, self._shape(name)) for name, array in zip(self._fields(), self._evidence, strict=True)
        ]
        if any(new is not old for new, old in zip(grown, self._evidence, strict=True)):
            self._evidence = self._evidence_kind(*grown)
            self._grow()

    def _grow(self) -> None:
        """Make room in what is derived, after the evidence got room."""

    def class_posterior(self) -> dict[Label, float]:
        """Pseudo-counts of the Dirichlet posterior over the labels."""
        weights = self._evidence.class_weight
        return {
            label: self.class_prior_count + float(weights[code])
            for code, label in enumerate(self._labels)
            if code < self._labels.declared or weights[code] > 0.0
        }

    def unlearn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Take one event back, as if it had never come; refused when it cannot have been learned."""
        batch = self._one(x)
        self._check_values(batch)
        weight = non_negative("weight", w, InputError)
        label = self._labels.code(check_label(y))
        if weight == 0.0:
            return
        if label < 0 or self._evidence.class_weight[label] < weight - RESIDUE:
            message = f"label {y!r} has less evidence than the weight {weight:g} to take back"
            raise UnlearnError(message)
        labels = np.array((label,), dtype=np.int64)
        rows = self._rows(batch, self._find(batch), labels, np.array((-weight,)))
        self._check_unlearn(batch, rows, label, weight)
        used = rows.columns >= 0
        kept = Rows(np.array((0, used.sum())), rows.columns[used], rows.values[used], labels, rows.weights)
        self._run(batch, kept, score=False)

    def _check_unlearn(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        amounts = weight * self._amounts(rows.values)
        known = rows.columns >= 0
        left = np.where(known, self._evidence.cells[rows.columns, label], 0.0) - amounts
        if (left < -RESIDUE).any():
            place = int(np.flatnonzero(left < -RESIDUE)[0])
            name = batch.names[place] if batch.names is not None and self.buckets is None else rows.columns[place]
            message = f"feature {name!r} has less evidence than there is to take back: was this event learned?"
            raise UnlearnError(message)

    def _amounts(self, values: FloatArray) -> FloatArray:
        """How much of a cell one event of weight 1 adds for each value."""
        return values

    def _check_values(self, batch: Batch) -> None:
        values = batch.values
        if len(values) and not (values.min() >= 0.0 and values.max() <= LARGEST_COUNT):
            place = int(np.flatnonzero((values < 0.0) | (values > LARGEST_COUNT))[0])
            name = batch.names[batch.columns[place]] if batch.names is not None else batch.columns[place]
            message = f"feature {name!r} is {values[place]:g}: a count is between 0 and 2**53"
            raise InputError(message)

    def _absorb(self, other: Self) -> None:
        classes, columns = self._adopt(other)
        for name, mine, theirs in zip(self._fields(), self._evidence, other._evidence, strict=True):
            used = theirs[: other._height(name)] if theirs.ndim > 1 else theirs
            mine[(classes,) if mine.ndim == 1 else np.ix_(self._places(name, columns, other), classes)] += used
        self._refresh()

    def _adopt(self, other: Self) -> tuple[IntArray, IntArray]:
        """Register the other's labels and names here; returns where its classes and columns stand here."""
        codes, new_labels = self._labels.codes(other._labels)
        if isinstance(self._vocabulary, Vocabulary) and isinstance(other._vocabulary, Vocabulary):
            names, texts = other._vocabulary.names, other._vocabulary.texts
            self._vocabulary.check(names, self._vocabulary.lookup(names), texts)
            columns = self._vocabulary.register(names, texts)
        else:
            columns = np.arange(len(self._vocabulary))
        self._labels.register(new_labels)
        self._reserve()
        return codes, columns

    def _places(self, name: str, columns: IntArray, other: Self) -> IntArray:
        """Where the rows of the other's array stand in this one's."""
        return columns

    def _scale(self, factor: float) -> None:
        for array in self._evidence:
            np.multiply(array, factor, out=array)
        self._refresh()

    def _column(self, name: FeatureName) -> int:
        return int(self._vocabulary.lookup([name])[0])

    def _cell(self, array: FloatArray, name: FeatureName, label: Any) -> float:
        """One entry of the evidence; a name or a label never seen has none."""
        column, code = self._column(name), self._labels.code(label)
        return float(array[column, code]) if column >= 0 and code >= 0 and column < len(array) else 0.0

    def _in_vocabulary(self, name: FeatureName) -> bool:
        column = self._column(name)
        return column >= 0 and bool(self._evidence.cells[column].any())

    def _class_entry(self, array: FloatArray, label: Any) -> float:
        code = self._labels.code(label)
        return float(array[code]) if code >= 0 else 0.0

    def _arrays(self) -> Arrays:
        arrays: Arrays = {"labels": pack_json(list(self._labels)), **self._vocabulary.state()}
        for name, array in zip(self._fields(), self._evidence, strict=True):
            arrays[name] = (array if array.ndim == 1 else array[: self._height(name)]).copy()
        return arrays

    def _restore(self, arrays: Arrays) -> None:
        self._labels.register(unpack_json(arrays["labels"]))
        if isinstance(self._vocabulary, Vocabulary):
            self._vocabulary = Vocabulary.from_state(arrays)
        evidence = []
        for name in self._fields():
            if arrays[name].shape != self._shape(name) or not (np.isfinite(arrays[name])).all():
                message = f"array {name!r} has shape {arrays[name].shape}, expected {self._shape(name)}, all finite"
                raise ValueError(message)
            evidence.append(arrays[name])
        self._evidence = self._evidence_kind(*evidence)
        self._refresh()

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT}


def table_of(prior: float) -> FloatArray:
    """log(prior + k) for the first whole k."""
    table = np.empty(TABLE_SIZE)
    log_table(prior, table)
    return table


def vocabulary_size(cells: FloatArray) -> int:
    """How many columns have evidence in any class."""
    return int(np.count_nonzero(cells.sum(axis=1)))


def padded(array: NDArray[Any], shape: tuple[int, ...], fill: int = 0) -> NDArray[Any]:
    """The array itself if it has the shape, else a copy with the new places filled."""
    if array.shape == shape:
        return array
    larger = np.full(shape, fill, dtype=array.dtype)
    larger[tuple(slice(length) for length in array.shape)] = array
    return larger


def _with_room(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """At least the shape; when rows run out their number doubles, so that growth costs little an event."""
    rows = shape[0]
    if len(shape) == 1 or rows == array.shape[0]:
        return padded(array, shape)
    return padded(
        array,
        (array.shape[0] if rows < array.shape[0] else max(rows, 2 * array.shape[0], SMALLEST_ROOM), shape[1]),
    )
