"""Posterior densities of words, features and weights that a learner has learned, as curves with a description."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from stream_bayes.engine.intervals import MASS, reported_label
from stream_bayes.errors import InputError, NumericalError, StreamBayesError
from stream_bayes.kernels.mail.features import Shape
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
from stream_bayes.learners.base.labels import as_key
from stream_bayes.learners.linear.weights import WeightBelief
from stream_bayes.mail.features.named import ADDRESS_PARTS, named_features
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.mail.filter.evidence import PRIOR_COUNT
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.posteriors import Beta, Gamma, MvNormal, Normal, NormalInverseGamma, StudentT
from stream_bayes.typing import FloatArray
from stream_bayes.web.api.schemas import DensityBody

NaiveBayes = BernoulliNB | MultinomialNB | PoissonNB | GaussianNB | GaussianDiscriminant
# A feature name that no event has: names of features are texts.
_UNUSED_NAME = ("", "", "")
_UNSEEN = "no labelled event had it"
_NEW = f"{_UNSEEN}: this is the prior"


def density_of(learner: Learner, kind: str, text: str) -> DensityBody:
    """Return the posterior density of a word, feature or weight. Raise `NoPosterior` if the learner has none."""
    kinds = kinds_of(type(learner))
    try:
        if isinstance(learner, SpamFilter) and kind != "weight":
            return density(kind, text, mail_posterior(learner, kind, text))
        if kind in kinds:
            return density(kind, text, _named_posterior(learner, text.strip()))
    except (InputError, NumericalError) as problem:
        raise NoPosterior(visible(str(problem))) from problem
    known = f"it has them of a {', a '.join(kinds)}" if kinds else "it keeps none that can be drawn"
    message = f"{type(learner).__name__} has no posterior of a {visible(kind, 40)}: {known}"
    raise NoPosterior(message)


def kinds_of(learner: type[Learner]) -> tuple[str, ...]:
    """Return the kinds of posteriors of a learner class."""
    if issubclass(learner, SpamFilter):
        return (*KINDS, "weight")
    if issubclass(learner, WeightBelief):
        return ("weight", "feature", "word")
    if issubclass(learner, LogOddsFusion):
        return ("weight",)
    return ("feature", "word") if issubclass(learner, NaiveBayes | CategoricalNB | BetaBernoulli) else ()


def _named_posterior(learner: Learner, text: str) -> NamedPosterior:
    if isinstance(learner, WeightBelief):
        return _weight_posterior(learner, text)
    if isinstance(learner, SpamFilter | LogOddsFusion):
        return _member_posterior(learner, text)
    if isinstance(learner, BetaBernoulli):
        return _beta_posterior(learner, text)
    if isinstance(learner, CategoricalNB):
        return _category_posterior(learner, text)
    assert isinstance(learner, NaiveBayes)
    return _feature_posterior(learner, text)


def _names(text: str) -> Iterator[Any]:
    """Yield the feature names that a shown text may stand for: with its value, which may be part of the name."""
    yield text
    name, equals, value = text.partition(" = ")
    if equals:
        yield name, value
        yield name


def _weight_posterior(learner: WeightBelief, text: str) -> NamedPosterior:
    new = _weight(learner, _UNUSED_NAME)
    found = {name: _weight(learner, name) for name in _names(text)}
    name = next((name for name, weight in found.items() if weight != new), text)
    # A hashed feature shares its weight with others.
    note = _NEW if found[name] == new and learner.buckets is None else None
    return NamedPosterior(found[name], f'weight of "{visible(_shown(name))}"', note)


def _weight(learner: WeightBelief, name: Any) -> Normal | StudentT:
    joint = learner.joint(name)
    if isinstance(joint, MvNormal):
        return Normal(float(joint.mean[0]), float(joint.covariance[0, 0]))
    return StudentT(joint.degrees, float(joint.location[0]), math.sqrt(float(joint.scale[0, 0])))


def _member_posterior(learner: SpamFilter | LogOddsFusion, text: str) -> NamedPosterior:
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
    """Yield the values that a shown text may stand for."""
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
    new = _posterior(learner, _UNUSED_NAME, label)
    found = {name: _posterior(learner, name, label) for name in _names(text)}
    name = next((name for name, posterior in found.items() if posterior != new), text)
    note = _UNSEEN if found[name] == new and getattr(learner, "buckets", None) is None else None
    return NamedPosterior(found[name], _meaning(learner, visible(_shown(name)), as_key(label)), note)


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
    """Return the reported label: of two labels the second, of more the most frequent."""
    label = reported_label(learner.class_posterior())
    if label is None:
        message = f"this {type(learner).__name__} has not learned any label yet, so no feature has a posterior"
        raise NoPosterior(message)
    return label


def _shown(name: Any) -> str:
    return " = ".join(map(str, name)) if isinstance(name, tuple) else str(name)


Posterior = Beta | Gamma | Normal | StudentT
"""Posteriors of one number."""

# The curve of a probability ends this close to 0 and 1, or where this much probability lies beyond.
_CLOSEST = 1e-4
_BEYOND = 0.05
# Points at equal distances and at equal steps of probability, so that a narrow peak and its tails are drawn well.
_EVEN = 81
_QUANTILES = 110
_TAIL = 1e-3
_FAR_TAILS = (1e-6, 1e-5, 1e-4, 1.0 - 1e-4, 1.0 - 1e-5, 1.0 - 1e-6)
_QUARTILES = (0.25, 0.5, 0.75)


class NoPosterior(StreamBayesError):
    """A learner has no posterior of this kind. The message names the kinds it has."""

    code = "no-posterior"


class NamedPosterior(NamedTuple):
    """A posterior and a description of its quantity."""

    posterior: Posterior
    meaning: str
    note: str | None = None
    seen: int | None = None
    """Labelled events that had it."""
    seen_towards: int | None = None
    """Those with the label that `meaning` names."""


def density(kind: str, text: str, named: NamedPosterior) -> DensityBody:
    """Return a posterior as a curve, with its mean and its interval."""
    posterior = named.posterior
    x = _points(posterior)
    y, cut = _heights(posterior, x)
    notes = [named.note, "the density is unbounded: the curve is cut off" if cut else None]
    return DensityBody(
        kind=visible(kind),
        text=visible(text),
        meaning=named.meaning,
        family=_family(posterior),
        mean=posterior.mean,
        interval=posterior.interval(MASS),
        seen=named.seen,
        seen_towards=named.seen_towards,
        x=tuple(x.tolist()),
        y=tuple(y.tolist()),
        note="; ".join(filter(None, notes)) or None,
    )


def _points(posterior: Posterior) -> FloatArray:
    probabilities = np.linspace(_TAIL, 1.0 - _TAIL, _QUANTILES).tolist()
    quantiles = [posterior.quantile(probability) for probability in probabilities]
    if not isinstance(posterior, Beta):
        return np.unique([*quantiles, *np.linspace(quantiles[0], quantiles[-1], _EVEN).tolist()])
    even = np.linspace(_CLOSEST, 1.0 - _CLOSEST, _EVEN).tolist()
    far = [posterior.quantile(probability) for probability in _FAR_TAILS]
    ends = posterior.quantile(_BEYOND), posterior.quantile(1.0 - _BEYOND)
    low = min(_CLOSEST, ends[0])
    high = max(1.0 - _CLOSEST, ends[1])
    return np.unique(np.clip([*quantiles, *even, *far], low, high))


def _heights(posterior: Posterior, x: FloatArray) -> tuple[FloatArray, bool]:
    """Return the density at each point, and whether it was cut off."""
    y = posterior.density(x)
    unbounded = (isinstance(posterior, Beta) and min(posterior) < 1.0) or (
        isinstance(posterior, Gamma) and posterior.shape < 1.0
    )
    if not unbounded:
        return y, False
    # Cut at the density of a quartile: enough of the peak is shown to see that it goes on.
    quartiles = [posterior.quantile(probability) for probability in _QUARTILES]
    within = np.clip(quartiles, x[0], x[-1])
    return np.minimum(y, posterior.density(within).max()), True


def _family(posterior: Posterior) -> str:
    fields = {name: value for name, value in posterior._asdict().items() if name != "noise_variance"}
    if isinstance(posterior, Beta):
        return f"Beta({', '.join(f'{value:.6g}' for value in fields.values())})"
    return f"{type(posterior).__name__}({', '.join(f'{name} {value:.6g}' for name, value in fields.items())})"


KINDS = ("word", "sender", "host")
"""The kinds that the page offers."""
# The members that use a kind of feature, by the first word of their names.
_MEMBERS = {
    "word": {"word"},
    "pair": {"word"},
    "sender": {"senders"},
    "host": {"hosts", "structure"},
    "network": {"structure"},
    "field": {"structure"},
    "fields": {"structure"},
}
_ADDRESS = re.compile(r"[^\s<>()\"',;:@]+@[^\s<>()\"',;:@]+")
_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://)?(?:[^\s/@]+@)?([^\s/@:?#]+)")
_NAME = re.compile(r"[^\s:]+")
_LONGEST = 200


class _ProbeMail(NamedTuple):
    """A minimal mail that has one feature, with the kind and text of the feature."""

    mail: str
    kind: str
    text: str


def mail_posterior(learner: SpamFilter, kind: str, text: str) -> NamedPosterior:
    """Return the probability of spam among mails with a feature. Kinds are those of an explanation."""
    line = " ".join(text.lower().split())
    prefix, _, plain = kind.rpartition(": ")
    views = {member.split()[0] for member in learner.members}
    if plain not in _MEMBERS or not 0 < len(line) <= _LONGEST or (prefix and not _NAME.fullmatch(prefix)):
        message = f"no posterior of {visible(kind, 40)} {visible(text, 40)!r}: ask about a {', a '.join(KINDS)}"
        raise NoPosterior(message)
    if not views & _MEMBERS[plain]:
        message = f"this filter does not use {plain}s: its members are {', '.join(learner.members)}"
        raise NoPosterior(message)
    for probe in _probe_mails(prefix, plain, line):
        if (named := _posterior_by_probe(learner, probe)) is not None:
            return named
    message = f"this filter does not read {visible(text, 40)!r} as one {plain}"
    raise NoPosterior(message)


def _posterior_by_probe(learner: SpamFilter, probe: _ProbeMail) -> NamedPosterior | None:
    """Return the posterior of the probe's feature. None if the probe does not have that feature."""
    batch = learner.batch([probe.mail])
    features = named_features(batch.raws[0], cast(Shape, batch.shape))
    if not any((feature.kind, feature.text) == probe[1:] for feature in features):
        return None
    shares = {(share.kind, share.text): share for share in learner.explain(probe.mail, len(features)).shares}
    share = shares.get(probe[1:])
    meaning = _meaning_in_mail(learner, *probe[1:])
    if share is None:
        return NamedPosterior(
            Beta(PRIOR_COUNT, PRIOR_COUNT), meaning, "no labelled mail had it: this is the prior", 0, 0
        )
    return NamedPosterior(share.posterior, meaning, None, share.mails, share.spam)


