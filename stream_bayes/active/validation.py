"""Validation of the arguments of a selector."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from stream_bayes.active.budget import LabelBudget
from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.features.values import plain
from stream_bayes.persistence.scalars import LARGEST_INT
from stream_bayes.validation import finite, refuse, whole

Clock = int | float | datetime
"""Milliseconds on a clock that never goes back, or a datetime."""
_MAX_SEED = 2**53


def milliseconds_of(clock: Clock) -> int:
    """Convert a time to whole milliseconds."""
    if isinstance(clock, datetime):
        return int(clock.timestamp() * 1000.0)
    # An int keeps all its digits.
    number = clock if type(clock) is int else int(finite("clock", clock, InputError))
    if abs(number) > LARGEST_INT:
        raise refuse("clock", "a time of at most 63 bits in milliseconds", clock, InputError)
    return number


def check_key(key: Any) -> int | str:
    """Check what identifies an observation: an offset or an id."""
    known = plain(key)
    if isinstance(known, str) or (isinstance(known, int) and abs(known) <= LARGEST_INT):
        return known
    raise refuse("key", "the offset of an observation or its id", known, InputError)


def check_labeller(labeller: Any) -> str | None:
    """Check the name of a labeller, or None."""
    if labeller is None or isinstance(labeller, str):
        return labeller
    raise refuse("labeller", "a name or None", labeller, InputError)


def check_answer(label: Any) -> str | bool | int | float:
    """Check an answer: a label, or a number where numbers are predicted."""
    known = plain(label)
    if isinstance(known, (str, bool)) or (isinstance(known, int) and abs(known) <= LARGEST_INT):
        return known
    if isinstance(known, float) and math.isfinite(known):
        return known
    message = f"an answer is a label or a finite number; got {shown(known)}"
    raise InputError(message)


def check_budget(budget: Any) -> LabelBudget:
    """Check a budget; the default is a thousand labels."""
    if budget is None:
        return LabelBudget(total=1000)
    if isinstance(budget, LabelBudget):
        return budget
    raise refuse("budget", "a LabelBudget", budget)


def check_seed(seed: Any) -> int:
    """Check a seed: below 2^53, so that it is exact as a floating-point number too."""
    number = int(whole("seed", seed, ParameterError))
    if number < _MAX_SEED:
        return number
    raise refuse("seed", "a whole number from 0 up to 2^53", seed)
