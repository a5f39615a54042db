"""What a learner believes of a word, a feature, a weight: the posterior, and in words what it is of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from stream_bayes.engine.credible import as_key, label_told
from stream_bayes.errors import InputError, NumericalError
from stream_bayes.features.visible import visible
from stream_bayes.learners import (
    BernoulliNB,
    BetaBernoulli,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    Learner,
    LogOddsFusion,
    MultinomialNB,
    PoissonNB,
)
from stream_bayes.learners.linear.weights import WeightBelief
from stream_bayes.posteriors import MvNormal, Normal, NormalInverseGamma, StudentT
from stream_bayes.spam import SpamFilter
from stream_bayes.web.bodies import Density
from stream_bayes.web.densities import Belief, NoPosterior, Posterior, density
from stream_bayes.web.mail_beliefs import KINDS, mail_belief

NaiveBayes = BernoulliNB | MultinomialNB | PoissonNB | GaussianNB | GaussianDiscriminant
# No event has it: names of features are texts there.
_NOBODY = ("", "", "")
_UNSEEN = "no labelled event has had it"
_NEW = f"{_UNSEEN}: this is the prior"


def density_of(learner: Learner, kind: str, text: str) -> Density:
    """The posterior of what a kind and a text name, as a curve; `NoPosterior` where the learner has none."""
    kinds = kinds_of(type(learner))
    try:
        if isinstance(learner, SpamFilter) and kind != "weight":
            return density(kind, text, mail_belief(learner, kind, text))
        if kind in kinds:
            return density(kind, text, _belief(learner, text.strip()))
    except (InputError, NumericalError) as problem:
        raise NoPosterior(visible(str(problem))) from problem
    known = f"it has them of a {', a '.join(kinds)}" if kinds else "it keeps none that can be drawn"
    message = f"{type(learner).__name__} has no posterior of a {visible(kind, 40)}: {known}"
    raise NoPosterior(message)


def kinds_of(learner: type[Learner]) -> tuple[str, ...]:
    """What one may ask learners of a class about."""
    if issubclass(learner, SpamFilter):
        return (*KINDS, "weight")
    if issubclass(learner, WeightBelief):
        return ("weight", "feature", "word")
    if issubclass(learner, LogOddsFusion):
        return ("weight",)
    return ("feature", "word") if issubclass(learner, NaiveBayes | CategoricalNB | BetaBernoulli) else ()


def _belief(learner: Learner, text: str) -> Belief:
    if isinstance(learner, WeightBelief):
        return _of_weight(learner, text)
    if isinstance(learner, SpamFilter | LogOddsFusion):
        return _of_member(learner, text)
    if isinstance(learner, BetaBernoulli):
        return _of_coin(learner, text)
    if isinstance(learner, CategoricalNB):
        return _of_category(learner, text)
    assert isinstance(learner, NaiveBayes)
    return _of_feature(learner, text)


def _names(text: str) -> Iterator[Any]:
    """What a feature may be called that is shown so: by its name, or with its value, which may be part of its name."""
    yield text
    name, equals, value = text.partition(" = ")
    if equals:
        yield name, value
        yield name


def _of_weight(learner: WeightBelief, text: str) -> Belief:
    new = _weight(learner, _NOBODY)
    found = {name: _weight(learner, name) for name in _names(text)}
    name = next((name for name, weight in found.items() if weight != new), text)
    # Hashed, it shares its weight with others.
    note = _NEW if found[name] == new and learner.buckets is None else None
    return Belief(found[name], f'weight of "{visible(_shown(name))}"', note)


def _weight(learner: WeightBelief, name: Any) -> Normal | StudentT:
    joint = learner.joint(name)
    if isinstance(joint, MvNormal):
        return Normal(float(joint.mean[0]), float(joint.covariance[0, 0]))
    return StudentT(joint.degrees, float(joint.location[0]), math.sqrt(float(joint.scale[0, 0])))


def _of_member(learner: SpamFilter | LogOddsFusion, text: str) -> Belief:
    weights = {name: weight for name, weight in learner.weights().items() if isinstance(weight, Normal)}
    if text not in weights:
        message = f"no posterior of a weight of {visible(text, 40)!r}: there are {', '.join(weights) or 'none'}"
        raise NoPosterior(message)
    return Belief(weights[text], f'weight of "{text}" in the fusion')


def _of_coin(learner: BetaBernoulli, text: str) -> Belief:
    label = as_key(learner.classes[1])
    if learner.on is None:
        posterior, meaning = learner.posterior(), f"probability of {label}"
    else:
        value = text.removeprefix(f"{learner.on} = ")
        found = [learner.posterior(each) for each in _values(value)]
        posterior = next((each for each in found if each != learner.prior), learner.prior)
        meaning = f"probability of {label} where {visible(f'{learner.on} = {value}')}"
    won, lost = round(posterior.successes - learner.prior.successes), round(posterior.failures - learner.prior.failures)
    return Belief(posterior, meaning, None if won + lost else _NEW, won + lost, won)


def _values(text: str) -> Iterator[Any]:
    """What a value may be that is shown so."""
    yield text
    if text in ("True", "False"):
        yield text == "True"
    try:
        number = float(text)
    except ValueError:
        return
    if math.isfinite(number):
        yield number


def _of_category(learner: CategoricalNB, text: str) -> Belief:
    label, (feature, equals, value) = _label(learner), text.partition(" = ")
    values = [str(each) for each in learner.categories(feature)]
    if not equals or value not in values:
        known = ", ".join(f"{feature} = {each}" for each in values[:5]) or "none of that feature"
        message = f"a category is a feature with its value; known are {known}"
        raise NoPosterior(visible(message))
    posterior = learner.posterior(feature, label).marginal(values.index(value))
    return Belief(posterior, f"probability of {visible(text)} in {as_key(label)}")


def _of_feature(learner: NaiveBayes, text: str) -> Belief:
    label = _label(learner)
    new = _posterior(learner, _NOBODY, label)
    found = {name: _posterior(learner, name, label) for name in _names(text)}
    name = next((name for name, posterior in found.items() if posterior != new), text)
    note = _UNSEEN if found[name] == new and getattr(learner, "buckets", None) is None else None
    return Belief(found[name], _meaning(learner, visible(_shown(name)), as_key(label)), note)


def _posterior(learner: NaiveBayes, name: Any, label: Any) -> Posterior:
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
    """Of two labels the one that is told about everywhere; of more the most frequent."""
    label = label_told(learner.class_posterior())
    if label is None:
        message = f"no label is known to this {type(learner).__name__} yet, so nothing is known of any feature"
        raise NoPosterior(message)
    return label


def _shown(name: Any) -> str:
    return " = ".join(map(str, name)) if isinstance(name, tuple) else str(name)
