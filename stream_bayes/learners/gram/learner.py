"""Gram regression as a learner: moments of a stream, kept additive, and the ridge predictions they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np

from stream_bayes.errors import ParameterError, UnlearnError
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, Features, IntArray
from stream_bayes.kernels.common.csr import TargetRows, residue
from stream_bayes.kernels.gram.moments import Line, learn_rows, score_rows
from stream_bayes.learners.base.column_regressor import ColumnRegressor
from stream_bayes.learners.base.input_checks import check_size
from stream_bayes.learners.base.labels import check_weight
from stream_bayes.learners.base.learner import Additive
from stream_bayes.learners.base.number_predictions import StudentPredictions
from stream_bayes.learners.base.regressor import check_target
from stream_bayes.learners.gram.design import Design
from stream_bayes.learners.gram.factor import ridge
from stream_bayes.learners.gram.moments import LARGEST_VALUE, add, empty, restored, scale, used, with_room
from stream_bayes.learners.gram.unlearning import NONE, TOGETHER, first_misfit
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_scale, positive, truth

# The square of this many columns is 134 MB.
MAX_BUCKETS = 4096


class RidgePosterior(NamedTuple):
    """The ridge posterior by which rows are predicted, until the evidence changes."""

    line: Line
    noise: float
    degrees: float


class GramLearner(ColumnRegressor, Additive):
    """Learning, correcting, keeping and predicting; what else the moments can answer is added by `GramRegression`."""

    _bounds = (-LARGEST_VALUE, LARGEST_VALUE)

    def __init__(
        self, strength: float, noise_variance: float, noise_degrees: float, intercept: bool, buckets: int | None
    ) -> None:
        super().__init__(buckets)
        if buckets is not None and buckets > MAX_BUCKETS:
            message = f"buckets must be at most {MAX_BUCKETS}: memory goes with their square; got {buckets}"
            raise ParameterError(message)
        self.strength = positive("strength", strength)
        self.noise_variance = positive("noise_variance", noise_variance)
        self.noise_degrees = positive("noise_degrees", noise_degrees)
        check_scale("strength", self.strength)
        check_scale("noise_variance", self.noise_variance)
        check_scale("noise_degrees", self.noise_degrees)
        self.intercept = truth("intercept", intercept, ParameterError)
        self._moments = empty(len(self._vocabulary))
        # No part of the state: what follows from the moments, kept until they change.
        self._design_now: Design | None = None
        self._posterior_now: RidgePosterior | None = None

    @property
    def count(self) -> float:
        """The sum of the weights of the events learned."""
        return float(self._moments.events[0])

    def _evidence_summary(self) -> dict[str, Any]:
        return {"events": self.count, **super()._evidence_summary()}

    def unlearn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Take one event back; refused when it cannot have been learned."""
        batch = self._one(x)
        target = check_target(y)
        weight = check_weight(w)
        found = self._find(batch)
        check_size(np.array((target,)), LARGEST_VALUE)
        if weight == 0.0:
            return
        rows = self._rows(batch, found, np.array((target,)), np.array((-weight,)))
        if self._moments.events[0] < weight - residue(weight):
            message = f"there are events of weight {self._moments.events[0]:g}: less than {weight:g} to take back"
            raise UnlearnError(message)
        known = rows.columns >= 0
        if rows.values[~known].any():
            message = "a feature of this event was never learned, so the event was not either"
            raise UnlearnError(message)
        columns = rows.columns[known]
        values = rows.values[known]
        place = first_misfit(self._moments, columns, values, target, weight)
        if place != NONE:
            message = f"an event with {self._misfit(place)} cannot be taken back: no such event was learned"
            raise UnlearnError(message)
        self._take(rows._replace(row_starts=np.array((0, len(columns))), columns=columns, values=values))

    def _misfit(self, place: int) -> str:
        if place == TOGETHER:
            return "these values and this target together"
        return "this target" if place == 0 else f"this value of feature {self._name(place - 1)!r}"

    def _learn(self, batch: Batch, targets: FloatArray, weights: FloatArray, *, score: bool) -> StudentPredictions:
        check_size(targets[~np.isnan(targets)], LARGEST_VALUE)
        return super()._learn(batch, targets, weights, score=score)  # type: ignore[return-value]

    def _learn_pairs(self, columns: IntArray, values: FloatArray, target: float, weight: float) -> bool:
        return abs(target) <= LARGEST_VALUE and super()._learn_pairs(columns, values, target, weight)

    def _fold(self, rows: TargetRows, *, score: bool) -> StudentPredictions:
        known = ~np.isnan(rows.targets)
        if score and not known.any():
            return self._score(rows)
        if not score:
            self._take(rows)
            return StudentPredictions(*np.empty((4, 0)))
        parts = []
        for row in range(len(known)):
            one = _row(rows, row)
            parts.append(self._score(one))
            if known[row]:
                self._take(one)
        fields = ("mean", "ignorance", "noise", "degrees")
        return StudentPredictions(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))

    def _take(self, rows: TargetRows) -> None:
        learn_rows(rows, len(self._vocabulary), *self._moments)
        self._changed()

    def _changed(self) -> None:
        self._design_now = self._posterior_now = None

    def _score(self, rows: TargetRows) -> StudentPredictions:
        posterior = self._posterior()
        mean = np.empty(len(rows.targets))
        ignorance = np.empty(len(rows.targets))
        score_rows(rows, posterior.line, mean, ignorance)
        noise = np.full(len(mean), posterior.noise)
        degrees = np.full(len(mean), posterior.degrees)
        return StudentPredictions(mean, posterior.noise * ignorance, noise, degrees)

    def _design(self) -> Design:
        if self._design_now is None:
            self._design_now = Design.of(self._moments, intercept=self.intercept)
        return self._design_now

    def _posterior(self) -> RidgePosterior:
        if self._posterior_now is None:
            self._posterior_now = self._drawn()
        return self._posterior_now

    def _drawn(self) -> RidgePosterior:
        design = self._design()
        fit = ridge(design.factor, self.strength)
        degrees = self.noise_degrees + design.count
        noise = (self.noise_degrees * self.noise_variance + fit.loss) / degrees
        places = np.full(len(self._moments.present), -1, dtype=np.int64)
        places[design.columns] = np.arange(len(design.columns))
        centre = design.mean if self.intercept else np.zeros_like(design.mean)
        least = 1.0 / max(design.count, 1.0) if self.intercept else 0.0
        shift = centre[:, 1:].copy()
        level = centre[:, 0].copy()
        return RidgePosterior(
            Line(places, shift, level, fit.weights, fit.root, 1.0 / self.strength, least), noise, degrees
        )

    def _reserve(self) -> None:
        self._moments = with_room(self._moments, len(self._vocabulary))

    def _evidence_weight(self) -> float:
        return self.count

    def _absorb(self, other: Self) -> None:
        with self._all_or_nothing():
            columns = self._adopt_names(other)
            add(self._moments, other._moments, columns)
        self._changed()

    def _scale(self, factor: float) -> None:
        scale(self._moments, factor)
        self._changed()

    def _arrays(self) -> Arrays:
        return {**self._vocabulary.state(), **used(self._moments, len(self._vocabulary))._asdict()}

    def _restore(self, arrays: Arrays) -> None:
        self._restore_names(arrays)
        self._moments = restored(arrays, len(self._vocabulary))
        self._changed()

    def _names(self, columns: IntArray) -> list[FeatureName]:
        if isinstance(self._vocabulary, Vocabulary):
            names = self._vocabulary.names
            return [names[column] for column in columns.tolist()]
        return list(columns.tolist())

    def _event(self, x: Features) -> dict[FeatureName, float]:
        """The features of an event by name, or by bucket."""
        batch = self._one(x)
        columns, values = self._cells(batch, self._find(batch))[1:]
        names = columns if self.buckets is not None else batch.names
        return dict(zip(list(cast(Sequence[FeatureName], names)), values.tolist(), strict=True))

    def _name(self, column: int) -> FeatureName:
        return self._names(np.array((column,)))[0]

    def _check_values(self, batch: Batch) -> None:
        check_size(batch.values, LARGEST_VALUE)


def _row(rows: TargetRows, row: int) -> TargetRows:
    begin = rows.row_starts[row]
    end = rows.row_starts[row + 1]
    starts = np.array((0, end - begin))
    own = slice(row, row + 1)
    return TargetRows(starts, rows.columns[begin:end], rows.values[begin:end], rows.targets[own], rows.weights[own])
