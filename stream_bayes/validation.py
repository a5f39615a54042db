"""Numbers, arrays and tables checked once, where they enter: what was wrong and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.typing import FloatArray

Refusal = type[ParameterError] | type[InputError]

PROBABILITY_SLACK = 1e-6
"""The tolerance for the sum of probabilities."""
_MAX_DRAWS = 2**40


def refuse(what: str, allowed: str, value: object, error: Refusal = ParameterError) -> ParameterError | InputError:
    """Return the error that says what was wrong and what is allowed."""
    message = f"{what} must be {allowed}, not {shown(value)}"
    return error(message)


def _convert(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def finite(what: str, value: object, error: Refusal = ParameterError) -> float:
    """Return `value` as a Python float, or refuse what is not a finite number."""
    number = value if type(value) is float else _convert(value)
    if math.isfinite(number):
        return number
    raise refuse(what, "a finite number", value, error)


def number_or_infinity(what: str, value: object, error: Refusal = ParameterError) -> float:
    """Return `value` as a Python float, or refuse what is not a number that a float can hold."""
    number = value if type(value) is float else _convert(value)
    if math.isfinite(number) or (math.isinf(number) and number == value):
        return number
    raise refuse(what, "a number that a float can hold, or an infinity", value, error)


def is_array(values: object) -> bool:
    """Whether it is a list, a tuple, or anything else that numpy makes an array of, and not a single number."""
    return isinstance(values, (list, tuple)) or (hasattr(values, "__array__") and not isinstance(values, np.generic))


def numbers_or_infinities(what: str, values: object, error: Refusal = ParameterError) -> FloatArray:
    """Return a number, or an array of numbers, as float64, or refuse what is not a number that a float can hold."""
    if not is_array(values):
        return np.asarray(number_or_infinity(what, values, error))
    try:
        raw = np.asarray(values)
    except ValueError as cause:
        raise refuse(what, "an array of equally long rows", values, error) from cause
    if raw.dtype.kind not in "iuf" or np.isnan(raw).any():
        raise refuse(what, "numbers that a float can hold, or infinities", values, error)
    return raw.astype(np.float64)


def positive(what: str, value: object, error: Refusal = ParameterError) -> float:
    """Return `value` as a Python float, or refuse what is not finite and above 0."""
    number = value if type(value) is float else _convert(value)
    if 0.0 < number < math.inf:
        return number
    raise refuse(what, "a finite number above 0", value, error)


def non_negative(what: str, value: object, error: Refusal = ParameterError) -> float:
    """Return `value` as a Python float, or refuse what is not finite and at least 0."""
    number = value if type(value) is float else _convert(value)
    if 0.0 <= number < math.inf:
        return number
    raise refuse(what, "a finite number, 0 or more", value, error)


def whole(what: str, value: object, error: Refusal = InputError) -> float:
    """Return `value` as a Python float, or refuse what is not 0, 1, 2, ..."""
    number = _convert(value)
    if 0.0 <= number < math.inf and number.is_integer():
        return number
    raise refuse(what, "a whole number, 0 or more", value, error)


def tail_beyond(mass: object) -> float:
    """Return the probability 1 - mass left outside an interval, or refuse the mass."""
    number = _convert(mass)
    if 0.0 < number < 1.0:
        return 1.0 - number
    raise refuse("mass", "a number between 0 and 1, both excluded", mass)


def proper_fractions(what: str, values: object) -> FloatArray:
    """Return a number, or an array of numbers, between 0 and 1 as float64, or refuse it."""
    if not is_array(values):
        number = _convert(values)
        if 0.0 < number < 1.0:
            return np.asarray(number)
        raise refuse(what, "a number between 0 and 1, both excluded", values)
    numbers = numbers_or_infinities(what, values)
    if not ((numbers > 0.0) & (numbers < 1.0)).all():
        raise refuse(what, "numbers between 0 and 1, both excluded", values)
    return numbers


def array(what: str, values: object, dimensions: int, error: Refusal = ParameterError) -> FloatArray:
    """Return a read-only float64 copy of `values`, or refuse it."""
    try:
        raw = np.array(values)
    except ValueError as cause:
        raise refuse(what, "an array of equally long rows", values, error) from cause
    if raw.ndim != dimensions or raw.size == 0 or raw.dtype.kind not in "iuf" or not np.isfinite(raw).all():
        kind = ("a vector", "a matrix")[dimensions - 1]
        raise refuse(what, f"{kind} of finite numbers", values, error)
    result = raw.astype(np.float64) + 0.0  # -0.0 becomes 0.0, so that equal arrays have equal bytes
    result.setflags(write=False)
    return result


def check_draws(size: object, generator: object) -> tuple[int, np.random.Generator]:
    """Return the arguments of a `sample` method, or refuse them; without a generator a new one, seeded by chance."""
    number = whole("size", size, ParameterError)
    if number > _MAX_DRAWS:
        raise refuse("size", f"a whole number up to {_MAX_DRAWS}", size)
    if generator is None:
        return int(number), np.random.default_rng()
    if not isinstance(generator, np.random.Generator):
        allowed = "a numpy.random.Generator, such as numpy.random.default_rng(1), after the number of draws"
        raise refuse("generator", allowed, generator)
    return int(number), generator


def truth(what: str, value: object, error: Refusal = InputError) -> bool:
    """Return `value` as a Python bool, or refuse what is neither True, False, 1 nor 0."""
    if isinstance(value, (bool, int, np.bool_, np.integer)) and value in (0, 1):
        return bool(value)
    raise refuse(what, "True or False", value, error)


def each(
    check: Callable[[str, object, Refusal], float], what: str, values: object, error: Refusal = ParameterError
) -> tuple[float, ...]:
    """Return every one of `values` as `check` returns it, or refuse the first that it refuses."""
    if isinstance(values, Iterable):
        return tuple(check(what, value, error) for value in values)
    raise refuse(what, "several numbers", values, error)


def probability_table(values: object, error: Refusal = ParameterError) -> MappingProxyType[Any, float]:
    """Return a read-only copy of probabilities that sum to 1 (or of an empty table), or refuse them."""
    if not isinstance(values, Mapping):
        raise refuse("probabilities", "a mapping from label to probability", values, error)
    table = {label: non_negative(f"probability of {shown(label)}", p, error) for label, p in values.items()}
    if table and abs(math.fsum(table.values()) - 1.0) > PROBABILITY_SLACK:
        raise refuse("probabilities", "numbers that sum to 1", dict(values), error)
    return MappingProxyType(table)


SMALLEST_SCALE = 1e-100
LARGEST_SCALE = 1e100

Kind = TypeVar("Kind")


def check_scale(name: str, *values: float, smallest: float = SMALLEST_SCALE, largest: float = LARGEST_SCALE) -> None:
    """Refuse parameters so large or so small that sums with them leave the finite numbers."""
    for value in values:
        if value != 0.0 and not smallest <= abs(value) <= largest:
            message = f"{name} must be 0 or between {smallest:g} and {largest:g} in size; got {shown(value)}"
            raise ParameterError(message)


def of_kind(value: Any, name: str, kind: type[Kind]) -> Kind:
    """The parameter, if it is an instance of the kind."""
    if isinstance(value, kind):
        return value
    message = f"{name} must be a {kind.__name__}; got {shown(value)}"
    raise ParameterError(message)


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """The parameter, if it is one of the choices."""
    if value in choices:
        return str(value)
    message = f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}"
    raise ParameterError(message)
