"""The curves and bins that a report shows."""

from __future__ import annotations

import numpy as np
import pytest

from stream_bayes.evaluation.metrics import all_metrics
from stream_bayes.evaluation.report.curves import error_curve, learning_curve, reliability_bins, roc_curve
from tests.support.pass_results import made_run, noisy


def test_learning_curve_is_the_metric_of_each_beginning() -> None:
    run = noisy(1000, 4)
    curve = learning_curve(run)
    assert curve.x[-1] == 1000
    assert curve.y[-1] == all_metrics(run.spam, run.log_odds).one_minus_roca_percent
    middle = int(curve.x[60])
    assert curve.y[60] == all_metrics(run.spam[:middle], run.log_odds[:middle]).one_minus_roca_percent
    assert 100 < len(curve.x) <= 120


def test_error_curve_counts_a_window() -> None:
    # Of 40 messages the window is 20; the last 10 are wrong.
    run = made_run([True] * 40, [1.0] * 30 + [-1.0] * 10)
    curve = error_curve(run, 0.5)
    assert curve.x.tolist() == list(range(20, 41))
    assert curve.y.tolist() == [0.0] * 11 + [5.0 * wrong for wrong in range(1, 11)]
    assert error_curve(run, 0.8).y.tolist() == [100.0] * 21


def test_roc_curve_by_hand() -> None:
    # Scores from the top: spam 3; ham and spam tied at 2; ham 1.
    curve = roc_curve(made_run([True, False, True, False], [3.0, 2.0, 2.0, 1.0]))
    assert curve.x.tolist() == [0.0, 0.0, 50.0, 100.0]
    assert curve.y.tolist() == [100.0, 50.0, 0.0, 0.0]
    run = noisy(500, 5)
    curve = roc_curve(run)
    area = float(np.sum(np.diff(curve.x) * (curve.y[1:] + curve.y[:-1]) / 2.0)) / 100.0
    assert area == pytest.approx(all_metrics(run.spam, run.log_odds).one_minus_roca_percent, rel=1e-9)


def test_reliability_bins_by_hand() -> None:
    # p = 1/4 is in bin 3 (0.2 to 0.267); p = 3/4 in bin 11; 1 in the last one, which holds it.
    run = made_run([False, True, True, False, True], [-np.log(3.0)] * 2 + [np.log(3.0)] * 2 + [800.0])
    bins = reliability_bins(run)
    assert bins.counts.tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 1]
    assert bins.predicted[[3, 11, 14]].tolist() == pytest.approx([0.25, 0.75, 1.0])
    assert bins.observed[[3, 11, 14]].tolist() == [0.5, 0.5, 1.0]
    # Wilson: (1/2 + z^2/4 +- z sqrt(1/8 + z^2/16)) / (1 + z^2/2) = 0.0945 and 0.9055 for one of two.
    assert bins.low[3] == pytest.approx(0.0945, abs=1e-4)
    assert bins.high[3] == pytest.approx(0.9055, abs=1e-4)
    assert bins.high[14] == 1.0
    drawn = noisy(3000, 6)
    table = reliability_bins(drawn)
    error = np.nansum(table.counts * np.abs(table.predicted - table.observed)) / 3000
    assert error == pytest.approx(all_metrics(drawn.spam, drawn.log_odds).calibration_error, rel=1e-9)
