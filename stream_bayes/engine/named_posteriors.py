"""Posteriors of features and weights by their names, as a reader writes them, for each family of learners."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from stream_bayes.engine.intervals import reported_label
from stream_bayes.errors import InputError, NoPosterior
from stream_bayes.learners import (
    BernoulliNB,
    BetaBernoulli,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    Learner,
    MultinomialNB,
    PoissonNB,
)
from stream_bayes.learners.base.labels import as_key
from stream_bayes.learners.base.named_posterior import NamedPosterior, ScalarPosterior
from stream_bayes.learners.linear.weights import WeightPosterior
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.posteriors import MvNormal, Normal, NormalInverseGamma, StudentT

NaiveBayes = BernoulliNB | MultinomialNB | PoissonNB | GaussianNB | GaussianDiscriminant
# A feature name that no event has: names of features are texts.
_UNUSED_NAME = ("", "", "")
_UNSEEN = "no labelled event had it"
_NEW = f"{_UNSEEN}: this is the prior"


@runtime_checkable
class SupportsMemberWeights(Protocol):
    """A fusion: it has a weight for each of its members."""

    @property
    def members(self) -> Any:
        """The members, or their names."""

    def weights(self) -> Mapping[str, Normal | float]:
        """By member the posterior of its weight, or its share where it has no posterior."""


def named_posterior(learner: Learner, text: str) -> NamedPosterior:
    """The posterior of a feature or weight of a learner that has `posterior_kinds`; raises `NoPosterior` if none."""
    if isinstance(learner, WeightPosterior):
        return _weight_posterior(learner, text)
    if isinstance(learner, SupportsMemberWeights):
        return _member_posterior(learner, text)
    if isinstance(learner, BetaBernoulli):
        return _beta_posterior(learner, text)
    if isinstance(learner, CategoricalNB):
        return _category_posterior(learner, text)
    assert isinstance(learner, NaiveBayes)
    return _feature_posterior(learner, text)


def _names(text: str) -> Iterator[Any]:
    """The feature names that a shown text may stand for: with its value, which may be part of the name."""
    yield text
    name, equals, value = text.partition(" = ")
    if equals:
        yield name, value
        yield name


def _weight_posterior(learner: WeightPosterior, text: str) -> NamedPosterior:
    new = _weight(learner, _UNUSED_NAME)
    found = {name: _weight(learner, name) for name in _names(text)}
    name = next((name for name, weight in found.items() if weight != new), text)
    # A hashed feature shares its weight with others.
    note = _NEW if found[name] == new and learner.buckets is None else None
    return NamedPosterior(found[name], f'weight of "{visible(_shown(name))}"', note)


def _weight(learner: WeightPosterior, name: Any) -> Normal | StudentT:
    joint = learner.joint(name)
    if isinstance(joint, MvNormal):
        return Normal(float(joint.mean[0]), float(joint.covariance[0, 0]))
    return StudentT(joint.degrees, float(joint.location[0]), math.sqrt(float(joint.scale[0, 0])))


def _member_posterior(learner: SupportsMemberWeights, text: str) -> NamedPosterior:
    weights = {name: weight for name, weight in learner.weights().items() if isinstance(weight, Normal)}
    if text not in weights:
        message = f"no posterior of a weight of {visible(text, 40)!r}: there are {', '.join(weights) or 'none'}"
        raise NoPosterior(message)
    return NamedPosterior(weights[text], f'weight of "{text}" in the fusion')


def _beta_posterior(learner: BetaBernoulli, text: str) -> NamedPosterior:
    label = as_key(learner.classes[1])
    if learner.on is None:
        posterior = learner.posterior()
        meaning = f"probability of {label}"
    else:
        value = text.removeprefix(f"{learner.on} = ")
        found = [learner.posterior(each) for each in _values(value)]
        posterior = next((each for each in found if each != learner.prior), learner.prior)
        meaning = f"probability of {label} where {visible(f'{learner.on} = {value}')}"
    won = round(posterior.successes - learner.prior.successes)
    lost = round(posterior.failures - learner.prior.failures)
    return NamedPosterior(posterior, meaning, None if won + lost else _NEW, won + lost, won)


def _values(text: str) -> Iterator[Any]:
    """The values that a shown text may stand for."""
    yield text
    if text in ("True", "False"):
        yield text == "True"
    try:
        number = float(text)
    except ValueError:
        return
    if math.isfinite(number):
        yield number


def _category_posterior(learner: CategoricalNB, text: str) -> NamedPosterior:
    label = _label(learner)
    feature, equals, value = text.partition(" = ")
    values = [str(each) for each in learner.categories(feature)]
    if not equals or value not in values:
        known = ", ".join(f"{feature} = {each}" for each in values[:5]) or "none of that feature"
        message = f"a category is a feature with its value; known are {known}"
        raise NoPosterior(visible(message))
    posterior = learner.posterior(feature, label).marginal(values.index(value))
    return NamedPosterior(posterior, f"probability of {visible(text)} in {as_key(label)}")


def _feature_posterior(learner: NaiveBayes, text: str) -> NamedPosterior:
    label = _label(learner)
    new = _posterior_if_any(learner, _UNUSED_NAME, label)
    found = {name: _posterior_if_any(learner, name, label) for name in _names(text)}
    name = next((name for name, posterior in found.items() if posterior is not None and posterior != new), text)
    posterior = _posterior(learner, name, label)
    note = _UNSEEN if posterior == new and getattr(learner, "buckets", None) is None else None
    return NamedPosterior(posterior, _meaning(learner, visible(_shown(name)), as_key(label)), note)


def _posterior_if_any(learner: NaiveBayes, name: Any, label: Any) -> ScalarPosterior | None:
    """The posterior of a feature; None where there is none, as without a prior."""
    try:
        return _posterior(learner, name, label)
    except InputError:
        return None


def _posterior(learner: NaiveBayes, name: Any, label: Any) -> ScalarPosterior:
    posterior = learner.posterior(name, label)
    return posterior.mean_marginal() if isinstance(posterior, NormalInverseGamma) else posterior


def _meaning(learner: NaiveBayes, name: str, label: str) -> str:
    if isinstance(learner, BernoulliNB):
        return f'probability that "{name}" is in an event of {label}'
    if isinstance(learner, MultinomialNB):
        return f'share of "{name}" among all words of {label}'
    if isinstance(learner, PoissonNB):
        return f'how often "{name}" is in an event of {label}'
    return f'mean of "{name}" in {label}'


def _label(learner: NaiveBayes | CategoricalNB) -> Any:
    """The reported label: of two labels the second, of more the most frequent."""
    label = reported_label(learner.class_posterior())
    if label is None:
        message = f"this {type(learner).__name__} has not learned any label yet, so no feature has a posterior"
        raise NoPosterior(message)
    return label


def _shown(name: Any) -> str:
    return " = ".join(map(str, name)) if isinstance(name, tuple) else str(name)
