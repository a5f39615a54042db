"""Passes that ask for labels, for the tests of them."""

from __future__ import annotations

import pytest

from stream_bayes.evaluation import sweep
from stream_bayes.evaluation.feedback import FeedbackRegime
from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.evaluation.protocol import run as run_filter
from stream_bayes.evaluation.stream import Stream
from tests.filters import RiverFilter, generated_mails


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting processes takes longer than these passes; the test of Ctrl-C and those of sweeps have real ones."""
    monkeypatch.setattr(sweep, "available_cores", lambda: 1)


def area(regime: FeedbackRegime) -> float:
    """(1-ROCA)% of river's naive Bayes on generated mails."""
    done = run_filter(RiverFilter, Stream("generated", generated_mails(300)), feedback=regime)
    return one_minus_roca_percent(done.spam, done.log_odds)
