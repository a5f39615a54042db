"""Fixtures of `stream-bayes classify`, and a corpus to evaluate on."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from stream_bayes import SpamFilter
from stream_bayes.cli import main
from tests.support.classify import HAM, SPAM, Command
from tests.support.mail_filters import generated_mails, write


@pytest.fixture
def classify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process, which is faster."""

    def call(mail: bytes, *arguments: str | Path) -> tuple[int, str, str]:
        rest = io.BytesIO(mail)
        monkeypatch.setattr(sys, "argv", ["stream-bayes", "classify", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(rest))
        with pytest.raises(SystemExit) as ending:
            main()
        assert isinstance(ending.value.code, int)
        assert ending.value.code == 2 or rest.closed or not rest.read(), "the mail is read to its end"
        return ending.value.code, *capsys.readouterr()

    return call


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filter that knows both kinds well."""
    learner = SpamFilter(buckets=2**14)
    learner.test_then_train([SPAM, HAM] * 300, ["spam", "ham"] * 300)
    path = tmp_path_factory.mktemp("model") / "spam.model"
    learner.save(path)
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A file of generated mails."""
    return write(tmp_path / "generated.jsonl.gz", generated_mails(300))
