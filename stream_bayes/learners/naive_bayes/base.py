"""Base of the naive Bayes learners: evidence in growable arrays, and its sums."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.errors import InputError, UnlearnError
from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName, Features, IntArray
from stream_bayes.features.vocabulary import pack_json, unpack_json
from stream_bayes.kernels.common.csr import RELATIVE_RESIDUE, RESIDUE, Rows, residue
from stream_bayes.kernels.common.special import fill_slopes
from stream_bayes.learners.base.arrays import with_room
from stream_bayes.learners.base.generative_classifier import GenerativeClassifier, by_name
from stream_bayes.learners.base.labels import Label, check_label
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import BoolArray, FloatArray

TABLE_SIZE = 4096
# Sums of millions of such counts are still whole numbers that floating point holds exactly.
LARGEST_COUNT = 2.0**31
# With less than this share of its events left, a class is summed up again: it costs as much as the vocabulary is large.
MUCH_LEFT = 0.9


class NaiveBayes(GenerativeClassifier):
    """Classes with a Dirichlet prior, and one table of evidence a feature: evidence[column, class].

    Evidence is a named tuple of arrays: those of one dimension run over classes, those of two over columns and
    classes. Rows beyond the registered names are room to grow and stay zero. Everything else a subclass keeps
    follows from the evidence and is recomputed by `_refresh`.
    """

    posterior_kinds: ClassVar[tuple[str, ...]] = ("feature", "word")
    _evidence_kind: ClassVar[type[tuple[Any, ...]]]
    _bounds: ClassVar[tuple[float, float] | None] = (0.0, LARGEST_COUNT)
    _takes_counts: ClassVar[bool] = True
    """Whether values are counts, from 0 on."""
    _allowed: ClassVar[str] = "a count is between 0 and 2**31"

    def __init__(self, class_prior_count: float, classes: tuple[Label, ...] | None, buckets: int | None) -> None:
        super().__init__(class_prior_count, classes, buckets)
        self._evidence = self._evidence_kind(*(np.zeros(self._shape(name)) for name in self._fields()))
        self._room_for = (len(self._vocabulary), len(self._labels))

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
        if self._room_for == (len(self._vocabulary), len(self._labels)):
            return
        grown = [
            with_room(array, self._shape(name)) for name, array in zip(self._fields(), self._evidence, strict=True)
        ]
        if any(new is not old for new, old in zip(grown, self._evidence, strict=True)):
            self._evidence = self._evidence_kind(*grown)
            self._grow()
        self._room_for = (len(self._vocabulary), len(self._labels))

    def _grow(self) -> None:
        """Make room in what is derived, after the evidence got room."""

    def _check_unlearn(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        amounts = weight * self._amounts(rows.values)
        held = self._held(self._evidence.cells, rows, label)
        short = held - amounts < -slack(held)
        if short.any():
            name = self._name_at(batch, rows, int(np.flatnonzero(short)[0]))
            message = f"feature {name!r} has less evidence than there is to take back: was this event learned?"
            raise UnlearnError(message)
        self._check_rest(batch, rows, label, weight)

    def unlearn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Take one event back, as if it had never come; refused when it cannot have been learned."""
        code = self._labels.code(check_label(y))
        before = float(self._evidence.class_weight[code]) if code >= 0 else 0.0
        super().unlearn_one(x, y, w)
        if before > 0.0 and float(self._evidence.class_weight[code]) < MUCH_LEFT * before:
            self._sum_again(code)

    def _sum_again(self, code: int) -> None:
        """Make the sums of a class fit its cells: what is left of them may be less than their rounding."""
        if "class_total" in self._fields():
            self._evidence.class_total[code] = self._evidence.cells[:, code].sum()

    def _held(self, array: FloatArray, rows: Rows, label: int) -> FloatArray:
        """The evidence of each pair of a row in one class; none for a feature never seen."""
        known = rows.columns >= 0
        return (
            np.where(known, array[np.where(known, rows.columns, 0), label], 0.0) if len(array) else np.zeros(len(known))
        )

    def _check_rest(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        """Refuse when what would be left of the class cannot be the evidence of any events."""

    def _check_coverage(self, counts: FloatArray, lacking: NDArray[np.bool_], label: int, weight: float) -> None:
        """No feature is in more events than there are: refuse when one that this event lacks would be."""
        total = self._evidence.class_weight[label]
        if (lacking & (counts > total - weight + residue(total))).any():
            message = "a feature that this event lacks is in every event of the label: this one was never learned"
            raise UnlearnError(message)

    def _amounts(self, values: FloatArray) -> FloatArray:
        """How much of a cell one event of weight 1 adds for each value."""
        return values

    def _check_values(self, batch: Batch) -> None:
        values = batch.values
        if len(values) and not (values.min() >= 0.0 and values.max() <= LARGEST_COUNT):
            place = int(np.flatnonzero(~((values >= 0.0) & (values <= LARGEST_COUNT)))[0])
            name = batch.names[batch.columns[place]] if batch.names is not None else batch.columns[place]
            message = f"feature {name!r} is {values[place]:g}: {self._allowed}"
            raise InputError(message)

    def _absorb(self, other: Self) -> None:
        classes, columns = self._adopt(other)
        for name, mine, theirs in zip(self._fields(), self._evidence, other._evidence, strict=True):
            used = theirs[: other._height(name)] if theirs.ndim > 1 else theirs
            mine[(classes,) if mine.ndim == 1 else np.ix_(self._places(name, columns, other), classes)] += used
        self._refresh()

    def _places(self, name: str, columns: IntArray, other: Self) -> IntArray:
        """The rows of this learner's arrays that the rows of the other's belong to."""
        return columns

    def _column(self, name: FeatureName) -> int:
        return int(self._vocabulary.lookup([name])[0])

    def _cell(self, array: FloatArray, name: FeatureName, label: Any) -> float:
        """One entry of the evidence; a name or a label never seen has none."""
        column = self._column(name)
        code = self._labels.code(label)
        return float(array[column, code]) if column >= 0 and code >= 0 and column < len(array) else 0.0

    def _in_vocabulary(self, name: FeatureName) -> bool:
        column = self._column(name)
        return column >= 0 and bool(self._evidence.cells[column].any())

    def _used(self) -> BoolArray:
        """By column, of those that have a name, whether any class has evidence of it."""
        used: BoolArray = self._evidence.cells[: len(self._kept_names())].any(axis=1)
        return used

    def _counts_of(self, code: int) -> dict[FeatureName, Any]:
        names = self._kept_names()
        return by_name(names, self._evidence.cells[: len(names), code], self._used())

    def _class_entry(self, array: FloatArray, label: Any) -> float:
        code = self._labels.code(label)
        return float(array[code]) if code >= 0 else 0.0

    def _arrays(self) -> Arrays:
        arrays: Arrays = {"labels": pack_json(list(self._labels)), **self._vocabulary.state()}
        for name, array in zip(self._fields(), self._evidence, strict=True):
            arrays[name] = (array if array.ndim == 1 else array[: self._height(name)]).copy()
        return arrays

    def _restore(self, arrays: Arrays) -> None:
        self._labels.register(map(check_label, unpack_json(arrays["labels"])))
        self._restore_names(arrays)
        evidence = []
        for name in self._fields():
            array = arrays[name]
            lowest = -np.inf if name == "mean" else 0.0
            right = array.dtype == np.float64 and array.shape == self._shape(name)
            if not right or not ((array >= lowest) & (array < np.inf)).all():
                message = f"array {name!r} must be float64 of shape {self._shape(name)} and hold evidence"
                raise ValueError(message)
            evidence.append(array)
        self._evidence = self._evidence_kind(*evidence)
        if "class_total" in arrays and not np.allclose(arrays["class_total"], arrays["cells"].sum(axis=0), rtol=1e-6):
            message = "class_total is not the sum of the cells"
            raise ValueError(message)
        self._refresh()

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT} if self._takes_counts else set()


def table_of(prior: float) -> FloatArray:
    """Logarithm, digamma and trigamma of prior + k, for the first whole k."""
    table = np.empty((TABLE_SIZE, 3))
    fill_slopes(prior, table)
    return table


def slack(held: FloatArray) -> FloatArray:
    """How far rounding may have moved sums of these sizes."""
    return np.maximum(RESIDUE, RELATIVE_RESIDUE * held)


def vocabulary_size(cells: FloatArray) -> int:
    """How many columns have evidence in any class."""
    return int(np.count_nonzero(cells.sum(axis=1)))
