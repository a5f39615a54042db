"""The model adapter: what the engine needs of any learner, and the learner that the settings name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from inspect import signature
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from stream_bayes import learner_registry, posteriors
from stream_bayes.active.strategies import Strategy, scores
from stream_bayes.config import LearnerSettings
from stream_bayes.engine.explanation import ModelPrediction, explain_by_ablation
from stream_bayes.engine.history import Known
from stream_bayes.engine.named_posteriors import named_posterior
from stream_bayes.errors import ConfigError, InputError, NoPosterior, NumericalError, SnapshotError, StreamBayesError
from stream_bayes.events import Observation
from stream_bayes.learners import LabelPredictions, Learner, NumberPredictions, WeightPrior
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.explanation import EventExplanation
from stream_bayes.learners.base.labels import as_key, check_label
from stream_bayes.learners.base.learner import Additive
from stream_bayes.learners.base.named_posterior import NamedPosterior
from stream_bayes.learners.base.regressor import Regressor, check_target
from stream_bayes.mail.parse.parsed_mail import ParsedMail
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.mail.render.summary import subject

_WORD = re.compile(r"[^\W_]+")
# What a parameter may be by its name and fields.
_PRIORS = {**{name: getattr(posteriors, name) for name in posteriors.__all__}, "WeightPrior": WeightPrior}


@runtime_checkable
class SupportsRelearning(Protocol):
    """A learner that can be taught an observation again that it has learned with another label."""

    def relearn_one(self, x: Any, y: Any) -> None:
        """Learn an observation whose label was another one before."""


@runtime_checkable
class SupportsDecisions(Protocol):
    """A learner that has losses, and chooses the action of the least expected loss."""

    def decide_many(self, predictions: Any) -> list[str]:
        """The Bayes action for each prediction of a batch."""


@runtime_checkable
class SupportsExplanation(Protocol):
    """A learner that knows what each feature adds to a prediction."""

    def explain_event(self, x: Any, top: int) -> EventExplanation:
        """The prediction for an observation as a sum of contributions; the `top` largest are listed."""


@runtime_checkable
class SupportsFeaturePosteriors(Protocol):
    """A learner that finds the posterior of a feature by the kind and the text of an explanation."""

    def feature_posterior(self, kind: str, text: str) -> NamedPosterior:
        """The posterior of a feature; raises `NoPosterior` if there is none."""


class LearningRow(NamedTuple):
    """A content to predict, and then to learn if its label is known."""

    content: Any
    label: Known | None
    is_late: bool = False
    """Whether the label came after the observation."""


class Predictions(NamedTuple):
    """The predictions of a batch, as columns."""

    labels: list[Known | None]
    """The most probable label; None for a regression."""
    means: list[float | None]
    probabilities: list[dict[str, float] | None]
    variance: list[float]
    epistemic_variance: list[float]
    actions: list[str | None]
    metric_scores: list[float]
    """The log-odds of the second label, NaN where other labels than the first two are known; or the mean."""
    selection_scores: list[float]
    """The value of knowing the label, by the strategy of the selector."""
    best: list[int]
    """The index of the most probable label, -1 while there is none."""
    predictive: LabelPredictions | NumberPredictions
    """The predictions of the learner."""


class ModelAdapter:
    """A learner with all that an engine and the page need of it: preparing, predicting, learning and explaining."""

    def __init__(self, learner: Learner) -> None:
        if not isinstance(learner, (Classifier, Regressor)):
            message = (
                f"an engine needs a learner that predicts labels or numbers; {type(learner).__name__} does neither"
            )
            raise ConfigError(message)
        self.learner = learner
        self.predicts_numbers = isinstance(learner, Regressor)
        self.declared_labels: tuple[Any, ...] = getattr(learner, "classes", None) or ()
        """The labels that the learner was constructed with."""
        self._relearns = isinstance(learner, SupportsRelearning)
        self.label_names: tuple[Any, ...] = ()
        """The labels by their index in the last batch that was learned; empty for a regression."""
        self._keyed_names: tuple[Any, ...] = ()
        self._keys: list[str] = []

    @property
    def compatibility_key(self) -> dict[str, Any]:
        """The class and the parameters that must agree for a checkpoint to fit."""
        kind, parameters = self.learner.description()
        return {
            "name": kind,
            "parameters": {
                name: parameters[name] for name in parameters if name not in self.learner.decision_parameters
            },
        }

    def prepare(self, observation: Observation) -> Any:
        """The observation as the learner takes it; one that does not read mail is given the words of a text."""
        if observation.raw is not None and self.learner.reads_mail:
            return observation.raw
        content = observation.content
        if self.learner.reads_mail:
            own = isinstance(content, str) and (observation.subject is not None or observation.sender is not None)
            if own:
                return {"subject": observation.subject, "sender": observation.sender, "text": content}
            return content
        if isinstance(content, bytes):
            content = mail_text(content)
        return count_words(content) if isinstance(content, str) else content

    def validate_label(self, label: Any) -> Known:
        """The label or target as it is learned and remembered; raises `InputError` if it cannot be learned."""
        if self.predicts_numbers:
            return check_target(label)
        known = check_label(label)
        if self.learner.has_fixed_labels and known not in self.declared_labels:
            message = f"label {known!r:.100} is neither of {', '.join(map(repr, self.declared_labels))}"
            raise InputError(message)
        return known

    def test_then_train(self, rows: Sequence[LearningRow], strategy: str | Strategy) -> Predictions:
        """Predict each content in order, then learn it where its label is known; all or nothing."""
        return self.columns(self.learn(rows), strategy)

    def learn(self, rows: Sequence[LearningRow]) -> LabelPredictions | NumberPredictions:
        """Predict and learn as `test_then_train` does; gives the predictions as the learner makes them."""
        contents = [row.content for row in rows]
        labels = [row.label for row in rows]
        # Labels that come late are few, and given by people.
        options = {"remember": [row.is_late for row in rows]} if self.learner.remembers else {}
        predictions = self.learner.test_then_train(contents, labels, **options)
        if isinstance(predictions, LabelPredictions):
            self.label_names = predictions.labels
        return predictions

    @property
    def corrects(self) -> bool:
        """Whether another label for the same observation replaces the first, instead of one more learning step."""
        return self._relearns or (isinstance(self.learner, Additive) and self.learner.is_additive)

    def correct(self, content: Any, before: Known, now: Known) -> None:
        """Unlearn a label and learn another one, exactly, or by the learner's own `relearn_one`; all or nothing."""
        if isinstance(self.learner, SupportsRelearning):
            self.learner.relearn_one(content, now)
            return
        assert isinstance(self.learner, Additive)
        # What would be refused even by one who knows nothing is refused before anything is taken back: a sum of floats
        # is not the same to the last bit after one term went and came again.
        self.learner.clone().learn_one(content, now)
        self.learner.unlearn_one(content, before)
        try:
            self.learner.learn_one(content, now)
        except StreamBayesError:
            self.learner.learn_one(content, before)
            raise

    def columns(self, predictions: LabelPredictions | NumberPredictions, strategy: str | Strategy) -> Predictions:
        """The predictions of the learner as columns, with the score of each by a selection strategy."""
        selection_scores = scores(strategy, predictions.uncertainties()).tolist()
        if isinstance(predictions, LabelPredictions):
            return self._label_columns(predictions, selection_scores)
        count = len(predictions)
        means = predictions.mean.tolist()
        none: list[Any] = [None] * count
        return Predictions(
            labels=none,
            means=means,
            probabilities=none,
            variance=predictions.variance.tolist(),
            epistemic_variance=predictions.epistemic_variance.tolist(),
            actions=none,
            metric_scores=means,
            selection_scores=selection_scores,
            best=[-1] * count,
            predictive=predictions,
        )

    def _label_columns(self, predictions: LabelPredictions, selection_scores: list[float]) -> Predictions:
        names = predictions.labels
        table = np.where(np.isnan(predictions.probabilities), -1.0, predictions.probabilities)
        count = len(table)
        known = (table >= 0.0).sum(axis=1) if names else np.zeros(count)
        best = table.argmax(axis=1) if names else np.zeros(count, dtype=np.int64)
        best_or_none = np.where(known > 0, best, -1).tolist()
        # Log-odds are those of the more probable label. A label whose evidence was all taken back is unknown again, so
        # that two known ones need not be the first two.
        two = (known == 2) & (table[:, :2] >= 0.0).all(axis=1)
        log_odds = np.where(two, np.where(best == 1, 1.0, -1.0) * predictions.log_odds, np.nan)
        if names != self._keyed_names:
            self._keyed_names = names
            self._keys = list(map(as_key, names))
        keys = self._keys
        rows = [dict(zip(keys, row, strict=True)) for row in table.tolist()]
        if known.min(initial=len(keys)) < len(keys):
            rows = [{key: p for key, p in row.items() if p >= 0.0} for row in rows]
        return Predictions(
            labels=list(map((*names, None).__getitem__, best_or_none)),
            means=[None] * count,
            probabilities=list(rows),
            variance=predictions.variance.tolist(),
            epistemic_variance=predictions.epistemic_variance.tolist(),
            actions=self.actions(predictions),
            metric_scores=log_odds.tolist(),
            selection_scores=selection_scores,
            best=best_or_none,
            predictive=predictions,
        )

    def actions(self, predictions: LabelPredictions) -> list[str | None]:
        """The Bayes action for each prediction; None where the learner has no losses."""
        if isinstance(self.learner, SupportsDecisions):
            return list(self.learner.decide_many(predictions))
        return [None] * len(predictions)

    def predict(self, observation: Observation) -> ModelPrediction:
        """The prediction for one observation; nothing is learned."""
        content = self.prepare(observation)
        kind = "word" if observation.features is None else "feature"
        return ModelPrediction(content, kind, self.learner.predictive_many([content]))

    def explain(self, prediction: ModelPrediction, top: int) -> EventExplanation:
        """The prediction as a sum of contributions, by the learner's own account, or by leaving out each feature."""
        if isinstance(self.learner, SupportsExplanation):
            return self.learner.explain_event(prediction.content, top)
        return explain_by_ablation(self.learner, prediction, top)

    def posterior_of(self, kind: str, text: str) -> NamedPosterior:
        """The posterior of a word, feature or weight by its name; raises `NoPosterior` if the learner has none."""
        kinds = self.learner.posterior_kinds
        try:
            if isinstance(self.learner, SupportsFeaturePosteriors) and kind != "weight":
                return self.learner.feature_posterior(kind, text)
            if kind in kinds:
                return named_posterior(self.learner, text.strip())
        except (InputError, NumericalError) as problem:
            raise NoPosterior(visible(str(problem))) from problem
        known = f"it has them of a {', a '.join(kinds)}" if kinds else "it keeps none that can be drawn"
        message = f"{type(self.learner).__name__} has no posterior of a {visible(kind, 40)}: {known}"
        raise NoPosterior(message)


