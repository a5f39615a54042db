"""What `stream-bayes evaluate` says when something is wrong, and the page it writes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.factory import filter_names, open_filter
from stream_bayes.evaluation.filters import MailFilter
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE
from tests.support.mail_filters import RIVER, Command, generated_mails, passed, write


def test_problems_of_a_corpus(evaluate: Command, tmp_path: Path) -> None:
    mails = generated_mails(30)
    path = write(tmp_path / "twice.jsonl.gz", [*mails, mails[4]])
    code, output, errors = evaluate(path, "--filter", RIVER)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "line 31" in errors
    found = json.loads(evaluate(path, "--filter", RIVER, "--on-error", "skip", "--json")[1])
    assert (found["messages"], found["problems"]) == (30, {"duplicate-id": 1})
    assert "note: 1 left out as duplicate-id, such as " in evaluate(path, "--filter", RIVER, "--on-error", "skip")[1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--filter", "nobody"), "there is no filter 'nobody'; there are default, light"),
        (("--filter", "no.such:thing"), "there is no filter at no.such:thing"),
        (
            ("--filter", "tests.support.mail_filters:Nothing"),
            "there is no filter at tests.support.mail_filters:Nothing",
        ),
        (("--filter", "collections:Counter"), "made a Counter, which is no filter"),
        (("--filter", RIVER, "--feedback", "sometimes"), "feedback must be immediate"),
        (("--filter", RIVER, "--threshold", "1"), "threshold must lie between 0 and 1"),
        (("--filter", RIVER, "--on-error", "maybe"), "on_error must be"),
        (("--filter", RIVER, "--prefix", "zzz"), "no id begins with 'zzz'"),
    ],
)
def test_impossible_arguments_get_one_line(
    evaluate: Command, corpus: Path, arguments: tuple[str, ...], problem: str
) -> None:
    code, output, errors = evaluate(corpus, *arguments)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("stream-bayes: ")
    assert problem in errors


def test_a_corpus_that_is_not_there(evaluate: Command, tmp_path: Path) -> None:
    code, output, errors = evaluate(tmp_path / "nowhere", "--filter", RIVER)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "nowhere" in errors


@pytest.mark.slow
def test_a_filter_of_ones_own_beside_the_corpus(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "mine.py").write_text("from tests.support.mail_filters import RiverFilter as Mine\n")
    done = subprocess.run(
        [*COMMAND, "evaluate", corpus.name, "--filter", "mine:Mine", "--json"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    )
    assert json.loads(done.stdout)["messages"] == 300
    assert done.stderr == b""


def test_a_report_names_the_worst_mistakes(evaluate: Command, tmp_path: Path) -> None:
    mails = generated_mails(300)
    texts = [f"Subject: about {place}\n\n{mail.raw.decode()}".encode() for place, mail in enumerate(mails)]
    path = write(tmp_path / "mails.jsonl.gz", [mail._replace(raw=raw) for mail, raw in zip(mails, texts, strict=True)])
    folder = tmp_path / "a" / "report"
    code, output, errors = evaluate(path, "--filter", RIVER, "--report", folder)
    assert (code, errors) == (0, "")
    assert output.endswith(f"\n\nreport: {folder / 'report.html'}\n")
    done = passed([mail._replace(raw=raw) for mail, raw in zip(mails, texts, strict=True)])
    page = (folder / "report.html").read_text()
    worst = [int(np.where(chosen, done.log_odds, -np.inf).argmax()) for chosen in (~done.spam, done.spam)]
    assert f"about {worst[0]}<" in page
    assert f"about {int(np.where(done.spam, done.log_odds, np.inf).argmin())}<" in page
    assert f"about {worst[1]}<" not in page, "the surest spam is no mistake"
    found = json.loads(evaluate(path, "--filter", RIVER, "--report", folder, "--json")[1])
    assert found["report"] == str(folder / "report.html")


def test_a_report_that_cannot_be_written_is_refused_before_the_work(evaluate: Command, corpus: Path) -> None:
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--report", corpus)
    assert (code, output) == (2, "")
    assert errors == f"stream-bayes: cannot write a report to {corpus}: file exists\n"


def test_no_folder_is_created_for_invalid_arguments(evaluate: Command, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    for wrong in (("--feedback", "sometimes"), ("--filter", "nobody")):
        assert evaluate(corpus, "--filter", RIVER, "--report", folder, *wrong)[0] == 2
    assert not folder.exists()


def test_figures_are_printed_before_the_page_is_written(evaluate: Command, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "report" / "report.html").mkdir(parents=True)
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--report", tmp_path / "report")
    assert (code, errors.count("\n")) == (2, 1)
    assert output.startswith("generated: 300 messages, ")


def test_a_page_has_the_notes(evaluate: Command, tmp_path: Path) -> None:
    mails = generated_mails(90, unlabelled=3)
    path = write(tmp_path / "some.jsonl.gz", [*mails, mails[4]])
    evaluate(path, "--filter", "tests.support.mail_filters:Interrupted", "--on-error", "skip", "--report", tmp_path)
    page = (tmp_path / "report.html").read_text()
    for note in ("30 messages without a label", "1 left out as duplicate-id", "interrupted was stopped before the end"):
        assert f"<li>{note}" in page


def test_names_of_filters() -> None:
    names = filter_names()
    assert names[:2] == ("default", "light")
    for name in names[2:]:
        with pytest.raises(ParameterError):
            open_filter(f"{name}?")
        peer = open_filter(name)
        assert isinstance(peer, MailFilter)
        assert peer.name == name
        peer.close()
