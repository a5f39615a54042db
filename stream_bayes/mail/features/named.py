"""The features of one mail by name, read again from the mail itself: no vocabulary is stored.

Byte n-grams have no names. Where two features of a mail fall into one bucket, the first of them names it.
"""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.kernels.mail.features import WORDS, Scratch, Shape
from stream_bayes.kernels.mail.header import BEGIN, COLON
from stream_bayes.kernels.mail.sources import FEW_VIEWS, SENDERS
from stream_bayes.mail.features.batch import Mail, read_places
from stream_bayes.mail.render.sanitize import LONGEST, printable

FEW = WORDS + 1
"""The first of the views of `stream_bayes.kernels.mail.sources`."""
ENVELOPE_NAME = "envelope"
"""The name given to the line in front of the header fields, which has none."""
ADDRESS_PARTS = 4


class NamedFeature(NamedTuple):
    """A feature of a mail with its name, as one bucket stands for it."""

    view: int
    bucket: int
    kind: str
    """word, pair, host, sender, network, field or fields; those of a header after its name, as in `subject: word`."""
    text: str
    """The text that is hashed, in lower case, as far as it can be printed. Domains of addresses begin with @, hosts of
    links do not; a network ends in asterisks."""


def named_features(mail: Mail, shape: Shape) -> list[NamedFeature]:
    """The words, pairs, hosts, senders, networks and header fields of a mail, view by view, each once.

    >>> shape = Shape(bits=22, head=0, tail=0, text=1000, pairs=True, sources=True)
    >>> for feature in named_features("From: Ann@example.org\\n\\nCheap pills at http://example.com/x", shape)[2:]:
    ...     print(feature.view, feature.kind, feature.text)
    1 from: pair ann example.org
    1 word cheap
    1 word pills
    1 pair cheap pills
    ...
    2 field from
    2 header: host @example.org
    2 host example.com
    3 sender ann@example.org
    3 sender @example.org
    4 host example.com
    """
    scratch = read_places(mail, shape)
    names = _Names(scratch)
    count = int(scratch.counts[WORDS])
    found = [
        NamedFeature(WORDS, bucket, *names.of_word(origin))
        for bucket, origin in zip(scratch.words[:count].tolist(), scratch.word_origins[:count].tolist(), strict=True)
    ]
    for few in range(FEW_VIEWS):
        found += _few_features(few, scratch, names)
    return found


def _few_features(few: int, scratch: Scratch, names: _Names) -> list[NamedFeature]:
    count = int(scratch.counts[FEW + few])
    found = []
    before = None
    turn = 0
    for bucket, origin in zip(
        scratch.few[few, :count].tolist(), scratch.few_origins[few, :count].tolist(), strict=True
    ):
        turn = turn + 1 if origin == before else 0
        found.append(NamedFeature(FEW + few, bucket, *names.of_few(few, origin, turn)))
        before = origin
    return found


class _Names:
    """The names of the places of a mail that was just read."""

    def __init__(self, scratch: Scratch) -> None:
        self._places = scratch
        self._text = scratch.text.tobytes()
        # Those of fields are never 0, and that of the body stands behind them.
        self._hashes = scratch.field_hashes.tolist()

    def of_word(self, origin: int) -> tuple[str, str]:
        """Kind and text of a word, or of a pair of words where the origin is below 0."""
        at = origin if origin >= 0 else ~origin
        field = int(self._places.field_of[at])
        prefix = f"{self._field(field)}: " if self._hashes[field] else ""
        if origin >= 0:
            return f"{prefix}word", self._word(at)
        return f"{prefix}pair", f"{self._word(at - 1)} {self._word(at)}"

    def of_few(self, few: int, origin: int, turn: int) -> tuple[str, str]:
        """Kind and text of the feature of one of the small views that is the turn-th with this origin."""
        if origin < 0:
            return self._of_field(~origin, turn)
        if few == SENDERS:
            return "sender", f"{'' if turn else self._word(origin - 1)}@{self._word(origin)}"
        begin = int(self._places.begins[origin])
        domain = self._text[begin - 1 : begin] == b"@"
        link = self._text[max(begin - 2, 0) : begin] == b"//"
        if begin >= 2 and (domain or link):
            kind = "header: host" if self._hashes[self._places.field_of[origin]] else "host"
            return kind, f"{'@' if domain else ''}{self._word(origin)}"
        # A longer beginning of an address is new wherever a shorter one is, and comes first.
        parts = self._word(origin).split(".")
        return "network", ".".join([*parts[: ADDRESS_PARTS - turn], *["*"] * turn])

    def _of_field(self, field: int, turn: int) -> tuple[str, str]:
        # Of a name that stood before, only its pair with the one in front of it can be new.
        if turn == 0 and self._hashes[field] not in self._hashes[:field]:
            return "field", self._field(field)
        return "fields", f"{self._field(field - 1)}, {self._field(field)}"

    def _word(self, at: int) -> str:
        return _shown(self._text[self._places.begins[at] : self._places.ends[at]])

    def _field(self, field: int) -> str:
        begin = self._places.fields[field, BEGIN]
        colon = self._places.fields[field, COLON]
        return _shown(self._text[begin:colon]) or ENVELOPE_NAME


def _shown(octets: bytes) -> str:
    text = octets.lower().decode("utf-8", "replace")
    return text if text.isascii() and len(text) <= LONGEST else printable(text)
