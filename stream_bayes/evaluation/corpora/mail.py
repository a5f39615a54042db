"""The messages of a corpus, the interface of its readers, and what the readers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from stream_bayes.errors import CorpusError
from stream_bayes.mail.parse.identity import message_id_of

_HEADER_BLOCK = re.compile(
    rb"From |(?i:from|sender|to|cc|bcc|subject|date|received|reply-to|return-path|delivered-to|envelope-to|message-id"
    rb"|mime-version|dkim-signature|authentication-results|(?:content|list|resent|x|arc)-[a-z0-9-]+):"
)
_LONGEST_SHOWN = 300


class Mail(NamedTuple):
    """One message of a corpus."""

    id: str
    """Unique within its corpus: the id in the corpus, or the place of the message."""
    label: str | None
    """"spam", "ham", or None if the corpus marks it as unknown."""
    raw: bytes
    """The whole message, headers and body."""
    named_by_place: bool = False
    """Whether the corpus has no ids, so that `id` is the place of the message: a path, a line."""
    occurrence: int = 1
    """The number of the message among equal rows of a table without ids, from 1."""

    @property
    def event_id(self) -> str:
        """The id of the message as an event: the id in the corpus, or else the digest of the message.

        The digest stays the same when a file is renamed, moved to another folder, or stored in another format. Equal
        rows of a table are different messages, so the second one and those after it have their number in the id.
        """
        if not self.named_by_place:
            return self.id
        digest = message_id_of(self.raw)
        return digest if self.occurrence == 1 else f"{digest}-{self.occurrence}"


class UnreadMail(NamedTuple):
    """A message that a reader has found but not read yet."""

    id: str
    place: str
    """The place for error messages: a file, or a file and a line."""
    read: Callable[[], tuple[str | None, bytes]]
    """Reads its label and its bytes; may raise CorpusError."""
    named_by_place: bool = True
    """Whether the id is the place of the message, because the corpus has no ids."""
    is_row: bool = False
    """Whether it is a row of a table, where equal rows are different messages."""
    read_again: Callable[[], tuple[str | None, bytes]] | None = None
    """Reads them without holding the content meanwhile; None if only `read`, which holds it, can."""


class CorpusReader(Protocol):
    """The reader of one format.

    Iterating yields messages in order. A problem is yielded too if reading can continue after it; otherwise, as for a
    truncated gzip file, it is raised.
    """

    format: str

    @property
    def classes_apart(self) -> bool:
        """Whether the names of files or folders are labels, so that the order of files is not that of time."""
        ...

    def __iter__(self) -> Iterator[UnreadMail | CorpusError]:
        """Open the corpus and begin with the first message."""
        ...


def problem(kind: str, place: object, what: str) -> CorpusError:
    """Make the error for a place of a corpus, in printable characters."""
    return CorpusError(shown(f"{place}: {what}"), kind)


def shown(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """Escape unprintable characters, and leave out the middle of a long text."""
    if len(text) > longest:
        text = f"{text[: longest // 2]} .. {text[-longest // 2 :]}"
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def counted(number: int, what: str) -> str:
    """A number with its noun, in singular or plural.

    Examples
    --------
    >>> counted(1, "message"), counted(1234, "message")
    ('1 message', '1,234 messages')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def encodable(name: str) -> str:
    """Escape undecodable bytes and lone surrogates of a name, so that it can be encoded as UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def compose_message(text: bytes, subject: bytes = b"", sender: bytes = b"") -> bytes:
    r"""Compose a message from a text, its subject and its sender.

    They become header fields, unless the text has a header.

    Examples
    --------
    >>> compose_message(b"Dear friend", b"Hello", b"a@example.org")
    b'From: a@example.org\nSubject: Hello\n\nDear friend'
    >>> compose_message(b"Subject: Hello\n\nDear friend", b"Hello")
    b'Subject: Hello\n\nDear friend'
    """
    if not (subject or sender) or _HEADER_BLOCK.match(text):
        return text
    fields = ((b"From", sender), (b"Subject", subject))
    return b"".join(
        [*(name + b": " + b" ".join(value.split()) + b"\n" for name, value in fields if value), b"\n", text]
    )
