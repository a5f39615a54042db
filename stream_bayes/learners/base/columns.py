"""Features as columns: the way from dicts and batches to a learner's own columns, written once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from stream_bayes.errors import EvidenceError, InputError, NumericalError
from stream_bayes.features import Batch, HashedVocabulary, Names, Vocabulary, open_vocabulary
from stream_bayes.features.values import FeatureName, Features, IntArray, Row, category_row, numeric_row, plain_values
from stream_bayes.kernels.common.csr import all_between, merge_duplicates
from stream_bayes.learners.base.arrays import padded
from stream_bayes.learners.base.input_checks import Events, check_events, check_kinds, frame_table, kind_of, same_event
from stream_bayes.learners.base.learner import Learner
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import BoolArray, FloatArray

MAX_UNLEARNED_NAMES = 1_000_000

Pairs = tuple[IntArray, FloatArray]
"""One event: the learner's column of each feature, -1 for a name it has never learned, and its value."""


NO_NAMES = Batch.of_row(Row([], np.empty(0), frozenset()))
"""In the place of the batch where a single event has been looked up without the making of one."""


class Cells(NamedTuple):
    """The rows of a batch in the columns of one learner, -1 for a name it has never learned."""

    row_starts: IntArray
    columns: IntArray
    values: FloatArray


