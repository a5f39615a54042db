"""The reader of Maildir folders: cur/ and new/, one file for each message, named by the time of its delivery."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.files import (
    NaturalKey,
    files_in,
    folders_in,
    is_folder,
    natural_key,
    read_failure,
    read_message,
)
from stream_bayes.evaluation.corpora.labels import HAM, SPAM, label_in_name, read_label
from stream_bayes.evaluation.corpora.mail import UnreadMail, encodable

LOOKED_FOR: Final = "a Maildir (cur/ and new/, here or one or two folders down), labelled by folder: .Junk, spam, ham"
_DEPTH: Final = 2
_INSIDE: Final = frozenset({"cur", "new", "tmp"})
_NOT_RECEIVED: Final = frozenset({"sent", "drafts", "trash", "templates", "outbox", "deleted items", "sent items"})


class Maildir:
    """The messages of a Maildir and of the folders in it, by time of delivery.

    Parameters
    ----------
    path
        The folder.
    label
        The label of messages whose folder has none; by default they are a problem.

    Notes
    -----
    The name of a folder is the label of its messages: .Junk, .Spam, ham, .Not-Junk. If some folders are spam and none
    is ham, the others are ham: the mail has been sorted. Sent, Drafts, Trash, Templates and Outbox are not read,
    and neither are messages that are marked as deleted.
    The order is that of the file names over all folders, since they begin with the second of delivery. The id is the
    folder and the name without its flags, so it stays when a message is read and moves from new/ to cur/; that of the
    event (`Mail.event_id`) stays also when it is moved to another folder. The names are held in memory, the messages
    are not.
    """

    format = "maildir"
    classes_apart = False

    def __init__(self, path: Path, label: str = "") -> None:
        self._path = path
        self._label = label

    @staticmethod
    def fits(folder: Path) -> bool:
        """Whether the folder is a Maildir or contains one."""
        return any(True for _ in _maildirs(folder))

    def __iter__(self) -> Iterator[UnreadMail | CorpusError]:
        yield from self._unreadable()
        entries: list[tuple[NaturalKey, str, Path, str]] = []
        folders = list(_maildirs(self._path))
        labels = self._labels(folders)
        rest = self._label or (HAM if set(labels.values()) == {SPAM, ""} else "")
        for folder in folders:
            if labels[folder] or _is_received(folder):
                for path in (path for inside in ("cur", "new") for path in files_in(folder / inside)):
                    if isinstance(path, CorpusError):
                        yield path
                    elif not _is_trashed(path):
                        key = natural_key(path.name.partition(":")[0])
                        entries.append((key, str(folder), path, labels[folder] or rest))
        for _, _, path, label in sorted(entries):
            read = partial(_read, path, label)
            yield UnreadMail(self._id(path), str(path), read, read_again=read)

    def _unreadable(self) -> Iterator[CorpusError]:
        """The errors of folders that cannot be looked into, so that they may hold mails."""
        for folder in folders_in(self._path, _DEPTH, _INSIDE):
            failure = read_failure(folder)
            if failure is not None and _is_received(folder):
                yield failure

    def _labels(self, folders: list[Path]) -> dict[Path, str]:
        """The labels of the folders by their names; that of the Maildir itself only if no other folder has one."""
        labels = {folder: label_in_name(folder.name) for folder in folders if folder != self._path}
        own = "" if any(labels.values()) else label_in_name(self._path.absolute().name)
        return {folder: labels.get(folder, own) for folder in folders}

    def _id(self, path: Path) -> str:
        folder = path.parent.parent.relative_to(self._path)
        return encodable((folder / path.name.partition(":")[0]).as_posix())


def _maildirs(folder: Path) -> Iterator[Path]:
    for path in folders_in(folder, _DEPTH, _INSIDE):
        if is_folder(path / "cur") and is_folder(path / "new"):
            yield path


def _is_trashed(path: Path) -> bool:
    """Whether a message is marked as deleted (flag T)."""
    return "T" in path.name.rpartition(":2,")[2] if ":2," in path.name else False


def _is_received(folder: Path) -> bool:
    """Whether the name of a folder does not say that its mails were sent, drafted or thrown away."""
    # .INBOX.Sent and .Sent are both Sent.
    return folder.name.rpartition(".")[2].lower() not in _NOT_RECEIVED


def _read(path: Path, label: str) -> tuple[str | None, bytes]:
    return read_label(label, f"{path} (the name of its folder does not say what it is)"), read_message(path)
