"""Make a filter by its name: our own, an installed baseline, or any `package.module:factory`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from importlib import import_module
from typing import Any

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation import baselines
from stream_bayes.evaluation.filters import FilterScores, MailFilter
from stream_bayes.evaluation.learner_filter import LearnerFilter, make_learner
from stream_bayes.kernels.mail.features import VIEWS
from stream_bayes.learners import Learner
from stream_bayes.mail.features.batch import MailBatch

OWN_FILTERS = {"default": "stream_bayes.mail.filter:SpamFilter", "light": "stream_bayes.mail.filter:SpamFilter.light"}


class SpamFilterAdapter:
    """Adapts a `SpamFilter` to the interface of an evaluation."""

    def __init__(self, name: str, learner: Any) -> None:
        self.name = name
        self._learner = learner
        # A learner that does not say may use all of a mail.
        self.max_bytes: int | None = getattr(learner, "max_bytes", None)

    def prepare(self) -> None:
        """Allocate the memory of the tables now, so that it does not count as the time of a mail."""
        getattr(self._learner, "prefault", lambda: None)()

    def features(self, mails: Sequence[bytes]) -> Any:
        """Extract a batch of hashed features."""
        return self._learner.batch(mails)

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> FilterScores:
        """Score each mail, then learn it if it has a label."""
        return self._scores(self._learner.test_then_train(features, labels))

    def test_then_remember(self, features: Any, labels: Sequence[str | None], remember: Sequence[bool]) -> FilterScores:
        """Score and learn as `test_then_train` does, and remember some mails where the learner can."""
        if not getattr(self._learner, "remembers", False):
            return self.test_then_train(features, labels)
        return self._scores(self._learner.test_then_train(features, labels, remember=remember))

    def _scores(self, predictions: Any) -> FilterScores:
        members = dict(zip(predictions.members, predictions.member_log_odds.T, strict=True))
        return FilterScores(predictions.spam_log_odds, members, predictions)

    def part(self, features: Any, begin: int, end: int) -> Any:
        """A range of mails of a batch, as a view of its memory."""
        if not isinstance(features, MailBatch):
            return features[begin:end]
        starts = features.view_starts[VIEWS * begin : VIEWS * end + 1]
        return replace(features, row_starts=starts[::VIEWS], view_starts=starts, raws=features.raws[begin:end])

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def filter_names() -> tuple[str, ...]:
    """The names of all filters that are available, besides `package.module:factory`."""
    return (*OWN_FILTERS, *baselines.available())


def open_filter(name: str) -> MailFilter:
    """Make a new filter that has learned nothing.

    `name` is "default", "light", that of a baseline (`stream_bayes.evaluation.baselines.available`), or
    `package.module:factory`, called without arguments for a `SpamFilter`, any other learner, or anything with the
    methods of a `MailFilter`. A learner that does not read mail is given the words of the subject and the text; if it
    is named by its class, such as `stream_bayes:BernoulliNB`, these are hashed.
    """
    available = baselines.available()
    if name in available:
        return available[name]()
    if name in OWN_FILTERS or ":" in name:
        return _adapt(name, _call_factory(OWN_FILTERS.get(name, name)))
    raise ParameterError(_unknown_message(name))


def _call_factory(path: str) -> Any:
    """Call the factory at `module:name`; any error in it becomes a ParameterError of one line."""
    module, _, name = path.partition(":")
    is_imported = False
    try:
        factory: Any = reduce(getattr, name.split("."), import_module(module))
        is_imported = True
        is_class = isinstance(factory, type) and issubclass(factory, Learner) and not factory.reads_mail
        return make_learner(factory) if is_class else factory()
    except Exception as problem:
        wrong = f"{path}, called without arguments, makes no filter" if is_imported else f"there is no filter at {path}"
        message = f"{wrong}: {type(problem).__name__}: {problem}"
        raise ParameterError(message) from problem


def _adapt(name: str, made: Any) -> MailFilter:
    if isinstance(made, MailFilter):
        return made
    if isinstance(made, Learner) and not made.reads_mail:
        return LearnerFilter(name, made)
    if hasattr(made, "batch") and hasattr(made, "test_then_train"):
        return SpamFilterAdapter(name, made)
    message = f"{name} made a {type(made).__name__}, which is no filter: it has no features and test_then_train"
    raise ParameterError(message)


def _unknown_message(name: str) -> str:
    missing = baselines.missing()
    if name in missing:
        return f"the filter {name!r} is not installed here: {missing[name]}"
    known = ", ".join(filter_names())
    return f"there is no filter {name!r}; there are {known}, and package.module:factory for your own"