class ColumnLearner(Learner):
    """Events as rows of columns: kept by name, or hashed into buckets.

    Nothing is assigned until everything that can be refused has been looked at: first the values, the targets, the
    weights and the names, then new names are registered, room is made, and the fold runs.
    """

    _categorical: ClassVar[bool] = False
    """Whether the columns are (feature, value) cells."""
    _bounds: ClassVar[tuple[float, float] | None] = None
    """Between which numbers values lie; None where the kernels of single events look at that."""

    def __init__(self, buckets: int | None) -> None:
        self.buckets = buckets
        self._vocabulary: Vocabulary | HashedVocabulary = open_vocabulary(buckets)
        # No part of the state: the last event, by content, and its columns, so that an event predicted and then learned
        # is encoded once; and the columns of the names that batches share.
        self._last_event: tuple[Features, Batch] | None = None
        self._last_names: list[FeatureName] | None = None
        self._last_values: list[Any] = []
        self._last_pairs: Pairs = np.empty(0, dtype=np.int64), np.empty(0)
        self._last_columns: tuple[Batch, IntArray] | None = None
        self._batch_names = Names()
        self._batch_columns: tuple[Names, IntArray] | None = None

    def _evidence_summary(self) -> dict[str, Any]:
        return {"features": len(self._vocabulary)} if self.buckets is None else {}

    @abstractmethod
    def _reserve(self) -> None:
        """Make room in the evidence for every registered name."""

    def _check_values(self, batch: Batch) -> None:
        """Refuse values this learner cannot use."""

    def batch(self, events: Events) -> Batch:
        """Events as a batch of the form this learner takes."""
        table = frame_table(events)
        if table is not None:
            events = table.events()
            made = table.category_batch() if self._categorical else table.numeric_batch()
            if made is not None:
                return made
        events = check_events(events)
        if self._categorical:
            return Batch.from_categories(events)
        # Where names are hashed none are kept; else those that only came without a label must not pile up here.
        most = 2 * len(self._vocabulary) + MAX_UNLEARNED_NAMES
        if self.buckets is not None or len(self._batch_names) > most:
            self._batch_names = Names()
        return Batch.from_dicts(events, self._batch_names)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Context that unregisters new names when there is no memory for them, or when arithmetic with them fails."""
        names = len(self._vocabulary)
        texts = self._vocabulary.texts
        try:
            yield
        except (MemoryError, NumericalError) as problem:
            refusal = self._no_memory()
            self._drop_names(names, texts)
            if isinstance(problem, NumericalError):
                raise
            raise refusal from problem

    def _no_memory(self) -> EvidenceError:
        wanted = f"{len(self._vocabulary)} features"
        message = f"no memory for {wanted} in a {type(self).__name__}; hash them (buckets=...) or drop some"
        return EvidenceError(message)

    def _drop_names(self, count: int, texts: Set[FeatureName]) -> None:
        """Keep only the first names; nothing was learned of the others."""
        if len(self._vocabulary) > count:
            self._vocabulary.truncate(count, texts)
        self._last_columns = self._batch_columns = self._last_names = None

    def _one(self, x: Features) -> Batch:
        if self._categorical:
            return Batch.of_row(category_row(x), categorical=True)
        if self._last_event is not None and same_event(self._last_event[0], x):
            return self._last_event[1]
        batch = Batch.of_row(numeric_row(x))
        self._last_event = (dict(x), batch)
        return batch

    def _pairs(self, x: Features) -> Pairs:
        """One event without the making of a batch: what has the names of the last one has its columns too."""
        if type(x) is not dict or [*x] != self._last_names:
            return self._new_pairs(x)
        values = [*x.values()]
        try:
            if values == self._last_values:
                return self._last_pairs
        # Arrays, pandas' NA and signaling NaNs do not say whether they are equal; they will be refused.
        except (ArithmeticError, TypeError, ValueError):
            return self._new_pairs(x)
        numbers = plain_values(values)
        if numbers is None or (self._bounds is not None and not all_between(numbers, *self._bounds)):
            return self._new_pairs(x)
        self._last_values = values
        self._last_pairs = (self._last_pairs[0], numbers)
        return self._last_pairs

    def _are_known(self, columns: IntArray) -> bool:
        """Whether the learner knows all features of an event whose columns `_pairs` has found."""
        return columns is self._last_pairs[0] or len(columns) == 0 or int(columns.min()) >= 0

    def _new_pairs(self, x: Features) -> Pairs:
        batch = self._one(x)
        _, columns, values = self._cells(batch, self._find(batch))
        # Texts are part of the names, and hashing may put two of them into one column: such columns are good once.
        if self.buckets is None and not batch.texts and (len(columns) == 0 or columns.min() >= 0):
            self._last_names = list(x)
            self._last_values = list(x.values())
            self._last_pairs = (columns, values)
        return columns, values

    def _as_batch(self, events: Batch | Events) -> Batch:
        if not isinstance(events, Batch):
            return self.batch(events)
        if events.categorical != self._categorical:
            message = f"this batch is not of the form a {type(self).__name__} takes: make it with its batch(events)"
            raise InputError(message)
        return events

    def _find(self, batch: Batch) -> IntArray:
        """The learner's column of each batch column, -1 where the name is new; refuses what could not be learned."""
        if self._last_columns is not None and self._last_columns[0] is batch:
            return self._last_columns[1]
        self._check_values(batch)
        if batch.names is None:
            return self._buckets_of(batch)
        if isinstance(batch.names, Names):
            return self._find_shared(batch, batch.names)
        found = self._vocabulary.lookup(batch.names)
        if len(found) == 0 or found.min() >= 0:
            self._last_columns = (batch, found)
        else:
            self._check_new(batch, batch.names, found)
        return found

    def _find_shared(self, batch: Batch, names: Names) -> IntArray:
        if self._batch_columns is None or self._batch_columns[0] is not names:
            self._batch_columns = (names, np.empty(0, dtype=np.int64))
        found: IntArray = self._batch_columns[1]
        if len(names) > len(found):
            # Twice as much as there was, so that a stream of new names copies each a few times and not every batch.
            found = padded(found, (max(len(names), 2 * len(found)),), fill=-1)
            self._batch_columns = (names, found)
        unknown = _first_places(batch, found)[0]
        if len(unknown):
            new = [names[number] for number in unknown]
            found[unknown] = self._vocabulary.lookup(new)
            self._check_new(batch, new, found[unknown])
        return found

    def _check_new(self, batch: Batch, names: Sequence[FeatureName], found: IntArray) -> None:
        """Refuse names that were not known and could not be learned."""
        self._vocabulary.check(names, found, batch.texts)

    def _check_types(self, batch: Batch, learned: BoolArray) -> None:
        """Refuse a batch in which a feature changes its type, as the loop would: a labelled row fixes it."""
        if self.buckets is None and batch.texts and isinstance(batch.names, Names):
            used = {batch.names[number] for number in np.unique(batch.columns)}
            if not batch.texts.isdisjoint(used):
                check_kinds(batch, learned, {}, lambda name: kind_of(name, batch.texts))

    def _buckets_of(self, batch: Batch) -> IntArray:
        width = batch.buckets or int(batch.columns.max(initial=-1)) + 1
        if self.buckets is None or width > self.buckets or batch.buckets not in (None, self.buckets):
            message = f"this batch has no names and {width} buckets, the learner has buckets={self.buckets}"
            raise InputError(message)
        return np.empty(0, dtype=np.int64)  # columns are buckets: they have no list of names

    def _register(self, batch: Batch, found: IntArray, learned: BoolArray) -> IntArray:
        """Give columns to the new names of the rows to learn, in the order a loop of learn_one would."""
        if batch.names is None or (self._last_columns is not None and self._last_columns[0] is batch):
            return found
        learned_pairs = np.repeat(learned, np.diff(batch.row_starts)) if not learned.all() else None
        new, first = _first_places(batch, found, learned_pairs)
        order = new[np.argsort(first)]
        if len(order):
            found[order] = self._register_names(batch, [batch.names[number] for number in order.tolist()])
        return found

    def _register_names(self, batch: Batch, names: list[Any]) -> IntArray:
        # A text feature stands in the names as (feature, text); only those of labelled rows are learned.
        texts = {name[0] for name in names if isinstance(name, tuple) and name[0] in batch.texts}
        return self._vocabulary.register(names, texts)

    def _cells(self, batch: Batch, found: IntArray) -> Cells:
        columns = _own_columns(batch, found) if isinstance(batch.names, Names) else found
        if batch.names is None:
            columns = batch.columns
        elif self.buckets is not None:
            starts = np.empty_like(batch.row_starts)
            merged = np.empty_like(columns)
            values = np.empty(len(columns))
            left = merge_duplicates(batch.row_starts, columns, batch.values, starts, merged, values)
            return Cells(starts, merged[:left], values[:left])
        return Cells(batch.row_starts, columns, batch.values)

    def _restore_names(self, arrays: Arrays) -> None:
        """Take over the names of a snapshot; hashed ones are not in it."""
        if isinstance(self._vocabulary, Vocabulary):
            self._vocabulary = Vocabulary.from_state(arrays)

    def _adopt_names(self, other: Self) -> IntArray:
        """Register the other's names here and make room; returns where its columns stand here."""
        mine = self._vocabulary
        theirs = other._vocabulary
        if not isinstance(mine, Vocabulary) or not isinstance(theirs, Vocabulary):
            self._reserve()
            return np.arange(len(mine))
        mine.check(theirs.names, mine.lookup(theirs.names), theirs.texts)
        with self._all_or_nothing():
            columns = mine.register(theirs.names, theirs.texts)
            self._reserve()
        return columns


