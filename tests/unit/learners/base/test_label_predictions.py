"""The variance of a batch of labels is that of each row's predictive, and what to do with each is what it is alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes import BetaBernoulli, SpamFilter
from stream_bayes.decisions import spam_losses
from stream_bayes.errors import InputError
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.label_predictions import CERTAIN, CLUELESS, LabelPredictions, both_probabilities
from stream_bayes.mail.filter.predictions import MailPredictions
from stream_bayes.testing import events, taught
from stream_bayes.typing import FloatArray
from tests.support.learners import LEARNERS, by_setting
from tests.support.spam_mails import SMALL, stream

CLASSIFIERS = [name for name, learner in LEARNERS.items() if isinstance(learner, Classifier)]
MEANS = (0.0, 1e-9, 0.3, 1.0, -2.5, 7.0, -30.0, 700.0, CERTAIN, -2.0 * CERTAIN, math.inf)
VARIANCES = (0.0, 1e-12, 1e-3, 0.7, 1.0, 1.01, 4.0, 63.9, 64.0, 64.1, 900.0, 1e6, CLUELESS, 2.0 * CLUELESS, math.inf)


def assert_as_row_by_row(said: LabelPredictions) -> None:
    rows = [said.predictive(row) for row in range(len(said))]
    for name in ("variance", "epistemic_variance", "aleatoric_variance"):
        found = getattr(said, name)
        assert found.shape == (len(said),)
        np.testing.assert_allclose(found, [getattr(row, name) for row in rows], rtol=0.0, atol=1e-9)
    assert (said.epistemic_variance <= said.variance).all()
    assert (said.epistemic_variance >= 0.0).all()


def spoken(mean: FloatArray, variance: FloatArray, probabilities: FloatArray) -> LabelPredictions:
    return LabelPredictions(tuple("abc"[: probabilities.shape[1]]), probabilities, np.abs(mean), mean, variance)


def test_known_figure() -> None:
    """LogitNormal(1, 4) has variance 0.0877; p (1 - p) of 0.6477 is 0.2282."""
    result = spoken(np.array([1.0]), np.array([4.0]), np.array([[0.6477, 0.3523]]))
    assert result.variance[0] == pytest.approx(0.2282, abs=5e-5)
    assert result.epistemic_variance[0] == pytest.approx(0.0877, abs=5e-5)
    assert result.aleatoric_variance[0] == pytest.approx(0.1405, abs=1e-4)


def test_every_width_and_the_clips() -> None:
    mean, variance = (grid.ravel() for grid in np.meshgrid(MEANS, VARIANCES))
    # Even odds, so that the variance of the latent probability is never cut off by that of the label.
    assert_as_row_by_row(spoken(mean, variance, np.full((len(mean), 2), 0.5)))


@given(mean=st.floats(-50.0, 50.0), deviation=st.floats(0.0, 300.0), p=st.floats(0.5, 1.0))
def test_any_mean_and_deviation(mean: float, deviation: float, p: float) -> None:
    probabilities = np.array([[p, 1.0 - p]])
    assert_as_row_by_row(spoken(np.array([mean]), np.array([deviation**2]), probabilities))


def test_labels_not_known_yet() -> None:
    """No label: nothing is known of a probability; one label: it is certain by default."""
    nan = math.nan
    table = np.array([[nan, nan, nan], [nan, 1.0, nan], [0.25, nan, 0.75], [0.2, 0.5, 0.3], [0.5, 0.5, 0.0]])
    result = spoken(np.array([nan, nan, 1.1, 0.0, 0.0]), np.array([nan, nan, 0.5, 2.0, 0.0]), table)
    assert_as_row_by_row(result)
    assert result.variance[:2].tolist() == [0.25, 0.0]
    assert result.epistemic_variance[:2] == pytest.approx([1 / 12, 0.0])


def test_exact_counts() -> None:
    model = BetaBernoulli(classes=("tails", "heads"))
    predictions = model.test_then_train([{}] * 6, ["heads", "heads", "tails", "heads", None, "heads"])
    assert predictions.counts is not None
    assert_as_row_by_row(predictions)


def test_an_empty_batch_and_arrays_in_another_order() -> None:
    assert_as_row_by_row(spoken(np.empty(0), np.empty(0), np.empty((0, 2))))
    every_other = np.arange(20.0)[::2]
    assert_as_row_by_row(spoken(every_other, every_other, np.asfortranarray(np.full((10, 2), 0.5))))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier(name: str) -> None:
    learner = LEARNERS[name]
    model: Any = taught(learner, events(learner, 12))
    x, y = zip(*events(learner, 20)[12:], strict=True)
    assert_as_row_by_row(model.test_then_train(x, y))


def test_actions_of_a_batch_are_those_of_its_mails() -> None:
    mails, labels = stream(150, seed=3)
    model = SpamFilter(buckets=SMALL, false_positive_cost=3.0, false_negative_cost=0.7)
    model.learn_many(mails[:60], labels[:60])
    actions = model.decide_many(model.predictive_many(mails[60:]))
    assert actions == [model.decide_one(mail).action for mail in mails[60:]]
    assert set(actions) == {"deliver", "quarantine"}


@pytest.mark.parametrize(("lost", "passed"), [(1.0, 1.0), (3.0, 1.0), (20.0, 1.0), (0.1, 0.3), (1e-3, 7.0)])
def test_ties_go_to_quarantine_as_for_one_mail(lost: float, passed: float) -> None:
    """Probabilities of spam one unit of the last place around the threshold, and at it."""
    model = SpamFilter(buckets=2**10, false_positive_cost=lost, false_negative_cost=passed)
    losses = spam_losses(lost, passed)
    threshold = losses.threshold
    spam = np.array([0.0, np.nextafter(threshold, 0.0), threshold, np.nextafter(threshold, 1.0), 1.0])
    result = MailPredictions(model.classes, np.stack((1.0 - spam, spam), axis=1), *np.zeros((3, len(spam))))
    expected = [losses.bayes_action({"ham": 1.0 - p, "spam": p}).action for p in spam.tolist()]
    assert model.decide_many(result) == expected
    if lost == passed:
        assert expected[2] == "quarantine"


def test_predictions_of_another_filter_are_refused() -> None:
    prediction = MailPredictions(("no", "yes"), both_probabilities(np.zeros(2)), *np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"labels \('no', 'yes'\).*\('ham', 'spam'\)"):
        SpamFilter(buckets=2**10).decide_many(prediction)


@pytest.mark.parametrize("name", by_setting(LEARNERS))
def test_a_batch_of_predictions_is_a_sequence(name: str) -> None:
    """Each entry is the predictive of its row, counted from the end where the index is below zero."""
    learner = LEARNERS[name]
    model = taught(learner, events(learner))
    found = model.predictive_many([x for x, _ in events(learner, 4)])
    rows = [found.predictive(row) for row in range(4)]
    assert list(found) == rows
    assert [found[row] for row in range(4)] == rows
    assert found[-1] == found[np.int64(3)] == rows[3]
    for wrong in (4, -5):
        with pytest.raises(IndexError, match="there are 4 rows"):
            _ = found[wrong]
    with pytest.raises(TypeError):
        _ = found[1.0]
    assert issubclass(type(found), Sequence)
    assert list(reversed(found)) == rows[::-1]
    mask = np.array([True, False, False, True])
    for several, expected in ((slice(2), rows[:2]), ([3, 0], [rows[3], rows[0]]), (mask, [rows[0], rows[3]])):
        part = found[several]
        assert type(part) is type(found)
        assert list(part) == expected
        np.testing.assert_array_equal(part.variance, found.variance[several])
        assert len(part.uncertainties().variance) == len(expected)
    assert list(found[:0]) == list(found[[]]) == []
    with pytest.raises(IndexError):
        _ = found[[4]]
