"""Data frames as events: pandas, polars and others through narwhals, and numpy arrays.

A row is an event, a column a feature. A missing value (null or NaN) leaves its feature out of the event; a missing
label is one that is not known. A numpy matrix has the features 0, 1, 2, ..., as a pandas frame without names has, and a
structured array has the names of its fields.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from stream_bayes.errors import InputError, shown
from stream_bayes.features.batch import Batch, Names
from stream_bayes.features.values import FeatureName, category_row
from stream_bayes.typing import FloatArray, IntArray


class EventTable(ABC):
    """Events as columns of equal length, and results in the form that the events came in."""

    names: list[FeatureName]

    @staticmethod
    def of(data: Any) -> EventTable:
        """The table of a data frame or of a numpy array of two dimensions or with named fields."""
        if isinstance(data, np.ndarray):
            _check_array(data)
            return ArrayTable(data)
        try:
            frame = nw.from_native(data, eager_only=True)
        except DuplicateError as problem:
            names = Counter(map(str, data.columns))
            twice = [name for name, count in names.items() if count > 1]
            message = f"columns of a data frame have different names; several are named {shown(twice)}"
            raise InputError(message) from problem
        except (TypeError, ValueError) as problem:
            message = f"events are a list of dicts, a data frame, a matrix or a Batch; got {type(data).__name__}"
            raise InputError(message) from problem
        return FrameTable(frame)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def values(self, place: int) -> list[Any]:
        """The values of the column at this place as Python's own, None where one is missing."""

    @abstractmethod
    def array(self, place: int) -> NDArray[Any] | None:
        """The column at this place if it holds numbers or booleans and none is missing."""

    @abstractmethod
    def matrix(self) -> FloatArray | None:
        """The values by rows, NaN where one is missing; None if a column is not of numbers or booleans."""

    @abstractmethod
    def series(self, values: NDArray[Any]) -> Any:
        """One value for each event, in the form of the events."""

    @abstractmethod
    def frame(self, columns: Sequence[Any], values: FloatArray) -> Any:
        """Several values for each event, in the form of the events."""

    def events(self) -> Iterator[dict[Any, Any]]:
        """Each row as a dict of the values that are not missing."""
        columns = [self.values(place) for place in range(len(self.names))]
        for row in range(len(self)):
            pairs = ((name, column[row]) for name, column in zip(self.names, columns, strict=True))
            yield {name: value for name, value in pairs if value is not None}

    def _cells(self, place: int, names: Names) -> IntArray:
        """The number of the category of each value of a column, -1 where one is missing."""
        array = self.array(place)
        if array is None:
            return _numbered_cells(self.names[place], self.values(place), names)
        # A search among the different numbers takes a tenth of the time of looking each up in a dict.
        distinct = np.unique(array)
        return _numbered_cells(self.names[place], distinct.tolist(), names)[np.searchsorted(distinct, array)]

    def numeric_batch(self) -> Batch | None:
        """The rows as a batch of numbers; None if a column holds something else, such as texts."""
        matrix = self.matrix()
        return None if matrix is None else Batch.of_matrix(matrix, self.names)

    def category_batch(self, features: Sequence[FeatureName] | None = None) -> Batch:
        """The rows as a batch in which every value is a category of its feature: of these features, or of all."""
        names = Names()
        places = [place for place, name in enumerate(self.names) if features is None or name in features]
        cells = np.empty((len(self), len(places)), dtype=np.int64)
        for column, place in enumerate(places):
            cells[:, column] = self._cells(place, names)
        known = cells >= 0
        starts = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(known.sum(axis=1), out=starts[1:])
        columns = cells[known]
        return Batch(starts, columns, np.ones(len(columns)), names, categorical=True)


class FrameTable(EventTable):
    """A data frame of any library that narwhals knows."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self._columns: list[Any] = list(frame.iter_columns())
        self.names = list(frame.columns)

    def __len__(self) -> int:
        return len(self._frame)

    def values(self, place: int) -> list[Any]:
        """The values of the column at this place as Python's own, None where one is missing."""
        return _values_of(self._columns[place])

    def array(self, place: int) -> NDArray[Any] | None:
        """The column at this place if it holds numbers or booleans and none is missing."""
        column = self._columns[place]
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean) or column.is_null().any():
            return None
        return _without_nan(np.asarray(column.to_numpy()))

    def matrix(self) -> FloatArray | None:
        """The values by rows, without a copy where the frame holds them as floats by rows."""
        if not all(column.dtype.is_numeric() or column.dtype == nw.Boolean for column in self._columns):
            return None
        if self._frame.implementation.is_pandas_like():
            return np.ascontiguousarray(self._frame.to_native().to_numpy(dtype=np.float64, na_value=np.nan))
        return _by_rows([column.to_numpy() for column in self._columns], len(self))

    def numbers(self, place: int) -> FloatArray | None:
        """The column at this place as floats, NaN where there is no number; None if there is none at all."""
        array = self.array(place)
        if array is not None:
            return array.astype(np.float64)
        numbers = np.full(len(self), np.nan)
        for row, value in enumerate(self.values(place)):
            if isinstance(value, (int, float)):
                numbers[row] = value
        return None if np.isnan(numbers).all() else numbers

    def with_columns(self, columns: Mapping[str, FloatArray]) -> Any:
        """The frame with further columns."""
        if not columns:
            return self._frame.to_native()
        more = nw.from_dict(dict(columns), backend=self._frame.implementation).to_native()
        both = (self._frame, nw.from_native(self._indexed(more), eager_only=True))
        return nw.concat(both, how="horizontal").to_native()

    def series(self, values: NDArray[Any]) -> Any:
        """A series of the frame's library, with its index where it has one."""
        name: Any = None if self._frame.implementation.is_pandas_like() else ""
        listed = values.tolist() if values.dtype == object else values
        return self._indexed(nw.new_series(name, listed, backend=self._frame.implementation).to_native())

    def frame(self, columns: Sequence[Any], values: FloatArray) -> Any:
        """A frame of the same library, with its index; libraries that take only texts as names get them as texts."""
        is_pandas = self._frame.implementation.is_pandas_like()
        named = {name if is_pandas else str(name): values[:, place] for place, name in enumerate(columns)}
        if len(named) < len(columns):
            message = (
                f"two of the labels {shown(list(columns))} are the same text, and columns of this data frame are named "
                "by texts: predict from a list of dicts, an array or a frame of pandas"
            )
            raise InputError(message)
        return self._indexed(nw.from_dict(named, backend=self._frame.implementation).to_native())

    def numeric_batch(self) -> Batch | None:
        """The rows as a batch; of a sparse frame the values that are stored."""
        native = self._frame.to_native()
        if not self.names or not all(type(kind).__name__ == "SparseDtype" for kind in getattr(native, "dtypes", ())):
            return super().numeric_batch()
        stored = native.sparse.to_coo().tocsr()
        return Batch.from_arrays(stored.indptr, stored.indices, stored.data, self.names)

    def _indexed(self, native: Any) -> Any:
        index = nw.maybe_get_index(self._frame)
        if index is not None:
            native.index = index
        return native


