"""Class labels: their codes, their keys in JSON, and the checks of the labels and weights of a batch."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stream_bayes import features
from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.features.values import IntArray, plain
from stream_bayes.typing import FloatArray, SupportsArray
from stream_bayes.validation import non_negative

Label = str | bool | int
"""`True` and `1` are the same label, as they are the same key of a dict."""

LARGEST_LABEL = 2**63
_PLAIN_TYPES = frozenset((str, bool, int))
LARGEST_WEIGHT = 1e12

Many = Sequence[Any] | SupportsArray
"""Labels, targets or weights, one for each event of a batch; None for a label that is not known."""
_LIKE_JSON = re.compile(r'"|-?\d+$|-?\d.*[.eE]|true$|false$')


def check_label(label: Any) -> Label:
    """The label as it is kept: numpy scalars become plain values, and 1.0 becomes 1."""
    if type(label) is str:
        return label
    known = plain(label)
    if isinstance(known, (str, bool)):
        return known
    if isinstance(known, (int, float)) and abs(known) < LARGEST_LABEL and known == int(known):
        return int(known)
    message = f"a label is a string, a boolean or a whole number; got {shown(known)} of type {type(known).__name__}"
    raise InputError(message)


def check_classes(classes: Any) -> list[Label]:
    """The labels given to a constructor: a tuple of one or more different ones, or None."""
    try:
        labels = [] if classes is None else [check_label(label) for label in classes]
    except (TypeError, InputError) as problem:
        message = f"classes must be a tuple of labels; got {shown(classes)}"
        raise ParameterError(message) from problem
    if isinstance(classes, str) or len(set(labels)) < len(labels) or (classes is not None and not labels):
        message = f"classes must be a tuple of different labels, or None where none are known; got {shown(classes)}"
        raise ParameterError(message)
    return labels


def as_key(label: Label | float) -> str:
    """A label as a key in JSON: itself where it is a text, in quotes where it could be taken for something else."""
    if not isinstance(label, str):
        return json.dumps(label)
    return json.dumps(label) if _LIKE_JSON.match(label) else label


class Labels:
    """Labels by code: first the declared ones, then the others in the order they were first learned."""

    def __init__(self, declared: Sequence[Any] | None = None) -> None:
        self._codes: dict[Label, int] = {}
        self.register(check_classes(declared))
        self.declared = len(self._codes)

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[Label]:
        return iter(self._codes)

    def code(self, label: Any) -> int:
        """The code of a label, -1 if it was never registered."""
        return self._codes.get(check_label(label), -1)

    def learned_code(self, label: Any) -> int:
        """The code of a label that is declared or learned, given as a plain value; -1 for any other."""
        return self._codes.get(label, -1) if type(label) in _PLAIN_TYPES else -1

    def probabilities(self, by_code: Sequence[float]) -> dict[Label, float]:
        """The probability of each label that is known; the others are NaN."""
        return {label: p for label, p in zip(self._codes, by_code, strict=True) if not math.isnan(p)}

    def most_probable(self, by_code: Sequence[float]) -> Label | None:
        """The most probable label, the first of equals; None while none is known."""
        known = self.probabilities(by_code)
        return max(known, key=known.__getitem__, default=None)

    def codes(self, labels: Iterable[Any]) -> tuple[IntArray, list[Label]]:
        """The codes of many labels (None: -1), as they will be once the new labels, also returned, are registered."""
        listed = list(labels)
        if len(listed) == 1 and (code := self.learned_code(listed[0])) >= 0:
            return np.array((code,)), []
        known = self._codes.copy()
        # Each different label is checked once: a million rows have few.
        codes = {label: -1 if label is None else _code_in(known, label) for label in distinct(listed)}
        numbers = np.fromiter(map(codes.__getitem__, listed), np.int64, len(listed))
        return numbers, list(known)[len(self._codes) :]

    def mark(self) -> Any:
        """What `reset` needs to forget the labels that are registered from now on."""
        return len(self._codes)

    def reset(self, mark: Any) -> None:
        """Forget the labels that were registered since the mark was taken."""
        self._codes = dict(list(self._codes.items())[:mark])

    def register(self, labels: Iterable[Label]) -> None:
        """Append labels that are new."""
        for label in labels:
            self._codes.setdefault(label, len(self._codes))


def distinct(labels: list[Any]) -> Iterable[Any]:
    """The different labels in the order they come; refuses what is no label."""
    try:
        return dict.fromkeys(labels)
    except TypeError:
        for label in labels:
            if label is not None:
                check_label(label)
        raise


def _code_in(known: dict[Label, int], label: Any) -> int:
    return known.setdefault(check_label(label), len(known))


def check_weight(w: Any) -> float:
    """The weight of one event."""
    if type(w) is float and 0.0 <= w <= LARGEST_WEIGHT:
        return w
    weight = non_negative("weight", w, InputError)
    if weight > LARGEST_WEIGHT:
        message = f"a weight is at most {LARGEST_WEIGHT:g}, so that no sum overflows; got {weight:g}"
        raise InputError(message)
    return weight


def array_of(values: Any) -> Any:
    """The values of a series, as an array or, where some are missing, as a list; anything else as it is."""
    is_series = hasattr(values, "__array__") and not isinstance(values, (np.ndarray, np.generic))
    return features.series_values(values) if is_series else values


def check_weights(w: Any) -> FloatArray:
    """The weights of the events of a batch."""
    weights = array_of(w)
    if isinstance(weights, np.ndarray) and weights.dtype.kind in "iuf" and weights.ndim == 1:
        numbers = np.array(weights, dtype=np.float64)
        if not len(numbers) or 0.0 <= numbers.min() <= numbers.max() <= LARGEST_WEIGHT:
            return numbers
    return np.array([check_weight(weight) for weight in weights], dtype=np.float64)


def check_batch(events: int, y: Any, w: Any) -> tuple[list[Any], FloatArray]:
    """The labels and weights of a batch, one each an event; a label of weight 0 is none."""
    if isinstance(y, (str, Mapping)):
        message = f"labels or targets are a list, one for each event; got {type(y).__name__}"
        raise InputError(message)
    try:
        values = array_of(y)
        labels = values.tolist() if isinstance(values, np.ndarray) and values.ndim else list(values)
        weights = np.ones(len(labels)) if w is None else check_weights(w)
    except TypeError as problem:
        message = f"labels and weights are lists, one entry for each event: {problem}"
        raise InputError(message) from problem
    if not events == len(labels) == len(weights):
        with_weights = "" if w is None else f" and {len(weights)} weights"
        message = f"{events} events, {len(labels)} labels or targets{with_weights}: one for each event is needed"
        raise InputError(message)
    for row in np.flatnonzero(weights == 0.0).tolist():
        labels[row] = None
    return labels, weights
