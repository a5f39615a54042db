from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stream_bayes.errors import InputError, ParameterError
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.feedback import Feedback, FeedbackRegime, FeedbackRow, open_feedback
from stream_bayes.evaluation.filters import FilterScores, MailFilter
from stream_bayes.evaluation.protocol import PassProgress, PassResult, run
from stream_bayes.evaluation.stream import Stream
from stream_bayes.typing import FloatArray
from tests.support.mail_filters import RiverFilter
from tests.support.mail_filters import generated_mails as stream

REGIMES = ("immediate", "delayed:0", "delayed:1", "delayed:7", "delayed:500", "first:0", "first:30", "partial:0.4")


def naive(mails: Sequence[Mail], regime: str) -> tuple[FloatArray, set[int]]:
    """One message after the other as the regime has it, said in plain loops: scores, and which labels were learned."""
    one = RiverFilter()
    result = []
    learned = set()
    kind, _, amount = regime.partition(":")
    draws = np.random.default_rng(1).random(len(mails))
    late: deque[int] = deque()
    for place, mail in enumerate(mails):
        result.append(one.event(one.features([mail.raw])[0], None))
        late.append(place)
        if kind == "delayed" and len(late) <= int(amount):
            continue
        due = late.popleft()
        told = {"first": due < float(amount or 0), "partial": draws[due] < float(amount or 0)}.get(kind, True)
        label = mails[due].label
        if told and label is not None:
            one.event(one.features([mails[due].raw])[0], label)
            learned.add(due)
    return np.array(result), learned


def evaluated(mails: Sequence[Mail], regime: str = "immediate", chunk: int = 32) -> PassResult:
    return run(RiverFilter, Stream("generated", mails), feedback=regime, chunk=chunk)


@pytest.mark.slow
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("chunk", [1, 3, 50, 1000])
def test_chunks_change_nothing(regime: str, chunk: int) -> None:
    mails = stream(unlabelled=9)
    known = np.array([mail.label is not None for mail in mails])
    result, learned = naive(mails, regime)
    found = evaluated(mails, regime, chunk)
    assert np.array_equal(found.log_odds, result[known]), "bit for bit"
    assert found.learned.tolist() == [place in learned for place in np.flatnonzero(known)]
    assert np.array_equal(found.members["half"], 0.5 * result[known])
    assert found.spam.tolist() == [mail.label == "spam" for mail in mails if mail.label]
    assert found.ids == [mail.id for mail in mails if mail.label]
    assert (found.unlabelled, found.messages) == (14, 120)
    assert (found.feedback, found.corpus, found.filter_name) == (regime, "generated", "river")


def opened(regime: str) -> Feedback:
    found = open_feedback(regime)
    assert found is not None
    return found


def rows(regime: str, number: int) -> list[tuple[int, bool, bool]]:
    return [(row.place, row.label is not None, row.scored) for row in opened(regime).rows(stream(number))]


def test_rows_by_hand() -> None:
    result = (False, True)
    told = (True, True)
    late = (True, False)
    assert rows("immediate", 3) == [(0, *told), (1, *told), (2, *told)]
    assert rows("delayed:0", 2) == [(0, *told), (1, *told)]
    assert rows("first:1", 3) == [(0, *told), (1, *result), (2, *result)]
    assert rows("delayed:2", 4) == [(0, *result), (1, *result), (2, *result), (0, *late), (3, *result), (1, *late)]
    assert rows("partial:1", 2) == rows("immediate", 2)
    assert rows("partial:0", 2) == rows("first:0", 2)


def test_a_label_that_comes_late_comes_with_its_own_message() -> None:
    mails = stream(10, unlabelled=4)
    late = [row for row in opened("delayed:3").rows(mails) if not row.scored]
    expected = [FeedbackRow(place, mails[place].raw, mails[place].label, False) for place in (1, 2, 3, 5, 6)]
    assert late == expected, "those of 7 to 9 never come, 0, 4 and 8 have none"


