"""Explanation of a prediction by ablation: the contribution of a feature is the difference that leaving it out makes.

It works for any learner of features; learners that know the contributions of their features do without it. It is for
readers and no part of the fold, so it may look at the clock: its time is limited.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.engine.intervals import reported_label
from stream_bayes.learners import LabelPredictions, NumberPredictions
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.explanation import EventExplanation, FeatureContribution
from stream_bayes.learners.base.label_predictions import CERTAIN
from stream_bayes.learners.base.regressor import Regressor
from stream_bayes.typing import FloatArray

OTHERS = "other features"
ELSE = "everything else"
"""Names of the rest: features that are not listed, and what belongs to no single feature."""
# Features that are left out in turn, those first that matter most alone; and features that are tried alone.
_MAX_LEFT_OUT = 200
_MAX_ALONE = 2000
# Features of all events together that have one feature left out.
_MAX_PAIRS = 400_000
# For trying each feature alone, and for leaving each out.
_SECONDS = 0.5
# A smaller share of the total counts as zero.
_ROUNDING = 1e-9
_SMALLEST = np.finfo(np.float64).tiny

Content = Mapping[Any, Any]


class ModelPrediction(NamedTuple):
    """An observation as its learner takes it, and its prediction."""

    content: Any
    kind: str
    """The kind of its features: word or feature."""
    predictions: LabelPredictions | NumberPredictions
    """Predictions for this observation alone."""


def explain_by_ablation(
    learner: Classifier | Regressor, prediction: ModelPrediction, top: int, seconds: float = _SECONDS
) -> EventExplanation:
    """The contributions of an observation's features, by leaving each out; the `top` largest are listed.

    If a prediction takes long, only the features that matter most alone are left out.
    """
    label = None
    if isinstance(prediction.predictions, LabelPredictions):
        probabilities = prediction.predictions.probabilities_of(0)
        if len(probabilities) < 2:
            return EventExplanation(None, None, (), {})
        label = reported_label(probabilities)
    total = float(_totals(prediction.predictions, label)[0])
    ablation = _Ablation(learner, prediction.content, label, seconds)
    shares = {name: total - without for name, without in ablation.left_out()}
    found = sorted(shares.items(), key=lambda pair: -abs(pair[1]))
    least = _ROUNDING * max(1.0, abs(total))
    listed = [pair for pair in found[:top] if abs(pair[1]) > least]
    others = [share for _, share in found[len(listed) :] if abs(share) > least]
    rest = {ELSE: math.fsum([total, *(-share for _, share in listed), *(-share for share in others)])}
    if others:
        rest[OTHERS] = math.fsum(others)
    reasons = tuple(FeatureContribution(prediction.kind, _text(prediction, name), share) for name, share in listed)
    return EventExplanation(label, total, reasons, rest)


class _Ablation(NamedTuple):
    """Predictions of an event with features left out, within a time limit."""

    learner: Classifier | Regressor
    content: Content
    label: Any
    seconds: float

    def left_out(self) -> Iterator[tuple[Hashable, float]]:
        """Features, and the prediction without each of them."""
        content = self.content
        return self._predict_each(
            self._most_influential(), lambda left: {name: content[name] for name in content if name != left}
        )

    def _most_influential(self) -> list[Hashable]:
        """The features to leave out in turn, by the difference that each makes alone."""
        names = sorted(self.content, key=str)[:_MAX_ALONE]
        baseline = float(_totals(self.learner.predictive_many([{}]), self.label)[0])
        alone = dict(self._predict_each(names, lambda name: {name: self.content[name]}))
        most = min(_MAX_LEFT_OUT, _MAX_PAIRS // max(len(self.content), 1))
        return sorted(alone, key=lambda name: -abs(alone[name] - baseline))[:most]

    def _predict_each(
        self, names: Sequence[Hashable], made: Callable[[Hashable], Content]
    ) -> Iterator[tuple[Hashable, float]]:
        """The prediction for the event made of each name, while there is time."""
        done = 0
        start = monotonic()
        # Each chunk takes as long as all before it. With 600 features one prediction of a discriminant takes 0.6 s.
        while done < len(names) and (done == 0 or 2.0 * (monotonic() - start) < self.seconds):
            chunk = names[done : 2 * done + 1]
            totals = _totals(self.learner.predictive_many([made(name) for name in chunk]), self.label)
            yield from zip(chunk, totals.tolist(), strict=True)
            done += len(chunk)


def _totals(predictions: LabelPredictions | NumberPredictions, label: Any) -> FloatArray:
    """The log-odds of a label, or the number, for each row."""
    return log_odds_of(predictions, label) if isinstance(predictions, LabelPredictions) else predictions.mean


def log_odds_of(predictions: LabelPredictions, label: Any) -> FloatArray:
    """The log-odds of one label against all others for each row. Those of certainty are finite."""
    column = predictions.labels.index(label)
    table = np.nan_to_num(predictions.probabilities)
    own = table[:, column]
    others = np.delete(table, column, axis=1).sum(axis=1)
    plain = np.log(np.maximum(own, _SMALLEST)) - np.log(np.maximum(others, _SMALLEST))
    # The log-odds of the most probable label are more precise than its probability, which is close to 1.
    best = table.argmax(axis=1) == column
    two = (~np.isnan(predictions.probabilities)).sum(axis=1) == 2
    odds = np.where(best, predictions.log_odds, np.where(two, -predictions.log_odds, plain))
    return np.clip(odds, -CERTAIN, CERTAIN)


def _text(prediction: ModelPrediction, name: Hashable) -> str:
    return str(name) if prediction.kind == "word" else f"{name} = {prediction.content[name]}"
