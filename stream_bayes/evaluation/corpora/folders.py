"""The reader of folders called spam and ham, with one message in each file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.files import NaturalKey, files_in, folders_in, natural_key, read_message
from stream_bayes.evaluation.corpora.labels import label_in_name, read_label
from stream_bayes.evaluation.corpora.mail import UnreadMail, encodable
from stream_bayes.evaluation.corpora.mbox import Mbox

LOOKED_FOR: Final = "folders with spam or ham in their names (easy_ham, spam_2, enron1/ham), a message in each file"
MBOX_FOR: Final = "a folder of mbox files (.mbox, .mbx), each labelled by its name, its folder or X-Label headers"
SEARCH_DEPTH: Final = 3
_MAX_DEPTH: Final = 1000
_MBOX_NAME: Final = re.compile(r".*\.mbo?x(\.gz)?", re.IGNORECASE)
_NOT_MAIL: Final = re.compile(r"cmds|readme.*|license.*|summary\.txt", re.IGNORECASE)


class _FoundFile(NamedTuple):
    order: tuple[NaturalKey, ...]
    id: str
    path: Path
    label: str


class MailFolders:
    """The messages in folders with spam or ham in their names, at any depth.

    Parameters
    ----------
    path
        The folder that contains them.
    label
        The label of files in no such folder; by default they are a problem.

    Notes
    -----
    The innermost folder with spam or ham in its name decides; the name of `path` itself does only if none beneath does.
    A file called .mbox or .mbx is read as many messages, and may say in its own name or in X-Label headers what
    they are.

    Order: by path, folders called spam or ham left out, so that the two are interleaved as their files are numbered
    (enron1/spam/0006.txt between enron1/ham/0005.txt and 0007.txt; all 00001.* of SpamAssassin's folders first), and
    numbers by value; `ordering` may change it. Hidden files, cmds, readme, license and Summary.txt are not mails. The
    names are held in memory, the messages are not.
    """

    format = "folders"

    def __init__(self, path: Path, label: str = "") -> None:
        self._path = path
        self._label = label

    @staticmethod
    def fits(folder: Path) -> bool:
        """Whether some folder's name says spam or ham, or mbox files are right here."""
        folders = (path for path in folders_in(folder.absolute(), SEARCH_DEPTH) if not path.name.startswith("."))
        if any(label_in_name(path.name) for path in folders):
            return True
        return any(_MBOX_NAME.fullmatch(path.name) for path in files_in(folder) if isinstance(path, Path))

    @property
    def classes_apart(self) -> bool:
        """Whether the names of files or folders are labels, and not all the same."""
        found = (self._found(path) for path in self._files() if isinstance(path, Path))
        return len({label_in_name(one.path.name) * _is_mbox(one.path) or one.label for one in found}) > 1

    def __iter__(self) -> Iterator[UnreadMail | CorpusError]:
        entries: list[_FoundFile] = []
        for path in self._files():
            if isinstance(path, CorpusError):
                yield path
            else:
                entries.append(self._found(path))
        own = "" if any(one.label for one in entries) else label_in_name(self._path.absolute().name)
        for one in sorted(entries):
            if not _is_mbox(one.path):
                read = partial(_read, one.path, one.label or own or self._label)
                yield UnreadMail(one.id, str(one.path), read, read_again=read)
                continue
            try:
                yield from Mbox(one.path, self._label, one.id, one.label or own)
            except CorpusError as problem:
                yield problem

    def _files(self) -> Iterator[Path | CorpusError]:
        for folder in folders_in(self._path, _MAX_DEPTH):
            if not any(part.startswith(".") for part in folder.relative_to(self._path).parts):
                for path in files_in(folder):
                    if isinstance(path, CorpusError) or not _NOT_MAIL.fullmatch(path.name):
                        yield path

    def _found(self, path: Path) -> _FoundFile:
        relative = path.relative_to(self._path)
        *folders, name = relative.parts
        labels = [label_in_name(folder) for folder in folders]
        order = [natural_key(folder) for folder, label in zip(folders, labels, strict=True) if not label]
        label = next(filter(None, reversed(labels)), "")
        return _FoundFile((*order, natural_key(name)), encodable(relative.as_posix()), path, label)


def _is_mbox(path: Path) -> bool:
    return _MBOX_NAME.fullmatch(path.name) is not None


def _read(path: Path, label: str) -> tuple[str | None, bytes]:
    return read_label(label, f"{path} (no folder above it says spam or ham)"), read_message(path)
