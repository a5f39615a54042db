"""Passes that ask for labels, for the tests of them."""

from __future__ import annotations

from stream_bayes.evaluation.feedback import FeedbackRegime
from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.evaluation.protocol import run as run_filter
from stream_bayes.evaluation.stream import Stream
from tests.support.mail_filters import RiverFilter, generated_mails


def area(regime: FeedbackRegime) -> float:
    """(1-ROCA)% of river's naive Bayes on generated mails."""
    done = run_filter(RiverFilter, Stream("generated", generated_mails(300)), feedback=regime)
    return one_minus_roca_percent(done.spam, done.log_odds)
