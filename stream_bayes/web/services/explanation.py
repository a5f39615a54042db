"""Why a model predicts what it does: what each feature adds to the log-odds of a label, or to a number.

A mail filter knows the shares of its features. Of the others, the share of a feature is what is missing without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.engine.intervals import as_key, reported_label
from stream_bayes.learners import LabelPredictions, NumberPredictions
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.label_predictions import CERTAIN
from stream_bayes.learners.base.regressor import Regressor
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.typing import FloatArray
from stream_bayes.web.api.schemas import ContributionBody

OTHERS = "other features"
ELSE = "everything else"
"""What the rest is called: features that are not told apart, and what belongs to no single feature."""
# So many features are left out in turn, those first that say most by themselves; among so many, the first by name.
_MAX_LEFT_OUT = 200
_MAX_ALONE = 2000
# Of all events together with a feature left out each.
_MAX_PAIRS = 400_000
# For one look at each of them, and for leaving each out.
_SECONDS = 0.5
# A share below this part of the total is none.
_ROUNDING = 1e-9
_SMALLEST = np.finfo(np.float64).tiny

Content = Mapping[Any, Any]


class ModelPrediction(NamedTuple):
    """An event, and what is predicted of it."""

    content: Content
    kind: str
    """What its features are called."""
    predictions: LabelPredictions | NumberPredictions
    """Of this event alone."""


class Explained(NamedTuple):
    """A prediction as a sum."""

    towards: str | None
    """The label that positive shares speak for; None where a number is predicted."""
    total: float | None
    """Its log-odds, or the number; None while there is nothing to choose between."""
    reasons: tuple[ContributionBody, ...]
    rest: dict[str, float]


def reasons_of_mail(learner: SpamFilter, mail: Any, top: int) -> Explained:
    """The shares of a mail's words, hosts and senders in the log-odds of spam."""
    why = learner.explain(mail, top)
    reasons = tuple(
        ContributionBody(
            kind=visible(share.kind),
            text=visible(share.text),
            share=share.log_odds,
            seen=share.mails,
            seen_towards=share.spam,
            note=share.note or None,
        )
        for share in why.shares
    )
    return Explained(as_key(learner.classes[1]), why.log_odds, reasons, dict(why.rest))


def reasons_of(
    learner: Classifier | Regressor, event: ModelPrediction, top: int, seconds: float = _SECONDS
) -> Explained:
    """The shares of an event's features, each what is missing without it.

    Where a prediction takes long, there is time for a few only: those that say most by themselves come first.
    """
    label = None
    if isinstance(event.predictions, LabelPredictions):
        probabilities = event.predictions.probabilities_of(0)
        if len(probabilities) < 2:
            return Explained(None, None, (), {})
        label = reported_label(probabilities)
    total = float(_totals(event.predictions, label)[0])
    trial = _Trial(learner, event.content, label, seconds)
    shares = {name: total - without for name, without in trial.left_out()}
    found = sorted(shares.items(), key=lambda pair: -abs(pair[1]))
    least = _ROUNDING * max(1.0, abs(total))
    told = [pair for pair in found[:top] if abs(pair[1]) > least]
    others = [share for _, share in found[len(told) :] if abs(share) > least]
    rest = {ELSE: math.fsum([total, *(-share for _, share in told), *(-share for share in others)])}
    if others:
        rest[OTHERS] = math.fsum(others)
    reasons = tuple(ContributionBody(kind=event.kind, text=_text(event, name), share=share) for name, share in told)
    return Explained(None if label is None else as_key(label), total, reasons, rest)


class _Trial(NamedTuple):
    """How an event is predicted in other forms, and for how long."""

    learner: Classifier | Regressor
    content: Content
    label: Any
    seconds: float

    def left_out(self) -> Iterator[tuple[Hashable, float]]:
        """Features, and what is predicted without each of them."""
        content = self.content
        return self._each(self._telling(), lambda left: {name: content[name] for name in content if name != left})

    def _telling(self) -> list[Hashable]:
        """The features to be left out in turn, those first that make most of a difference by themselves."""
        names = sorted(self.content, key=str)[:_MAX_ALONE]
        nothing = float(_totals(self.learner.predictive_many([{}]), self.label)[0])
        alone = dict(self._each(names, lambda name: {name: self.content[name]}))
        most = min(_MAX_LEFT_OUT, _MAX_PAIRS // max(len(self.content), 1))
        return sorted(alone, key=lambda name: -abs(alone[name] - nothing))[:most]

    def _each(self, names: Sequence[Hashable], made: Callable[[Hashable], Content]) -> Iterator[tuple[Hashable, float]]:
        """What is predicted of the event made of each name, as far as time allows."""
        done = 0
        began = monotonic()
        # A piece takes as long as all before it. With 600 features one prediction of a discriminant takes 0.6 s.
        while done < len(names) and (done == 0 or 2.0 * (monotonic() - began) < self.seconds):
            piece = names[done : 2 * done + 1]
            totals = _totals(self.learner.predictive_many([made(name) for name in piece]), self.label)
            yield from zip(piece, totals.tolist(), strict=True)
            done += len(piece)


def _totals(predictions: LabelPredictions | NumberPredictions, label: Any) -> FloatArray:
    """The log-odds of a label, or the number, of each row."""
    return log_odds_of(predictions, label) if isinstance(predictions, LabelPredictions) else predictions.mean


def log_odds_of(predictions: LabelPredictions, label: Any) -> FloatArray:
    """The log-odds of one label against all others, of each row; that of certainty is finite."""
    column = predictions.labels.index(label)
    table = np.nan_to_num(predictions.probabilities)
    own = table[:, column]
    others = np.delete(table, column, axis=1).sum(axis=1)
    plain = np.log(np.maximum(own, _SMALLEST)) - np.log(np.maximum(others, _SMALLEST))
    # Those of the most probable label are known more precisely than its probability, which is close to 1.
    best = table.argmax(axis=1) == column
    two = (~np.isnan(predictions.probabilities)).sum(axis=1) == 2
    odds = np.where(best, predictions.log_odds, np.where(two, -predictions.log_odds, plain))
    return np.clip(odds, -CERTAIN, CERTAIN)


def _text(event: ModelPrediction, name: Hashable) -> str:
    return visible(str(name) if event.kind == "word" else f"{name} = {event.content[name]}")
