"""Which coin an event belongs to: the value of one of its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from stream_bayes.errors import InputError, ParameterError
from stream_bayes.features import Batch
from stream_bayes.features.values import Category, FeatureName, check_name

Key = tuple[Any, ...] | None
"""(kind, value) of the feature, or None where an event does not have it."""


def keys_of(batch: Batch, feature: FeatureName) -> list[Key]:
    """The key of each row of a batch of categories; None everywhere where the feature is None."""
    if not batch.categorical or batch.names is None:
        message = "this batch is not of categories: make it with this learner's batch(events)"
        raise InputError(message)
    keys: list[Key] = [None] * len(batch)
    if feature is None:
        return keys
    cells = cast(Sequence[Category], batch.names)
    wanted = np.array([cell[0] == feature for cell in cells], dtype=np.bool_)
    rows = np.repeat(np.arange(len(batch)), np.diff(batch.row_starts))
    for place in np.flatnonzero(wanted[batch.columns]) if len(cells) else ():
        keys[rows[place]] = tuple(cells[batch.columns[place]][1:])
    return keys


def check_on(on: Any) -> FeatureName:
    """The feature given to a constructor, or None."""
    try:
        return check_name(on)
    except InputError as problem:
        message = f"on must be the name of a feature, or None: {problem}"
        raise ParameterError(message) from problem
