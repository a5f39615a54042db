"""Scales of a chart: from numbers to places in the picture, and the ticks beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stream_bayes.typing import FloatArray

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high` between two places of the picture.

    >>> axis = Axis("error %", 0.1, 100.0, 0.0, 300.0, logarithmic=True)
    >>> axis.at(np.array([0.0, 0.1, 1.0, 100.0]))
    array([  0.,   0., 100., 300.])
    >>> [written for _, written in axis.ticks()]
    ['0.1', '1', '10', '100']
    """

    label: str
    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False
    marked: tuple[float, ...] = ()
    """Where ticks are; at round numbers if nothing is said."""

    def at(self, values: FloatArray) -> FloatArray:
        """Where the values lie; those beyond an end of the scale lie on it."""
        inside = np.clip(values, self.low, self.high)
        low, high, places = (self._spread(part) for part in (np.array(self.low), np.array(self.high), inside))
        return self.begin + (self.end - self.begin) * (places - low) / (high - low)

    def place(self, value: float) -> float:
        """Where one value lies."""
        return float(self.at(np.array([value]))[0])

    def ticks(self) -> list[tuple[float, str]]:
        """Places and words of the ticks."""
        values = self.marked or (_decades if self.logarithmic else _even)(self.low, self.high)
        return [(self.place(value), f"{value:,.10g}") for value in values]

    def _spread(self, values: FloatArray) -> FloatArray:
        return np.log10(values) if self.logarithmic else values


def _decades(low: float, high: float) -> tuple[float, ...]:
    return tuple(10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1))


def _even(low: float, high: float) -> tuple[float, ...]:
    rough = (high - low) / 5.0
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(step * size for step in _STEPS if step * size >= rough * (1.0 - 1e-9))
    return tuple(step * place for place in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1))


def decade_below(value: float) -> float:
    """The power of ten at the value or below.

    >>> decade_below(0.02), decade_below(0.1)
    (0.01, 0.1)
    """
    return float(10.0 ** math.floor(math.log10(value) + 1e-9))


def decade_above(value: float) -> float:
    """The power of ten at the value or above.

    >>> decade_above(0.02), decade_above(10.0)
    (0.1, 10.0)
    """
    return float(10.0 ** math.ceil(math.log10(value) - 1e-9))
