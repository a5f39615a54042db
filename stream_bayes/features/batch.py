"""Many events at once: a sparse matrix by rows, its columns named or hashed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.features.values import (
    MAX_BUCKETS,
    FeatureName,
    Features,
    FloatArray,
    IntArray,
    Row,
    category_row,
    check_name,
    numeric_row,
)

# The columns of a single event are 0, 1, 2, ...; batches are read-only, so small ones share them.
_FIRST_COLUMNS = np.arange(4096, dtype=np.int64)


class Names:
    """Names numbered in the order they come, for all the batches of a stream.

    A learner looks up each number once, not once a batch (measured: 10 us of 15 for a message of 300 words).
    """

    def __init__(self) -> None:
        self._numbers = _Numbering()

    def __len__(self) -> int:
        return len(self._numbers.names)

    def __getitem__(self, number: int) -> FeatureName:
        return self._numbers.names[number]

    def numbers(self, names: Iterable[FeatureName], count: int) -> IntArray:
        """The number of each of `count` names; new names get the next ones."""
        return np.fromiter(map(self._numbers.__getitem__, names), np.int64, count)


class _Numbering(dict[FeatureName, int]):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[FeatureName] = []

    def __missing__(self, name: FeatureName) -> int:
        self[name] = number = len(self.names)
        self.names.append(name)
        return number


@dataclass(frozen=True, eq=False)
class Batch:
    """Events in order, each a run of (column, value) pairs; no column stands twice in a row.

    Made by `from_dicts`, `from_categories`, `from_matrix`, `from_arrays` or a learner's `batch` of a data frame, which
    check what they are given; the constructor does not. A batch knows its own names and no learner: the same one can be
    given to several learners, and each finds its own columns for the names.

    A batch that a learner's `batch` made of a matrix of floats, stored by rows and writable, shares its memory: do not
    change the matrix while the batch is in use. `from_matrix` copies.

    Examples
    --------
    >>> batch = Batch.from_dicts([{"free": 1, "money": 2}, {"money": 1}])
    >>> list(batch.names), batch.columns, batch.row_starts
    (['free', 'money'], array([0, 1, 1]), array([0, 2, 3]))
    """

    row_starts: IntArray
    """Row i holds the pairs from row_starts[i] up to row_starts[i + 1]."""
    columns: IntArray
    """Places in `names`, or buckets when `names` is None."""
    values: FloatArray
    names: Names | Sequence[FeatureName] | None
    """By column; a plain sequence if and only if the batch is one event, whose columns are 0, 1, 2, ..."""
    texts: Set[FeatureName] = field(default=frozenset())
    """Features that came as texts (see `Row`)."""
    categorical: bool = False
    """Whether `names` are `Category` cells."""
    buckets: int | None = None
    """How many the columns were hashed into, where that is known."""
    is_dense: bool = False
    """Whether every row has every name, in order; known of matrices without missing values."""

    def __len__(self) -> int:
        return len(self.row_starts) - 1

    @classmethod
    def from_dicts(cls, events: Iterable[Features], names: Names | None = None) -> Batch:
        """Numbers and booleans as values; a text becomes the indicator of (name, text).

        Give all batches of a stream the same `names`: then a learner looks each of them up once.
        """
        return cls._from_rows(events, numeric_row, Names() if names is None else names, categorical=False)

    @classmethod
    def from_categories(cls, events: Iterable[Features]) -> Batch:
        """Every value, text or boolean or number, as a category of its feature; None is missing."""
        return cls._from_rows(events, category_row, Names(), categorical=True)

    @classmethod
    def of_row(cls, row: Row, *, categorical: bool = False) -> Batch:
        """A batch of one event."""
        count = len(row.names)
        columns = _FIRST_COLUMNS[:count] if count <= len(_FIRST_COLUMNS) else np.arange(count, dtype=np.int64)
        return cls(np.array((0, count), dtype=np.int64), columns, row.values, row.names, row.texts, categorical)

    @classmethod
    def from_arrays(
        cls, row_starts: Any, columns: Any, values: Any, names: Sequence[FeatureName] | None = None
    ) -> Batch:
        """A batch from the three arrays of a CSR matrix, checked and copied; without names the columns are buckets."""
        batch = cls(
            _vector(row_starts, "row_starts", np.int64),
            _vector(columns, "columns", np.int64),
            _vector(values, "values", np.float64),
            None if names is None else _numbered(names),
        )
        batch._check()
        return batch

    @classmethod
    def from_matrix(cls, matrix: Any, names: Sequence[FeatureName]) -> Batch:
        """A batch from a dense matrix, a row an event; NaN stands for a missing value.

        Examples
        --------
        >>> Batch.from_matrix([[1.0, np.nan], [3.0, 4.0]], ["height", "weight"]).columns
        array([0, 0, 1])
        """
        try:
            values = np.array(matrix, dtype=np.float64, order="C")
        except (TypeError, ValueError) as problem:
            message = f"a matrix holds numbers: {problem}"
            raise InputError(message) from problem
        return cls.of_matrix(values, names)

    @classmethod
    def of_matrix(cls, matrix: FloatArray, names: Sequence[FeatureName]) -> Batch:
        """A batch that holds the matrix itself, stored by rows, if it can be written and nothing is missing."""
        if matrix.ndim != 2 or matrix.shape[1] != len(names):
            message = f"a matrix of shape {matrix.shape} does not have one column for each of {len(names)} names"
            raise InputError(message)
        numbered = _numbered(names)
        rows, width = matrix.shape
        # An array that cannot be written is another type to a compiled fold, which would be compiled again.
        values = (matrix if matrix.flags.writeable else matrix.copy()).reshape(-1)
        starts = np.arange(rows + 1) * width
        columns = np.tile(np.arange(width), rows)
        dense = rows > 0 and not np.isnan(values.min(initial=np.inf))
        if not dense:
            known = ~np.isnan(matrix)
            starts = np.concatenate(([0], np.cumsum(known.sum(axis=1))))
            columns = columns[known.reshape(-1)]
            values = matrix[known]
        if len(values) and not -np.inf < values.min() <= values.max() < np.inf:
            row, column = np.argwhere(np.isinf(matrix))[0].tolist()
            message = f"event {row} of the batch: feature {names[column]!r} must be finite, not {matrix[row, column]:g}"
            raise InputError(message)
        return cls(starts, columns, values, numbered, is_dense=dense)

    @classmethod
    def _from_rows(
        cls, events: Iterable[Features], encode: Callable[[Features], Row], names: Names, *, categorical: bool
    ) -> Batch:
        rows = [_encoded(encode, place, x) for place, x in enumerate(events)]
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row.names) for row in rows], out=starts[1:])
        columns = names.numbers(chain.from_iterable(row.names for row in rows), int(starts[-1]))
        values = np.concatenate([row.values for row in rows]) if rows else np.empty(0)
        texts = frozenset(chain.from_iterable(row.texts for row in rows))
        return cls(starts, columns, values, names, texts, categorical)

    def _check(self) -> None:
        for problem in self._problems():
            message = f"these arrays are not a batch: {problem}"
            raise InputError(message)

    def _problems(self) -> Iterator[str]:
        """Yield the problems of the arrays; each array is looked at only if those before it are right."""
        starts = self.row_starts
        columns = self.columns
        if len(starts) == 0 or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] != len(columns):
            yield "row_starts must begin at 0, never fall, and end at the number of columns"
        if len(columns) != len(self.values):
            yield f"{len(columns)} columns but {len(self.values)} values"
        # Names are hashed into at most 2**32 buckets; with more the places below would overflow.
        width = len(self.names) if self.names is not None else MAX_BUCKETS
        if len(columns) and not 0 <= columns.min() <= columns.max() < width:
            yield f"columns must lie between 0 and {width - 1}"
        if not np.isfinite(self.values).all():
            yield "values must be finite"
        places = np.repeat(np.arange(len(self)), np.diff(starts)) * width + columns
        # Rows in the order of their columns, as most are, need no sorting.
        if (np.diff(places) <= 0).any() and len(np.unique(places)) != len(columns):
            yield "a column stands twice in one row: sum the duplicates first"


def _encoded(encode: Callable[[Features], Row], place: int, x: Features) -> Row:
    try:
        return encode(x)
    except InputError as problem:
        message = f"event {place} of the batch: {problem}"
        raise InputError(message) from problem


def _vector(values: Any, what: str, kind: type[np.int64] | type[np.float64]) -> Any:
    """A copy of one dimension; whole numbers stay whole."""
    kinds = "iu" if kind is np.int64 else "iufb"
    try:
        found = np.array(values)
    except (TypeError, ValueError):
        found = np.empty((0, 0))
    if found.ndim != 1 or (found.size and found.dtype.kind not in kinds):
        whole = "whole " if kind is np.int64 else ""
        message = f"these arrays are not a batch: {what} must be {whole}numbers in one dimension"
        raise InputError(message)
    return found.astype(kind)


def _numbered(names: Any) -> Names:
    numbered = Names()
    is_list = isinstance(names, Sequence) and not isinstance(names, str)
    listed = [check_name(name) for name in names] if is_list else []
    if not is_list or len(set(listed)) < len(listed):
        message = "these arrays are not a batch: names must be a list with a different name for each column"
        raise InputError(message)
    numbered.numbers(listed, len(listed))
    return numbered
