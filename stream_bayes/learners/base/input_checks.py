"""Looking at events before they are learned: are they events, the same as before, and of the types they were?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stream_bayes import features
from stream_bayes.errors import InputError
from stream_bayes.features import Batch, Names
from stream_bayes.features.values import FeatureName, Features
from stream_bayes.features.vocabulary import refuse_change
from stream_bayes.typing import BoolArray, FloatArray, SupportsArray

if TYPE_CHECKING:
    from stream_bayes.features import EventTable


Events = Iterable[Features] | SupportsArray
"""Dicts of features, a data frame of pandas or polars, or an array with a column for each feature."""

# Squares of values and targets, times any weight and over any prior, summed over any stream, stay finite.
LARGEST_NUMBER = 1e50


def same_event(known: Features, x: Features) -> bool:
    """Whether two events have the same names in the same order, with equal values."""
    # A series of pandas is no event, and warns when it is compared with one.
    if type(x) is not dict and hasattr(x, "__array__"):
        return False
    try:
        return known == x and list(known) == list(x)
    # Arrays, pandas' NA and signaling NaNs do not say whether they are equal; they will be refused.
    except (ArithmeticError, TypeError, ValueError):
        return False


def frame_table(events: Any) -> EventTable | None:
    """The table of a data frame, a matrix or an array with named fields; None for anything else, a series too."""
    if not hasattr(events, "__array__"):
        return None
    has_fields = getattr(getattr(events, "dtype", None), "names", None) is not None
    return features.EventTable.of(events) if has_fields or len(getattr(events, "shape", ())) == 2 else None


def check_events(events: Any) -> Iterable[Features]:
    """The events of a batch, if there are any to go through."""
    if isinstance(events, np.ndarray) and events.dtype.kind != "O":
        message = f"an array of events has a row for each event and a column for each feature; got shape {events.shape}"
        raise InputError(message)
    # An array without dimensions has the method of an iterable, and refuses to be one.
    if isinstance(events, Iterable) and getattr(events, "shape", None) != ():
        return events
    message = f"events are a list of dicts, a data frame, a matrix or a Batch; got {type(events).__name__}"
    raise InputError(message)


def check_size(values: FloatArray, most: float = LARGEST_NUMBER) -> None:
    """Refuse NaN, and numbers so large that arithmetic with them would leave the finite numbers."""
    # A batch may share the caller's matrix: what was checked when it was made may have changed. NaN compares as False.
    if len(values) and not -most <= values.min() <= values.max() <= most:
        message = f"values must lie between -{most:g} and {most:g}, so that no step overflows"
        raise InputError(message)


def check_kinds(
    batch: Batch, learned: BoolArray, known: dict[FeatureName, str], kind: Callable[[Any], tuple[FeatureName, str]]
) -> None:
    """Go through the rows as a loop would: each must fit the kinds known so far; one to learn adds its own."""
    names = cast(Names, batch.names)
    few = len(batch.columns) < len(names)
    used = np.unique(batch.columns) if few else np.flatnonzero(np.bincount(batch.columns))
    pairs = {kind(names[number]) for number in used.tolist()}
    # Where each feature has one kind the order of the rows does not matter.
    if len({feature for feature, _ in pairs}) == len(pairs) and all(known.get(*pair) == pair[1] for pair in pairs):
        return
    kinds: dict[FeatureName, str] = {}
    for row, (begin, end) in enumerate(pairwise(batch.row_starts.tolist())):
        found = [kind(names[number]) for number in batch.columns[begin:end].tolist()]
        for feature, now in found:
            before = known.get(feature) or kinds.get(feature, now)
            if before != now:
                refuse_change(feature, f"a {before}", f"a {now}")
        if learned[row]:
            kinds.update(found)


def kind_of(name: Any, texts: Set[FeatureName]) -> tuple[FeatureName, str]:
    """The feature of a numeric name, and whether it is a number or a text."""
    is_text = isinstance(name, tuple) and name[0] in texts
    return (name[0], "text") if is_text else (name, "number")
