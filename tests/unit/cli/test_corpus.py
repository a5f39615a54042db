"""`stream-bayes corpus`: what is there, and public corpora through river."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from river.datasets.base import BINARY_CLF, RemoteDataset

from stream_bayes.cli.corpus import corpus
from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.evaluation.corpora import downloads
from tests.support.corpora import HAM, MAILS, as_class_mboxes, as_folders, as_json_lines, as_mbox, put

Run = Callable[..., str]
SMS_BYTES = 477_907
HEAVY = {"numba", "numpy", "river", "scipy", "rich"}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, with no corpora but those of the test: what it prints."""
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "river"))
    monkeypatch.delenv("STREAM_BAYES_CORPORA", raising=False)
    app = typer.Typer()
    app.command("corpus")(corpus)

    def call(*arguments: str | Path) -> str:
        app([str(argument) for argument in arguments], standalone_mode=False)
        return capsys.readouterr().out

    return call


def test_one_corpus_for_machines(run: Run, tmp_path: Path) -> None:
    path = as_json_lines(tmp_path / "c", MAILS)
    path.write_text(f"{path.read_text()}nonsense\n")
    (found,) = json.loads(run(path, "--json"))["corpora"]
    assert found == {
        "name": "mails",
        "path": str(path),
        "format": "json lines",
        "messages": 7,
        "spam": 3,
        "ham": 4,
        "unlabelled": 0,
        "spam_percent": pytest.approx(100 * 3 / 7),
        "order": "stored",
        "warnings": [],
        "first_id": "m0",
        "last_id": "m6",
        "problems": {"invalid-json": 1},
        "first_problems": {
            "invalid-json": f"{path}, line 8: not valid JSON (Expecting value: line 1 column 1 (char 0))"
        },
    }


def test_a_corpus_for_people(run: Run, tmp_path: Path) -> None:
    path = as_folders(tmp_path / "my corpus", MAILS)
    (path / "easy_ham" / "0.gone").symlink_to("nowhere")
    lines = run(path).splitlines()
    assert lines[:2] == [str(path), "  folders, 7 messages, 42.9 % spam"]
    assert lines[2:4] == ["  in the order in which they are stored", "  from easy_spam/0.m0 to easy_spam/6.m6"]
    assert lines[4].startswith("  left out: 1 missing-file, the first: ")
    assert lines[-1] == f"To measure a filter on it: stream-bayes evaluate '{path}'"


def test_two_mailboxes_of_one_class_each_are_mixed_or_warned_of(run: Run, tmp_path: Path) -> None:
    as_class_mboxes(tmp_path / "c", MAILS * 30)
    assert "  with the classes mixed evenly\n" in run(tmp_path / "c")
    output = run(tmp_path / "c", "--order", "stored")
    assert "  in the order in which they are stored\n" in output
    assert "  warning: the first 120 messages with a label are all ham: " in output
    (found,) = json.loads(run(tmp_path / "c", "--order", "stored", "--json"))["corpora"]
    assert [warning.partition(":")[0] for warning in found["warnings"]] == [
        "the first 120 messages with a label are all ham"
    ]
    with pytest.raises(CorpusError, match=f"^{tmp_path / 'c'}: no mail has a date"):
        run(tmp_path / "c", "--order", "time")


def test_a_corpus_without_dates_does_not_end_a_list_by_time(run: Run, tmp_path: Path) -> None:
    undated = as_json_lines(tmp_path / "c", MAILS)
    dated = [mail._replace(raw=b"Date: Mon, 06 Jan 2025 08:00:00 +0000\n" + mail.raw) for mail in MAILS]
    as_json_lines(tmp_path / "c" / "with dates", dated).rename(tmp_path / "c" / "with dates.jsonl")
    text = b"ham\tSee you\nspam\tYou have won "
    put(tmp_path / "river" / "SMSSpam" / "SMSSpamCollection", text.ljust(SMS_BYTES, b"!"))
    first, second = json.loads(run(tmp_path / "c", "--order", "time", "--json"))["corpora"]
    assert (first["path"], first["messages"], first["problems"]) == (str(undated), 0, {"missing-date": 1})
    assert first["first_problems"]["missing-date"].startswith(f"{undated}: no mail has a date")
    assert (second["name"], second["messages"], second["order"], second["problems"]) == ("with dates", 7, "time", {})
    (public,) = json.loads(run("--order", "time", "--json"))["corpora"]
    assert (public["messages"], public["problems"]) == (0, {"missing-date": 1})


