"""A filter by its name: ours, a peer that is installed, or anybody's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from importlib import import_module
from typing import Any

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation import baselines
from stream_bayes.evaluation.filters import FilterScores, MailFilter
from stream_bayes.kernels.mail.decode import MAX_RAW
from stream_bayes.kernels.mail.features import VIEWS
from stream_bayes.mail.features.batch import MailBatch
from stream_bayes.mail.filter import SpamFilter

OURS = {"default": "stream_bayes.mail.filter:SpamFilter", "light": "stream_bayes.mail.filter:SpamFilter.light"}


class OwnFilter:
    """A `SpamFilter` as an evaluation runs it."""

    def __init__(self, name: str, learner: Any) -> None:
        self.name = name
        self._learner = learner
        # Anything else with the same methods may look at more.
        self.most_bytes = MAX_RAW if isinstance(learner, SpamFilter) else None

    def prepare(self) -> None:
        """Take the memory of the tables now, so that no mail is charged for it."""
        getattr(self._learner, "touch", lambda: None)()

    def features(self, mails: Sequence[bytes]) -> Any:
        """The mails as a batch of hashed features."""
        return self._learner.batch(mails)

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> FilterScores:
        """Score each mail, then learn it if its label is given."""
        said = self._learner.test_then_train(features, labels)
        return FilterScores(said.spam_log_odds, dict(zip(said.members, said.member_log_odds.T, strict=True)), said)

    def part(self, features: Any, begin: int, end: int) -> Any:
        """Some mails of a batch, which share its memory."""
        if not isinstance(features, MailBatch):
            return features[begin:end]
        starts = features.view_starts[VIEWS * begin : VIEWS * end + 1]
        return replace(features, row_starts=starts[::VIEWS], view_starts=starts, raws=features.raws[begin:end])

    def close(self) -> None:
        """Nothing to give back."""


def filter_names() -> tuple[str, ...]:
    """Every name that can be opened here, besides `package.module:factory`."""
    return (*OURS, *baselines.available())


def open_filter(name: str) -> MailFilter:
    """A new filter that has learned nothing.

    `name` is "default", "light", that of a baseline (`stream_bayes.evaluation.baselines.available`), or
    `package.module:factory`, called without arguments for a `SpamFilter` or anything with the methods of
    a `MailFilter`.
    """
    available = baselines.available()
    if name in available:
        return available[name]()
    if name in OURS or ":" in name:
        return _adapted(name, _made(OURS.get(name, name)))
    raise ParameterError(_unknown(name))


def _made(place: str) -> Any:
    """What the factory at a place makes; whatever goes wrong in somebody's module or factory is said in one line."""
    module, _, path = place.partition(":")
    found = False
    try:
        factory: Any = reduce(getattr, path.split("."), import_module(module))
        found = True
        return factory()
    except Exception as problem:
        wrong = f"{place}, called without arguments, makes no filter" if found else f"there is no filter at {place}"
        message = f"{wrong}: {type(problem).__name__}: {problem}"
        raise ParameterError(message) from problem


def _adapted(name: str, made: Any) -> MailFilter:
    if isinstance(made, MailFilter):
        return made
    if hasattr(made, "batch") and hasattr(made, "test_then_train"):
        return OwnFilter(name, made)
    message = f"{name} made a {type(made).__name__}, which is no filter: it has no features and test_then_train"
    raise ParameterError(message)


def _unknown(name: str) -> str:
    missing = baselines.missing()
    if name in missing:
        return f"the filter {name!r} is not installed here: {missing[name]}"
    known = ", ".join(filter_names())
    return f"there is no filter {name!r}; there are {known}, and package.module:factory for your own"
