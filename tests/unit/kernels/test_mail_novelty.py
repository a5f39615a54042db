"""Novelty of mails: the moving average of learned mails, and the variance of mails that are much newer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_bayes.kernels.mail.novelty import note_novelty, relative_variance, usual_novelty

MANY = 10**14


def test_usual_novelty_is_a_moving_average_that_starts_from_one() -> None:
    novelties = np.zeros(2)
    assert usual_novelty(novelties) == 1.0
    note_novelty(novelties, 0.4)
    assert usual_novelty(novelties) == pytest.approx((0.4 + 1.0) / 2.0)
    note_novelty(novelties, 0.2)
    assert usual_novelty(novelties) == pytest.approx((0.97 * 0.4 + 0.2 + 1.0) / (0.97 + 1.0 + 1.0))
    for _ in range(500):
        note_novelty(novelties, 0.2)
    # The weights sum to 1 / (1 - 0.97), and what came before is forgotten but for the start.
    assert usual_novelty(novelties) == pytest.approx((0.2 / 0.03 + 1.0) / (1.0 / 0.03 + 1.0), rel=1e-5)


@pytest.mark.parametrize(
    ("novelty", "usual", "features", "variance"),
    [
        (0.5, 0.0, MANY, 0.0),
        (0.75, 0.0, MANY, 16.0 * 0.25**2),
        (0.75, 0.5, MANY, 16.0 * 0.15**2),
        (0.75, 0.7, MANY, 0.0),
        (0.9, 0.4, 899, 16.0 * 0.3**2),
        (0.9, 0.5, 99, 0.0),
    ],
)
def test_variance_begins_beyond_what_is_usual_or_due_to_chance(
    novelty: float, usual: float, features: int, variance: float
) -> None:
    assert relative_variance(novelty, usual, features) == pytest.approx(variance, abs=1e-5)


def test_log_odds_of_a_new_kind_are_moderated_however_large_they_are() -> None:
    factor = relative_variance(0.8, 0.3, MANY)
    moderated = [size / math.sqrt(1.0 + math.pi * factor * size**2 / 8.0) for size in (1.0, 10.0, 1000.0)]
    assert moderated == sorted(moderated)
    assert moderated[-1] == pytest.approx(1.0 / math.sqrt(math.pi * factor / 8.0), rel=1e-3)
    assert moderated[-1] < 1.5
