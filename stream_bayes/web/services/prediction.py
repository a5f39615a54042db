"""What a model believes of an observation, and why, as the page shows it."""

from __future__ import annotations

from stream_bayes.engine.intervals import credible_interval
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.events import Observation
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.web.api.schemas import PredictionBody
from stream_bayes.web.services.explanation import ModelPrediction, reasons_of, reasons_of_mail

# By which questions are ranked, and here nothing is.
_STRATEGY = "variance"


def prediction_view(model: ModelAdapter, observation: Observation, top: int, origin: tuple[int, int]) -> PredictionBody:
    """The prediction with its interval and so many reasons, by the model of this partition and version."""
    learner = model.learner
    content = model.prepare(observation)
    predictions = learner.predictive_many([content])
    columns = model.columns(predictions, _STRATEGY)
    (low, high, told) = credible_interval(predictions, 0)
    if isinstance(learner, SpamFilter):
        why = reasons_of_mail(learner, content, top)
    else:
        kind = "word" if observation.features is None else "feature"
        why = reasons_of(learner, ModelPrediction(content, kind, predictions), top)
    return PredictionBody(
        partition=origin[0],
        model_version=origin[1],
        label=columns.labels[0],
        probabilities=columns.probabilities[0],
        mean=columns.means[0],
        interval=(low, high),
        interval_of=told,
        variance=columns.variance[0],
        epistemic_variance=columns.epistemic_variance[0],
        aleatoric_variance=float(predictions.aleatoric_variance[0]),
        action=columns.actions[0],
        towards=why.towards,
        total=why.total,
        reasons=why.reasons,
        rest=why.rest,
    )
