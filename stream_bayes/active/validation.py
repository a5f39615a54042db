"""What a selector is given, checked."""

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
"""Milliseconds on any clock that does not fall, or a moment."""
_MAX_SEED = 2**53


def milliseconds_of(clock: Clock) -> int:
    """The time in whole milliseconds."""
    if isinstance(clock, datetime):
        return int(clock.timestamp() * 1000.0)
    # A whole number keeps all its digits.
    number = clock if type(clock) is int else int(finite("clock", clock, InputError))
    if abs(number) > LARGEST_INT:
        raise refuse("clock", "a time of at most 63 bits in milliseconds", clock, InputError)
    return number


def check_place(place: Any) -> int | str:
    """What a question is about: an offset or an id."""
    known = plain(place)
    if isinstance(known, str) or (isinstance(known, int) and abs(known) <= LARGEST_INT):
        return known
    raise refuse("place", "the offset of an observation or its id", known, InputError)


def check_labeller(labeller: Any) -> str | None:
    """The name of a labeller, if it was given."""
    if labeller is None or isinstance(labeller, str):
        return labeller
    raise refuse("labeller", "a name or None", labeller, InputError)


def check_answer(label: Any) -> str | bool | int | float:
    """A label, or a number where numbers are predicted."""
    known = plain(label)
    if isinstance(known, (str, bool)) or (isinstance(known, int) and abs(known) <= LARGEST_INT):
        return known
    if isinstance(known, float) and math.isfinite(known):
        return known
    message = f"an answer is a label or a finite number; got {shown(known)}"
    raise InputError(message)


def check_budget(budget: Any) -> LabelBudget:
    """The budget given; a thousand labels if there is none."""
    if budget is None:
        return LabelBudget(total=1000)
    if isinstance(budget, LabelBudget):
        return budget
    raise refuse("budget", "a LabelBudget", budget)


def check_seed(seed: Any) -> int:
    """A seed that keeps all its digits as a number of any kind."""
    number = int(whole("seed", seed, ParameterError))
    if number < _MAX_SEED:
        return number
    raise refuse("seed", "a whole number from 0 up to 2^53", seed)
