"""What every reader yields, and how a text with a subject and a sender becomes one message."""

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
    """Unique within its corpus: the id that the corpus gives, or where the message was found."""
    label: str | None
    """"spam", "ham", or None where the corpus says that it is not known."""
    raw: bytes
    """The whole message, headers and body."""
    named_by_place: bool = False
    """Whether the corpus gives no id, so that `id` says where the message was found: a path, a line."""
    occurrence: int = 1
    """Of several equal rows of a table without ids, which one it is, from 1."""

    @property
    def event_id(self) -> str:
        """The id of the message as an event: that of the corpus, else the message digest.

        The digest stays the same when a file is renamed, moved to another folder, or stored in another format. Equal
        rows of a table are different messages, so the second one and those after it have their number in the id.
        """
        if not self.named_by_place:
            return self.id
        digest = message_id_of(self.raw)
        return digest if self.occurrence == 1 else f"{digest}-{self.occurrence}"


class UnreadMail(NamedTuple):
    """A message its reader has found but not yet read."""

    id: str
    place: str
    """Where it is, for an error: a file, or a file and a line."""
    read: Callable[[], tuple[str | None, bytes]]
    """Its label and its bytes, or CorpusError."""
    named_by_place: bool = True
    """Whether the id says where the message was found, because the corpus gives none."""
    is_row: bool = False
    """Whether it is a row of a table, where equal rows are different messages."""


class CorpusReader(Protocol):
    """One way to store mails.

    Iterating yields entries in order. A problem that leaves the rest readable is yielded too; one that does not, such
    as a compressed file cut short, is raised.
    """

    format: str

    def __iter__(self) -> Iterator[UnreadMail | CorpusError]:
        """Open what there is to open, and begin with the first message."""
        ...


def problem(kind: str, place: object, what: str) -> CorpusError:
    """The error for one place of a corpus, in characters that any screen can show."""
    return CorpusError(shown(f"{place}: {what}"), kind)


def shown(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """The text with what cannot be printed as escapes, and its middle left out where it is long."""
    if len(text) > longest:
        text = f"{text[: longest // 2]} .. {text[-longest // 2 :]}"
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def counted(number: int, what: str) -> str:
    """How many, in words.

    Examples
    --------
    >>> counted(1, "message"), counted(1234, "message")
    ('1 message', '1,234 messages')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def writable(name: str) -> str:
    """The name with bytes or half characters that are not Unicode as escapes, so that it can be written anywhere."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def composed(text: bytes, subject: bytes = b"", sender: bytes = b"") -> bytes:
    r"""One message of a text, its subject and its sender.

    They become header lines, unless the text has a header of its own.

    Examples
    --------
    >>> composed(b"Dear friend", b"Hello", b"a@example.org")
    b'From: a@example.org\nSubject: Hello\n\nDear friend'
    >>> composed(b"Subject: Hello\n\nDear friend", b"Hello")
    b'Subject: Hello\n\nDear friend'
    """
    if not (subject or sender) or _HEADER_BLOCK.match(text):
        return text
    fields = ((b"From", sender), (b"Subject", subject))
    return b"".join(
        [*(name + b": " + b" ".join(value.split()) + b"\n" for name, value in fields if value), b"\n", text]
    )
