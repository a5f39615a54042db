"""Posterior of the probability of spam among the mails with one word, sender or host, found by a probe mail.

No vocabulary is stored. A minimal mail that has the feature is explained instead: the explanation has its posterior.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, cast

from stream_bayes.errors import NoPosterior
from stream_bayes.kernels.mail.features import Shape
from stream_bayes.learners.base.labels import Label, as_key
from stream_bayes.learners.base.named_posterior import NamedPosterior
from stream_bayes.mail.features.batch import Mail, MailBatch
from stream_bayes.mail.features.named import ADDRESS_PARTS, named_features
from stream_bayes.mail.filter.composition import views_of
from stream_bayes.mail.filter.evidence import PRIOR_COUNT
from stream_bayes.mail.filter.explanation import Explanation
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.posteriors import Beta

FEATURE_KINDS = ("word", "sender", "host")
"""The kinds of features that have a posterior, as messages list them."""
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


class ExplainingFilter(Protocol):
    """A mail filter that explains its predictions."""

    members: tuple[str, ...]
    classes: tuple[Label, Label]

    def batch(self, events: Iterable[Mail]) -> MailBatch:
        """Mails as their features."""

    def explain(self, x: Mail, top: int) -> Explanation:
        """The contributions of the features of a mail, with their posteriors."""


class _ProbeMail(NamedTuple):
    """A minimal mail that has one feature, with the kind and text of the feature."""

    mail: str
    kind: str
    text: str


def feature_posterior(learner: ExplainingFilter, kind: str, text: str) -> NamedPosterior:
    """The probability of spam among mails with a feature; raises `NoPosterior` if the filter does not have it.

    Kinds are those of an explanation.
    """
    line = " ".join(text.lower().split())
    prefix, _, plain = kind.rpartition(": ")
    views = views_of(learner.members)
    if plain not in _MEMBERS or not 0 < len(line) <= _LONGEST or (prefix and not _NAME.fullmatch(prefix)):
        message = f"no posterior of {visible(kind, 40)} {visible(text, 40)!r}: ask about a {', a '.join(FEATURE_KINDS)}"
        raise NoPosterior(message)
    if not views & _MEMBERS[plain]:
        message = f"this filter does not use {plain}s: its members are {', '.join(learner.members)}"
        raise NoPosterior(message)
    for probe in _probe_mails(prefix, plain, line):
        if (named := _posterior_by_probe(learner, probe)) is not None:
            return named
    message = f"this filter does not read {visible(text, 40)!r} as one {plain}"
    raise NoPosterior(message)


def _posterior_by_probe(learner: ExplainingFilter, probe: _ProbeMail) -> NamedPosterior | None:
    """The posterior of the probe's feature. None if the probe does not have that feature."""
    batch = learner.batch([probe.mail])
    features = named_features(batch.raws[0], cast(Shape, batch.shape))
    if not any((feature.kind, feature.text) == probe[1:] for feature in features):
        return None
    shares = {(share.kind, share.text): share for share in learner.explain(probe.mail, len(features)).shares}
    share = shares.get(probe[1:])
    meaning = _meaning(learner, *probe[1:])
    if share is None:
        return NamedPosterior(
            Beta(PRIOR_COUNT, PRIOR_COUNT), meaning, "no labelled mail had it: this is the prior", 0, 0
        )
    return NamedPosterior(share.posterior, meaning, None, share.mails, share.spam)


def _meaning(learner: ExplainingFilter, kind: str, text: str) -> str:
    prefix, _, plain = kind.rpartition(": ")
    place = f" in {prefix}" if prefix else ""
    return f'probability of {as_key(learner.classes[1])} among mails with the {plain} "{visible(text)}"{place}'


def _probe_mails(prefix: str, kind: str, line: str) -> Iterator[_ProbeMail]:
    """Mails that may have the feature, the most likely first. The filter's tokenizer decides."""
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
