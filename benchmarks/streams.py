"""Streams of mail to develop label requests on, and other streams to judge them by.

A stream is made from corpora and the generator of the demo, the same for the same seed. Constants of the package are
chosen on the streams of TUNING only. Every published figure is of JUDGING, which shares no mail with TUNING: the
mailboxes enron1 to enron3 and the second half of the SpamAssassin corpus (easy-ham-1, spam-1) are for tuning, all
others for judging. Some kinds of streams are in one half only.

A mail has a *source*: what it came from, such as a mailbox, a mailing list or the domain of its sender. A source that
begins after a tenth of the stream, when labels have become rare, is late.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from stream_bayes.demo.mailbox import GeneratedMail, mailbox
from stream_bayes.evaluation.corpora import Mail, open_corpus
from stream_bayes.evaluation.late_sources import late_messages, mail_source
from stream_bayes.typing import BoolArray

TUNING = "tuning"
JUDGING = "judging"
GENERATED = 8000
WRONG_SHARE = 0.03
COPIES = 60
TEXT_LENGTHS = (30, 160)
FLOODS = 20
_WORD = re.compile(rb"[A-Za-z]{3,}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class StreamMail(NamedTuple):
    """One mail of a stream."""

    raw: bytes
    label: str
    """The true label."""
    source: str
    answer: str
    """The label that a person gives on request."""


class MadeStream(NamedTuple):
    """A stream in the order of its arrival."""

    name: str
    mails: tuple[StreamMail, ...]
    delay: int = 0
    """The number of messages by which answers come late."""

    @property
    def late(self) -> BoolArray:
        """Whether each mail is of a source that begins when labels have become rare."""
        return late_messages([mail.source for mail in self.mails])

    def with_answers(self) -> list[Mail]:
        """The mails with the labels that people give."""
        return [Mail(str(place), mail.answer, mail.raw) for place, mail in enumerate(self.mails)]


class Pools:
    """The mails that streams are made of, by mailbox, in the order of the corpus."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cache  # noqa: B019 - one object for a process
    def box(self, name: str) -> tuple[StreamMail, ...]:
        """The mails of enron1 to enron6, assassin1, assassin2, hard, sms, generated1 or generated2."""
        if name.startswith("generated"):
            return _sourced(mailbox(int(name[-1]), GENERATED), lambda _: name)
        if name == "sms":
            return _sourced(self._corpus("sms_spam_collection"), lambda _: name)
        if name.startswith("enron"):
            return _sourced(self._only("enron_spam", (name,)), lambda _: name)
        parts = {"assassin1": ("easy-ham-1", "spam-1"), "assassin2": ("easy-ham-2", "spam-2"), "hard": ("hard-ham-1",)}
        return _sourced(self._only("spamassassin", parts[name]), _origin)

    def boxes(self, names: Iterable[str]) -> dict[str, tuple[StreamMail, ...]]:
        """Several mailboxes by name."""
        return {name: self.box(name) for name in names}

    def _only(self, corpus: str, parts: Sequence[str]) -> list[Mail]:
        return [mail for mail in self._corpus(corpus) if mail.id.partition("/")[0] in parts]

    @cache  # noqa: B019
    def _corpus(self, name: str) -> tuple[Mail, ...]:
        return tuple(open_corpus(self._folder / f"{name}.jsonl.gz"))


Boxes = Mapping[str, Sequence[StreamMail]]
Maker = Callable[[Boxes, Random], list[StreamMail]]


class Recipe(NamedTuple):
    """How a stream is made."""

    name: str
    half: str
    boxes: tuple[str, ...]
    make: Maker
    delay: int = 0

    def stream(self, pools: Pools, seed: int) -> MadeStream:
        """The stream of a seed."""
        mails = self.make(pools.boxes(self.boxes), Random(f"{self.name} {seed}"))
        return MadeStream(self.name, tuple(mails), self.delay)


