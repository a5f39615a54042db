"""Every learner as a filter under evaluation: it is given the hashed words of each mail."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import stream_bayes
from stream_bayes import BernoulliNB, LogOddsFusion
from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.factory import open_filter
from stream_bayes.evaluation.feedback import FeedbackRegime
from stream_bayes.evaluation.filters import MailFilter, slice_features
from stream_bayes.evaluation.learner_filter import BUCKETS, FEW_BUCKETS, LearnerFilter, make_learner
from stream_bayes.evaluation.protocol import run
from stream_bayes.evaluation.stream import Stream
from tests.support.commands import Run
from tests.support.corpora import put
from tests.support.learners import LEARNERS
from tests.support.mails import make_mails

NAMES = sorted({type(learner).__name__ for learner in LEARNERS.values()} - {"LogOddsFusion", "SpamFilter"})
# One knows no words, one leaves words that are missing out of account, and one predicts a count.
WEAK = {"BetaBernoulli", "CategoricalNB", "PoissonRegression"}
# With columns in the hundreds its matrices take seconds.
BY_NAME = [pytest.param(name, marks=[pytest.mark.slow] * (name == "GaussianDiscriminant")) for name in NAMES]


def mails(count: int = 60) -> Sequence[Mail]:
    return [Mail(str(place), "spam" if place % 2 else "ham", raw) for place, raw in enumerate(make_mails(count, 1))]


def test_all_learners_are_here() -> None:
    assert {name for name in stream_bayes.__all__ if hasattr(getattr(stream_bayes, name), "test_then_train")} >= {
        *NAMES
    }
    assert len(NAMES) >= 13


@pytest.mark.parametrize("name", BY_NAME)
def test_a_learner_runs_on_mail(name: str) -> None:
    """It gives finite scores, of any mail and before any label; most of them learn to tell spam from ham."""
    mail_filter = open_filter(f"stream_bayes:{name}")
    assert isinstance(mail_filter, MailFilter)
    blank = mail_filter.features([b"", b"\xff\n\n"])
    assert np.isfinite(mail_filter.test_then_train(blank, [None, None]).log_odds).all()
    result = run(partial(open_filter, f"stream_bayes:{name}"), Stream("generated", mails()))
    wrong = np.mean((result.log_odds[20:] > 0.0) != result.spam[20:])
    assert name in WEAK or wrong < 0.4


@pytest.mark.parametrize("name", BY_NAME)
def test_parts_are_scored_as_the_whole(name: str) -> None:
    stream = mails(24)
    raws = [mail.raw for mail in stream]
    labels = [mail.label for mail in stream]
    whole = open_filter(f"stream_bayes:{name}")
    expected = whole.test_then_train(whole.features(raws), labels).log_odds
    parts = open_filter(f"stream_bayes:{name}")
    features = parts.features(raws)
    found = [
        parts.test_then_train(slice_features(parts, features, begin, end), labels[begin:end]).log_odds
        for begin, end in ((0, 5), (5, 6), (6, 24))
    ]
    assert np.concatenate(found).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["BernoulliNB", "GaussianDiscriminant", "BayesianLinearRegression"])
def test_labels_can_be_requested(name: str) -> None:
    regime = FeedbackRegime("active:10")
    result = run(partial(open_filter, f"stream_bayes:{name}"), Stream("generated", mails()), feedback=regime)
    assert result.requests is not None
    assert 0 < result.requests.counts["answered"] <= 10


def test_buckets() -> None:
    """Names are hashed into 2^20 columns; into 2^7 where there is a number for each pair of them."""
    assert make_learner(stream_bayes.MultinomialNB)._get_params()["buckets"] == BUCKETS
    for kind in (stream_bayes.GramRegression, stream_bayes.BayesianLogisticRegression):
        assert make_learner(kind)._get_params()["buckets"] == FEW_BUCKETS
    adapter = LearnerFilter("mine", stream_bayes.GaussianDiscriminant())
    assert max(max(row) for row in adapter.features([mail.raw for mail in mails(4)])) < FEW_BUCKETS


def test_a_learner_that_keeps_names_gets_words_as_in_a_worker() -> None:
    adapter = LearnerFilter("mine", BernoulliNB())
    assert adapter.features([b"Subject: Cheap\n\ncheap pills, 2 for 1"]) == [
        {"cheap": 2, "pills": 1, "2": 1, "for": 1, "1": 1}
    ]


def test_log_odds_are_those_of_the_probabilities() -> None:
    model = BernoulliNB()
    adapter = LearnerFilter("mine", model)
    words = adapter.features([b"\n\ncheap pills", b"\n\nlunch today"])
    assert adapter.test_then_train(words, ["spam", "ham"]).log_odds.tolist() == [0.0, 0.0]
    spam, ham = adapter.test_then_train(words, [None, None]).log_odds.tolist()
    p = model.predict_proba_one({"cheap": 1, "pills": 1})
    assert spam == pytest.approx(np.log(p["spam"] / p["ham"]))
    assert ham < 0.0 < spam


def test_a_fusion_needs_members() -> None:
    with pytest.raises(ParameterError, match="makes no filter"):
        open_filter("stream_bayes:LogOddsFusion")
    fusion = LearnerFilter("mine", LogOddsFusion((BernoulliNB(buckets=64), stream_bayes.MultinomialNB(buckets=64))))
    words = fusion.features([mail.raw for mail in mails(10)])
    assert np.isfinite(fusion.test_then_train(words, [mail.label for mail in mails(10)]).log_odds).all()


def test_the_command_line_takes_a_learner(run: Run, tmp_path: Path) -> None:
    corpus = put(tmp_path / "c.csv", "label,text\nham,lunch today\nspam,cheap pills\nham,lunch\nspam,pills\n")
    code, output, errors = run("evaluate", corpus, "--filter", "stream_bayes:BernoulliNB")
    assert (code, errors) == (0, "")
    assert "filter stream_bayes:BernoulliNB" in output
