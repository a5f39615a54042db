"""A stream of mails whose kinds change: kinds of ham and campaigns begin late, and each looks a bit like its opposite.

Each kind of mail has words of its own. The late ones also borrow words from early kinds of the other class: a late
campaign writes of meetings, a late newsletter of prizes. What was learned early is wrong about them until somebody
labels one. There are enough early kinds to spend a budget on, and nothing says that others will come.
"""

from __future__ import annotations

import random
from typing import NamedTuple

EARLY_KINDS = 24
LATE_KINDS = 6
"""Half of them are ham, half spam."""
EARLY = 0.15
LATE = 0.5
LAST = 0.8
"""The early kinds begin one by one up to this part of the stream; the late ones between these two."""
_OWN_WORDS = 12
_COMMON_WORDS = 12
_BORROWED_WORDS = 3
_VOCABULARY = 40
_SYLLABLES = [first + last for first in "bdfgklmnprstvz" for last in ("a", "e", "i", "o", "u", "an", "er", "il", "os")]


class Kind(NamedTuple):
    """Mails that share their words."""

    name: str
    label: str
    begins: float
    """After which part of the stream the first of them comes."""
    late: bool
    words: tuple[str, ...]
    borrowed: tuple[str, ...]
    """Words of the early kinds of the other class; own words of an early kind."""


class DriftMail(NamedTuple):
    """One mail of the stream."""

    raw: bytes
    kind: Kind


def drifting_mails(seed: int, count: int) -> list[DriftMail]:
    """The stream of a seed: every kind that has begun is equally frequent."""
    generator = random.Random(seed)
    common = _new_words(generator, 60)
    kinds = _new_kinds(generator)
    mails = []
    for number in range(count):
        kind = generator.choice([kind for kind in kinds if kind.begins <= number / count])
        mails.append(DriftMail(_write(generator, kind, common), kind))
    return mails


def _new_kinds(generator: random.Random) -> list[Kind]:
    early = []
    for number in range(EARLY_KINDS):
        words = _new_words(generator, _VOCABULARY)
        begins = EARLY * max(number - 1, 0) / EARLY_KINDS
        early.append(Kind(f"early {number}", _label_of(number), begins, False, words, words))
    late = []
    for number in range(LATE_KINDS):
        words = _new_words(generator, _VOCABULARY)
        label = _label_of(number)
        begins = LATE + (LAST - LATE) * number / LATE_KINDS
        others = tuple(word for kind in early if kind.label != label for word in kind.words)
        late.append(Kind(f"late {number}", label, begins, True, words, others))
    return early + late


def _label_of(number: int) -> str:
    return "spam" if number % 2 else "ham"


def _new_words(generator: random.Random, count: int) -> tuple[str, ...]:
    return tuple("".join(generator.choices(_SYLLABLES, k=3)) for _ in range(count))


def _write(generator: random.Random, kind: Kind, common: tuple[str, ...]) -> bytes:
    words = generator.choices(kind.words, k=_OWN_WORDS) + generator.choices(common, k=_COMMON_WORDS)
    words += generator.choices(kind.borrowed, k=_BORROWED_WORDS)
    generator.shuffle(words)
    sender = "".join(generator.choices(_SYLLABLES, k=3))
    return f"From: {sender}@example.org\nSubject: {' '.join(words[:4])}\n\n{' '.join(words[4:])}\n".encode()