def in_sequence(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Mailboxes one after another, in an order drawn at random, each in its own order."""
    names = list(boxes)
    random.shuffle(names)
    return [mail for name in names for mail in boxes[name]]


def texts_in_sequence(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Mailboxes one after another, the first one given cut to the length of text messages."""
    texts, *others = boxes
    short = [mail._replace(raw=mail.raw[: random.randint(*TEXT_LENGTHS)]) for mail in boxes[texts]]
    return in_sequence({texts: short, **{name: boxes[name] for name in others}}, random)


def shuffled(boxes: Boxes, random: Random) -> list[StreamMail]:
    """All mails in random order."""
    mails = [mail for box in boxes.values() for mail in box]
    random.shuffle(mails)
    return mails


def late_ham(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Spam of all mailboxes throughout; ham of each mailbox only in its segment of the stream."""
    return _late_class(boxes, random, "ham")


def late_spam(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Ham of all mailboxes throughout; spam of each mailbox only in its segment of the stream."""
    return _late_class(boxes, random, "spam")


def random_begins(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Each source of ham begins at a random time and goes on to the end; spam comes throughout."""
    begins: dict[str, float] = {}
    placed: list[tuple[float, StreamMail]] = []
    for mail in shuffled(boxes, random):
        begin = 0.0
        if mail.label == "ham":
            begin = begins.setdefault(mail.source, random.random() * 0.9 if begins else 0.0)
        placed.append((begin + (1.0 - begin) * random.random(), mail))
    return _in_order(placed)


def one_class_first(boxes: Boxes, random: Random) -> list[StreamMail]:
    """The first third of one class alone, then all other mails in random order."""
    mails = shuffled(boxes, random)
    first = random.choice(("ham", "spam"))
    alone = [mail for mail in mails if mail.label == first]
    alone = alone[: len(alone) // 3]
    kept = set(map(id, alone))
    return alone + [mail for mail in mails if id(mail) not in kept]


def shifting_mix(boxes: Boxes, random: Random) -> list[StreamMail]:
    """The share of spam goes from 20 % to 80 %, or back."""
    mails = shuffled(boxes, random)
    spam = [mail for mail in mails if mail.label == "spam"]
    ham = [mail for mail in mails if mail.label == "ham"]
    count = 2 * min(len(spam), len(ham))
    falls = random.random() < 0.5
    stream = []
    for place in range(count):
        share = 0.2 + 0.6 * place / count
        own = spam if random.random() < (1.0 - share if falls else share) else ham
        if own:
            stream.append(own.pop())
    return stream


def wrong_labels(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Random order; 3 % of the answers are wrong."""
    other = {"ham": "spam", "spam": "ham"}
    mails = shuffled(boxes, random)
    return [mail._replace(answer=other[mail.label]) if random.random() < WRONG_SHARE else mail for mail in mails]


def in_given_order(boxes: Boxes, random: Random) -> list[StreamMail]:
    """The order of the corpus, begun at a random place of its first tenth."""
    mails = [mail for box in boxes.values() for mail in box]
    return mails[random.randrange(len(mails) // 10) :]


def floods(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Random order, with spam that is sent many times over, a few words changed each time."""
    mails = shuffled(boxes, random)
    placed = [(float(place), mail) for place, mail in enumerate(mails)]
    spam = sorted((mail for mail in mails if mail.label == "spam"), key=lambda mail: mail.raw)[: 4 * FLOODS]
    for flood in random.sample(spam, FLOODS):
        begin = random.random() * len(mails)
        for copy in range(COPIES):
            placed.append((begin + 3.0 * copy, flood._replace(raw=_varied(flood.raw, copy))))
    return _in_order(placed)


def second_language(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Random order; after two fifths of the stream, a third of the mails are in a language not seen before."""
    mails = shuffled(boxes, random)
    begin = 2 * len(mails) // 5
    return [
        _translated(mail) if place >= begin and random.random() < 1.0 / 3.0 else mail
        for place, mail in enumerate(mails)
    ]


def thinned_spam(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Plain texts in random order with 9 to 17 % of spam."""
    mails = shuffled(boxes, random)
    ham = [mail for mail in mails if mail.label == "ham"]
    spam = [mail for mail in mails if mail.label == "spam"]
    share = random.choice((0.09, 0.13, 0.17))
    kept = ham + spam[: round(share / (1.0 - share) * len(ham))]
    random.shuffle(kept)
    return kept


def late_spam_like_ham(boxes: Boxes, random: Random) -> list[StreamMail]:
    """Two classes that are easily separated; from two fifths on, rare ham that resembles spam or nothing known."""
    names = list(boxes)
    mails = shuffled({name: boxes[name] for name in names[:-1]}, random)
    rare = [mail for mail in boxes[names[-1]] if mail.label == "ham"]
    if names[-1] != "hard":
        # Ham of another mailbox in an unknown language, with a header of spam.
        spam = [mail for mail in mails if mail.label == "spam"]
        rare = [_with_header(_translated(mail), random.choice(spam)) for mail in random.sample(rare, 150)]
    placed = [(float(place), mail) for place, mail in enumerate(mails)]
    length = len(mails)
    placed += [(length * (0.4 + 0.6 * random.random()), mail._replace(source="rare ham")) for mail in rare]
    return _in_order(placed)


RECIPES = (
    Recipe("boxes in sequence 1", TUNING, ("enron1", "enron2", "assassin1", "enron3"), in_sequence),
    Recipe("texts in sequence 1", TUNING, ("enron2", "enron1", "assassin1", "enron3"), texts_in_sequence),
    Recipe("late ham 1", TUNING, ("enron1", "enron2", "enron3"), late_ham),
    Recipe("random begins 1", TUNING, ("assassin1",), random_begins),
    Recipe("shifting mix 1", TUNING, ("enron1", "enron3"), shifting_mix),
    Recipe("wrong labels 1", TUNING, ("assassin1",), wrong_labels),
    Recipe("answers 100 late 1", TUNING, ("enron3",), in_given_order, 100),
    Recipe("floods 1", TUNING, ("assassin1",), floods),
    Recipe("second language 1", TUNING, ("enron2",), second_language),
    Recipe("thinned spam 1", TUNING, ("enron1",), thinned_spam),
    Recipe("generated 1", TUNING, ("generated1",), in_given_order),
    Recipe("spam-like ham 1", TUNING, ("assassin1", "enron1"), late_spam_like_ham),
    Recipe("answers 1,000 late 1", TUNING, ("enron2", "assassin1"), shuffled, 1000),
    Recipe("late spam 1", TUNING, ("enron1", "enron2", "enron3"), late_spam),
    Recipe("long 1", TUNING, ("enron1", "enron2", "enron3", "assassin1"), random_begins),
    Recipe("boxes in sequence 2", JUDGING, ("enron4", "sms", "assassin2", "enron5", "enron6"), in_sequence),
    Recipe("late ham 2", JUDGING, ("enron4", "enron5", "enron6"), late_ham),
    Recipe("late spam 2", JUDGING, ("enron4", "enron5", "enron6"), late_spam),
    Recipe("random begins 2", JUDGING, ("assassin2",), random_begins),
    Recipe("one class first 2", JUDGING, ("assassin2", "enron4"), one_class_first),
    Recipe("shifting mix 2", JUDGING, ("enron4", "enron5", "enron6"), shifting_mix),
    Recipe("wrong labels 2", JUDGING, ("enron5",), wrong_labels),
    Recipe("answers 1,000 late 2", JUDGING, ("assassin2", "enron5"), shuffled, 1000),
    Recipe("floods 2", JUDGING, ("enron6",), floods),
    Recipe("second language 2", JUDGING, ("assassin2", "enron4"), second_language),
    Recipe("thinned spam 2", JUDGING, ("enron4", "enron5", "enron6"), thinned_spam),
    Recipe("texts 2", JUDGING, ("sms",), in_given_order),
    Recipe("generated 2", JUDGING, ("generated2",), in_given_order),
    Recipe("spam-like ham 2", JUDGING, ("assassin2", "hard"), late_spam_like_ham),
)
"""All streams; those of one half share no mail with those of the other."""


def recipes(half: str) -> list[Recipe]:
    """The streams of one half."""
    return [recipe for recipe in RECIPES if recipe.half == half]


def _sourced(mails: Iterable[Mail | GeneratedMail], origin: Callable[[bytes], str]) -> tuple[StreamMail, ...]:
    return tuple(
        StreamMail(mail.raw, mail.label, origin(mail.raw), mail.label) for mail in mails if mail.label is not None
    )


def _origin(raw: bytes) -> str:
    return mail_source(raw) or "none"


def _late_class(boxes: Boxes, random: Random, late: str) -> list[StreamMail]:
    names = list(boxes)
    random.shuffle(names)
    segment = 1.0 / len(names)
    placed: list[tuple[float, StreamMail]] = []
    for number, name in enumerate(names):
        for mail in boxes[name]:
            time = random.random()
            own = mail._replace(source=f"{name} {mail.label}") if mail.label == late else mail._replace(source="always")
            placed.append(((number + time) * segment if mail.label == late else time, own))
    return _in_order(placed)


def _in_order(placed: list[tuple[float, StreamMail]]) -> list[StreamMail]:
    return [mail for _, mail in sorted(placed, key=lambda pair: pair[0])]


def _varied(raw: bytes, copy: int) -> bytes:
    """The mail with a number and two words of its own."""
    random = Random(copy)
    words = b" ".join("".join(random.choices(_LETTERS, k=7)).encode() for _ in range(2))
    return raw + b"\n%d " % random.randrange(10**6) + words + b"\n"


@cache
def _alphabet() -> bytes:
    letters = list(_LETTERS)
    Random("language").shuffle(letters)
    lower = "".join(letters)
    return bytes.maketrans(string.ascii_letters.encode(), (lower + lower.upper()).encode())


def _split_header(raw: bytes) -> tuple[bytes, bytes]:
    """The header with the empty line after it, and the body; a text without a header is all body."""
    if not re.match(rb"(?:From |[A-Za-z-]+:)", raw):
        return b"", raw
    found = re.search(rb"\r?\n\r?\n", raw)
    if found is None:
        line, newline, rest = raw.partition(b"\n")
        return line + newline, rest
    return raw[: found.end()], raw[found.end() :]


def _translated(mail: StreamMail) -> StreamMail:
    """The mail with every word of its body replaced by one of a made-up language, always the same."""
    header, body = _split_header(mail.raw)
    translated = _WORD.sub(lambda found: found.group().translate(_alphabet()), body)
    return mail._replace(raw=header + translated, source=f"translated {mail.source}")


def _with_header(mail: StreamMail, other: StreamMail) -> StreamMail:
    """The body of a mail under the header of another."""
    return mail._replace(raw=_split_header(other.raw)[0] + _split_header(mail.raw)[1])
