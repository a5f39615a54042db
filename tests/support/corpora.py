"""Mails that are made up, and a writer for each format a corpus can have."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora import Mail, open_corpus

SPAM = b"From: win@prizes.example\nSubject: You have won\n\nClick http://prizes.example now\n"
HAM = b"From: ann@example.org\nSubject: Lunch\n\nAt twelve?\n\nFrom the station it is two minutes.\n"
MAILS = [Mail(f"m{number}", "spam" if number % 3 == 0 else "ham", (HAM, SPAM)[number % 3 == 0]) for number in range(7)]


def mail_at(place: str, label: str | None, raw: bytes) -> Mail:
    """A mail as a corpus without ids of its own gives it."""
    return Mail(place, label, raw, named_by_place=True)


def put(path: Path, content: bytes | str) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def as_json_lines(folder: Path, mails: Sequence[Mail]) -> Path:
    records = [{"id": mail.id, "label": mail.label, "raw": base64.b64encode(mail.raw).decode()} for mail in mails]
    return put(folder / "mails.jsonl", "".join(json.dumps(record) + "\n" for record in records))


def as_json_gzip(folder: Path, mails: Sequence[Mail]) -> Path:
    return put(folder / "mails.jsonl.gz", gzip.compress(as_json_lines(folder / "plain", mails).read_bytes()))


def as_csv(folder: Path, mails: Sequence[Mail]) -> Path:
    folder.mkdir(exist_ok=True)
    with (folder / "mails.csv").open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        writer.writerows((mail.id, mail.raw.decode("utf-8", "surrogateescape"), mail.label) for mail in mails)
    return folder / "mails.csv"


def mbox_bytes(mails: Sequence[Mail], *, labelled: bool) -> bytes:
    """As mboxrd has it: "From " at the start of a line gets a ">", and so does what has one already."""
    parts = []
    for mail in mails:
        head = f"X-Label: {mail.label}\n" if labelled else ""
        quoted = re.sub(rb"^(>*From )", rb">\1", head.encode() + mail.raw, flags=re.MULTILINE)
        parts.append(b"From someone@example.org Mon Jun 25 13:11:28 2001\n" + quoted + b"\n")
    return b"".join(parts)


def as_mbox(folder: Path, mails: Sequence[Mail]) -> Path:
    return put(folder / "all.mbox", mbox_bytes(mails, labelled=True))


def as_class_mboxes(folder: Path, mails: Sequence[Mail]) -> Path:
    """A file for each class."""
    for label in ("ham", "spam"):
        put(folder / f"{label}.mbox", mbox_bytes([mail for mail in mails if mail.label == label], labelled=False))
    return folder


def as_trec(folder: Path, mails: Sequence[Mail]) -> Path:
    lines = []
    for number, mail in enumerate(mails):
        put(folder / "data" / "000" / f"{number:03}", mail.raw)
        lines.append(f"{mail.label} ../data/000/{number:03}\n")
    put(folder / "full" / "index", "".join(lines))
    return folder


def as_folders(folder: Path, mails: Sequence[Mail]) -> Path:
    for number, mail in enumerate(mails):
        put(folder / f"easy_{mail.label}" / f"{number}.{mail.id}", mail.raw)
    return folder


def as_maildir(folder: Path, mails: Sequence[Mail]) -> Path:
    for box in (".Junk", ".Ham"):
        for inside in ("cur", "new", "tmp"):
            (folder / box / inside).mkdir(parents=True, exist_ok=True)
    for number, mail in enumerate(mails):
        name = ".Junk" if mail.label == "spam" else ".Ham"
        put(folder / name / ("new" if number % 2 else "cur") / f"{1200000000 + number}.M{mail.id}.host:2,S", mail.raw)
    return folder


WRITERS: dict[str, Callable[[Path, Sequence[Mail]], Path]] = {
    "json lines": as_json_lines,
    "json lines, gzip": as_json_gzip,
    "csv": as_csv,
    "mbox": as_mbox,
    "trec index": as_trec,
    "folders": as_folders,
    "maildir": as_maildir,
}


def assert_named_and_counted(path: Path, kind: str, words: str, good: int) -> None:
    """Check that the problem ends the reading, or is counted while this number of good mails is read."""
    with pytest.raises(CorpusError, match=words) as caught:
        list(open_corpus(path))
    kind = kind.partition(",")[0]
    assert caught.value.kind == kind
    corpus = open_corpus(path, on_error="skip")
    assert len(list(corpus)) == corpus.counts.messages == good
    assert corpus.counts.problems == {kind: 1}
    assert corpus.counts.examples == {kind: str(caught.value)}