def mail_text(raw: bytes) -> str:
    """The subject and the body of a mail, as a learner is given them that does not read mail."""
    mail = ParsedMail(raw)
    return f"{subject(mail)}\n{mail.sections.body.decode('utf-8', 'replace')}"


def count_words(text: str) -> dict[str, int]:
    """The words of a text in lower case, and how often each comes."""
    return dict(Counter(_WORD.findall(text.lower())))


def learner_kind(settings: LearnerSettings) -> type[Learner]:
    """The class that the settings name; raises `ConfigError` where there is none, or it has no such parameters."""
    try:
        kind = Learner.find_class(settings.name)
    except SnapshotError as problem:
        near = _near(settings.name, learner_registry.known_names())
        message = f"learner.name: there is no learner {settings.name!r:.100} in stream_bayes{near}"
        raise ConfigError(message) from problem
    known = signature(kind).parameters
    unknown = [name for name in settings.parameters if name not in known]
    if unknown:
        message = "; ".join(f"learner.parameters.{name:.100}: unknown{_near(name, known)}" for name in unknown)
        raise ConfigError(message)
    return kind


def open_learner(settings: LearnerSettings) -> Learner:
    """The learner that the settings name; lists become tuples, as constructors want them."""
    kind = learner_kind(settings)
    parameters = {name: _as_parameter(value) for name, value in settings.parameters.items()}
    # TOML has no word for None, which is maximum likelihood.
    if parameters.get("prior") == "none":
        parameters["prior"] = None
    try:
        return kind(**parameters)
    except (TypeError, StreamBayesError) as problem:
        # Of a value that it refuses, a learner says `name must be ...`.
        place = "." if str(problem).partition(" ")[0] in parameters else ": "
        message = f"learner.parameters{place}{problem}"
        raise ConfigError(message) from problem


def _near(name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(names)}"


def _as_parameter(value: Any) -> Any:
    """A value of the settings as constructors want it: a tuple, a learner by its name, a posterior by its name."""
    if isinstance(value, list):
        return tuple(_as_parameter(part) for part in value)
    if isinstance(value, dict) and value.keys() <= {"name", "parameters"} and "name" in value:
        return open_learner(LearnerSettings(**value))
    if isinstance(value, dict) and value.keys() == {"posterior", "fields"} and value["posterior"] in _PRIORS:
        return _PRIORS[value["posterior"]](*value["fields"])
    return value
