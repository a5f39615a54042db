"""The figures of a pass with few labels, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from stream_bayes.evaluation.pass_figures import (
    BestMember,
    best_member,
    is_within_noise,
    pass_figures,
    ratio,
    standard_error,
)
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.typing import BoolArray
from tests.support.mail_filters import generated_mails, passed


def flags(text: str) -> BoolArray:
    return np.array([letter == "1" for letter in text], dtype=np.bool_)


def result() -> PassResult:
    """Eight messages, half of them spam; three are misclassified."""
    log_odds = np.array([2.0, -1.0, 1.0, -2.0, 3.0, 0.5, -0.5, -3.0])
    members = {"right": np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0]), "wrong": -log_odds}
    return replace(
        passed(generated_mails(8)),
        spam=flags("11001010"),
        log_odds=log_odds,
        learned=flags("11100001"),
        members=members,
    )


def test_figures_by_hand() -> None:
    figures = pass_figures(result(), flags("01100111"))
    assert figures.labels == 4
    assert figures.spam == 4 / 8
    assert figures.spam_in_labels == 2 / 4
    # Of the messages 1, 2, 5, 6 and 7 all but the last are on the wrong side of 0.
    assert (figures.late, figures.late_error) == (5, 4 / 5)
    # Spam has 3, 2, -0.5, -1; ham has 1, 0.5, -2, -3: of 16 pairs four are in the wrong order.
    assert figures.one_minus_roca_percent == 25.0
    assert figures.members == {"right": 0.0, "wrong": 75.0}


def test_figures_that_do_not_exist() -> None:
    figures = pass_figures(replace(result(), learned=flags("0" * 8)), flags("0" * 8))
    assert (figures.labels, figures.late) == (0, 0)
    assert math.isnan(figures.spam_in_labels)
    assert math.isnan(figures.late_error)
    empty = pass_figures(passed([]), flags(""))
    assert math.isnan(empty.spam)
    assert math.isnan(empty.one_minus_roca_percent)


def test_the_best_member_has_the_smallest_mean() -> None:
    # Means: 3, 2 and none.
    areas = [{"words": 1.0, "hosts": 2.0, "odd": math.nan}, {"words": 5.0, "hosts": 2.0, "odd": 0.0}]
    assert best_member(areas) == BestMember("hosts", 2.0)
    assert best_member([{"odd": math.nan}]) is None
    assert best_member([{}]) is None
    assert best_member([]) is None


@pytest.mark.parametrize(
    ("first", "second", "noise"),
    [
        # Means 2 and 4; squared errors 2 / 2 = 1 and 0: twice the error is 2.
        ([1.0, 3.0], [4.0], True),
        ([1.0, 3.0], [4.1], False),
        # Squared errors 1 and 1: twice the error is 2.83.
        ([1.0, 3.0], [3.8, 5.8], True),
        ([1.0, 3.0], [3.9, 5.9], False),
        ([2.0], [2.0], True),
        ([2.0], [2.1], False),
    ],
)
def test_what_is_within_noise(first: Sequence[float], second: Sequence[float], noise: bool) -> None:
    assert is_within_noise(first, second) == is_within_noise(second, first) == noise


def test_the_standard_error_of_a_mean() -> None:
    # Squared differences 1, 0 and 1: variance 1 over three values.
    assert standard_error([1.0, 2.0, 3.0]) == pytest.approx(math.sqrt(1 / 3))
    assert standard_error([7.0]) == 0.0


def test_ratios() -> None:
    assert [ratio(1.0, 4.0), ratio(0.0, 0.0), ratio(0.5, 0.0)] == [0.25, 1.0, math.inf]
    assert math.isnan(ratio(1.0, math.nan))
