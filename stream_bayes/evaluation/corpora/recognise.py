"""The detection of the format of a corpus, by its content."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora import delimited, folders, json_lines, maildir, mbox, trec
from stream_bayes.evaluation.corpora.files import UNREADABLE, files_in, folders_in, read_failure, read_head
from stream_bayes.evaluation.corpora.mail import CorpusReader, problem

CORPUS_NAMES: Final = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
_ARCHIVES: Final = (b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
_TAR: Final = slice(257, 262)
_FILES: Final = (json_lines.LOOKED_FOR, delimited.LOOKED_FOR, mbox.LOOKED_FOR, trec.LOOKED_FOR)
_FOLDERS: Final = (trec.LOOKED_FOR, maildir.LOOKED_FOR, folders.LOOKED_FOR, folders.MBOX_FOR)


def open_reader(path: Path, label: str = "") -> CorpusReader:
    """Open the reader for the corpus at a path; `label` is the label of messages without one."""
    try:
        there = path.exists()
        folder = path.is_dir()
    except (OSError, ValueError) as cause:
        raise problem(UNREADABLE, path, f"cannot be read: {cause}") from cause
    if not there:
        raise problem("missing-file", path, "there is no such file or folder")
    return _folder(path, label) if folder else _file(path, label)


def _file(path: Path, label: str) -> CorpusReader:
    head = read_head(path)
    if not head.strip():
        raise problem("unrecognised", path, "the file is empty")
    if head.startswith(_ARCHIVES) or head[_TAR] == b"ustar":
        raise problem("unrecognised", path, "an archive: unpack it, and name the folder or file that was in it")
    if json_lines.JsonLines.fits(head):
        return json_lines.JsonLines(path, label)
    if mbox.Mbox.fits(head):
        return mbox.Mbox(path, label)
    if path.name == "index" or trec.TrecIndex.fits(head):
        return trec.TrecIndex(path)
    layout = delimited.layout_of(head)
    if layout is None:
        raise _unrecognised(path, "file", _FILES)
    return delimited.Table(path, layout, label)


def _folder(path: Path, label: str) -> CorpusReader:
    index = trec.TrecIndex.find(path)
    if index is not None:
        return trec.TrecIndex(index)
    if maildir.Maildir.fits(path):
        return maildir.Maildir(path, label)
    inside = sorted(file.name for file in corpus_files(path))
    if inside:
        names = ", ".join(inside[:10]) + (", .." if len(inside) > 10 else "")
        raise problem("unrecognised", path, f"not one corpus but a folder of them: name one of {names}")
    if not folders.MailFolders.fits(path):
        unreadable = filter(None, map(read_failure, folders_in(path, folders.SEARCH_DEPTH)))
        raise next(unreadable, None) or _unrecognised(path, "folder", _FOLDERS)
    return folders.MailFolders(path, label)


def corpus_files(folder: Path) -> list[Path]:
    """The files directly in a folder whose names are those of corpora in one file."""
    matches = []
    for path in files_in(folder):
        if isinstance(path, CorpusError):
            raise path
        if path.name.lower().endswith(CORPUS_NAMES):
            matches.append(path)
    return matches


def _unrecognised(path: Path, what: str, looked_for: tuple[str, ...]) -> CorpusError:
    return CorpusError(f"{problem('', path, f'not a {what} of mails; looked for')} {'; '.join(looked_for)}")
