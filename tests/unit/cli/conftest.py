"""Fixtures of `stream-bayes evaluate`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from stream_bayes.evaluation import sweep
from tests.support.mail_filters import Command, generated_mails, write


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "generated.jsonl.gz", generated_mails(300))


@pytest.fixture
def evaluate(run: Command) -> Command:
    """`stream-bayes evaluate` in this process: exit code, output, errors."""
    return partial(run, "evaluate")


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process for all passes: starting others takes longer than these passes."""
    monkeypatch.setattr(sweep, "available_cores", lambda: 1)
