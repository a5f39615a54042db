"""Classifiers from elsewhere as members of a mail filter: any of river's, or of this package."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from river import base

from stream_bayes.errors import ParameterError, SnapshotError, shown
from stream_bayes.features.values import IntArray
from stream_bayes.mail.features.fields import TAKES, as_features
from stream_bayes.mail.filter.composition import MEMBERS
from stream_bayes.typing import FloatArray

if TYPE_CHECKING:
    from river.compose import Pipeline

# What an explanation calls other things.
_TAKEN = ("intercept", "biases", "byte n-grams")
# Beyond it a probability says more than any classifier knows.
_LEAST = 1e-9


class ExternalMember(NamedTuple):
    """A classifier as a member of a mail filter, and what it is shown of a mail."""

    name: str
    classifier: base.Classifier | Pipeline
    """A prototype: the filter teaches a copy of its own that starts with no data. It may refuse an event, so what it
    knows is copied at each call that learns: teach in batches, which share that cost."""
    takes: str = "texts"
    """"texts": {"subject", "sender", "text"}, for pipelines that begin with a vectoriser. "numbers": what can be
    measured of a mail, such as its size and the share of its capitals, for trees and neighbours."""


def check_external_members(external_members: Any) -> tuple[ExternalMember, ...] | None:
    """Prototypes: the classifiers given, without what they have learned; None for none."""
    if external_members is None or external_members == ():
        return None
    if not isinstance(external_members, (tuple, list)):
        message = (
            "external_members must be a tuple of ExternalMember(name, classifier, takes); "
            f"got {shown(external_members)}"
        )
        raise ParameterError(message)
    checked = [_check(other) for other in external_members]
    names = [other.name for other in checked]
    if len({*names, *MEMBERS, *_TAKEN}) < len(names) + len(MEMBERS) + len(_TAKEN):
        message = f"external_members must have names of their own; got {shown(names)}"
        raise ParameterError(message)
    return tuple(checked)


def _check(other: Any) -> ExternalMember:
    if not isinstance(other, (tuple, list)) or not 2 <= len(other) <= 3:
        message = f"one of external_members must be an ExternalMember(name, classifier, takes); got {shown(other)}"
        raise ParameterError(message)
    name, classifier, takes = ExternalMember(*other)
    named = isinstance(name, str) and takes in TAKES  # type: ignore[redundant-expr]
    if not named or not all(hasattr(classifier, method) for method in ("predict_proba_one", "learn_one", "clone")):
        message = (
            f"one of external_members must be a name, a classifier with probabilities and one of {TAKES!r}; "
            f"got {shown(other)}"
        )
        raise ParameterError(message)
    return ExternalMember(name, classifier.clone(), takes)


class ExternalMembers:
    """The copies that learn whether a mail is spam: True or False, which every classifier takes for a label."""

    def __init__(self, prototypes: Sequence[ExternalMember]) -> None:
        self._members = [other._replace(classifier=other.classifier.clone()) for other in prototypes]

    def fold(self, raws: Sequence[bytes], rows: IntArray, outcomes: IntArray) -> FloatArray:
        """The log-odds of each member for each mail, which is then taught where it is known; all or nothing."""
        log_odds = np.zeros((len(rows), len(self._members)))
        learning = bool((outcomes >= 0).any())
        kept = copy.deepcopy(self._members) if self._members and learning else self._members
        shown = {takes: [as_features(raw, takes) for raw in raws] for takes in {each.takes for each in self._members}}
        try:
            for column, member in enumerate(self._members):
                for at, row in enumerate(rows.tolist()):
                    x = dict(shown[member.takes][row])
                    log_odds[at, column] = _ask(member.classifier, x)
                    if outcomes[at] >= 0:
                        member.classifier.learn_one(x, bool(outcomes[at]))
        except BaseException:
            self._members = kept
            raise
        return log_odds

    def check_savable(self) -> None:
        """Refuse to be saved where there are any: nothing that would need pickle is written."""
        if self._members:
            message = f"a filter with classifiers from elsewhere ({self._members[0].name}) cannot be saved"
            raise SnapshotError(message)


def _ask(classifier: base.Classifier | Pipeline, x: dict[Hashable, Any]) -> float:
    said = classifier.predict_proba_one(x)
    ham = said.get(False, 0.0)
    spam = said.get(True, 0.0)
    if not 0.0 < ham + spam < math.inf:
        return 0.0  # it does not know the labels yet
    share = min(max(spam / (ham + spam), _LEAST), 1.0 - _LEAST)
    return math.log(share / (1.0 - share))
