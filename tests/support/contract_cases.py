"""Parameters of tests that run every check of a contract on every learner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from river import checks as river_checks

from stream_bayes.testing import yield_checks

Check = Callable[[Any], None]

ORDER = "check_shuffle_features_no_impact"
"""A check of river's that cannot hold for a learner that says so."""


def our_cases(learners: Mapping[str, Any], first: Iterable[str]) -> list[Any]:
    """A name and a check of ours; of learners that are not among the first two checks in three are long.

    Which two differs from learner to learner, so that each check runs under several settings of a class.
    """
    short = set(first)
    turns = {name: turn for turn, name in enumerate(learners)}
    return _cases(
        learners, yield_checks, lambda name, _check, place: name not in short and (place + turns[name]) % 3 != 0
    )


def river_cases(learners: Mapping[str, Any], first: Iterable[str]) -> list[Any]:
    """A name and a check of river's; those of learners that are not among the first are long.

    River's checks pass or fail by class, hardly by setting. Its check of memory is long: it learns 2,000 events.
    """
    short = set(first)
    return _cases(
        learners,
        river_checks.yield_checks,
        lambda name, check, _: name not in short or check.__name__ == "check_bounded_memory_growth",
    )


def _cases(
    learners: Mapping[str, Any],
    yield_for: Callable[[Any], Iterable[Check]],
    is_long: Callable[[str, Check, int], bool],
) -> list[Any]:
    return [
        pytest.param(
            name,
            check,
            id=f"{name}:{check.__name__}:{place}",
            marks=[pytest.mark.long] if is_long(name, check, place) else [],
        )
        for name, learner in learners.items()
        for place, check in enumerate(yield_for(learner))
        if check.__name__ != ORDER or ORDER not in learner._unit_test_skips()
    ]