class ArrayTable(EventTable):
    """A numpy array: a matrix, or rows with named fields."""

    def __init__(self, array: NDArray[Any]) -> None:
        if array.dtype.names is not None:
            self.names = list(array.dtype.names)
            self._columns = [array[name] for name in array.dtype.names]
        else:
            self.names = list(range(array.shape[1]))
            self._columns = list(array.T)
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def values(self, place: int) -> list[Any]:
        """The values of the column at this place as Python's own, None where one is missing."""
        values: list[Any] = self._columns[place].tolist()
        return [None if value is None or _is_nan(value) else value for value in values]

    def array(self, place: int) -> NDArray[Any] | None:
        """The column at this place if it holds numbers or booleans and none is missing."""
        return _without_nan(self._columns[place])

    def matrix(self) -> FloatArray | None:
        """The values by rows, without a copy where they are floats by rows already."""
        if not all(column.dtype.kind in "iufb" for column in self._columns):
            return None
        if self._array.dtype.names is None:
            return np.ascontiguousarray(self._array, dtype=np.float64)
        return _by_rows(self._columns, len(self))

    def series(self, values: NDArray[Any]) -> Any:
        """The values as they are."""
        return values

    def frame(self, columns: Sequence[Any], values: FloatArray) -> Any:
        """The values as they are."""
        return values


def series_values(data: Any) -> NDArray[Any] | list[Any]:
    """The values of a series of any library: an array where all are known numbers, else a list with None in it."""
    try:
        series = nw.from_native(data, series_only=True)
    except (TypeError, ValueError) as problem:
        message = f"labels, targets and weights are a list, an array or a series; got {type(data).__name__}"
        raise InputError(message) from problem
    kind = series.dtype
    if (kind.is_numeric() or kind == nw.Boolean) and not series.is_null().any():
        return np.asarray(series.to_numpy())
    return _values_of(series)


def _check_array(array: NDArray[Any]) -> None:
    """Refuse an array that is neither a matrix nor a row of records with a single value in each field."""
    kind = array.dtype
    if kind.names is None:
        is_table = array.ndim == 2
    else:
        is_table = array.ndim == 1 and all(kind[name].names is None and kind[name].shape == () for name in kind.names)
    if not is_table:
        message = (
            "an array of events is a matrix, or has one dimension and named fields of a single value each; got shape "
            f"{array.shape} of {kind}"
        )
        raise InputError(message)


def _without_nan(array: NDArray[Any]) -> NDArray[Any] | None:
    is_sound = array.dtype.kind in "iub" or (array.dtype.kind == "f" and not np.isnan(array).any())
    return array if is_sound else None


def _values_of(series: nw.Series[Any]) -> list[Any]:
    values: list[Any] = series.to_list()
    missing = np.asarray(series.is_null().to_numpy())
    if series.dtype.is_float():
        missing = missing | np.isnan(np.asarray(series.to_numpy(), dtype=np.float64))
    for row in np.flatnonzero(missing).tolist():
        values[row] = None
    return values


def _by_rows(columns: Sequence[Any], rows: int) -> FloatArray:
    matrix = np.empty((rows, len(columns)))
    for place, column in enumerate(columns):
        matrix[:, place] = column
    return matrix


def _numbered_cells(name: FeatureName, values: list[Any], names: Names) -> IntArray:
    """The number of the category of each value, -1 where one is missing."""
    # Equal values of different types, such as True and 1, are different categories.
    mixed = len(set(map(type, values)) - {type(None)}) > 1
    keys: list[Any] = [(type(value), value) for value in values] if mixed else values
    distinct = dict(zip(keys, values, strict=True))
    cells = {key: category_row({name: value}).names for key, value in distinct.items()}
    numbers = {key: int(names.numbers(cell, 1)[0]) if cell else -1 for key, cell in cells.items()}
    return np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
