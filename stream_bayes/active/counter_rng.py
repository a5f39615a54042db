"""Chance that needs no state: the n-th number of a seed, the same in every process."""

from __future__ import annotations

import numpy as np

_BLOCK = 1024


class CounterRng:
    """Numbers between 0 and 1 by their place.

    >>> Draws(seed=1).at(10) == Draws(seed=1).at(10) != Draws(seed=2).at(10)
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        # No part of any state: the numbers around the last one asked for.
        self._block = -1
        self._numbers = [0.0]

    def at(self, place: int) -> float:
        """The number at a place."""
        block, within = divmod(place, _BLOCK)
        if block != self._block:
            generator = np.random.Generator(np.random.Philox(key=self._seed, counter=block << 64))
            self._block = block
            self._numbers = generator.random(_BLOCK).tolist()
        return self._numbers[within]
