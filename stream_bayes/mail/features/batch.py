"""MailBatch: raw mails, texts and dicts of fields as hashed features for the kernels.

A raw message is bytes, or a message of Python's email package. A text is taken as the message it is the text of, which
may have a header or none. A dict or a row of a data frame holds
the message as `raw` or `text`, and its other entries are header fields: `sender` is From, `subject` is Subject, unless
the message has them itself.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, cast

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.features.batch import Batch
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.mail.decode import LONGEST_NAME, MAX_RAW, NAME
from stream_bayes.kernels.mail.features import VIEWS, Scratch, Shape, new_scratch, read_mail, read_mails
from stream_bayes.kernels.mail.tokens import Buckets
from stream_bayes.learners.base.input_checks import frame_table
from stream_bayes.mail.parse.parsed_mail import decode_sections, message_bytes
from stream_bayes.typing import SupportsArray

Mail = bytes | bytearray | str | Mapping[Any, Any] | Message
"""A message in any form that is accepted."""

Mails = Iterable[Mail] | SupportsArray
"""A list of messages, a series of texts, or a data frame with a column for each field."""

_FIELD_NAMES = {"sender": "From", "subject": "Subject"}
# Fields that every header has one of.
_OWN_FIELD = re.compile(rb"^(from|subject):", re.IGNORECASE | re.MULTILINE)
_NOT_IN_NAMES = bytes(byte for byte in range(256) if not NAME[byte])
_DASHES = b"-" * len(_NOT_IN_NAMES)


@dataclass(frozen=True, eq=False)
class MailBatch(Batch):
    """Mails in order, each as the buckets of its features, view after view."""

    view_starts: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """View v of mail i begins at view_starts[5 i + v]; the views are those of `stream_bayes.kernels.mail.features`."""
    hashed: Buckets = field(default_factory=lambda: np.empty(0, dtype=np.uint32))
    """The buckets."""
    raws: tuple[bytes, ...] = ()
    """The bytes of each message that were read."""
    shape: Shape | None = None


class _ThreadScratch(threading.local):
    """Scratch memory of a thread for decoding."""

    def __init__(self) -> None:
        self.scratch = new_scratch()


_thread = _ThreadScratch()


def read_batch(mails: Mails, shape: Shape) -> MailBatch:
    """Hash the features of each mail."""
    if isinstance(mails, (bytes, bytearray, str, Mapping, Message)) or not isinstance(mails, Iterable):
        message = f"mails are a list of messages; got {type(mails).__name__}"
        raise InputError(message)
    table = frame_table(mails)
    raws = tuple(map(mail_bytes, mails if table is None else table.events()))
    starts = np.zeros(len(raws) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)), out=starts[1:])
    arena = np.frombuffer(b"".join(raws), dtype=np.uint8)
    view_starts, hashed = read_mails(arena, starts, shape, _thread.scratch)
    ones = np.broadcast_to(1.0, len(hashed))
    rows = view_starts[::VIEWS], cast(IntArray, hashed), ones, None
    return MailBatch(*rows, view_starts=view_starts, hashed=hashed, raws=raws, shape=shape)


def read_places(mail: Mail, shape: Shape) -> Scratch:
    """The scratch memory after reading one mail: positions of its features; valid until the next mail is read."""
    read_mail(np.frombuffer(mail_bytes(mail), dtype=np.uint8), shape, _thread.scratch)
    return _thread.scratch


def mail_bytes(mail: Any) -> bytes:
    """The part of a message that is read, as bytes.

    >>> mail_bytes({"sender": "ann@example.org", "subject": "Lunch?", "text": "At noon."})
    b'From: ann@example.org\\nSubject: Lunch?\\n\\nAt noon.'
    """
    if isinstance(mail, bytes):
        return mail[:MAX_RAW]
    if isinstance(mail, bytearray):
        return bytes(mail[:MAX_RAW])
    if isinstance(mail, str):
        return mail[:MAX_RAW].encode("utf-8", "surrogatepass")[:MAX_RAW]
    if isinstance(mail, Mapping):
        return _from_fields(mail)[:MAX_RAW]
    if isinstance(mail, Message):
        return message_bytes(mail)[:MAX_RAW]
    message = f"a mail is bytes, a text, an email.message.Message or a dict of its fields; got {type(mail).__name__}"
    raise InputError(message)


def _from_fields(fields: Mapping[Any, Any]) -> bytes:
    body = _value(fields["raw"] if fields.get("raw") is not None else fields.get("text"))
    own = [name.lower() for name in _OWN_FIELD.findall(decode_sections(body).header)]
    has_header = bool(own) or body.startswith(b"From ")
    # Fields that the message has itself are not added.
    known = ["raw", "text", *(name for name, title in _FIELD_NAMES.items() if title.lower().encode() in own)]
    rest = [(name, value) for name, value in fields.items() if name not in known and value is not None]
    # A dict has no order that means anything.
    lines = sorted(_name(name) + b": " + _value(value).replace(b"\n", b" ") + b"\n" for name, value in rest)
    if not has_header:
        return b"".join([*lines, b"\n" if lines else b"", body])
    # An envelope is one only where all begins.
    envelope = body.find(b"\n") + 1 if body.startswith(b"From ") else 0
    return b"".join([body[:envelope], *lines, body[envelope:]])


def _name(name: Any) -> bytes:
    text = _FIELD_NAMES.get(name, str(name)) if isinstance(name, str) else repr(name)
    plain = text.encode("utf-8", "surrogatepass").translate(bytes.maketrans(_NOT_IN_NAMES, _DASHES))
    return plain[: LONGEST_NAME - 1] or b"-"


def _value(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, (bytes, bytearray, str, Message)):
        return mail_bytes(value)
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)) and math.isfinite(value):
        return repr(value.item() if isinstance(value, np.generic) else value).encode()
    message = f"a field of a mail is a text, bytes or a finite number; got {value!r:.200}"
    raise InputError(message)
