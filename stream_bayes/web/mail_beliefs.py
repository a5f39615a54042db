"""What a mail filter believes of a word, a sender, a host: found by a mail that is nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, cast

from stream_bayes.engine.credible import as_key
from stream_bayes.features.mail_named import ADDRESS_PARTS, named_features
from stream_bayes.features.visible import visible
from stream_bayes.kernels.mail_features import Shape
from stream_bayes.posteriors import Beta
from stream_bayes.spam import SpamFilter
from stream_bayes.spam.evidence import PRIOR_COUNT
from stream_bayes.web.densities import Belief, NoPosterior

KINDS = ("word", "sender", "host")
"""What one asks about first."""
# Which members look at which kind, by the first words of their names.
_VIEWS = {
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


class _Tiny(NamedTuple):
    """A mail that has one feature of a kind, and what the feature is called."""

    mail: str
    kind: str
    text: str


def mail_belief(learner: SpamFilter, kind: str, text: str) -> Belief:
    """The probability of spam among the mails that have a feature; kinds are those of an explanation."""
    line = " ".join(text.lower().split())
    prefix, _, plain = kind.rpartition(": ")
    views = {member.split()[0] for member in learner.members}
    if plain not in _VIEWS or not 0 < len(line) <= _LONGEST or (prefix and not _NAME.fullmatch(prefix)):
        message = f"no belief about {visible(kind, 40)} {visible(text, 40)!r}: ask about a {', a '.join(KINDS)}"
        raise NoPosterior(message)
    if not views & _VIEWS[plain]:
        message = f"this filter does not look at {plain}s: its members are {', '.join(learner.members)}"
        raise NoPosterior(message)
    for tiny in _mails(prefix, plain, line):
        if (belief := _found(learner, tiny)) is not None:
            return belief
    message = f"{visible(text, 40)!r} is not one {plain} to this filter"
    raise NoPosterior(message)


def _found(learner: SpamFilter, tiny: _Tiny) -> Belief | None:
    """None where the mail does not have the feature that it was made for."""
    batch = learner.batch([tiny.mail])
    named = named_features(batch.raws[0], cast(Shape, batch.shape))
    if not any((feature.kind, feature.text) == tiny[1:] for feature in named):
        return None
    shares = {(share.kind, share.text): share for share in learner.explain(tiny.mail, len(named)).shares}
    share, meaning = shares.get(tiny[1:]), _meaning(learner, *tiny[1:])
    if share is None:
        return Belief(Beta(PRIOR_COUNT, PRIOR_COUNT), meaning, "no labelled mail has had it: this is the prior", 0, 0)
    return Belief(share.posterior, meaning, None, share.mails, share.spam)


def _meaning(learner: SpamFilter, kind: str, text: str) -> str:
    prefix, _, plain = kind.rpartition(": ")
    place = f" in {prefix}" if prefix else ""
    return f'probability of {as_key(learner.classes[1])} among mails with the {plain} "{visible(text)}"{place}'


def _mails(prefix: str, kind: str, line: str) -> Iterator[_Tiny]:
    """Mails that may have the feature, the likeliest first: what is one word is for the filter to say."""
    own = f"{prefix}: {kind}" if prefix else kind
    if kind in ("word", "pair"):
        mail = f"{prefix}: {line}\n\n" if prefix else f"\n{line}"
        yield from (_Tiny(mail, own.replace(kind, each), line) for each in (kind, "pair"))
    elif kind == "sender":
        yield from _senders(line)
    elif kind == "host":
        yield from _hosts(own, line)
    elif kind == "network":
        address = ".".join((*(part for part in line.split(".") if part != "*"), *["0"] * ADDRESS_PARTS))
        whole = ".".join(address.split(".")[:ADDRESS_PARTS])
        yield _Tiny(f"Received: from [{whole}]\n\n", own, line)
    else:
        names = [name.strip() for name in line.split(",")]
        yield _Tiny("".join(f"{name}: x\n" for name in names) + "\n", own, line)


def _senders(line: str) -> Iterator[_Tiny]:
    if (address := _ADDRESS.search(line)) is not None:
        yield _Tiny(f"From: {address[0]}\n\n", "sender", address[0])
    domain = line.removeprefix("@")
    yield _Tiny(f"From: nobody@{domain}\n\n", "sender", f"@{domain}")


def _hosts(kind: str, line: str) -> Iterator[_Tiny]:
    head, end = ("", "") if kind == "host" else ("X-Link: ", "\n\n")
    begin = "\n" if kind == "host" else ""
    if line.startswith("@"):
        yield _Tiny(f"{begin}{head}nobody{line}{end}", kind, line)
    elif (host := _HOST.match(line)) is not None:
        yield _Tiny(f"{begin}{head}http://{host[1]}/{end}", kind, host[1])
