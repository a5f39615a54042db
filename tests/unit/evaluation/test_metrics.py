from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.metrics import log_loss as sklearn_log_loss

from stream_bayes.evaluation.metrics import (
    Metrics,
    Outcomes,
    all_metrics,
    bootstrap_counts,
    one_minus_roca_percent,
    summarise,
)
from stream_bayes.learners.fusion.reliability import ReliabilityRecord
from stream_bayes.typing import BoolArray, FloatArray


def messages(number: int, seed: int, spread: float = 2.0, decimals: int = 1) -> tuple[BoolArray, FloatArray]:
    """Random messages with many equal scores."""
    generator = np.random.default_rng(seed)
    spam = generator.random(number) < 0.4
    return spam, np.round(generator.normal(np.where(spam, 1.5, -2.0), spread), decimals)


def array(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float64)


def labels(text: str) -> BoolArray:
    """Spam where there is an s."""
    return np.array([letter == "s" for letter in text], dtype=np.bool_)


def test_the_area_by_hand() -> None:
    # Pairs (ham, spam): (-1, 2) right, (-1, -2) wrong, (3, 2) wrong, (3, -2) wrong, (-2, 2) right, (-2, -2) half.
    spam = labels("hshsh")
    log_odds = array(-1, 2, 3, -2, -2)
    assert one_minus_roca_percent(spam, log_odds) == pytest.approx(100 * 3.5 / 6, rel=1e-15)


def test_errors_by_hand() -> None:
    spam = labels("hhhhsssss")
    log_odds = array(-1, -3, 0.5, -2, 4, 2, -1, 0, 3)
    found = all_metrics(spam, log_odds)
    assert found.ham_error_percent == 25.0, "1 of 4"
    assert found.spam_error_percent == 40.0, "2 of 5: a probability of 0.5 is not called spam"
    # The logits are ln(1/3) and ln(2/3), so the odds of the average are sqrt(2/9).
    odds = math.sqrt(2 / 9)
    assert found.lam_percent == pytest.approx(100 * odds / (1 + odds), rel=1e-14)


def test_another_threshold() -> None:
    spam = labels("hhss")
    log_odds = array(1.0, 2.5, 2.0, 3.0)
    strict = all_metrics(spam, log_odds, threshold=0.9)  # log-odds above 2.197
    assert (strict.ham_error_percent, strict.spam_error_percent) == (50.0, 50.0)
    loose = all_metrics(spam, log_odds, threshold=0.05)
    assert (loose.ham_error_percent, loose.spam_error_percent) == (100.0, 0.0)
    assert strict._replace(ham_error_percent=0, spam_error_percent=0, lam_percent=0) == loose._replace(
        ham_error_percent=0, spam_error_percent=0, lam_percent=0
    ), "no other metric knows a threshold"


def test_lam_without_an_error_or_without_a_success() -> None:
    perfect = all_metrics(labels("hhhss"), array(-1, -1, -1, 1, 1))
    # (0 + 1/2) / (3 + 1) = 1/8 and (0 + 1/2) / (2 + 1) = 1/6: odds 1/7 and 1/5.
    odds = math.sqrt(1 / 35)
    assert perfect.lam_percent == pytest.approx(100 * odds / (1 + odds), rel=1e-14)
    wrong = all_metrics(labels("hhhss"), array(1, 1, 1, -1, -1))
    assert wrong.lam_percent == pytest.approx(100 - perfect.lam_percent, rel=1e-14)