@lru_cache(maxsize=4096)
def row_starts(count: int) -> IntArray:
    """Where the only row of one event begins and ends; to be read only."""
    return np.array((0, count), dtype=np.int64)


def _own_columns(batch: Batch, found: IntArray) -> IntArray:
    """The learner's column of each pair."""
    width = len(cast(Names, batch.names))
    # Of a first data frame all learners have the columns of the frame.
    if batch.is_dense and np.array_equal(found[:width], np.arange(width)):
        return batch.columns
    return np.tile(found[:width], len(batch)) if batch.is_dense else found[batch.columns]


def _first_places(batch: Batch, found: IntArray, pairs: BoolArray | None = None) -> tuple[IntArray, IntArray]:
    """The names of a batch that have no column yet, and the first pair of each; of some of the pairs, or of all."""
    width = len(cast(Names, batch.names))
    if not batch.is_dense and len(batch.columns) < width:
        unknown = found[batch.columns] < 0
        return np.unique(batch.columns[unknown if pairs is None else unknown & pairs], return_index=True)
    new = np.flatnonzero(found[:width] < 0)
    if batch.is_dense or len(new) == 0:
        return new, new
    # As fast as the pairs are read, where sorting them takes seconds for a million rows.
    places = np.arange(len(batch.columns)) if pairs is None else np.flatnonzero(pairs)
    first = np.full(width, -1)
    first[batch.columns[places[::-1]]] = places[::-1]
    new = np.flatnonzero((found[:width] < 0) & (first >= 0))
    return new, first[new]
