"""Why a model predicts what it does: what each feature adds to the log-odds of a label, or to a number.

A mail filter knows the shares of its features. Of the others, the share of a feature is what is missing without it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.engine.credible import as_key, label_told
from stream_bayes.features.display import harmless
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.learners import LabelPredictions
from stream_bayes.learners.label_learner import LabelLearner
from stream_bayes.learners.number_learner import NumberLearner
from stream_bayes.learners.predictions import CERTAIN
from stream_bayes.spam import SpamFilter
from stream_bayes.web.bodies import Reason

OTHERS, ELSE = "other features", "everything else"
"""What the rest is called: features that are not told apart, and what belongs to no single feature."""
# So many features are left out in turn, those first that say most by themselves; among so many, the first by name.
_MOST_LEFT_OUT, _MOST_ALONE = 200, 2000
# Of all events together with a feature left out each.
_MOST_PAIRS = 400_000
_SECONDS = 1.0
_SMALLEST = np.finfo(np.float64).tiny

Content = Mapping[Any, Any]


class Why(NamedTuple):
    """A prediction as a sum."""

    towards: str | None
    """The label that positive shares speak for; None where a number is predicted."""
    total: float | None
    """Its log-odds, or the number; None while there is nothing to choose between."""
    reasons: tuple[Reason, ...]
    rest: dict[str, float]


def reasons_of_mail(learner: SpamFilter, mail: Any, top: int) -> Why:
    """The shares of a mail's words, hosts and senders in the log-odds of spam."""
    why = learner.explain(mail, top)
    reasons = tuple(
        Reason(
            kind=harmless(share.kind),
            text=harmless(share.text),
            share=share.log_odds,
            seen=share.mails,
            seen_towards=share.spam,
        )
        for share in why.shares
    )
    return Why(as_key(learner.classes[1]), why.log_odds, reasons, dict(why.rest))


def reasons_of(
    learner: LabelLearner | NumberLearner, content: Content, top: int, kind: str, seconds: float = _SECONDS
) -> Why:
    """The shares of an event's features, each what is missing without it; they are called by this kind.

    After so many seconds those that say less by themselves are not left out any more.
    """
    label = None
    if isinstance(learner, LabelLearner):
        probabilities = learner.predictive_many([content]).probabilities_of(0)
        if len(probabilities) < 2:
            return Why(None, None, (), {})
        label = label_told(probabilities)
    total = float(_totals(learner, [content], label)[0])
    shares = {name: total - without for name, without in _left_out(learner, content, label, seconds)}
    found = sorted(shares.items(), key=lambda pair: -abs(pair[1]))
    told = [pair for pair in found[:top] if pair[1] != 0.0]
    rest = {ELSE: math.fsum([total, *(-share for share in shares.values())])}
    if len(found) > len(told):
        rest[OTHERS] = math.fsum(share for _, share in found[len(told) :])
    reasons = tuple(Reason(kind=kind, text=_text(kind, name, content[name]), share=share) for name, share in told)
    return Why(None if label is None else as_key(label), total, reasons, rest)


def _left_out(
    learner: LabelLearner | NumberLearner, content: Content, label: Any, seconds: float
) -> Iterator[tuple[Hashable, float]]:
    """Features, and what is predicted without each of them."""
    names, done, began = _telling(learner, content, label), 0, monotonic()
    # Each piece is twice as long as the one before, and may take twice its time: of some learners a single prediction
    # takes a second where there are hundreds of features.
    while done < len(names) and (done == 0 or 3.0 * (monotonic() - began) < seconds):
        piece = names[done : 2 * done + 1]
        yield from zip(
            piece, _totals(learner, [_without(content, name) for name in piece], label).tolist(), strict=True
        )
        done += len(piece)


def _telling(learner: LabelLearner | NumberLearner, content: Content, label: Any) -> list[Hashable]:
    """The features to be left out in turn, those first that make most of a difference by themselves."""
    names = sorted(content, key=str)[:_MOST_ALONE]
    most = min(_MOST_LEFT_OUT, _MOST_PAIRS // max(len(content), 1))
    alone = _totals(learner, [{}, *({name: content[name]} for name in names)], label)
    order = np.argsort(-np.abs(alone[1:] - alone[0]), kind="stable")
    return [names[place] for place in order[:most].tolist()]


def _without(content: Content, left_out: Hashable) -> dict[Any, Any]:
    return {name: value for name, value in content.items() if name != left_out}


def _totals(learner: LabelLearner | NumberLearner, events: Sequence[Content], label: Any) -> FloatArray:
    """What is predicted of each: the log-odds of a label, or the number."""
    predictions = learner.predictive_many(events)
    return log_odds_of(predictions, label) if isinstance(predictions, LabelPredictions) else predictions.mean


def log_odds_of(predictions: LabelPredictions, label: Any) -> FloatArray:
    """The log-odds of one label against all others, of each row; that of certainty is finite."""
    column = predictions.labels.index(label)
    table = np.nan_to_num(predictions.probabilities)
    own, others = table[:, column], np.delete(table, column, axis=1).sum(axis=1)
    plain = np.log(np.maximum(own, _SMALLEST)) - np.log(np.maximum(others, _SMALLEST))
    # Those of the most probable label are known more precisely than its probability, which is close to 1.
    best = table.argmax(axis=1) == column
    two = (~np.isnan(predictions.probabilities)).sum(axis=1) == 2
    odds = np.where(best, predictions.log_odds, np.where(two, -predictions.log_odds, plain))
    return np.clip(odds, -CERTAIN, CERTAIN)


def _text(kind: str, name: Hashable, value: Any) -> str:
    return harmless(str(name) if kind == "word" else f"{name} = {value}")