def test_spam_lost_at_a_thousandth_of_the_ham() -> None:
    # 2,000 ham may cost 2: the third highest ham, of score 7, must be below the cut, and with it the spam at 7.
    ham = np.concatenate([array(9, 8, 7), np.full(1997, -5.0)])
    log_odds = np.concatenate([ham, array(10, 8, 7.5, 7, 6)])
    spam = np.concatenate([np.zeros(2000, dtype=np.bool_), np.ones(5, dtype=np.bool_)])
    assert all_metrics(spam, log_odds).spam_error_at_ham_0_1_percent == 40.0
    fewer = np.ones(len(ham) + 5, dtype=np.bool_)
    fewer[3:1003] = False  # 1,000 ham less: one may be lost, so the second, of score 8, may not
    assert all_metrics(spam[fewer], log_odds[fewer]).spam_error_at_ham_0_1_percent == 80.0
    assert all_metrics(labels("hss"), array(1, 0, 2)).spam_error_at_ham_0_1_percent == 50.0, "none may be lost"
    assert all_metrics(labels("hs"), array(3, 3)).spam_error_at_ham_0_1_percent == 100.0, "a tie cannot be cut"


def test_losses_by_hand() -> None:
    # Probabilities of spam 0.8 (spam came) and 0.6 (ham came).
    found = all_metrics(labels("sh"), array(math.log(4), math.log(1.5)))
    assert found.log_loss == pytest.approx(-(math.log(0.8) + math.log(0.4)) / 2, rel=1e-14)
    assert found.brier == pytest.approx((0.2**2 + 0.6**2) / 2, rel=1e-14)
    assert found.calibration_error == pytest.approx((0.2 + 0.6) / 2, rel=1e-14), "two bins of one message"


