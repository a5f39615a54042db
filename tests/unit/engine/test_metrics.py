"""Running metrics against those of the whole, on the same pairs of prediction and label."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from stream_bayes.engine.metrics import RunningMetrics
from stream_bayes.evaluation.metrics import all_metrics, one_minus_roca_percent
from tests.support.engines import KINDS, Kind, Stream, predictions, run, settings_for

COUNT = 3000
CELLS_A_UNIT = 64


def pairs(seed: int = 4) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Log-odds, and labels that follow them a little."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0.0, 3.0, COUNT)
    return log_odds, rng.random(COUNT) < expit(0.7 * log_odds - 0.2)


def counted(log_odds: Any, labels: Any, remembered: int = COUNT) -> RunningMetrics:
    """Every prediction remembered first, then every label counted, in another order."""
    metrics = RunningMetrics(remembered)
    for offset, said in enumerate(log_odds.tolist()):
        metrics.remember(offset, said, int(said > 0.0))
    for offset in random.Random(1).sample(range(len(labels)), len(labels)):
        metrics.count_label(offset, int(labels[offset]))
    return metrics


def test_the_figures_are_those_of_scikit_learn() -> None:
    log_odds, labels = pairs()
    figures = counted(log_odds, labels).label_figures()
    assert figures["labelled"] == COUNT
    assert figures["accuracy"] == pytest.approx(accuracy_score(labels, log_odds > 0.0))
    assert figures["log_loss"] == pytest.approx(log_loss(labels, expit(log_odds)), rel=1e-9)
    assert figures["log_loss"] == pytest.approx(all_metrics(labels, log_odds).log_loss, rel=1e-9)
    exact = 100.0 * (1.0 - roc_auc_score(labels, log_odds))
    assert abs(figures["one_minus_roca_percent"] - exact) <= ties_percent(log_odds, labels)


def ties_percent(log_odds: Any, labels: Any) -> float:
    """Half of the pairs of both labels that fall into one cell: what counting in cells can cost."""
    cells = np.floor(log_odds * CELLS_A_UNIT)
    same = (cells[labels][:, None] == cells[~labels][None, :]).mean()
    assert 0.0 < same < 0.01
    return float(50.0 * same)


def test_the_curve_counts_cells_as_ties() -> None:
    log_odds, labels = pairs()
    got = counted(log_odds, labels).label_figures()["one_minus_roca_percent"]
    assert got == pytest.approx(one_minus_roca_percent(labels, np.floor(log_odds * CELLS_A_UNIT)), rel=1e-12)


def test_the_calibration_is_that_of_scikit_learn() -> None:
    log_odds, labels = pairs()
    metrics = counted(log_odds, labels)
    shares, means = calibration_curve(labels, expit(log_odds), n_bins=10)
    bins = metrics.calibration()
    assert [mean for mean, _, _ in bins] == pytest.approx(means.tolist(), rel=1e-9)
    assert [share for _, share, _ in bins] == pytest.approx(shares.tolist(), rel=1e-9)
    assert sum(count for _, _, count in bins) == COUNT
    apart = sum(count * abs(mean - share) for mean, share, count in bins) / COUNT
    assert metrics.label_figures()["calibration_error"] == pytest.approx(apart)


def test_no_progress_is_logged_before_the_first_event() -> None:
    metrics = RunningMetrics(10)
    assert [*metrics.label_figures().values()] == [0.0, None, None, None, None]
    assert [*metrics.target_figures().values()] == [0.0, None, None]
    assert metrics.calibration() == []
    metrics.remember(0, 1.0, 1)
    metrics.count_label(0, 1)
    assert metrics.label_figures()["one_minus_roca_percent"] is None


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(allow_nan=False), st.booleans()), min_size=1, max_size=20))
def test_any_log_odds_can_be_counted(said: list[tuple[float, bool]]) -> None:
    log_odds = np.array([one for one, _ in said])
    labels = np.array([label for _, label in said])
    metrics = counted(log_odds, labels, remembered=20)
    figures = metrics.label_figures()
    clipped = np.clip(log_odds, -31.99, 31.99)
    assert figures["log_loss"] == pytest.approx(all_metrics(labels, clipped).log_loss, rel=1e-9)
    percent = figures["one_minus_roca_percent"]
    assert percent is None or 0.0 <= percent <= 100.0
    assert (percent is None) == (len(set(labels.tolist())) < 2)


def test_only_observations_in_the_history_are_counted() -> None:
    log_odds, labels = pairs()
    metrics = counted(log_odds, labels, remembered=100)
    figures = metrics.label_figures()
    assert figures["labelled"] == 100
    assert figures["log_loss"] == pytest.approx(all_metrics(labels[-100:], log_odds[-100:]).log_loss, rel=1e-9)


def test_more_than_two_labels_have_an_accuracy_only() -> None:
    metrics = RunningMetrics(10)
    for offset, (guess, label) in enumerate([(0, 0), (1, 2), (2, 2), (-1, 0), (-1, -1), (1, -1)]):
        metrics.remember(offset, math.nan, guess)
        metrics.count_label(offset, label)
    figures = metrics.label_figures()
    assert (figures["labelled"], figures["accuracy"], figures["log_loss"]) == (6.0, 2.0 / 6.0, None)


@pytest.mark.parametrize("remembered", [50, 5000])
def test_metrics_continue_from_their_arrays(remembered: int) -> None:
    log_odds, labels = pairs()
    whole = counted(log_odds, labels, remembered)
    other = RunningMetrics(remembered)
    other.restore(whole.arrays())
    for metrics in (whole, other):
        metrics.remember(COUNT, 0.3, 1)
        metrics.count_label(COUNT, 0)
        metrics.count_label(COUNT - 1, 1)
    assert other.label_figures() == whole.label_figures()
    assert all((array == other.arrays()[name]).all() for name, array in whole.arrays().items())


LOGISTIC = Kind("LogisticRegression", {"rate": 0.5, "classes": ["ham", "spam"]}, (), ())


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_a_late_label_is_scored_with_the_first_prediction(cut: int) -> None:
    rng = random.Random(2)
    stream = Stream()
    labels = []
    for number in range(300):
        labels.append(rng.random() < 0.4)
        stream.observe({"features": {"x": rng.gauss(2.0 * labels[-1], 1.0)}}, None, f"p{number}")
        if number >= 40:
            stream.answer("spam" if labels[number - 40] else "ham", f"p{number - 40}")
    engine, outcome = run(settings_for(LOGISTIC, label_history=1000, dedup_window=1000), stream, (cut,))
    known = np.array(labels[:260])
    probability = np.array([one.probabilities["spam"] for one in predictions(outcome)[:260] if one.probabilities])
    figures = engine.metrics.label_figures()
    assert figures["labelled"] == 260
    assert figures["log_loss"] == pytest.approx(log_loss(known, probability), rel=1e-9)
    # Ties go to the first label, as in the predictions.
    assert figures["accuracy"] == pytest.approx(accuracy_score(known, probability > 0.5))
    # Nothing was known of the first 41.
    assert [one.model_version for one in predictions(outcome)[:42]] == [0] * 41 + [1]


def test_other_labels_are_not_taken_for_the_first_two() -> None:
    stream = Stream()
    x = {"features": {"z": 1}}
    for number, label in enumerate(("a", "b", "c")):
        stream.observe(x, label, f"p{number}")
    # No b is left: a and c are all that is known.
    stream.answer("c", "p1")
    engine, _ = run(settings_for(KINDS["MultinomialNB"]), stream)
    scored = engine.metrics.arrays()["metric_cells"].sum()
    more = Stream()
    more.ends["emails"] = 3
    more.observe(x, "a", "q")
    outcome = engine.process(more.arrivals)
    assert predictions(outcome)[0].probabilities == pytest.approx({"a": 3 / 7, "c": 4 / 7})
    assert engine.metrics.arrays()["metric_cells"].sum() == scored
    assert engine.metrics.label_figures()["labelled"] == 4.0


def test_large_targets_keep_their_errors() -> None:
    metrics = RunningMetrics(10)
    for offset, (said, target) in enumerate([(1e45, 1e45), (2.0**40, 2.0**40 + 0.5)]):
        metrics.remember(offset, said, -1)
        metrics.count_target(offset, target)
    assert metrics.target_figures()["mean_absolute_error"] == 0.25
