"""A corpus as one stream of mails, with what was counted on the way."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.evaluation.corpora.labels import label_word
from stream_bayes.evaluation.corpora.mail import CorpusReader, Mail, problem, shown
from stream_bayes.evaluation.corpora.recognise import recognise
from stream_bayes.evaluation.corpora.seen_ids import SeenIds
from stream_bayes.mail.parse.identity import message_id_of

_SUFFIXES = frozenset({".gz", ".jsonl", ".json", ".csv", ".tsv", ".txt", ".mbox", ".mbx"})


@dataclass
class Counts:
    """What has come by so far."""

    messages: int = 0
    spam: int = 0
    ham: int = 0
    unlabelled: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    """How many of each kind were left out."""
    examples: dict[str, str] = field(default_factory=dict)
    """The first of each kind, in words."""

    def add(self, mail: Mail) -> None:
        """Count a mail."""
        self.messages += 1
        self.spam += mail.label == "spam"
        self.ham += mail.label == "ham"
        self.unlabelled += mail.label is None

    def add_problem(self, found: CorpusError) -> None:
        """Count what was left out."""
        self.problems[found.kind] += 1
        self.examples.setdefault(found.kind, str(found))


class Corpus:
    """The mails of a file or folder, in order, read as they are asked for.

    Parameters
    ----------
    path
        Where it is.
    reader
        How it is stored.
    on_error
        What to do about a message that cannot be used: "fail" raises CorpusError, "skip" leaves it out.
    prefix
        Only mails whose ids begin like this.

    Notes
    -----
    Iterating again reads again from the start, with new counts. Memory holds one message, 8-byte hashes of the ids
    (see `SeenIds`) and, for folders, the names of the files. An id that has come before is a problem as well. A prefix
    with which no id begins raises CorpusError at the end.
    """

    def __init__(self, path: Path, reader: CorpusReader, on_error: str = "fail", prefix: str = "") -> None:
        if on_error not in {"fail", "skip"}:
            message = f"on_error must be 'fail' or 'skip', not {on_error!r}"
            raise ParameterError(message)
        self.path = path
        self.counts = Counts()
        """Of the latest pass, as far as it has come."""
        self._reader = reader
        self._fail = on_error == "fail"
        self._prefix = prefix

    def __repr__(self) -> str:
        return f"Corpus({str(self.path)!r}, format={self.format!r})"

    @property
    def format(self) -> str:
        """How it is stored: "json lines", "csv", "tab separated", "mbox", "maildir", "folders" or "trec index"."""
        return self._reader.format

    @property
    def name(self) -> str:
        """The name of the file or folder without its ending, and the prefix if there is one."""
        path = self.path.absolute()
        while path.suffix.lower() in _SUFFIXES:
            path = path.with_suffix("")
        return shown(f"{path.name}/{self._prefix}".rstrip("/"))

    def __iter__(self) -> Iterator[Mail]:
        counts = self.counts = Counts()
        for mail in self._mails():
            if isinstance(mail, Mail):
                counts.add(mail)
                yield mail
            elif self._fail:
                raise mail
            else:
                counts.add_problem(mail)

    def _mails(self) -> Iterator[Mail | CorpusError]:
        seen = SeenIds()
        begun = not self._prefix
        rows = _RowCounts()
        try:
            for entry in self._reader:
                if isinstance(entry, CorpusError):
                    yield entry
                elif entry.id.startswith(self._prefix):
                    begun = True
                    try:
                        label, raw = entry.read()
                    except CorpusError as found:
                        yield found
                        continue
                    new = seen.add(entry.id)
                    if new:
                        occurrence = rows.add(raw) if entry.is_row and entry.named_by_place else 1
                        yield Mail(entry.id, label, raw, entry.named_by_place, occurrence)
                    else:
                        yield _duplicate(entry.place, entry.id)
        except CorpusError as found:
            yield found
        if not begun:
            raise problem("missing-prefix", self.path, f"no id begins with {self._prefix!r}")


class _RowCounts:
    """How often each row of a table without ids has come.

    Memory holds 8-byte hashes of all rows, and a number for each of those that have come more than once.
    """

    def __init__(self) -> None:
        self._seen = SeenIds()
        self._repeated: dict[str, int] = {}

    def add(self, raw: bytes) -> int:
        """Count a row; gives how often it has come now."""
        digest = message_id_of(raw)
        count = self._repeated.get(digest, 1)
        if count == 1 and self._seen.add(digest):
            return 1
        self._repeated[digest] = count + 1
        return count + 1


def _duplicate(place: str, id: str) -> CorpusError:  # noqa: A002
    return problem("duplicate-id", place, f"the id {shown(id, 100)} has come before")


def open_corpus(
    path: str | os.PathLike[str], *, on_error: str = "fail", prefix: str = "", label: str | None = None
) -> Corpus:
    """The corpus at a path, whatever its format; CorpusError if there is none, saying what was looked for.

    Parameters
    ----------
    path
        A TREC index or the folder that holds it, folders of mails called spam and ham, an mbox file or a folder of
        them, a Maildir, a CSV or tab-separated file, or JSON lines; single files may be gzip.
    on_error
        What to do about a message that cannot be used (no label, no such file, not JSON, an id for the second time,
        ..): "fail" raises CorpusError, which names the line or file; "skip" leaves it out and counts it by kind.
    prefix
        Only mails whose ids begin like this: "enron1/" for the first of six streams in one file.
    label
        What a message is where nothing says so: "spam", "ham" or "unlabelled". Without it, it is a problem.
    """
    if label is not None and label_word(label) is None:
        message = f"label must be 'spam', 'ham' or 'unlabelled', not {label!r}"
        raise ParameterError(message)
    place = Path(path).expanduser()
    return Corpus(place, recognise(place, label or ""), on_error, prefix)
