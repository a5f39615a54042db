"""The order of the mails of a corpus whose files are one class each: by time, mixed, or as stored."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import tempfile
import zlib
from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.demo.mailbox import mailbox
from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.evaluation.corpora import Mail, open_corpus
from stream_bayes.evaluation.stream import StreamSource
from stream_bayes.mail.filter import SpamFilter
from tests.support.corpora import (
    as_class_mboxes,
    as_csv,
    as_json_gzip,
    as_json_lines,
    as_maildir,
    as_mbox,
    as_trec,
    put,
)

DATED = [
    Mail(
        f"m{number}",
        "spam" if number % 3 == 0 else "ham",
        f"Received: by mx; Mon, 06 Jan 2025 08:00:{number:02} +0000\nSubject: {number}\n\n"
        f"{'>' * (number % 2)}From {number}\n".encode(),
    )
    for number in range(60)
]
UNDATED = [mail._replace(raw=b"Subject: " + mail.id.encode() + b"\n\nHi\n") for mail in DATED]


def as_class_mboxes_gzip(folder: Path, mails: Sequence[Mail]) -> Path:
    for path in as_class_mboxes(folder / "plain", mails).iterdir():
        put(folder / "packed" / f"{path.name}.gz", gzip.compress(path.read_bytes()))
    return folder / "packed"


def as_class_folders(folder: Path, mails: Sequence[Mail]) -> Path:
    """Names that sort by class, and not by time within it."""
    for mail in mails:
        put(folder / str(mail.label) / f"{mail.label}-{zlib.crc32(mail.raw) % 1000}-{mail.id}", mail.raw)
    return folder


CLASS_FILES = {"mbox": as_class_mboxes, "mbox.gz": as_class_mboxes_gzip, "folders": as_class_folders}


def longest_run(mails: Sequence[Mail]) -> int:
    return max(len(list(run)) for _, run in groupby(mail.label for mail in mails))


@pytest.mark.parametrize("kind", CLASS_FILES)
def test_files_of_one_class_each_come_in_order_of_time(kind: str, tmp_path: Path) -> None:
    corpus = open_corpus(CLASS_FILES[kind](tmp_path / "c", DATED))
    for _ in range(2):
        mails = list(corpus)
        assert [(mail.label, mail.raw) for mail in mails] == [(mail.label, mail.raw) for mail in DATED]
        assert corpus.counts.order == "time"
        assert corpus.counts.order_note == ""
    assert len({mail.id for mail in mails}) == len(DATED)


@pytest.mark.parametrize("kind", CLASS_FILES)
def test_files_of_one_class_each_without_dates_are_mixed_evenly(kind: str, tmp_path: Path) -> None:
    path = CLASS_FILES[kind](tmp_path / "c", UNDATED)
    corpus = open_corpus(path)
    mails = list(corpus)
    assert corpus.counts.order == "mixed"
    assert longest_run(mails) == 2
    assert mails == list(open_corpus(path, order="mixed"))
    stored = list(open_corpus(path, order="stored"))
    for label in ("spam", "ham"):
        assert [mail for mail in mails if mail.label == label] == [mail for mail in stored if mail.label == label]


def test_the_stored_order_warns_of_a_long_run_of_one_class(tmp_path: Path) -> None:
    corpus = open_corpus(as_class_mboxes(tmp_path / "c", DATED), order="stored")
    assert longest_run(list(corpus)) == 40
    assert corpus.counts.order == "stored"
    assert corpus.counts.order_note.startswith("the first 40 messages with a label are all ham: ")


def test_classes_of_different_years_are_mixed(tmp_path: Path) -> None:
    """By time one class would come after the other, as in the stored order."""
    later = [mail._replace(raw=mail.raw.replace(b"2025", b"2026")) if mail.label == "spam" else mail for mail in DATED]
    corpus = open_corpus(as_class_mboxes(tmp_path / "c", later))
    assert longest_run(list(corpus)) == 2
    assert corpus.counts.order == "mixed"


def test_date_is_used_where_no_server_wrote_one_and_undated_mails_stay_beside_their_neighbours(tmp_path: Path) -> None:
    mails = [mail._replace(raw=mail.raw.replace(b"Received: by mx;", b"Date:")) for mail in DATED]
    undated = DATED[31]._replace(raw=UNDATED[31].raw)
    mails[31] = undated
    corpus = open_corpus(as_class_mboxes(tmp_path / "c", mails))
    found = [mail.raw for mail in corpus]
    assert corpus.counts.order == "time"
    assert found[:29] == [mail.raw for mail in mails[:29]]
    assert found.index(undated.raw) == found.index(mails[29].raw) + 1


@pytest.mark.parametrize("write", [as_json_lines, as_json_gzip, as_csv, as_mbox, as_trec, as_maildir])
def test_any_format_can_be_read_by_time_and_in_its_own_order(write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    backwards = DATED[::-1]
    path = write(tmp_path / "c", backwards)
    assert [mail.raw for mail in open_corpus(path)] == [mail.raw for mail in backwards]
    assert [mail.raw for mail in open_corpus(path, order="time")] == [mail.raw for mail in DATED]


def test_numbered_files_that_mix_the_classes_keep_their_order(tmp_path: Path) -> None:
    for number, mail in enumerate(UNDATED):
        put(tmp_path / "c" / str(mail.label) / f"{number}.txt", mail.raw)
    corpus = open_corpus(tmp_path / "c")
    assert [mail.raw for mail in corpus] == [mail.raw for mail in UNDATED]
    assert corpus.counts.order == "stored"


def test_a_filter_that_learned_a_mailbox_for_each_class_delivers_new_ham(tmp_path: Path) -> None:
    mails = [Mail(mail.id, mail.label, mail.raw) for mail in mailbox(seed=1, mails=330)]
    path = as_class_mboxes(tmp_path / "c", mails[:270])
    new_hams = [mail.raw for mail in mails[270:] if mail.label == "ham"]
    wrong = {}
    for order in ("stored", "auto"):
        model = SpamFilter.light()
        learned = list(open_corpus(path, order=order))
        model.learn_many([mail.raw for mail in learned], [mail.label for mail in learned])
        wrong[order] = sum(probability > 0.5 for probability in model.predictive_many(new_hams).probabilities[:, 1])
    assert len(new_hams) > 25
    assert wrong["auto"] <= 0.2 * len(new_hams) < 0.5 * len(new_hams) < wrong["stored"]


def test_problems_are_found_in_every_order(tmp_path: Path) -> None:
    path = as_class_folders(tmp_path / "c", DATED)
    (path / "spam" / "gone").symlink_to("nowhere")
    put(path / "ham" / "broken.mbox", "not an mbox")
    for order in ("auto", "mixed", "stored"):
        corpus = open_corpus(path, on_error="skip", order=order)
        assert len(list(corpus)) == 60
        assert corpus.counts.problems == {"missing-file": 1, "not-mbox": 1}
        with pytest.raises(CorpusError):
            list(open_corpus(path, order=order))


def test_only_mails_with_the_prefix_are_mixed(tmp_path: Path) -> None:
    path = as_json_lines(tmp_path / "c", sorted(UNDATED, key=lambda mail: (mail.label, mail.id)))
    mails = list(open_corpus(path, prefix="m1", order="mixed"))
    assert [mail.label for mail in mails].count("spam") == 3
    assert all(after != "spam" for before, after in pairwise(mail.label for mail in mails) if before == "spam")


def test_orders_that_do_not_exist(tmp_path: Path) -> None:
    path = as_class_mboxes(tmp_path / "c", UNDATED)
    with pytest.raises(ParameterError, match="order must be one of auto, time, mixed, stored, not 'newest'"):
        open_corpus(path, order="newest")
    for on_error in ("fail", "skip"):
        with pytest.raises(CorpusError, match=f"^{re.escape(str(path))}: no mail has a date") as caught:
            list(open_corpus(path, on_error=on_error, order="time"))
        assert caught.value.kind == "missing-date"
    with pytest.raises(ParameterError, match="--order mixed cannot be combined with --shuffle or --interleave"):
        StreamSource(path, shuffle=1, order="mixed").check()


class FullDisk(io.BytesIO):
    """A temporary file that cannot be written, or only until it is read or closed."""

    fails_at = "write"

    def _use(self, operation: str) -> None:
        if operation == self.fails_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, content: Any) -> int:
        self._use("write")
        return super().write(content)

    def seek(self, place: int, whence: int = 0) -> int:
        self._use("seek")
        return super().seek(place, whence)

    def __exit__(self, *_: object) -> None:
        self._use("close")


@pytest.mark.parametrize("fails_at", ["write", "seek", "close"])
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_a_temporary_file_on_a_full_disk(
    fails_at: str, on_error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FullDisk, "fails_at", fails_at)
    monkeypatch.setattr(tempfile, "TemporaryFile", FullDisk)
    path = as_json_gzip(tmp_path / "c", DATED)
    with pytest.raises(CorpusError, match="no space left on device; set TMPDIR to ") as caught:
        list(open_corpus(path, on_error=on_error, order="mixed"))
    assert str(caught.value).startswith(f"{path}: the temporary file ")
    assert caught.value.kind == "temporary-file"


def test_no_folder_for_the_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    path = as_json_gzip(tmp_path / "c", DATED)
    with pytest.raises(CorpusError, match="no such file or directory; set TMPDIR to "):
        list(open_corpus(path, order="mixed"))
    assert len(list(open_corpus(path))) == 60


def test_a_shuffled_stream_begins_with_the_stored_order(tmp_path: Path) -> None:
    path = as_class_mboxes(tmp_path / "c", DATED)
    assert [mail.id for mail in StreamSource(path, shuffle=1).open()][:40] == [f"ham.mbox/{n}" for n in range(1, 41)]
