"""External members of a mail filter: classifiers of river or of this package, and the features they get."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from river import base

from stream_bayes.errors import ParameterError, SnapshotError, shown
from stream_bayes.features.values import IntArray
from stream_bayes.mail.filter.composition import MEMBERS
from stream_bayes.mail.parse.parsed_mail import decode_sections
from stream_bayes.typing import FloatArray

if TYPE_CHECKING:
    from river.compose import Pipeline

# Names of an explanation that no member may have.
_RESERVED_NAMES = ("intercept", "biases", "byte n-grams")
# Probabilities are clipped to this distance from 0 and 1.
_LEAST_PROBABILITY = 1e-9
TAKES = ("texts", "numbers")
_FIELD = re.compile(rb"^(subject|from):[ \t]*(.*(?:\n[ \t].*)*)", re.IGNORECASE | re.MULTILINE)


class ExternalMember(NamedTuple):
    """An external classifier as a member of a mail filter, and the kind of features it gets."""

    name: str
    classifier: base.Classifier | Pipeline
    """A prototype: the filter teaches a copy of its own that starts with no data. It may refuse an event, so what it
    knows is copied at each call that learns: teach in batches, which share that cost."""
    takes: str = "texts"
    """"texts": {"subject", "sender", "text"}, for pipelines that begin with a vectoriser. "numbers": what can be
    measured of a mail, such as its size and the share of its capitals, for trees and neighbours."""


def check_external_members(external_members: Any) -> tuple[ExternalMember, ...] | None:
    """Check the parameter `external_members`; the result holds untrained clones, or is None without any."""
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
    if len({*names, *MEMBERS, *_RESERVED_NAMES}) < len(names) + len(MEMBERS) + len(_RESERVED_NAMES):
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
    """The trained external classifiers of a filter; their labels are True for spam and False for ham."""

    def __init__(self, prototypes: Sequence[ExternalMember]) -> None:
        self._members = [other._replace(classifier=other.classifier.clone()) for other in prototypes]

    def fold(self, raws: Sequence[bytes], rows: IntArray, outcomes: IntArray) -> FloatArray:
        """Predict the log-odds of each mail by each member, then learn the mail if it is labelled; all or nothing."""
        log_odds = np.zeros((len(rows), len(self._members)))
        learning = bool((outcomes >= 0).any())
        kept = copy.deepcopy(self._members) if self._members and learning else self._members
        features = {
            takes: [as_features(raw, takes) for raw in raws] for takes in {each.takes for each in self._members}
        }
        try:
            for column, member in enumerate(self._members):
                for at, row in enumerate(rows.tolist()):
                    x = dict(features[member.takes][row])
                    log_odds[at, column] = _predict_log_odds(member.classifier, x)
                    if outcomes[at] >= 0:
                        member.classifier.learn_one(x, bool(outcomes[at]))
        except BaseException:
            self._members = kept
            raise
        return log_odds

    def check_savable(self) -> None:
        """Raise `SnapshotError` where there are external members: they would need pickle."""
        if self._members:
            message = f"a filter with classifiers from elsewhere ({self._members[0].name}) cannot be saved"
            raise SnapshotError(message)


def _predict_log_odds(classifier: base.Classifier | Pipeline, x: dict[Hashable, Any]) -> float:
    probabilities = classifier.predict_proba_one(x)
    ham = probabilities.get(False, 0.0)
    spam = probabilities.get(True, 0.0)
    if not 0.0 < ham + spam < math.inf:
        # It has not learned both labels yet.
        return 0.0
    share = min(max(spam / (ham + spam), _LEAST_PROBABILITY), 1.0 - _LEAST_PROBABILITY)
    return math.log(share / (1.0 - share))


def as_features(raw: bytes, takes: str) -> dict[Hashable, Any]:
    """The features of a mail for an external classifier: its subject, sender and text, or numbers measured of it.

    >>> as_features(b"Subject: Win $$$\\n\\nVisit http://example.com NOW", "numbers")["links"]
    1.0
    """
    header, body = decode_sections(raw)
    fields = {name.lower(): b" ".join(value.split()) for name, value in reversed(_FIELD.findall(header))}
    subject = fields.get(b"subject", b"")
    sender = fields.get(b"from", b"")
    if takes == "numbers":
        return _numbers(len(raw), header, subject, body)
    return {"subject": _text(subject), "sender": _text(sender), "text": _text(body)}


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _numbers(size: int, header: bytes, subject: bytes, body: bytes) -> dict[Hashable, float]:
    """Logarithms of sizes and of counts that are high in spam, and shares of the body's bytes."""
    count = max(len(body), 1)
    capitals = sum(map(body.count, range(65, 91)))
    letters = capitals + sum(map(body.count, range(97, 123)))
    return {
        "size": math.log1p(size),
        "fields": math.log1p(header.count(b"\n")),
        "subject size": math.log1p(len(subject)),
        "subject capitals": sum(map(subject.count, range(65, 91))) / max(len(subject), 1),
        "links": float(body.count(b"://")),
        "tags": math.log1p(body.count(b"<")),
        "addresses": math.log1p(body.count(b"@")),
        "money": math.log1p(body.count(b"$") + body.count("\N{POUND SIGN}".encode()) + body.count(b"%")),
        "exclamations": math.log1p(body.count(b"!") + subject.count(b"!")),
        "capitals": capitals / max(letters, 1),
        "digits": sum(map(body.count, range(48, 58))) / count,
        "blanks": (body.count(b" ") + body.count(b"\n")) / count,
        "beyond ascii": sum(byte >= 128 for byte in body) / count,
    }
