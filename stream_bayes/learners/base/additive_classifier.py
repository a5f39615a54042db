"""A classifier whose evidence adds up: classes with a Dirichlet prior, corrections, and names shared in a merge."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from stream_bayes.errors import UnlearnError
from stream_bayes.features import Batch
from stream_bayes.features.values import Category, FeatureName, Features, IntArray
from stream_bayes.kernels.common.csr import Rows, residue
from stream_bayes.learners.base.column_classifier import ColumnClassifier
from stream_bayes.learners.base.labels import Label, check_label, check_weight
from stream_bayes.learners.base.learner import Additive
from stream_bayes.plots import UncertainNumber
from stream_bayes.posteriors import Beta
from stream_bayes.validation import check_scale, non_negative


class AdditiveClassifier(ColumnClassifier, Additive):
    """Evidence is a named tuple of arrays, the first of them `class_weight`: the events of each class."""

    _evidence: Any

    def __init__(self, class_prior_count: float, classes: tuple[Label, ...] | None, buckets: int | None) -> None:
        super().__init__(classes, buckets)
        self.class_prior_count = non_negative("class_prior_count", class_prior_count)
        check_scale("class_prior_count", self.class_prior_count)

    @abstractmethod
    def _check_unlearn(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        """Refuse to take back what cannot have been learned."""

    def _refresh(self) -> None:
        """Derive again what follows from the evidence, after it was replaced or scaled."""

    def class_posterior(self) -> dict[Label, float]:
        """Pseudo-counts of the Dirichlet posterior over the labels."""
        weights = self._evidence.class_weight
        return {
            label: self.class_prior_count + float(weights[code])
            for code, label in enumerate(self._labels)
            if code < self._labels.declared or weights[code] > 0.0
        }

    def _evidence_summary(self) -> dict[str, Any]:
        weights = self._evidence.class_weight.tolist()
        events = {label: weights[code] for code, label in enumerate(self._labels)}
        return {"events": sum(events.values()), "events of each class": events, **super()._evidence_summary()}

    def _estimates(self) -> dict[str, UncertainNumber | float]:
        counts = self.class_posterior()
        total = sum(counts.values())
        certain = 0.0 in counts.values() or len(counts) < 2
        return {
            f"probability of {label}": float(count == total) if certain else Beta(count, total - count)
            for label, count in counts.items()
        }

    def unlearn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Take one event back, as if it had never come; refused when it cannot have been learned."""
        batch = self._one(x)
        found = self._find(batch)
        weight = check_weight(w)
        label = self._labels.code(check_label(y))
        if weight == 0.0:
            return
        if label < 0 or self._evidence.class_weight[label] < weight - residue(weight):
            message = f"label {y!r} has less evidence than the weight {weight:g} to take back"
            raise UnlearnError(message)
        rows = self._rows(batch, found, np.array((label,)), np.array((-weight,)))
        self._check_unlearn(batch, rows, label, weight)
        known = rows.columns >= 0
        kept = rows._replace(
            row_starts=np.array((0, known.sum())), columns=rows.columns[known], values=rows.values[known]
        )
        self._run(batch, kept, score=False)

    def _evidence_weight(self) -> float:
        return float(self._evidence.class_weight.max(initial=0.0))

    def _scale(self, factor: float) -> None:
        for name, array in self._evidence._asdict().items():
            # A mean is a ratio of sums: it stays, until there is nothing left that it could be the mean of.
            share = 1.0 if name == "mean" and factor > 0.0 else factor
            np.multiply(array, share, out=array)
        self._refresh()

    def _name_at(self, batch: Batch, rows: Rows, place: int) -> FeatureName:
        """The name of a pair of a single event, or its bucket."""
        if batch.names is None or self.buckets is not None:
            return int(rows.columns[place])
        name = batch.names[place]
        return f"{name.feature} = {name.value}" if isinstance(name, Category) else name

    def _adopt(self, other: Self) -> tuple[IntArray, IntArray]:
        """Register the other's labels and names here; returns where its classes and columns stand here."""
        codes, new_labels = self._labels.codes(other._labels)
        with self._all_or_nothing():
            columns = self._adopt_names(other)
            self._labels.register(new_labels)
            self._reserve()
        return codes, columns
