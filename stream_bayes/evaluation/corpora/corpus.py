"""A corpus as one stream of mails, with counts of messages, labels and problems."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.evaluation.corpora.labels import parse_label
from stream_bayes.evaluation.corpora.mail import CorpusReader, Mail, UnreadMail, problem, shown
from stream_bayes.evaluation.corpora.ordering import AUTO, STORED, arranged, check_order, long_run_note
from stream_bayes.evaluation.corpora.recognise import open_reader
from stream_bayes.evaluation.corpora.seen_ids import SeenIds
from stream_bayes.mail.parse.identity import message_id_of

_SUFFIXES = frozenset({".gz", ".jsonl", ".json", ".csv", ".tsv", ".txt", ".mbox", ".mbx"})


@dataclass
class Counts:
    """The counts of a pass over a corpus so far."""

    messages: int = 0
    spam: int = 0
    ham: int = 0
    unlabelled: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    """The number of problems of each kind that were left out."""
    examples: dict[str, str] = field(default_factory=dict)
    """The message of the first problem of each kind."""
    order: str = STORED
    """The order in which the mails came: "stored", "time" or "mixed"."""
    first_label: str = ""
    """The label of the first mail that has one."""
    first_run: int = 0
    """The number of mails with that label before the first with the other one."""

    def add(self, mail: Mail) -> None:
        """Count a mail."""
        self.messages += 1
        if mail.label is None:
            self.unlabelled += 1
            return
        self.first_label = self.first_label or mail.label
        if mail.label == self.first_label and self.first_run == self.spam + self.ham:
            self.first_run += 1
        self.spam += mail.label == "spam"
        self.ham += mail.label == "ham"

    def add_problem(self, error: CorpusError) -> None:
        """Count a problem that was left out."""
        self.problems[error.kind] += 1
        self.examples.setdefault(error.kind, str(error))

    @property
    def order_note(self) -> str:
        """The warning about a long run of one class at the start; "" if there is none."""
        return long_run_note(self.first_label, self.first_run, self.spam, self.ham)


class Corpus:
    """The mails of a file or folder, in order, read lazily.

    Parameters
    ----------
    path
        The file or folder.
    reader
        The reader of its format.
    on_error
        What to do with a message that cannot be used: "fail" raises CorpusError, "skip" leaves it out.
    prefix
        Only mails whose ids begin with this.
    order
        The order in which they come: "auto", "time", "mixed" or "stored"; see `ordering.arranged`.

    Notes
    -----
    Each iteration reads from the start, with new counts. Memory holds one message, 8-byte hashes of the ids (see
    `SeenIds`) and, for folders, the names of the files; in another order than the stored one, the places of all
    messages. A duplicate id is a problem too. If no id begins with the prefix, CorpusError is raised at the end.
    """

    def __init__(
        self, path: Path, reader: CorpusReader, on_error: str = "fail", prefix: str = "", order: str = AUTO
    ) -> None:
        check_order(order)
        if on_error not in {"fail", "skip"}:
            message = f"on_error must be 'fail' or 'skip', not {on_error!r}"
            raise ParameterError(message)
        self.path = path
        self.counts = Counts()
        """The counts of the latest iteration so far."""
        self._reader = reader
        self._fail = on_error == "fail"
        self._prefix = prefix
        self._order = order

    def __repr__(self) -> str:
        return f"Corpus({str(self.path)!r}, format={self.format!r})"

    @property
    def format(self) -> str:
        """The format: "json lines", "csv", "tab separated", "mbox", "maildir", "folders" or "trec index"."""
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
        with arranged(self._reader, self.path, self._order, self._prefix) as arrangement:
            counts.order = arrangement.order
            yield from self._counted(arrangement.entries, counts)

    def _counted(self, entries: Iterator[UnreadMail | CorpusError], counts: Counts) -> Iterator[Mail]:
        for mail in self._mails(entries):
            if isinstance(mail, Mail):
                counts.add(mail)
                yield mail
            elif self._fail:
                raise mail
            else:
                counts.add_problem(mail)

    def _mails(self, entries: Iterator[UnreadMail | CorpusError]) -> Iterator[Mail | CorpusError]:
        seen = SeenIds()
        prefix_found = not self._prefix
        rows = _RowCounts()
        try:
            for entry in entries:
                if isinstance(entry, CorpusError):
                    yield entry
                elif entry.id.startswith(self._prefix):
                    prefix_found = True
                    try:
                        label, raw = entry.read()
                    except CorpusError as error:
                        yield error
                        continue
                    new = seen.add(entry.id)
                    if new:
                        occurrence = rows.add(raw) if entry.is_row and entry.named_by_place else 1
                        yield Mail(entry.id, label, raw, entry.named_by_place, occurrence)
                    else:
                        yield _duplicate(entry.place, entry.id)
        except CorpusError as error:
            yield error
        if not prefix_found:
            raise problem("missing-prefix", self.path, f"no id begins with {self._prefix!r}")


class _RowCounts:
    """The number of times each row of a table without ids has come.

    Memory holds 8-byte hashes of all rows, and a count for each repeated row.
    """

    def __init__(self) -> None:
        self._seen = SeenIds()
        self._repeated: dict[str, int] = {}

    def add(self, raw: bytes) -> int:
        """Count a row, and return its count."""
        digest = message_id_of(raw)
        count = self._repeated.get(digest, 1)
        if count == 1 and self._seen.add(digest):
            return 1
        self._repeated[digest] = count + 1
        return count + 1


def _duplicate(place: str, id: str) -> CorpusError:  # noqa: A002
    return problem("duplicate-id", place, f"the id {shown(id, 100)} has come before")


def open_corpus(
    path: str | os.PathLike[str],
    *,
    on_error: str = "fail",
    prefix: str = "",
    label: str | None = None,
    order: str = AUTO,
) -> Corpus:
    """Open the corpus at a path, in any format; CorpusError, with the formats that were tried, if there is none.

    Parameters
    ----------
    path
        A TREC index or the folder that holds it, folders of mails called spam and ham, an mbox file or a folder of
        them, a Maildir, a CSV or tab-separated file, or JSON lines; single files may be gzip.
    on_error
        What to do with a message that cannot be used (no label, no such file, not JSON, a duplicate id, ..): "fail"
        raises CorpusError, which names the line or file; "skip" leaves it out and counts it by kind.
    prefix
        Only mails whose ids begin with this: "enron1/" for the first of six streams in one file.
    label
        The label of messages without one: "spam", "ham" or "unlabelled". By default they are a problem.
    order
        "stored" is the order of the files, rows and names. "time" is that of the dates of the mails, "mixed" spreads
        the classes evenly. "auto" is by time if files or folders are one class each, their mails have dates and the
        classes overlap in time; otherwise as stored if that mixes the classes, else mixed. Where they are not one
        class each, "auto" is as stored. `Corpus.counts.order` says which it was.
    """
    if label is not None and parse_label(label) is None:
        message = f"label must be 'spam', 'ham' or 'unlabelled', not {label!r}"
        raise ParameterError(message)
    place = Path(path).expanduser()
    return Corpus(place, open_reader(place, label or ""), on_error, prefix, order)
