"""Composition of the mail filter: its members, their features and their prior weights in the fusion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.mail.decode import MAX_TEXT
from stream_bayes.kernels.mail.features import Shape
from stream_bayes.kernels.mail.fold import MEMBERS as MEMBER_COUNT
from stream_bayes.kernels.mail.margin import MARGIN_VIEWS
from stream_bayes.typing import BoolArray, FloatArray
from stream_bayes.validation import truth, whole


class CompiledMember(NamedTuple):
    """A compiled member: its log-odds times the scale are an input of the fusion."""

    scale: float
    weight: float
    """Prior mean of the weight of that input; that of the members of a view is shared by the views in use."""
    shared: bool


# In the order of the scores of `stream_bayes.kernels.mail.fold`.
MEMBERS = {
    "gram counts": CompiledMember(0.2, 1.0, shared=True),
    "word counts": CompiledMember(0.2, 1.0, shared=True),
    "structure counts": CompiledMember(0.2, 1.0, shared=True),
    "senders": CompiledMember(1.0, 0.1, shared=False),
    "hosts": CompiledMember(1.0, 0.1, shared=False),
    "gram steps": CompiledMember(0.5, 2.0, shared=True),
    "word steps": CompiledMember(0.5, 2.0, shared=True),
    "structure steps": CompiledMember(0.5, 2.0, shared=True),
    "gram weights": CompiledMember(3.0, 0.1, shared=False),
    "memory": CompiledMember(3.0, 0.5, shared=False),
}
VIEW_NAMES = ("gram", "word", "structure", "senders", "hosts")
ALL_MEMBERS = tuple(MEMBERS)
LIGHT_MEMBERS = ("word counts", "word steps")
SCALES = np.array([member.scale for member in MEMBERS.values()])
assert len(MEMBERS) == MEMBER_COUNT

MAX_MEMORY = 4000
FEWEST_BUCKETS = 2**10
MAX_BUCKETS = 2**26
MAX_REPETITIONS = 1000
# Of the weight of any input, and of the intercept, which is expected to be small.
WEIGHT_PRECISION = 1.0
INTERCEPT_PRECISION = 10.0


def check_members(members: Any) -> tuple[str, ...]:
    """The names of members, in the order of the table, if each is one."""
    if not isinstance(members, (tuple, list)) or not all(isinstance(name, str) for name in members):
        message = f"members must be a tuple of names; got {shown(members)}"
        raise ParameterError(message)
    unknown = [name for name in members if name not in MEMBERS]
    if unknown or not members or len(set(members)) < len(members):
        message = f"members must be some of {', '.join(map(repr, MEMBERS))}, each once; got {shown(members)}"
        raise ParameterError(message)
    return tuple(name for name in MEMBERS if name in members)


def places_of(members: Sequence[str]) -> IntArray:
    """The index of every member among the inputs of the fusion, -1 for those left out."""
    return np.array([members.index(name) if name in members else -1 for name in MEMBERS], dtype=np.int64)


def views_of(members: Iterable[str]) -> set[str]:
    """The views that these members look at."""
    views = {name.split()[0] for name in members}
    if "memory" in views:
        views.update(VIEW_NAMES[:MARGIN_VIEWS])
    return views & set(VIEW_NAMES)


def shape_of(members: Sequence[str], buckets: int, head: int, tail: int, text: int, pairs: bool) -> Shape:
    """The features that these members look at."""
    views = views_of(members)
    head, tail = (head, tail) if "gram" in views else (0, 0)
    sources = not views.isdisjoint(("structure", "senders", "hosts"))
    return Shape(buckets.bit_length() - 1, head, tail, text if sources or "word" in views else 0, pairs, sources)


def prior_weights(members: Sequence[str], others: int) -> tuple[FloatArray, FloatArray]:
    """Prior means and precisions of the weights of the fusion: members, others, intercept."""
    views = max(len({name.split()[0] for name in members if MEMBERS[name].shared}), 1)
    chosen = [MEMBERS[name] for name in members]
    means = [member.weight / (views if member.shared else 1) for member in chosen]
    precisions = [WEIGHT_PRECISION] * (len(members) + others) + [INTERCEPT_PRECISION]
    return np.array([*means, *[0.0] * (others + 1)]), np.array(precisions)


def check_buckets(buckets: Any) -> int:
    """A number of buckets that a hash can have."""
    number = int(whole("buckets", buckets, ParameterError))
    if FEWEST_BUCKETS <= number <= MAX_BUCKETS and number & (number - 1) == 0:
        return number
    message = f"buckets must be a power of two from {FEWEST_BUCKETS} to {MAX_BUCKETS}; got {shown(buckets)}"
    raise ParameterError(message)


def check_memory(value: Any) -> int:
    """The number of mails that are remembered."""
    number = int(whole("memory", value, ParameterError))
    if 0 <= number <= MAX_MEMORY:
        return number
    message = f"memory must lie between 0 and {MAX_MEMORY}; got {shown(value)}"
    raise ParameterError(message)


def check_bytes(name: str, value: Any) -> int:
    """How much of a text is taken."""
    number = int(whole(name, value, ParameterError))
    if 0 <= number <= MAX_TEXT:
        return number
    message = f"{name} must lie between 0 and {MAX_TEXT}; got {shown(value)}"
    raise ParameterError(message)


def check_remember(mails: int, remember: Iterable[Any] | None) -> BoolArray:
    """Whether each mail goes into the memory."""
    if remember is None:
        return np.zeros(mails, dtype=np.bool_)
    flags = [truth("remember", flag) for flag in remember]
    if len(flags) != mails:
        message = f"remember has one entry for each mail; got {len(flags)} for {mails}"
        raise InputError(message)
    return np.array(flags, dtype=np.bool_)


def check_repetitions(weights: FloatArray) -> IntArray:
    """How many times each mail is learned."""
    wrong = weights[(weights != np.floor(weights)) | (weights > MAX_REPETITIONS)]
    if len(wrong):
        message = f"a mail is learned a whole number of times, at most {MAX_REPETITIONS}; got a weight of {wrong[0]:g}"
        raise InputError(message)
    return weights.astype(np.int64)
