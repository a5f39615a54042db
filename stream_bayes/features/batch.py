"""Many events at once: a sparse matrix by rows, its columns named or hashed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.features.values import (
    FeatureName,
    Features,
    FloatArray,
    IntArray,
    Row,
    category_row,
    numeric_row,
)


@dataclass(frozen=True, eq=False)
class Batch:
    """Events in order, each a run of (column, value) pairs; no column stands twice in a row.

    A batch knows its own names and no learner: the same one can be given to several learners, and each
    finds its own columns for the names, once a batch.

    >>> batch = Batch.from_dicts([{"free": 1, "money": 2}, {"money": 1}])
    >>> batch.names, batch.columns, batch.row_starts
    (['free', 'money'], array([0, 1, 1]), array([0, 2, 3]))
    """

    row_starts: IntArray
    """Row i holds the pairs from row_starts[i] up to row_starts[i + 1]."""
    columns: IntArray
    """Places in `names`, or buckets when `names` is None."""
    values: FloatArray
    names: Sequence[FeatureName] | None
    texts: Set[FeatureName] = field(default=frozenset())
    """Features that came as texts (see `Row`)."""
    categorical: bool = False
    """Whether `names` are `Category` cells."""

    def __len__(self) -> int:
        return len(self.row_starts) - 1

    @classmethod
    def from_dicts(cls, events: Iterable[Features]) -> Batch:
        """Numbers and booleans as values; a text becomes the indicator of (name, text)."""
        return cls._from_rows(events, numeric_row, categorical=False)

    @classmethod
    def categories(cls, events: Iterable[Features]) -> Batch:
        """Every value, text or boolean or number, as a category of its feature; None is missing."""
        return cls._from_rows(events, category_row, categorical=True)

    @classmethod
    def of_row(cls, row: Row, *, categorical: bool = False) -> Batch:
        """A batch of one event."""
        count = len(row.names)
        starts = np.array((0, count), dtype=np.int64)
        return cls(starts, np.arange(count, dtype=np.int64), row.values, row.names, row.texts, categorical)

    @classmethod
    def from_arrays(
        cls, row_starts: Any, columns: Any, values: Any, names: Sequence[FeatureName] | None = None
    ) -> Batch:
        """A batch from the three arrays of a CSR matrix, checked; without names the columns are buckets."""
        batch = cls(
            np.ascontiguousarray(row_starts, dtype=np.int64),
            np.ascontiguousarray(columns, dtype=np.int64),
            np.ascontiguousarray(values, dtype=np.float64),
            names,
        )
        batch._check()
        return batch

    @classmethod
    def _from_rows(cls, events: Iterable[Features], encode: Callable[[Features], Row], *, categorical: bool) -> Batch:
        rows = [encode(x) for x in events]
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row.names) for row in rows], out=starts[1:])
        # dict.fromkeys keeps the order of first appearance, which is the order a loop would learn them in.
        places = {
            name: place for place, name in enumerate(dict.fromkeys(chain.from_iterable(row.names for row in rows)))
        }
        flat = map(places.__getitem__, chain.from_iterable(row.names for row in rows))
        columns = np.fromiter(flat, np.int64, int(starts[-1]))
        values = np.concatenate([row.values for row in rows]) if rows else np.empty(0)
        texts = frozenset(chain.from_iterable(row.texts for row in rows))
        return cls(starts, columns, values, list(places), texts, categorical)

    def _check(self) -> None:
        starts, columns = self.row_starts, self.columns
        width = len(self.names) if self.names is not None else int(columns.max(initial=-1)) + 1
        rows = np.repeat(np.arange(len(self)), np.diff(starts)) if (np.diff(starts) >= 0).all() else starts
        problem = None
        if len(starts) == 0 or starts[0] != 0 or len(rows) != len(columns) or starts[-1] != len(columns):
            problem = "row_starts must begin at 0, never fall, and end at the number of columns"
        elif len(columns) != len(self.values):
            problem = f"{len(columns)} columns but {len(self.values)} values"
        elif len(columns) and not 0 <= columns.min() <= columns.max() < width:
            problem = f"columns must lie between 0 and {width - 1}"
        elif not np.isfinite(self.values).all():
            problem = "values must be finite"
        elif len(np.unique(rows * width + columns)) != len(columns):
            problem = "a column stands twice in one row: sum the duplicates first"
        if problem:
            message = f"these arrays are not a batch: {problem}"
            raise InputError(message)
