"""What the page knows, from what stands in the log: answers, curves, charts, counters."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.active import LabelBudget
from stream_bayes.events import Label, LabelOutcome, Prediction
from stream_bayes.records import Source
from stream_bayes.runtime.partition_processor import next_curve_count
from stream_bayes.web.api.metrics import exposition
from stream_bayes.web.readmodel.charts import BINS, charts_of
from stream_bayes.web.readmodel.state_store import PredictionErrors, StateStore
from stream_bayes.web.readmodel.statistics import MAX_POINTS, StatusHistory
from tests.support.web_events import NOW, request, status


def outcome(offset: int, what: Any, seconds: float = 0.0, **fields: Any) -> LabelOutcome:
    source = Source("emails", 0, offset)
    at = NOW + timedelta(seconds=seconds)
    return LabelOutcome(id=f"mail-{offset}", outcome=what, open=False, source=source, at=at, **fields)


def test_partitions_are_added_up() -> None:
    history = StatusHistory()
    history.add(status(0, 0, events_in=10, predictions=8, labelled=4, accuracy=0.5, log_loss=1.0, lag=3))
    history.add(status(0, 1, events_in=5, predictions=5, labelled=12, accuracy=1.0, log_loss=0.2, labels_remaining=7))
    (point,) = history.points
    assert (point.events, point.predictions, point.lag, point.left) == (15, 13, 3, 7)
    assert point.accuracy_since(None) == pytest.approx((2 + 12) / 16)
    assert point.log_loss_since(None) == pytest.approx((4 * 1.0 + 12 * 0.2) / 16)


def test_figures_since_an_earlier_point_are_of_those_labelled_since() -> None:
    history = StatusHistory()
    history.add(status(0, events_in=100, labelled=10, accuracy=0.5, log_loss=0.9))
    history.add(status(10, events_in=300, labelled=30, accuracy=0.9, log_loss=0.4))
    first, last = history.points
    # Of 30 labels 27 were right, 5 of them of the first 10.
    assert last.accuracy_since(first) == pytest.approx((27 - 5) / 20)
    assert last.log_loss_since(first) == pytest.approx((12.0 - 9.0) / 20)
    assert last.rate == pytest.approx(20.0)
    assert first.accuracy_since(first) is None


def test_rates_are_those_of_each_partition_between_its_own_reports() -> None:
    """Two workers, 0.3 s apart, each with 1,000 events a second."""
    history = StatusHistory()
    for tick in range(5):
        for partition, late in enumerate((0.0, 0.3)):
            history.add(status(5 * tick + late, partition, events_in=5000 * tick))
    assert [point.rate for point in history.points[4:]] == pytest.approx([2000.0] * 6)


def test_many_reporters_that_never_pause_still_make_points() -> None:
    history = StatusHistory()
    for tick in range(1000):
        history.add(status(0.1 * tick, tick % 32, events_in=tick))
    assert 300 <= len(history.points) <= 600


def test_areas_are_the_mean_of_the_partitions_by_their_labels() -> None:
    history = StatusHistory()
    history.add(status(0, 0, labelled=1, one_minus_roca_percent=4.0))
    history.add(status(0, 1, labelled=3, one_minus_roca_percent=8.0))
    history.add(status(0, 2, labelled=9))
    assert history.points[-1].roca == pytest.approx(7.0)


def test_a_late_status_event_is_ignored() -> None:
    history = StatusHistory()
    history.add(status(5, events_in=50))
    history.add(status(1, events_in=10))
    assert [point.events for point in history.points] == [50]


def test_points_are_thinned_and_keep_both_ends() -> None:
    history = StatusHistory()
    for second in range(5000):
        history.add(status(second, events_in=second))
    assert len(history.points) < 2 * MAX_POINTS
    assert (history.points[0].events, history.points[-1].events) == (0, 4999)
    spread = history.spread(100)
    assert len(spread) <= 100
    assert spread[-1].events == 4999
    assert [point.at for point in spread] == sorted(point.at for point in spread)


def test_item10_points_of_the_learning_curve_outlast_many_later_reports() -> None:
    """A backfill reports at growing counts within a second; then nothing changes for a day."""
    store = StateStore(10.0, None)
    count = 0
    second = 0.0
    while count < 5000:
        count = next_curve_count(count)
        second += 0.01
        store.add_status(status(second, events_in=count, predictions=count))
    for minute in range(1, 3000):
        store.add_status(status(60.0 * minute, events_in=count, predictions=count))
    curve = charts_of(store).curve
    assert len({point.events for point in curve}) >= 20
    assert [point.at for point in curve] == sorted(point.at for point in curve)


def test_calibration_of_several_partitions_is_by_tenths() -> None:
    history = StatusHistory()
    history.add(status(0, 0, calibration=((0.12, 0.0, 10), (0.95, 1.0, 4))))
    history.add(status(0, 1, calibration=((0.18, 1.0, 10),)))
    (low, high) = history.calibration()
    assert list(low) == pytest.approx([0.15, 0.5, 20])
    assert list(high) == pytest.approx([0.95, 1.0, 4])


def test_labels_of_the_log_are_counted_and_close_their_requests() -> None:
    store = StateStore(10.0, "unsure")
    for offset in range(4):
        store.add_request_event(request(offset))
    store.add_request_event(outcome(0, "answered", label="spam", labeller="ann"))
    store.add_request_event(outcome(1, "answered", label="ham", labeller="bob"))
    store.add_request_event(outcome(2, "unsure", label="unsure", labeller="bob"))
    store.add_request_event(outcome(3, "expired"))
    tally, before, after = store.daily_totals(NOW.date(), "bob")
    assert tally[:6] == (3, 2, 1, 2, 1, 0)
    assert (before, after) == (PredictionErrors(), PredictionErrors())
    assert store.queue.waiting() == []


def test_a_label_of_another_program_closes_a_request_before_the_worker_reports_it() -> None:
    store = StateStore(10.0, "unsure")
    store.add_request_event(request(0))
    other = Label(id="another", label="spam", source=Source("emails", 0, 0))
    store.add_label(other, NOW)
    assert len(store.queue.waiting()) == 1
    store.add_label(other.model_copy(update={"id": "mail-0", "labeller": "ann"}), NOW)
    assert store.queue.waiting() == []
    store.add_request_event(outcome(0, "refused", label="spam").model_copy(update={"open": True}))
    assert len(store.queue.waiting()) == 1
    assert store.daily_totals(NOW.date(), "ann")[0].today == 0


def test_a_label_that_is_read_after_its_outcome_changes_nothing() -> None:
    store = StateStore(10.0, "unsure")
    store.add_request_event(request(0))
    store.add_request_event(outcome(0, "answered", label="spam", labeller="ann"))
    store.add_label(Label(id="mail-0", label="spam", labeller="ann", source=Source("emails", 0, 0)), NOW)
    given = store.queue.get((0, 0)).submitted
    assert given is not None
    assert given.learned


def test_the_error_before_todays_answers_and_after_them() -> None:
    store = StateStore(10.0, "unsure")
    store.add_status(status(-60, labelled=10, accuracy=0.5))
    store.add_request_event(request(0))
    store.add_request_event(outcome(0, "answered", label="ham", labeller="ann"))
    store.add_status(status(60, labelled=20, accuracy=0.7))
    _, before, after = store.daily_totals(NOW.date(), None)
    assert [before.share, after.share] == pytest.approx([0.5, 1.0 - 9 / 10])
    assert (before.labelled, after.labelled) == (10, 10)


def test_charts_have_the_predictions_and_the_budget() -> None:
    store = StateStore(10.0, "unsure")
    for second in (0, 10, 20):
        counts = {"predictions": 100 * second, "events_in": 110 * second, "labels_requested": second}
        counts |= {"labels_remaining": 80 - second, "labels_planned": second + 1}
        store.add_status(status(second, labelled=second, log_loss=0.5, one_minus_roca_percent=2.0, **counts))
    for p in (0.0, 0.04, 0.5, 1.0):
        known = {"ham": 1.0 - p, "spam": p}
        store.predictions.append(
            Prediction(
                id="a",
                probabilities=known,
                variance=0,
                epistemic_variance=0,
                source=Source("emails", 0, 0),
                model_version=1,
            )
        )
    store.add_request_event(request(0, score=1.0))
    store.add_request_event(request(1, score=3.0))
    charts = charts_of(store)
    assert [(point.events, point.roca, point.log_loss) for point in charts.curve] == [
        (0, None, None),
        (1000, 2.0, 0.5),
        (2000, 2.0, 0.5),
    ]
    assert [(point.per_second, point.lag) for point in charts.rates] == [(110.0, 0), (110.0, 0)]
    assert [bar.counts["predictions"] for bar in charts.histogram] == [2, *[0] * 9, 1, *[0] * 8, 1]
    assert (charts.histogram_label, charts.histogram_of) == ("spam", 4)
    assert [bar.counts["open"] for bar in charts.scores] == [1, *[0] * (BINS - 2), 1]
    assert (charts.budget[-1].requested, charts.budget[-1].planned) == (20, 21.0)
    assert (charts.budget_total, charts.budget_left) == (80, 60)


def test_charts_of_nothing_are_empty() -> None:
    charts = charts_of(StateStore(10.0, None))
    assert (charts.curve, charts.rates, charts.scores, charts.budget_left) == ((), (), (), None)
    assert sum(bar.counts["predictions"] for bar in charts.histogram) == 0


@given(st.integers(1, 5000), st.integers(0, 10**7))
def test_a_plan_rises_to_the_budget_and_not_above(total: int, seen: int) -> None:
    budget = LabelBudget(total, audit_fraction=0.2)
    now = budget.planned(seen)
    later = budget.planned(seen + 1000)
    assert now is not None
    assert later is not None
    assert 0.0 <= now < later < total


def test_the_planned_labels_are_those_of_the_budgets_pace() -> None:
    """The closed form against a budget that is spent message by message, with full urgency and no reserve."""
    budget = LabelBudget(200, reserve=0.0, audit_fraction=0.0)
    due = 0.0
    for seen in range(3000):
        due += budget.rate()
        while budget.used < math.floor(due):
            budget.spend()
        budget.see()
        if seen % 500 == 499:
            assert budget.used == pytest.approx(budget.planned(seen + 1), abs=3.0)
    assert LabelBudget(None, per_period=5).planned(100) is None


def test_counters_are_text_that_prometheus_reads() -> None:
    store = StateStore(10.0, None)
    store.add_status(status(0, 3, events_in=12, dead_letters_by_code={'odd"\\\n': 2}, log_loss=0.25, labelled=4))
    text = exposition(store, 60.0, 3)
    assert 'stream_bayes_events_total{group="g",partition="3"} 12.0\n' in text
    assert 'stream_bayes_dead_letters_total{code="odd\\"\\\\\\n",group="g",partition="3"} 2.0\n' in text
    assert 'stream_bayes_metric_log_loss{group="g",partition="3"} 0.25\n' in text
    assert "stream_bayes_web_log_up 0.0\n" in text
    # What it has said is of last March.
    assert "stream_bayes_worker_up 0.0\n" in text
    assert "stream_bayes_web_login_failures_total 3.0\n" in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


def test_recent_metrics_need_enough_labels() -> None:
    store = StateStore(10.0, None)
    for second, (labelled, loss) in enumerate([(10, 1.0), (40, 1.0), (60, 1.0), (100, 0.8), (160, 0.65)]):
        store.add_status(status(second, labelled=labelled, log_loss=loss))
    curve = charts_of(store).curve
    # Of the last point: since the 100th label, 160 x 0.65 - 100 x 0.8 = 24 over 60.
    assert [point.recent_log_loss for point in curve] == [
        None,
        None,
        1.0,
        pytest.approx((80 - 40) / 60),
        pytest.approx(0.4),
    ]


def test_the_expected_error_follows_from_the_probabilities() -> None:
    store = StateStore(10.0, None)
    for p in (0.5, 0.9, 1.0):
        known = {"ham": 1.0 - p, "spam": p}
        place = Source("emails", 0, 0)
        prediction = Prediction(
            id="a", probabilities=known, variance=0, epistemic_variance=0, source=place, model_version=1
        )
        store.predictions.append(prediction)
    assert charts_of(store).expected_error == pytest.approx((0.5 + 0.1 + 0.0) / 3)
