"""The marks of the mail filter on real mail, by the command people run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = os.environ.get("STREAM_BAYES_CORPORA", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="no real mail: name a folder of corpora in STREAM_BAYES_CORPORA")

SPAMASSASSIN = "spamassassin.jsonl.gz"
ENRON = "enron_spam.jsonl.gz"
SMS = "sms_spam_collection.jsonl.gz"
# Streams, and the largest (1-ROCA)% (their mean) that is good enough.
MARKS: dict[str, tuple[list[tuple[str, ...]], float]] = {
    "spamassassin": ([(SPAMASSASSIN,)], 0.086),
    "spamassassin shuffled": ([(SPAMASSASSIN, "--shuffle", str(seed)) for seed in (1, 2, 3)], 0.063),
    "enron": ([(ENRON, "--prefix", f"enron{box}/") for box in range(1, 7)], 0.055),
    "sms": ([(SMS,)], 1.10),
}
MORE_MARKS = ("spamassassin shuffled", "enron")
LONG = pytest.mark.long


@cache
def evaluated(corpus: str, *options: str) -> Any:
    path = Path(FOLDER) / corpus
    if not path.exists():
        pytest.skip(f"{path} is not there")
    command = [sys.executable, "-m", "stream_bayes.cli", "evaluate", str(path), "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("name", ["spamassassin", "sms", *(pytest.param(name, marks=LONG) for name in MORE_MARKS)])
def test_marks(name: str) -> None:
    streams, mark = MARKS[name]
    passes = [evaluated(*options) for options in streams]
    assert np.mean([one["one_minus_roca_percent"] for one in passes]) <= mark
    assert np.mean([one["log_loss"] for one in passes]) <= 0.06
    assert np.mean([one["calibration_error"] for one in passes]) <= 0.008


@pytest.mark.long
@pytest.mark.parametrize("corpus", [SPAMASSASSIN, SMS])
def test_light_is_good_too(corpus: str) -> None:
    """Vowpal Wabbit has 0.19 and 2.8 here."""
    assert evaluated(corpus, "--filter", "light")["one_minus_roca_percent"] < {SPAMASSASSIN: 0.15, SMS: 1.8}[corpus]


@pytest.mark.long
@pytest.mark.parametrize("feedback", ["immediate", pytest.param("delayed:100", marks=LONG), "first:1000"])
@pytest.mark.parametrize(
    "corpus",
    [
        (SMS,),
        pytest.param((SPAMASSASSIN,), marks=LONG),
        pytest.param((SPAMASSASSIN, "--shuffle", "1"), marks=LONG),
        pytest.param((ENRON, "--prefix", "enron1/"), marks=LONG),
    ],
)
def test_the_fusion_is_no_worse_than_its_best_member(corpus: tuple[str, ...], feedback: str) -> None:
    result = evaluated(*corpus, "--feedback", feedback)
    assert result["one_minus_roca_percent"] <= 1.05 * min(result["members_one_minus_roca_percent"].values())
    assert result["labels_used"] == (
        1000 if feedback == "first:1000" else result["messages"] - 100 * (feedback == "delayed:100")
    )
