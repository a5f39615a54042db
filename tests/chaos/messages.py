"""A made-up stream of e-mails and labels, with all that is awkward, and what must become of each message.

What becomes of a message depends on the messages before it in its own topic, and on nothing that timing could change:
a label stands behind its e-mail by more than any commit, or in the same one, where e-mails come first.
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Iterator
from typing import NamedTuple

from tests.mails import make_mail

EMAILS, LABELS = "emails", "labels"
RECORD_BYTES, DEPTH, ID_BYTES = 4096, 8, 64
REMEMBERED_IDS = 2500
MOST_A_COMMIT = 1000
"""Messages that a producer commits together, at most."""
_POOL, _LARGEST = 800, 900
_RECENT = 300
_NAMES = ("ham", "spam")
_LABELLERS = ("ann", "bob", "eve")
_UNSURE = 0.05
_Headers = tuple[tuple[str, bytes], ...]


class Fate(NamedTuple):
    """What must become of a message."""

    what: str
    """"predict", "duplicate", "learn", "repeat", "unsure", or the code of a dead letter."""
    id: str = ""
    label: str | None = None
    """Of a label, or of an e-mail that has its own."""
    target: int = -1
    """The offset of the e-mail that is meant."""


class Message(NamedTuple):
    """A record to be, and its fate."""

    topic: str
    value: bytes
    key: bytes | None
    headers: _Headers
    fate: Fate


class _Mail(NamedTuple):
    offset: int
    id: str
    label: str


def remembered_labels(count: int) -> int:
    """Of how many e-mails a worker remembers the label, so that some labels are too old."""
    return max(count // 3, 3 * MOST_A_COMMIT)


class Script:
    """Makes the messages one after the other; the same ones for the same seed."""

    def __init__(self, seed: int, count: int) -> None:
        self._random = random.Random(seed)
        self._count = count
        self._remembered = remembered_labels(count)
        self._pool = _mails(self._random)
        self._mails: list[_Mail] = []
        self._labels: dict[int, str] = {}
        self._reserved: set[int] = set()
        self._offset = 0
        self._number = 0

    def __iter__(self) -> Iterator[Message]:
        for _ in range(self._count):
            message = self._next()
            self._offset += message.topic == EMAILS
            self._number += 1
            yield message

    def _next(self) -> Message:
        chance = self._random.random()
        if chance < 0.6 or len(self._mails) < 10:
            return self._mail()
        if chance < 0.62:
            return self._duplicate()
        if chance < 0.94:
            return self._label()
        if chance < 0.96:
            return self._bad_label()
        return self._bad_record()

    def _mail(self) -> Message:
        spam = self._random.random() < 0.5
        raw = self._random.choice(self._pool[spam]) + b"%d\r\n" % self._number
        mail = _Mail(self._offset, f"mail-{self._number}", _NAMES[spam])
        own = mail.label if self._random.random() < 0.1 else None
        self._mails.append(mail)
        if own is not None:
            self._labels[mail.offset] = own
        return self._as_record(mail.id, raw, own, Fate("predict", mail.id, own, mail.offset))

    def _as_record(self, name: str, raw: bytes, own: str | None, fate: Fate) -> Message:
        """Raw with the id as the key or in a header, or as JSON."""
        form = self._random.random()
        if form < 0.7:
            headers: _Headers = (("content-type", b"message/rfc822"),)
            headers += (("label", own.encode()),) if own else ()
            if form < 0.2:
                return Message(EMAILS, raw, None, (*headers, ("id", name.encode())), fate)
            return Message(EMAILS, raw, name.encode(), headers, fate)
        content = {"raw": b64encode(raw).decode()} if form < 0.9 else {"text": raw.decode("latin-1")}
        event = {"id": name, **content, **({"label": own} if own else {})}
        return Message(EMAILS, json.dumps(event).encode(), None, (), fate)

    def _duplicate(self) -> Message:
        name = self._random.choice(self._mails[-_RECENT:]).id
        return self._as_record(name, b"Subject: again\r\n\r\nagain\r\n", None, Fate("duplicate", name))

    def _label(self) -> Message:
        chance = self._random.random()
        if chance < 0.02:
            return self._label_among_mails()
        mail = self._random.choice(self._mails[-_RECENT:] if chance < 0.8 else self._mails)
        age = self._offset - mail.offset
        label = mail.label if self._random.random() < 0.85 else _NAMES[mail.label == "ham"]
        if mail.offset in self._reserved or self._remembered - 2 * MOST_A_COMMIT < age < self._remembered:
            return self._label_message(mail, label, Fate("unknown-observation"), name="nothing")
        if age >= self._remembered:
            return self._label_message(mail, label, Fate("label-too-old"), by_place=True)
        by_place = age > REMEMBERED_IDS - 2 * MOST_A_COMMIT or self._random.random() < 0.3
        if self._random.random() < _UNSURE:
            return self._label_message(mail, "unsure", Fate("unsure", mail.id, None, mail.offset), by_place=by_place)
        what = "repeat" if self._labels.get(mail.offset) == label else "learn"
        self._labels[mail.offset] = label
        return self._label_message(mail, label, Fate(what, mail.id, label, mail.offset), by_place=by_place)

    def _label_message(
        self, mail: _Mail, label: str, fate: Fate, *, by_place: bool = False, name: str | None = None
    ) -> Message:
        event = {"id": name or mail.id, "label": label, "labeller": self._random.choice(_LABELLERS)}
        place = {"source": {"topic": EMAILS, "partition": 0, "offset": mail.offset}} if by_place else {}
        return Message(LABELS, json.dumps({**event, **place}).encode(), mail.id.encode(), (), fate)

    def _label_among_mails(self) -> Message:
        """A label in the topic of the e-mails, for the last one; nothing else is said of that one."""
        mail = self._mails[-1]
        if mail.offset in self._reserved or mail.offset in self._labels:
            return self._duplicate()
        self._reserved.add(mail.offset)
        value = json.dumps({"type": "label", "id": mail.id, "label": mail.label}).encode()
        return Message(EMAILS, value, None, (), Fate("learn", mail.id, mail.label, mail.offset))

    def _bad_label(self) -> Message:
        number = self._number
        place = {"topic": EMAILS, "partition": 0, "offset": 10**9 + number}
        code, event = self._random.choice(
            [
                ("unknown-observation", {"id": f"nothing-{number}", "label": "spam"}),
                ("unknown-observation", {"id": "x", "label": "ham", "source": place}),
                ("wrong-partition", {"id": "x", "label": "ham", "source": {**place, "partition": 7}}),
                ("bad-input", {"id": self._mails[-1].id, "label": "neither"}),
                ("wrong-topic", {"type": "observation", "id": f"mail-{number}", "text": "in the wrong topic"}),
            ]
        )
        return Message(LABELS, json.dumps(event).encode(), None, (), Fate(code))

    def _bad_record(self) -> Message:
        number = self._number
        code, value, headers = self._random.choice(_BAD)
        if code == "not-json":
            value = b"\xff" + self._random.randbytes(number % 300)
        elif code == "too-large":
            value += self._random.choice(self._pool[1])
        topic = self._random.choice((EMAILS, LABELS))
        return Message(topic, value, f"mail-{number}".encode(), headers, Fate(code))


_BAD: tuple[tuple[str, bytes, _Headers], ...] = (
    ("empty-record", b"", ()),
    ("too-large", bytes(RECORD_BYTES), (("content-type", b"message/rfc822"),)),
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