def _meaning_in_mail(learner: SpamFilter, kind: str, text: str) -> str:
    prefix, _, plain = kind.rpartition(": ")
    place = f" in {prefix}" if prefix else ""
    return f'probability of {as_key(learner.classes[1])} among mails with the {plain} "{visible(text)}"{place}'


def _probe_mails(prefix: str, kind: str, line: str) -> Iterator[_ProbeMail]:
    """Yield mails that may have the feature, the most likely first. The filter's tokenizer decides."""
    own = f"{prefix}: {kind}" if prefix else kind
    if kind in ("word", "pair"):
        mail = f"{prefix}: {line}\n\n" if prefix else f"\n{line}"
        yield from (_ProbeMail(mail, own.replace(kind, each), line) for each in (kind, "pair"))
    elif kind == "sender":
        yield from _sender_probes(line)
    elif kind == "host":
        yield from _host_probes(own, line)
    elif kind == "network":
        address = ".".join((*(part for part in line.split(".") if part != "*"), *["0"] * ADDRESS_PARTS))
        whole = ".".join(address.split(".")[:ADDRESS_PARTS])
        yield _ProbeMail(f"Received: from [{whole}]\n\n", own, line)
    else:
        names = [name.strip() for name in line.split(",")]
        yield _ProbeMail("".join(f"{name}: x\n" for name in names) + "\n", own, line)


def _sender_probes(line: str) -> Iterator[_ProbeMail]:
    if (address := _ADDRESS.search(line)) is not None:
        yield _ProbeMail(f"From: {address[0]}\n\n", "sender", address[0])
    domain = line.removeprefix("@")
    yield _ProbeMail(f"From: nobody@{domain}\n\n", "sender", f"@{domain}")


def _host_probes(kind: str, line: str) -> Iterator[_ProbeMail]:
    head, end = ("", "") if kind == "host" else ("X-Link: ", "\n\n")
    begin = "\n" if kind == "host" else ""
    if line.startswith("@"):
        yield _ProbeMail(f"{begin}{head}nobody{line}{end}", kind, line)
    elif (host := _HOST.match(line)) is not None:
        yield _ProbeMail(f"{begin}{head}http://{host[1]}/{end}", kind, host[1])
