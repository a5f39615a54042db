"""Prediction of an observation with its credible interval and an explanation by feature contributions.

A contribution is what a feature adds to the log-odds of a label, or to a predicted number. A mail filter knows the
contributions of its features. For other learners it is the difference that leaving the feature out makes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.engine.intervals import credible_interval, reported_label
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.events import Observation
from stream_bayes.learners import LabelPredictions, NumberPredictions
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.label_predictions import CERTAIN
from stream_bayes.learners.base.labels import as_key
from stream_bayes.learners.base.regressor import Regressor
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.typing import FloatArray
from stream_bayes.web.api.schemas import ContributionBody, PredictionBody

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

# Nothing is ranked here; any strategy will do.
_STRATEGY = "variance"

Content = Mapping[Any, Any]


def prediction_view(model: ModelAdapter, observation: Observation, top: int, origin: tuple[int, int]) -> PredictionBody:
    """Predict an observation, with its interval and the `top` contributions. `origin`: partition and model version."""
    learner = model.learner
    content = model.prepare(observation)
    predictions = learner.predictive_many([content])
    columns = model.columns(predictions, _STRATEGY)
    low, high, label = credible_interval(predictions, 0)
    if isinstance(learner, SpamFilter):
        explanation = explain_mail(learner, content, top)
    else:
        kind = "word" if observation.features is None else "feature"
        explanation = explain_event(learner, ModelPrediction(content, kind, predictions), top)
    return PredictionBody(
        partition=origin[0],
        model_version=origin[1],
        label=columns.labels[0],
        probabilities=columns.probabilities[0],
        mean=columns.means[0],
        interval=(low, high),
        interval_of=label,
        variance=columns.variance[0],
        epistemic_variance=columns.epistemic_variance[0],
        aleatoric_variance=float(predictions.aleatoric_variance[0]),
        action=columns.actions[0],
        towards=explanation.towards,
        total=explanation.total,
        reasons=explanation.reasons,
        rest=explanation.rest,
    )


class ModelPrediction(NamedTuple):
    """An event and its prediction."""

    content: Content
    kind: str
    """The kind of its features: word or feature."""
    predictions: LabelPredictions | NumberPredictions
    """Predictions for this event alone."""


class EventExplanation(NamedTuple):
    """A prediction as a sum of contributions."""

    towards: str | None
    """The label that positive contributions support. None if a number is predicted."""
    total: float | None
    """Its log-odds, or the number. None with fewer than two known labels."""
    reasons: tuple[ContributionBody, ...]
    rest: dict[str, float]


def explain_mail(learner: SpamFilter, mail: Any, top: int) -> EventExplanation:
    """Return the contributions of a mail's words, hosts and senders to the log-odds of spam."""
    explanation = learner.explain(mail, top)
    reasons = tuple(
        ContributionBody(
            kind=visible(share.kind),
            text=visible(share.text),
            share=share.log_odds,
            seen=share.mails,
            seen_towards=share.spam,
            note=share.note or None,
        )
        for share in explanation.shares
    )
    return EventExplanation(as_key(learner.classes[1]), explanation.log_odds, reasons, dict(explanation.rest))


def explain_event(
    learner: Classifier | Regressor, event: ModelPrediction, top: int, seconds: float = _SECONDS
) -> EventExplanation:
    """Return the contributions of an event's features by leaving each out.

    If a prediction takes long, only the features that matter most alone are left out.
    """
    label = None
    if isinstance(event.predictions, LabelPredictions):
        probabilities = event.predictions.probabilities_of(0)
        if len(probabilities) < 2:
            return EventExplanation(None, None, (), {})
        label = reported_label(probabilities)
    total = float(_totals(event.predictions, label)[0])
    ablation = _Ablation(learner, event.content, label, seconds)
    shares = {name: total - without for name, without in ablation.left_out()}
    found = sorted(shares.items(), key=lambda pair: -abs(pair[1]))
    least = _ROUNDING * max(1.0, abs(total))
    listed = [pair for pair in found[:top] if abs(pair[1]) > least]
    others = [share for _, share in found[len(listed) :] if abs(share) > least]
    rest = {ELSE: math.fsum([total, *(-share for _, share in listed), *(-share for share in others)])}
    if others:
        rest[OTHERS] = math.fsum(others)
    reasons = tuple(ContributionBody(kind=event.kind, text=_text(event, name), share=share) for name, share in listed)
    return EventExplanation(None if label is None else as_key(label), total, reasons, rest)


class _Ablation(NamedTuple):
    """Predictions of an event with features left out, within a time limit."""

    learner: Classifier | Regressor
    content: Content
    label: Any
    seconds: float

    def left_out(self) -> Iterator[tuple[Hashable, float]]:
        """Yield features, and the prediction without each of them."""
        content = self.content
        return self._predict_each(
            self._most_influential(), lambda left: {name: content[name] for name in content if name != left}
        )

    def _most_influential(self) -> list[Hashable]:
        """Return the features to leave out in turn, by the difference that each makes alone."""
        names = sorted(self.content, key=str)[:_MAX_ALONE]
        baseline = float(_totals(self.learner.predictive_many([{}]), self.label)[0])
        alone = dict(self._predict_each(names, lambda name: {name: self.content[name]}))
        most = min(_MAX_LEFT_OUT, _MAX_PAIRS // max(len(self.content), 1))
        return sorted(alone, key=lambda name: -abs(alone[name] - baseline))[:most]

    def _predict_each(
        self, names: Sequence[Hashable], made: Callable[[Hashable], Content]
    ) -> Iterator[tuple[Hashable, float]]:
        """Yield the prediction for the event made of each name, while there is time."""
        done = 0
        start = monotonic()
        # Each chunk takes as long as all before it. With 600 features one prediction of a discriminant takes 0.6 s.
        while done < len(names) and (done == 0 or 2.0 * (monotonic() - start) < self.seconds):
            chunk = names[done : 2 * done + 1]
            totals = _totals(self.learner.predictive_many([made(name) for name in chunk]), self.label)
            yield from zip(chunk, totals.tolist(), strict=True)
            done += len(chunk)


def _totals(predictions: LabelPredictions | NumberPredictions, label: Any) -> FloatArray:
    """Return the log-odds of a label, or the number, for each row."""
    return log_odds_of(predictions, label) if isinstance(predictions, LabelPredictions) else predictions.mean


def log_odds_of(predictions: LabelPredictions, label: Any) -> FloatArray:
    """Return the log-odds of one label against all others for each row. Those of certainty are finite."""
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


def _text(event: ModelPrediction, name: Hashable) -> str:
    return visible(str(name) if event.kind == "word" else f"{name} = {event.content[name]}")