def test_calibration_within_one_bin() -> None:
    # 0.81 and 0.85 are in the bin from 12/15 to 13/15: together 1.66 predicted, 1 came. 0.3 has its own.
    log_odds = np.log(array(0.81 / 0.19, 0.85 / 0.15, 0.3 / 0.7))
    assert all_metrics(labels("shh"), log_odds).calibration_error == pytest.approx((0.66 + 0.3) / 3, rel=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_against_scikit_learn(seed: int) -> None:
    spam, log_odds = messages(500, seed)
    found = all_metrics(spam, log_odds)
    probability = 1 / (1 + np.exp(-log_odds))
    assert found.one_minus_roca_percent == pytest.approx(100 - 100 * roc_auc_score(spam, log_odds), rel=1e-11)
    assert found.log_loss == pytest.approx(sklearn_log_loss(spam, probability), rel=1e-12)
    assert found.brier == pytest.approx(brier_score_loss(spam, probability), rel=1e-12)
    called = probability > 0.5
    assert found.ham_error_percent == pytest.approx(100 * called[~spam].mean(), rel=1e-14)
    assert found.spam_error_percent == pytest.approx(100 * (~called[spam]).mean(), rel=1e-14)


@pytest.mark.parametrize("spread", [0.5, 3.0, 30.0])
def test_losses_are_those_of_a_fusions_own_record(spread: float) -> None:
    spam, log_odds = messages(700, 3, spread, decimals=6)
    record = ReliabilityRecord()
    record.fold(log_odds, spam.astype(np.int64), np.ones(len(spam)))
    table = record.reliability(15)
    found = all_metrics(spam, log_odds)
    assert found.calibration_error == pytest.approx(table.expected_calibration_error, rel=1e-11)
    assert found.log_loss == pytest.approx(table.log_loss, rel=1e-12)
    assert found.brier == pytest.approx(table.brier_score, rel=1e-12)


def test_certainty_is_finite() -> None:
    found = all_metrics(labels("sh"), array(-5000.0, 5000.0))
    assert found.log_loss == 5000.0
    assert found[-2:] == (1.0, 1.0)
    assert found.one_minus_roca_percent == 100.0


@pytest.mark.parametrize(
    ("came", "missing"),
    [
        ("hhh", {"one_minus_roca_percent", "spam_error_percent", "lam_percent", "spam_error_at_ham_0_1_percent"}),
        ("sss", {"one_minus_roca_percent", "ham_error_percent", "lam_percent", "spam_error_at_ham_0_1_percent"}),
        ("", set(Metrics._fields)),
    ],
)
def test_undefined_metrics_are_nan(came: str, missing: set[str]) -> None:
    summary = summarise(labels(came), np.arange(len(came), dtype=np.float64))
    for found in (summary.values, summary.low, summary.high):
        assert {name for name, value in found._asdict().items() if math.isnan(value)} == missing
    assert (summary.messages, summary.spam) == (len(came), came.count("s"))


@given(st.lists(st.tuples(st.booleans(), st.integers(-4, 4), st.integers(0, 3)), min_size=1, max_size=30))
def test_counting_a_message_several_times_is_having_it_several_times(rows: list[tuple[bool, int, int]]) -> None:
    spam = np.array([came for came, _, _ in rows], dtype=np.bool_)
    log_odds = array(*(score for _, score, _ in rows))
    counts = array(*(count for _, _, count in rows))
    times = counts.astype(np.int64)
    counted = Outcomes(spam, log_odds).metrics(counts)
    repeated = all_metrics(np.repeat(spam, times), np.repeat(log_odds, times))
    assert counted == pytest.approx(repeated, rel=1e-12, nan_ok=True)


def test_the_area_is_that_of_all_pairs() -> None:
    spam, log_odds = messages(60, 8, decimals=0)
    pairs = list(itertools.product(log_odds[~spam], log_odds[spam]))
    wrong = sum(1.0 if ham > odds else 0.5 if ham == odds else 0.0 for ham, odds in pairs)
    assert one_minus_roca_percent(spam, log_odds) == pytest.approx(100 * wrong / len(pairs), rel=1e-13)


def test_intervals_have_the_width_of_theory() -> None:
    spam = np.arange(8000) % 2 == 0
    log_odds = np.where(spam, 1.0, -1.0)
    log_odds[:1600:2] *= -1.0  # 800 of 4,000 spam are missed
    summary = summarise(spam, log_odds)
    width = 2 * 1.96 * math.sqrt(0.2 * 0.8 / 4000)
    assert summary.values.spam_error_percent == pytest.approx(20.0)
    assert summary.high.spam_error_percent - summary.low.spam_error_percent == pytest.approx(100 * width, rel=0.15)
    # The mean of 7,200 losses of ln(1 + e^-1) and 800 of ln(1 + e), which differ by 1.
    width = 2 * 1.96 * math.sqrt(0.1 * 0.9 / 8000)
    assert summary.high.log_loss - summary.low.log_loss == pytest.approx(width, rel=0.15)
    assert (summary.low.ham_error_percent, summary.high.ham_error_percent) == (0.0, 0.0)


def test_intervals_hold_their_values_and_are_the_same_each_time() -> None:
    spam, log_odds = messages(400, 11)
    summary = summarise(spam, log_odds, threshold=0.7)
    assert summary == summarise(spam, log_odds, threshold=0.7)
    assert summary.values == all_metrics(spam, log_odds, threshold=0.7)
    assert all(low < value < high for low, value, high in zip(summary.low, summary.values, summary.high, strict=True))


def test_the_interval_of_the_calibration_error_is_freed_of_the_noise_of_drawing() -> None:
    # Calibrated: what error there is comes from the few messages, and as much again from drawing them.
    generator = np.random.default_rng(5)
    log_odds = generator.normal(0.0, 2.0, 600)
    spam = generator.random(600) < 1 / (1 + np.exp(-log_odds))
    outcomes = Outcomes(spam, log_odds)
    summary = summarise(spam, log_odds)
    drawn = np.array([outcomes.metrics(counts).calibration_error for counts in bootstrap_counts(600, 400)])
    value = summary.values.calibration_error
    assert drawn.mean() > 1.2 * value
    assert summary.high.calibration_error == pytest.approx(np.percentile(drawn, 97.5) - drawn.mean() + value)
    assert 0.0 <= summary.low.calibration_error < value < summary.high.calibration_error


def test_a_draw_has_as_many_messages_as_the_stream() -> None:
    drawn = list(bootstrap_counts(50, 20))
    assert [counts.sum() for counts in drawn] == [50.0] * 20
    assert np.var([counts[0] for counts in bootstrap_counts(50, 2000)]) == pytest.approx(0.98, rel=0.1)