@pytest.mark.slow
def test_partial_feedback_gives_its_fraction_of_labels() -> None:
    found = evaluated(stream(2000), "partial:0.3", chunk=256)
    assert found.learned.mean() == pytest.approx(0.3, abs=3 * math.sqrt(0.21 / 2000))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "later",
            "immediate:1",
            "Immediate",
            "delayed",
            "delayed:-1",
            "delayed:1.5",
            "delayed:99999999999999999999",
        ),
        *("first:x", "first:٣", "partial", "partial:1.1", "partial:-0.1", "partial:nan", "partial:x"),
    ],
)
def test_an_unknown_feedback_regime_is_refused(text: str) -> None:
    assert open_feedback(text) is None
    with pytest.raises(ParameterError, match="feedback must be immediate, delayed:N, first:N, partial:FRACTION"):
        FeedbackRegime(text).check()


def test_the_filter_is_called_once_a_chunk_and_closed_once() -> None:
    chosen = RiverFilter()
    assert isinstance(chosen, MailFilter)
    run(lambda: chosen, Stream("generated", stream(70)), chunk=32)
    assert (chosen.calls, chosen.closed) == ([32, 32, 6], 1)
    chosen = RiverFilter()
    run(lambda: chosen, Stream("generated", stream(70)), feedback="delayed:10", chunk=32)
    assert chosen.calls == [32 + 22, 64, 12]


def test_an_empty_stream() -> None:
    found = evaluated([])
    assert (len(found.log_odds), found.messages, found.members) == (0, 0, {})
    assert math.isnan(found.cpu_microseconds)
    assert math.isnan(found.messages_per_second)
    assert len(found.memory_mb) == 11


def test_nothing_but_unlabelled_messages() -> None:
    found = evaluated(stream(40, unlabelled=1))
    assert (len(found.log_odds), found.unlabelled, found.messages) == (0, 40, 40)
    assert found.messages_per_second > 0.0


def test_a_pass_can_be_ended_between_chunks() -> None:
    chosen = RiverFilter()
    seen = []

    def stop(progress: PassProgress) -> bool:
        spam, log_odds = progress.so_far
        seen.append((len(progress), len(spam), len(log_odds)))
        return len(progress) >= 60

    found = run(lambda: chosen, Stream("generated", stream(200, unlabelled=10)), chunk=30, stop=stop)
    assert seen == [(30, 27, 27), (60, 54, 54)]
    assert (found.messages, found.stopped, chosen.closed) == (60, True, 1)
    assert not evaluated(stream(60)).stopped


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_refused(wrong: float) -> None:
    class Broken(RiverFilter):
        def event(self, words: Counter[str], label: str | None) -> float:
            return wrong if "lunch" in words else 0.0

    chosen = Broken()
    with pytest.raises(InputError, match="river must give one finite score to each message"):
        run(lambda: chosen, Stream("generated", stream(20)))
    assert chosen.closed == 1


def test_too_few_scores_are_refused() -> None:
    class Lazy(RiverFilter):
        def test_then_train(self, features: Any, labels: Sequence[str | None]) -> FilterScores:
            return FilterScores(np.zeros(1), {})

    with pytest.raises(InputError, match="one finite score to each"):
        run(Lazy, Stream("generated", stream(20)))


def test_the_order_of_a_stream() -> None:
    mails = stream(50)
    order = np.random.default_rng(3).permutation(50)
    assert list(Stream("", mails, shuffle=3)) == [mails[place] for place in order]
    assert list(Stream("", mails, shuffle=3, limit=20)) == [mails[place] for place in order[:20]]
    assert list(Stream("", mails, limit=20)) == mails[:20]
    assert list(Stream("", mails, limit=100)) == mails


def test_a_stream_is_read_no_further_than_it_is_used() -> None:
    source = iter(stream(100))
    assert len(list(Stream("", source, limit=10))) == 10
    assert next(source).id == "mail/10"


def test_reading_ahead_never_goes_beyond_a_chunk() -> None:
    source = iter(stream(100))
    run(RiverFilter, Stream("", source), chunk=16, stop=lambda _: True)
    assert next(source).id == "mail/16"
