"""Prediction of an observation with its credible interval and an explanation, as the page shows it."""

from __future__ import annotations

from stream_bayes.engine.intervals import credible_interval
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.events import Observation
from stream_bayes.learners.base.explanation import FeatureContribution
from stream_bayes.learners.base.labels import as_key
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.web.schemas import ContributionBody, PredictionBody

# Nothing is ranked here; any strategy will do.
_STRATEGY = "variance"


def prediction_view(model: ModelAdapter, observation: Observation, top: int, origin: tuple[int, int]) -> PredictionBody:
    """Predict an observation, with its interval and the `top` contributions. `origin`: partition and model version."""
    prediction = model.predict(observation)
    predictions = prediction.predictions
    columns = model.columns(predictions, _STRATEGY)
    low, high, label = credible_interval(predictions, 0)
    explanation = model.explain(prediction, top)
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
        towards=None if explanation.towards is None else as_key(explanation.towards),
        total=explanation.total,
        reasons=tuple(_contribution_body(reason) for reason in explanation.reasons),
        rest=explanation.rest,
    )


def _contribution_body(reason: FeatureContribution) -> ContributionBody:
    return ContributionBody(
        kind=visible(reason.kind),
        text=visible(reason.text),
        share=reason.share,
        seen=reason.seen,
        seen_towards=reason.seen_towards,
        note=reason.note,
    )