def test_a_folder_of_corpora(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_json_lines(tmp_path / "c", MAILS)
    as_mbox(tmp_path / "c", MAILS)
    as_folders(tmp_path / "c" / "nested", MAILS)
    put(tmp_path / "c" / "README", "no corpus")
    monkeypatch.setenv("STREAM_BAYES_CORPORA", str(tmp_path / "c"))
    for out in (run("--json"), run(tmp_path / "c", "--json")):
        found = [(one["name"], one["format"], one["messages"]) for one in json.loads(out)["corpora"]]
        assert found == [("all", "mbox", 7), ("mails", "json lines", 7), ("nested", "folders", 7)]


def test_what_cannot_be_read_in_a_folder_of_corpora_is_listed(run: Run, tmp_path: Path) -> None:
    as_json_lines(tmp_path / "c", MAILS)
    os.mkfifo(tmp_path / "c" / "pipe")
    found = json.loads(run(tmp_path / "c", "--json"))["corpora"]
    assert [(one["name"], one["format"], one["problems"]) for one in found] == [
        ("mails", "json lines", {}),
        ("pipe", "unreadable", {"unreadable": 1}),
    ]
    assert f"{tmp_path / 'c' / 'pipe'}: is not a file" in run(tmp_path / "c")


def test_each_folder_in_the_folder_of_corpora_is_one(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_folders(tmp_path / "c" / "one", MAILS)
    as_folders(tmp_path / "c" / "two", MAILS)
    monkeypatch.setenv("STREAM_BAYES_CORPORA", str(tmp_path / "c"))
    assert [one["name"] for one in json.loads(run("--json"))["corpora"]] == ["one", "two"]


def test_nothing_there(run: Run, tmp_path: Path) -> None:
    assert "stream-bayes corpus --get trec07" in run()
    assert json.loads(run("--json")) == {"corpora": []}
    put(tmp_path / "c" / "README", "no corpus")
    with pytest.raises(CorpusError, match="neither a corpus nor a folder of corpora"):
        run(tmp_path / "c")
    with pytest.raises(CorpusError, match="no such file or folder"):
        run(tmp_path / "none")


def test_a_corpus_without_labels(run: Run, tmp_path: Path) -> None:
    assert "csv, 1 message, 1 unlabelled" in run(put(tmp_path / "c.csv", "label,text\nunknown,x\n"))


def test_a_mailbox_without_labels_is_to_be_predicted(run: Run, tmp_path: Path) -> None:
    shown = run(put(tmp_path / "mails.mbox", "From a Mon Jan  1 00:00:00 2024\nSubject: lunch\n\nhello\n"))
    assert "left out: 1 missing-label" in shown
    assert "--labels none" in shown
    assert "stream-bayes evaluate" not in shown


def test_corpora_downloaded_by_river_are_listed_and_reused(run: Run, tmp_path: Path) -> None:
    """River knows its file by the size."""
    text = b"ham\tSee you\nspam\tYou have won "
    put(tmp_path / "river" / "SMSSpam" / "SMSSpamCollection", text.ljust(SMS_BYTES, b"!"))
    for out in (run("--json"), run("--get", "sms-spam", "--json")):
        (found,) = json.loads(out)["corpora"]
        assert (found["format"], found["spam"], found["ham"]) == ("tab separated", 1, 1)
    assert "stream-bayes evaluate" in run("--get", "sms-spam")


def test_bad_arguments(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'enron'; there are sms-spam and trec07"):
        run("--get", "enron")
    with pytest.raises(ParameterError, match="not both"):
        run(tmp_path, "--get", "sms-spam")


@pytest.mark.slow
def test_without_a_network_one_line_says_so(tmp_path: Path) -> None:
    """A closed proxy port stands for a missing network."""
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **nowhere, "RIVER_DATA": str(tmp_path), "no_proxy": "", "NO_PROXY": ""}
    command = [sys.executable, "-m", "stream_bayes.cli", "corpus", "--get", "trec07"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert not done.stdout
    assert done.stderr.startswith("stream-bayes: cannot get trec07: ")
    assert done.stderr.count("\n") == 1
    assert str(tmp_path / "TREC07") in done.stderr


class Packed(RemoteDataset):
    """A data set whose address is a file."""

    def __init__(self, archive: Path, size: int) -> None:
        super().__init__(archive.as_uri(), size, filename="mails.tsv", task=BINARY_CLF, n_features=1)  # type: ignore[no-untyped-call]

    def _iter(self) -> Iterator[Any]:
        yield from ()


def test_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "river"))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("mails.tsv", "ham\tx\n")
    path = downloads.fetch("packed", Packed(tmp_path / "a.zip", 6))
    assert path.read_text() == "ham\tx\n"
    out, errors = capsys.readouterr()
    assert not out
    assert "Downloading" in errors


def test_downloads_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "river"))
    with pytest.raises(CorpusError, match=r"cannot get packed: .*by hand: unpack file:.*a.zip into ") as caught:
        downloads.fetch("packed", Packed(tmp_path / "a.zip", 6))
    assert caught.value.kind == "not-downloaded"
    put(tmp_path / "a.zip", HAM)
    with pytest.raises(CorpusError, match="File is not a zip file"):
        downloads.fetch("packed", Packed(tmp_path / "a.zip", 6))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("mails.tsv", "ham\tx\n")
    with pytest.raises(CorpusError, match="does not have the 7 bytes"):
        downloads.fetch("packed", Packed(tmp_path / "a.zip", 7))


def test_nothing_heavy_is_loaded_to_read_a_corpus(tmp_path: Path) -> None:
    path = as_json_lines(tmp_path, MAILS)
    script = (
        "import sys\nfrom stream_bayes.cli.corpus import corpus\nprint(*sorted(sys.modules))\n"
        f"from pathlib import Path\ncorpus(Path({str(path)!r}))\nprint(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    first, *_, last = done.stdout.splitlines()
    assert not {"stream_bayes.evaluation.corpora", *HEAVY} & set(first.split())
    assert not HEAVY & set(last.split())
