"""A made-up stream of e-mails and labels, with all that is awkward, and what must become of each message.

What becomes of a message depends on the messages before it in its own partition, and on nothing that timing could
change: a label stands behind its e-mail by more than any commit, or in the same one, where e-mails come first.

A label that is written to another partition than its e-mail's is forwarded, and when its copy is read depends on
timing. So nothing else is said of its e-mail.
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from kafka.partitioner.default import murmur2

from tests.support.mails import make_mail

EMAILS = "emails"
LABELS = "labels"
RECORD_BYTES = 4096
DEPTH = 8
ID_BYTES = 64
DEDUP_WINDOW = 2500
MAX_A_COMMIT = 1000
"""Messages that a producer commits together, at most."""
_POOL = 800
_LARGEST = 900
_FEW = 10
_RECENT = 300
# On a broker an old e-mail takes the worker 6 to 25 ms to look up.
_RECENTLY = 0.95
_NAMES = ("ham", "spam")
_LABELLERS = ("ann", "bob", "eve")
_UNSURE = 0.05
_FORWARDED = 0.1
"""Of the labels, where there are several partitions."""
_BAD_LABELS = 0.02
_Headers = tuple[tuple[str, bytes], ...]
_OFFSET = "the offset of the e-mail"


class ExpectedOutcome(NamedTuple):
    """What must become of a message."""

    what: str
    """"predict", "duplicate", "learn", "repeat", "unsure", "forward", or the code of a dead letter."""
    id: str = ""
    label: str | None = None
    """Of a label, or of an e-mail that has its own."""
    target: int = -1
    """Which e-mail is meant: its number among the records of its partition, which is its offset where no gaps are."""
    dead: str | None = None
    """The code of the dead letter of an e-mail that is predicted, and whose label is refused."""


class Message(NamedTuple):
    """A record to be, and its fate."""

    topic: str
    value: bytes
    key: bytes | None
    headers: _Headers
    fate: ExpectedOutcome
    partition: int = 0
    named: int | None = None
    """The e-mail whose offset belongs into it."""
    named_partition: int | None = None
    """The partition of that e-mail, where it is another one: the label is forwarded to it."""
    copy: ExpectedOutcome | None = None
    """What must become of the copy of a label that is forwarded."""


def with_offset(value: bytes, offset: int) -> bytes:
    """A message that names an e-mail by its place, once that is known."""
    return value.replace(json.dumps(_OFFSET).encode(), b"%d" % offset)


class _Mail(NamedTuple):
    offset: int
    id: str
    label: str
    number: int


class _Part:
    """What was made for one partition."""

    def __init__(self) -> None:
        self.mails: list[_Mail] = []
        self.recent: deque[Message] = deque(maxlen=_RECENT)
        """The last e-mails as they were sent, without their labels."""
        self.labels: dict[int, str] = {}
        self.reserved: set[int] = set()
        self.offset = 0


def label_history(count: int, partitions: int) -> int:
    """Of how many e-mails a worker remembers the label, so that some labels are too old."""
    return max(count // partitions // 3, 3 * MAX_A_COMMIT)


class Script:
    """Makes the messages one after the other; the same ones for the same arguments.

    Parameters
    ----------
    seed, count
        Which ones, and how many.
    partitions
        Where they belong.
    lead
        By how many messages at least an e-mail comes before its labels, so that a producer that commits fewer at a time
        knows its offset, where offsets have gaps: at most as many as records.
    """

    def __init__(self, seed: int, count: int, partitions: int = 1, lead: int = 0) -> None:
        self._random = random.Random(seed)
        self._count = count
        self._lead = lead
        self._remembered = label_history(count, partitions)
        self._pool = _mails(self._random)
        self._parts = [_Part() for _ in range(partitions)]
        self._number = self._partition = 0

    def __iter__(self) -> Iterator[Message]:
        for _ in range(self._count):
            self._partition = (murmur2(f"mail-{self._number}".encode()) & 0x7FFFFFFF) % len(self._parts)
            message = self._next()._replace(partition=self._partition)
            self._part.offset += message.topic == EMAILS
            self._number += 1
            yield message

    @property
    def _part(self) -> _Part:
        return self._parts[self._partition]

    @property
    def _settled(self) -> int:
        """How many e-mails of the partition have come long enough ago."""
        return self._settled_in(self._part)

    def _settled_in(self, part: _Part) -> int:
        return bisect_right(part.mails, self._number - self._lead, key=attrgetter("number"))

    def _next(self) -> Message:
        chance = self._random.random()
        if chance < 0.6 or self._settled < _FEW:
            return self._mail()
        if chance < 0.62:
            return self._duplicate()
        if chance < 0.94:
            return self._label()
        if chance < 0.96:
            return self._bad_label()
        return self._bad_record()

    def _mail(self) -> Message:
        part = self._part
        spam = self._random.random() < 0.5
        raw = self._random.choice(self._pool[spam]) + b"%d\r\n" % self._number
        name = f"mail-{self._number}"
        label = _NAMES[spam]
        own = label if self._random.random() < 0.1 else None
        form = self._random.random()
        fate = ExpectedOutcome("predict", name, own, part.offset)
        again = self._as_record(form, name, raw, None, ExpectedOutcome("duplicate", name))
        part.mails.append(_Mail(part.offset, name, label, self._number))
        part.recent.append(again)
        if own is not None:
            part.labels[part.offset] = own
        if own is None and self._random.random() < _BAD_LABELS:
            # The mail is predicted, its label alone is a dead letter.
            return self._as_record(form, name, raw, "neither", fate._replace(dead="bad-input"))
        return self._as_record(form, name, raw, own, fate)

    def _as_record(self, form: float, name: str, raw: bytes, own: str | None, fate: ExpectedOutcome) -> Message:
        """Raw with the id in a header, with a key that says the partition or none; or as JSON."""
        if form < 0.7:
            headers: _Headers = (("content-type", b"message/rfc822"), ("id", name.encode()))
            headers += (("label", own.encode()),) if own else ()
            return Message(EMAILS, raw, None if form < 0.2 else name.encode(), headers, fate)
        content = {"raw": b64encode(raw).decode()} if form < 0.9 else {"text": raw.decode("latin-1")}
        event = {"id": name, **content, **({"label": own} if own else {})}
        return Message(EMAILS, json.dumps(event).encode(), None, (), fate)

    def _duplicate(self) -> Message:
        """A mail once more, or another one with its id."""
        again = self._random.choice(self._part.recent)
        if self._random.random() < 0.5:
            return again._replace(key=None)
        form = self._random.random()
        message = self._as_record(
            form, again.fate.id, b"Subject: again\r\n\r\nagain\r\n", None, ExpectedOutcome("id-reused")
        )
        return message._replace(key=None)

    def _label(self) -> Message:
        chance = self._random.random()
        if chance < 0.02:
            return self._label_among_mails()
        if len(self._parts) > 1 and chance < 0.02 + _FORWARDED:
            return self._label_elsewhere()
        part = self._part
        settled = self._settled
        first = max(settled - _RECENT, 0) if chance < (_RECENTLY if self._lead else 0.8) else 0
        mail = part.mails[self._random.choice(range(first, settled))]
        age = part.offset - mail.offset
        most = 2 * age if self._lead else age
        label = mail.label if self._random.random() < 0.85 else _NAMES[mail.label == "ham"]
        if mail.offset in part.reserved or age < self._remembered < most + 2 * MAX_A_COMMIT:
            return self._label_message(mail, label, ExpectedOutcome("unknown-observation"), name="nothing")
        if age >= self._remembered:
            return self._label_message(mail, label, ExpectedOutcome("label-too-old"), by_place=True)
        by_place = most > DEDUP_WINDOW - 2 * MAX_A_COMMIT or self._random.random() < 0.3
        if self._random.random() < _UNSURE:
            return self._label_message(
                mail, "unsure", ExpectedOutcome("unsure", mail.id, None, mail.offset), by_place=by_place
            )
        what = "repeat" if part.labels.get(mail.offset) == label else "learn"
        part.labels[mail.offset] = label
        return self._label_message(mail, label, ExpectedOutcome(what, mail.id, label, mail.offset), by_place=by_place)

    def _label_message(
        self, mail: _Mail, label: str, fate: ExpectedOutcome, *, by_place: bool = False, name: str | None = None
    ) -> Message:
        event = {"id": name or mail.id, "label": label, "labeller": self._random.choice(_LABELLERS)}
        place = {"source": {"topic": EMAILS, "partition": self._partition, "offset": _OFFSET}} if by_place else {}
        value = json.dumps({**event, **place}).encode()
        return Message(LABELS, value, mail.id.encode(), (), fate, named=mail.offset if by_place else None)

    def _label_among_mails(self) -> Message:
        """A label in the topic of the e-mails, for the last one; nothing else is said of that one."""
        part = self._part
        mail = part.mails[-1]
        if mail.offset in part.reserved or mail.offset in part.labels:
            return self._duplicate()
        part.reserved.add(mail.offset)
        value = json.dumps({"type": "label", "id": mail.id, "label": mail.label}).encode()
        return Message(EMAILS, value, None, (), ExpectedOutcome("learn", mail.id, mail.label, mail.offset))

    def _label_elsewhere(self) -> Message:
        """A label of an e-mail in another partition, by its place; nothing else is said of that e-mail.

        Its key belongs to the partition of the label, so that a producer chooses that one.
        """
        number = self._random.choice([other for other in range(len(self._parts)) if other != self._partition])
        part = self._parts[number]
        settled = self._settled_in(part)
        recent = part.mails[max(settled - _RECENT, 0) : settled]
        free = [mail for mail in recent if mail.offset not in part.reserved and mail.offset not in part.labels]
        if not free:
            return self._duplicate()
        mail = self._random.choice(free)
        part.reserved.add(mail.offset)
        copy = ExpectedOutcome("learn", mail.id, mail.label, mail.offset)
        chance = self._random.random()
        label = mail.label
        if chance < _UNSURE:
            label = "unsure"
            copy = ExpectedOutcome("unsure", mail.id, None, mail.offset)
        elif chance < _UNSURE + _BAD_LABELS:
            label = "neither"
            copy = ExpectedOutcome("bad-input", mail.id, None, mail.offset)
        source = {"topic": EMAILS, "partition": number, "offset": _OFFSET}
        value = json.dumps({"id": mail.id, "label": label, "source": source}).encode()
        key = f"mail-{self._number}".encode()
        trace = (("trace", b"%d" % self._number),)
        fate = ExpectedOutcome("forward", mail.id)
        return Message(LABELS, value, key, trace, fate, named=mail.offset, named_partition=number, copy=copy)

    def _bad_label(self) -> Message:
        number = self._number
        place = {"topic": EMAILS, "partition": self._partition, "offset": 10**9 + number}
        nowhere = {**place, "partition": len(self._parts)}
        code, event = self._random.choice(
            [
                ("unknown-observation", {"id": f"nothing-{number}", "label": "spam"}),
                ("unknown-observation", {"id": "x", "label": "ham", "source": place}),
                ("wrong-partition", {"id": "x", "label": "ham", "source": nowhere}),
                ("bad-input", {"id": self._part.mails[self._settled - 1].id, "label": "neither"}),
                ("wrong-topic", {"type": "observation", "id": f"mail-{number}", "text": "in the wrong topic"}),
            ]
        )
        return Message(LABELS, json.dumps(event).encode(), None, (), ExpectedOutcome(code))

    def _bad_record(self) -> Message:
        number = self._number
        code, value, headers = self._random.choice(_BAD)
        if code == "not-json":
            value = b"\xff" + self._random.randbytes(number % 300)
        elif code == "too-large":
            value += self._random.choice(self._pool[1])
        topic = self._random.choice((EMAILS, LABELS))
        return Message(topic, value, f"mail-{number}".encode(), headers, ExpectedOutcome(code))


_BAD: tuple[tuple[str, bytes, _Headers], ...] = (
    ("empty-record", b"", ()),
    ("too-large", bytes(RECORD_BYTES), (("content-type", b"application/json"),)),
    ("not-json", b"", ()),
    ("wrong-shape", b'{"id": "x", "txet": "a word"}', ()),
    ("wrong-shape", b'["id", "x"]', ()),
    ("unknown-event", b'{"type": "invoice", "id": "x"}', ()),
    ("bad-id", json.dumps({"type": "observation", "id": "x" * 100, "text": "a"}).encode(), ()),
    ("too-deep", b'{"id": ' + b"[" * 50 + b"]" * 50 + b"}", ()),
    ("unknown-content-type", b"GIF89a", (("content-type", b"image/gif"),)),
)


def _mails(rng: random.Random) -> tuple[list[bytes], list[bytes]]:
    """Small mails of both kinds, each ending where a number can be put."""
    pool: tuple[list[bytes], list[bytes]] = [], []
    while min(map(len, pool)) < _POOL // 2:
        spam = rng.random() < 0.5
        mail = make_mail(rng, spam=spam, kind=rng.choice(("plain", "html")))
        if len(mail) <= _LARGEST:
            pool[spam].append(mail)
    return pool
