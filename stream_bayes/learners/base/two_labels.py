"""Two labels: declared, or learned as they come, and predictions that name those known at each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.features.values import IntArray
from stream_bayes.features.vocabulary import pack_json, unpack_json
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.labels import Label, Labels, check_classes, check_label, distinct
from stream_bayes.persistence.snapshot import Arrays


class LabelPair(NamedTuple):
    """Two labels, and which of them were learned."""

    first: Label = False
    second: Label = True
    learned: tuple[bool, bool] = (False, False)

    @classmethod
    def of(cls, learned: Sequence[Label | None]) -> LabelPair:
        """The pair of the labels that were learned; None where none was."""
        first, second = learned
        if first is not None and first == second:
            message = f"the two labels are both {first!r}"
            raise ValueError(message)
        own = first if second is None else second
        numbers = None in learned and type(own) is int and own in (0, 1)
        default: tuple[Label, Label] = (0, 1) if numbers else (False, True)
        return cls(
            default[0] if first is None else first,
            default[1] if second is None else second,
            (first is not None, second is not None),
        )

    @property
    def labels(self) -> tuple[Label, Label]:
        """Both, whether learned or not."""
        return self.first, self.second

    @property
    def known(self) -> tuple[Label, ...]:
        """Those that can be answered: those learned, where False and True, or 0 and 1, come together."""
        if not any(self.learned):
            return ()
        if self.learned in ((True, False), (False, True)):
            own = self.labels[self.learned.index(True)]
            return self.labels if own in (False, True) and self.labels == (False, True) else (own,)
        return self.labels

    def with_label(self, label: Label) -> LabelPair | None:
        """The pair after this label was learned; None if there are two others."""
        places = [place for place, known in enumerate(self.labels) if known == label]
        place = places[0] if places else next((at for at, learned in enumerate(self.learned) if not learned), -1)
        if place < 0:
            return None
        pair: list[Label] = list(self.labels)
        if not (label in (False, True) and self.labels == (False, True)):
            pair[place] = pair[place] if self.learned[place] else label
        elif not any(self.learned):
            # The first of 0 and 1 brings the other as a number, that of False and True as a boolean.
            pair = [False, True] if isinstance(label, bool) else [0, 1]
        learned = list(self.learned)
        learned[place] = True
        return LabelPair(pair[0], pair[1], (learned[0], learned[1]))


class TwoLabels(Labels):
    """Two labels: those that are declared, or else the first two that are learned.

    They are in the order in which they were learned, but True, or 1, is always the second.

    >>> labels = TwoLabels(None)
    >>> list(labels)
    []
    >>> codes, new = labels.codes(["spam", "ham", "spam"])
    >>> labels.register(new)
    >>> codes, list(labels)
    (array([0, 1, 0]), ['spam', 'ham'])
    """

    def __init__(self, declared: Sequence[Any] | None) -> None:
        super().__init__()
        known = check_classes(declared)
        if declared is not None and len(known) != 2:
            message = f"classes must be two different labels; got {shown(declared)}"
            raise ParameterError(message)
        self._set_pair(LabelPair.of(known) if known else LabelPair())
        self.declared = len(known)

    @property
    def pair(self) -> LabelPair:
        """The two, and which of them were learned."""
        return self._pair

    def _set_pair(self, pair: LabelPair) -> None:
        self._pair = pair
        # What single calls look up: the labels that can be answered, and the codes of those that were learned.
        self._known = pair.known
        self._codes = {label: code for code, label in enumerate(pair.labels) if pair.learned[code]}

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[Label]:
        return iter(self._known)

    def probabilities(self, by_code: Sequence[float]) -> dict[Label, float]:
        """The probability of each label that can be answered; one without a rival is certain."""
        known = self._known
        return dict(zip(known, by_code, strict=True)) if len(known) == 2 else dict.fromkeys(known, 1.0)

    def most_probable(self, by_code: Sequence[float]) -> Label | None:
        """The most probable label, the first of equals; None while none is known."""
        if not self._known:
            return None
        return self._known[-1] if len(self._known) < 2 or by_code[1] > by_code[0] else self._known[0]

    def code(self, label: Any) -> int:
        """The code of a label, -1 if it is neither of the two."""
        known = check_label(label)
        return self.pair.labels.index(known) if known in self.pair.labels else -1

    def codes(self, labels: Iterable[Any]) -> tuple[IntArray, list[Label]]:
        """The codes of many labels (None: -1), and those that are learned for the first time."""
        listed = list(labels)
        if len(listed) == 1 and (code := self.learned_code(listed[0])) >= 0:
            return np.array((code,)), []
        codes: dict[Any, int] = {None: -1}
        new: list[Label] = []
        pair = self.pair
        for label in distinct(listed):
            if label is None:
                continue
            known = check_label(label)
            after = pair.with_label(known)
            if after is None:
                raise self._refusal(pair, known)
            if after != pair:
                new.append(known)
            pair = after
            codes[label] = pair.labels.index(known)
        return np.fromiter(map(codes.__getitem__, listed), np.int64, len(listed)), new

    def mark(self) -> Any:
        """What `reset` needs to forget the labels that are registered from now on."""
        return self.pair

    def reset(self, mark: Any) -> None:
        """Forget the labels that were registered since the mark was taken."""
        self._set_pair(mark)

    def register(self, labels: Iterable[Label]) -> None:
        """Learn labels that `codes` has let pass."""
        for label in labels:
            self._set_pair(self.pair.with_label(label) or self.pair)

    def _refusal(self, pair: LabelPair, label: Label) -> InputError:
        first, second = pair.labels
        way = "declare the two by classes=(..., ...)" if self.declared else "SoftmaxRegression takes any number"
        message = f"label {label!r} is neither {first!r} nor {second!r}: {way}"
        return InputError(message)

    def arrays(self) -> Arrays:
        """The labels that were learned, by code; nothing where they are declared."""
        if self.declared:
            return {}
        pair = self.pair
        return {
            "labels": pack_json(
                [label if kept else None for label, kept in zip(pair.labels, pair.learned, strict=True)]
            )
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what `arrays` gave."""
        if not self.declared:
            known = unpack_json(arrays["labels"])
            self._set_pair(LabelPair.of([None if label is None else check_label(label) for label in known]))

    def name(
        self, predictions: LabelPredictions, before: LabelPair, labels: Sequence[Label | None]
    ) -> LabelPredictions:
        """Predictions of two columns with their labels, as far as they were known at each row.

        `before` is the pair before the rows, which had these labels; what is known now was learned from them.
        """
        if before == self.pair and len(before.known) == 2:
            return predictions
        rows = len(predictions)
        segments = _segments(before, labels, rows)
        slots = {label: pair.labels.index(label) for _, pair in segments for label in pair.known}
        union = tuple(sorted(slots, key=slots.__getitem__))
        table = np.full((rows, len(union)), np.nan)
        known = np.zeros(rows, dtype=np.int64)
        ends = [*(begin for begin, _ in segments[1:]), rows]
        for (begin, pair), end in zip(segments, ends, strict=True):
            for label in pair.known:
                table[begin:end, union.index(label)] = predictions.probabilities[begin:end, slots[label]]
            known[begin:end] = len(pair.known)
        # While only one label is known its probability is 1.
        certain = np.where(known == 1, np.inf, 0.0)
        table[(known == 1)[:, None] & ~np.isnan(table)] = 1.0
        log_odds = np.where(known == 2, predictions.log_odds, certain)
        mean = np.where(known == 2, predictions.latent_mean, certain)
        spread = np.where(known == 2, predictions.latent_variance, 0.0)
        return replace(
            predictions, labels=union, probabilities=table, log_odds=log_odds, latent_mean=mean, latent_variance=spread
        )


def declared_labels(classes: Any) -> TwoLabels:
    """The two labels of a learner to which it matters which is which."""
    if classes is None:
        message = "classes must be two different labels; got None"
        raise ParameterError(message)
    return TwoLabels(classes)


def _segments(before: LabelPair, labels: Sequence[Any], rows: int) -> list[tuple[int, LabelPair]]:
    """The pair of labels from each row on at which it changed."""
    found = [(0, before)]
    pair = before
    for row, label in enumerate(labels):
        if all(pair.learned):
            break
        after = pair if label is None else pair.with_label(check_label(label)) or pair
        if after != pair and row + 1 < rows:
            found.append((row + 1, after))
        pair = after
    return found
