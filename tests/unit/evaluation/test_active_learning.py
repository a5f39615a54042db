"""A pass in which labels are asked for is the plain loop over its messages, whatever is predicted ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from stream_bayes.active import Candidate, Expected, LabelBudget, LabelSelector
from stream_bayes.active.strategies import scores
from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.evaluation import active_learning, filters
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.factory import open_filter
from stream_bayes.evaluation.feedback import DEFAULT_STRATEGY, PACED, STRATEGIES, FeedbackRegime
from stream_bayes.evaluation.filters import MailFilter
from stream_bayes.evaluation.protocol import PassResult, run
from stream_bayes.evaluation.stream import Stream
from tests.support.mail_filters import SMALL, RiverFilter, generated_mails
from tests.support.tiers import short_each, short_first

MINUTE = 60_000
BEGIN = 993_427_200_000  # 25 June 2001


def dated(mails: Sequence[Mail]) -> list[Mail]:
    """One mail a minute by what the receiving server says."""
    received = "Received: from a by b;\n\tMon, 25 Jun 2001 {:02}:{:02}:00 +0000\n"
    heads = [received.format(place // 60, place % 60).encode() for place in range(len(mails))]
    return [mail._replace(raw=head + b"\n" + mail.raw) for mail, head in zip(mails, heads, strict=True)]


class Plain:
    """Our filter, one message after the other: predict, decide, and learn what has come."""

    def __init__(self, mails: Sequence[Mail], regime: FeedbackRegime) -> None:
        self.mails = mails
        self.regime = regime
        self.model = open_filter(SMALL)
        self.selector = LabelSelector(regime.strategy_name, LabelBudget(total=regime.budget), seed=regime.seed)
        self.said = list[float]()
        self.learned = set[int]()
        self.waiting = deque[tuple[int, int]]()

    def run(self, late: int, minutes: bool) -> None:
        for place in range(len(self.mails)):
            self.learn(place)
            if self.asks(place, BEGIN + place * MINUTE if minutes else 0) and self.mails[place].label is not None:
                self.waiting.append((place + late + (not minutes), place))
            if not minutes:
                self.learn(place + 1)

    def learn(self, now: int) -> None:
        while self.waiting and self.waiting[0][0] <= now:
            place = self.waiting.popleft()[1]
            mail = self.mails[place]
            self.selector.answered(place, mail.label)
            filters.test_then_remember(self.model, self.model.features([mail.raw]), [mail.label], [True])
            self.learned.add(place)

    def asks(self, place: int, clock: int) -> bool:
        raw = self.mails[place].raw
        found = self.model.test_then_train(self.model.features([raw]), [None])
        self.said.append(float(found.log_odds[0]))
        assert found.predictions is not None
        worth = float(scores(self.regime.strategy_name, found.predictions.uncertainties())[0])
        candidate = Candidate(place, worth, expected(self.said[-1]), raw)
        self.selector.expire(clock)
        question = self.selector.request_reason(candidate, clock)
        self.selector.note(candidate, clock, question)
        return question is not None


def expected(odds: float) -> Expected:
    return Expected("spam" if odds > 0 else "ham", float(expit(abs(odds))))


def asked(mails: Sequence[Mail], regime: FeedbackRegime, chunk: int = 64, filter_name: str = SMALL) -> PassResult:
    return run(partial(open_filter, filter_name), Stream("generated", mails), feedback=regime, chunk=chunk)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", short_each([1, 2, 7, 64, 1000], 2))
@pytest.mark.parametrize(("delay", "late"), [(None, 0), ("0", 0), ("1", 1), ("9", 9), ("500", 500), ("5m", 5)])
def test_predicting_ahead_changes_nothing(chunk: int, delay: str | None, late: int) -> None:
    mails = dated(generated_mails(150, unlabelled=11))
    regime = FeedbackRegime("active:80", delay=delay)
    plain = Plain(mails, regime)
    plain.run(late, minutes=delay == "5m")
    found = asked(mails, regime, chunk)
    known = np.array([mail.label is not None for mail in mails])
    assert np.array_equal(found.log_odds, np.array(plain.said)[known]), "bit for bit"
    assert found.learned.tolist() == [place in plain.learned for place in np.flatnonzero(known)]
    assert found.requests is not None
    assert found.waiting == len(plain.waiting)
    assert found.requests.counts == dict(+plain.selector.counts)
    assert found.requests.audit == plain.selector.audit.estimate()
    assert delay == "500" or 5 < len(plain.learned) <= 80


@pytest.mark.parametrize("ahead", short_first([3, 1, 64]))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_strategy_exceeds_its_budget(strategy: str, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_learning, "MAX_AHEAD", ahead)
    mails = generated_mails(200)
    found = asked(mails, FeedbackRegime("active:30", strategy))
    assert 3 <= found.learned.sum() <= 30
    assert np.array_equal(found.log_odds, asked(mails, FeedbackRegime("active:30", strategy), 17).log_odds)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_river_filter_works_with_every_strategy(name: str) -> None:
    mails = generated_mails(200)
    found = run(RiverFilter, Stream("generated", mails), feedback=FeedbackRegime("active:30", name))
    assert 3 <= found.learned.sum() <= 30
    stated = {"variance", "margin", "entropy", PACED, "random", "first"}
    assert (found.requests is not None and found.requests.probabilities_only) == (name not in stated)


def test_a_filter_with_only_probabilities_is_scored_by_their_variance() -> None:
    mails = generated_mails(150)
    model = RiverFilter()
    selector = LabelSelector("variance", LabelBudget(total=25))
    for place, mail in enumerate(mails):
        words = model.features([mail.raw])[0]
        odds = model.event(words, None)
        candidate = Candidate(place, float(expit(odds) * expit(-odds)), expected(odds), mail.raw)
        question = selector.request_reason(candidate)
        selector.note(candidate, 0, question)
        if question is not None:
            model.event(words, mail.label)
            selector.answered(place, mail.label)
    found = run(RiverFilter, Stream("generated", mails), feedback=FeedbackRegime("active:25", "variance"))
    assert found.requests is not None
    assert found.requests.counts == dict(+selector.counts)


def test_the_first_messages_are_a_strategy() -> None:
    mails = generated_mails(120)
    chosen = asked(mails, FeedbackRegime("active:30", "first"))
    usual = asked(mails, FeedbackRegime("first:30"))
    assert np.array_equal(chosen.log_odds, usual.log_odds)
    late = asked(mails, FeedbackRegime("active:30", "first", "20"))
    assert late.learned.sum() == 30
    assert not np.array_equal(late.log_odds, usual.log_odds)


@pytest.mark.long
def test_random_choice_spends_exactly_its_budget_on_the_whole_stream() -> None:
    mails = generated_mails(400)
    counts = np.zeros(400)
    for seed in range(30):
        learned = run(
            RiverFilter, Stream("", mails), feedback=FeedbackRegime("active:100", "random", None, seed)
        ).learned
        assert learned.sum() == 100
        counts += learned
    assert counts[:200].sum() == pytest.approx(1500, abs=4 * np.sqrt(30 * 25))
    assert run(RiverFilter, Stream("", mails), feedback=FeedbackRegime("active:1000", "random")).learned.all()


def test_seeds_differ_and_repeat() -> None:
    mails = generated_mails(300)
    first, second, third = (asked(mails, FeedbackRegime("active:60", PACED, None, seed)) for seed in (1, 2, 1))
    assert np.array_equal(first.learned, third.learned)
    assert not np.array_equal(first.learned, second.learned)


@pytest.mark.parametrize("label", ["ham", "spam"])
def test_labels_are_requested_in_a_stream_of_one_class(label: str) -> None:
    mails = [mail._replace(label=label) for mail in generated_mails(80)]
    assert 1 <= asked(mails, FeedbackRegime("active:20")).learned.sum() <= 20


def test_streams_shorter_than_the_budget_and_without_messages() -> None:
    assert 1 <= asked(generated_mails(15), FeedbackRegime("active:5000")).learned.sum() <= 15
    empty = asked([], FeedbackRegime("active:5"))
    assert (empty.messages, len(empty.log_odds)) == (0, 0)
    assert empty.requests is not None
    assert empty.requests.audit is None


def test_a_request_for_a_mail_without_a_label_is_never_answered() -> None:
    found = asked(generated_mails(60, unlabelled=1), FeedbackRegime("active:10"))
    assert found.requests is not None
    assert found.requests.counts["requested"] > 0
    assert "answered" not in found.requests.counts


@pytest.mark.parametrize("strategy", [DEFAULT_STRATEGY, "first", "random"])
@pytest.mark.parametrize(("count", "which"), [(150, "none of the first 100 mails"), (99, "no mail of the stream")])
def test_a_span_of_time_needs_dates(strategy: str, count: int, which: str) -> None:
    with pytest.raises(CorpusError, match=f"{which} has a date: give the delay as a number"):
        asked(generated_mails(count), FeedbackRegime("active:10", strategy, "1d"))
    assert asked([], FeedbackRegime("active:10", strategy, "1d")).messages == 0


@pytest.mark.parametrize("strategy", [DEFAULT_STRATEGY, "first"])
@pytest.mark.parametrize("wrong", [0, 20, 120])
def test_one_date_in_the_future_holds_back_no_labels(strategy: str, wrong: int) -> None:
    mails = dated(generated_mails(200))
    odd = mails[wrong]._replace(raw=mails[wrong].raw.replace(b"Mon, 25 Jun 2001", b"Mon, 25 Jun 2035"))
    # The wrong date delays one label, and the requests after it differ: the counts of single passes move by a few.
    regimes = [FeedbackRegime("active:60", strategy, "15m", seed) for seed in (1, 2, 3, 4)]
    right = [asked(mails, regime) for regime in regimes]
    found = [asked([*mails[:wrong], odd, *mails[wrong + 1 :]], regime) for regime in regimes]
    assert np.mean([one.learned.sum() for one in found]) >= np.mean([one.learned.sum() for one in right]) - 2.0
    assert np.mean([one.waiting for one in found]) <= np.mean([one.waiting for one in right]) + 3.0


def test_labels_that_never_come_are_counted() -> None:
    found = asked(generated_mails(100), FeedbackRegime("active:30", "first", "90"))
    assert (found.learned.sum(), found.waiting) == (10, 20)
    assert asked(generated_mails(100), FeedbackRegime("delayed:30")).waiting == 30
    assert asked(generated_mails(100), FeedbackRegime("immediate")).waiting == 0


@pytest.mark.parametrize(
    ("regime", "problem"),
    [
        (FeedbackRegime("active:0"), "needs a number of labels, at least 1; got 'active:0'"),
        (FeedbackRegime("active:-1"), "needs a number of labels"),
        (FeedbackRegime("active:x"), "needs a number of labels"),
        (FeedbackRegime("active"), "needs a number of labels"),
        (FeedbackRegime("active:5", "epistemc"), "no strategy 'epistemc'; did you mean 'epistemic'"),
        (FeedbackRegime("active:5", "random-pace"), "did you mean 'random-paced'"),
        (FeedbackRegime("active:5", delay="soon"), "delay must be a number of messages, or a duration such as 30s"),
        (FeedbackRegime("active:5", delay="-1"), "delay must be a number of messages"),
        (FeedbackRegime("active:5", delay="0h"), "delay must be a number of messages"),
        (
            FeedbackRegime("active:5", seed=2**53),
            "seed must be a whole number from 0 to 9007199254740991; got 9007199254740992",
        ),
        (FeedbackRegime("partial:0.5", seed=-1), "seed must be a whole number from 0"),
        (FeedbackRegime("immediate", "margin"), "a strategy and a delay go with feedback active:BUDGET"),
        (FeedbackRegime("first:5", delay="3"), "a strategy and a delay go with feedback active:BUDGET"),
    ],
)
def test_invalid_active_feedback_is_refused(regime: FeedbackRegime, problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        run(RiverFilter, Stream("", []), feedback=regime)


def test_our_filter_gives_its_features_in_parts() -> None:
    mails = [mail.raw for mail in generated_mails(12)]
    first = open_filter(SMALL)
    second = open_filter(SMALL)
    assert isinstance(first, MailFilter)
    whole = first.test_then_train(first.features(mails), ["spam", "ham"] * 6)
    features = second.features(mails)
    parts = [
        second.test_then_train(second.part(features, begin, end), (["spam", "ham"] * 6)[begin:end])  # type: ignore[attr-defined]
        for begin, end in ((0, 1), (1, 1), (1, 8), (8, 12))
    ]
    assert np.array_equal(np.concatenate([part.log_odds for part in parts]), whole.log_odds)
    assert DEFAULT_STRATEGY in STRATEGIES
