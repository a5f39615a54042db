"""The agreement of labellers: how often later labels for the same observation agree with those of each labeller.

It is a figure for people. It never weights a label.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from stream_bayes.active.requests import ObservationKey
from stream_bayes.errors import ParameterError, SnapshotDamaged
from stream_bayes.persistence.scalars import stored_int, stored_key, stored_label, stored_list, stored_text
from stream_bayes.posteriors import Beta
from stream_bayes.validation import whole

UNNAMED = "unnamed"
"""The name for all labels that came without the name of a labeller."""
OTHERS = "others"
"""The name for all labellers beyond the capacity."""
_PRIOR = Beta(1.0, 1.0)


class Labellers:
    """A Beta posterior for each labeller: the probability that the next label for the same observation agrees.

    The first label for an observation is no check. The next one, by another labeller, agrees with the latest labeller
    who gave the current label, or disagrees with all who gave it. A labeller who replaces an own label disagrees with
    themselves. The same label again by the same labeller changes nothing.

    Parameters
    ----------
    places
        The number of observations whose labels are kept; a label for a forgotten observation counts as its first.
    apart
        The number of labellers that are counted separately; those who come later are counted together as "others".

    Examples
    --------
    >>> labellers = Labellers()
    >>> labellers.record(7, "spam", "ann")
    >>> labellers.record(7, "ham", "bob")
    >>> labellers.posterior("ann"), labellers.posterior("bob")
    (Beta(1, 2), Beta(1, 1))
    """

    def __init__(self, places: int = 10_000, apart: int = 1000) -> None:
        self.places = int(whole("places", places, ParameterError))
        self.apart = int(whole("apart", apart, ParameterError))
        self._numbers: dict[str, int] = {}
        # For each labeller: labels, agreements, disagreements.
        self._counts: list[list[int]] = []
        # For each observation: the current label, then the numbers of the labellers who gave it.
        self._current: dict[ObservationKey, tuple[Any, ...]] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def record(self, key: ObservationKey, label: Hashable, labeller: str | None = None) -> None:
        """Record the label that a labeller gave to an observation."""
        value = label.item() if isinstance(label, np.generic) else label
        number = self._number_of(UNNAMED if labeller is None else labeller)
        current, *givers = self._current.get(key, (value,))
        if current == value:
            if number in givers:
                return
            self._check(givers[-1:], agreed=True)
            givers.append(number)
        else:
            self._check(givers, agreed=False)
            givers = [number]
        self._counts[number][0] += 1
        self._remember(key, (value, *givers))

    def posterior(self, labeller: str | None = None) -> Beta:
        """The posterior of the agreement of a labeller; the prior for an unknown one."""
        number = self._numbers.get(UNNAMED if labeller is None else labeller)
        return _PRIOR if number is None else _PRIOR.update_counts(*self._counts[number][1:])

    def figures(self) -> dict[str, dict[str, float]]:
        """For each labeller: the posterior mean, its 95 % interval, and the numbers of checked and all labels."""
        figures = {}
        for name, number in self._numbers.items():
            posterior = self.posterior(name)
            low, high = posterior.interval(0.95)
            labels, agreed, disagreed = self._counts[number]
            figures[name] = {
                "agreement": posterior.mean,
                "low": low,
                "high": high,
                "checked": agreed + disagreed,
                "labels": labels,
            }
        return figures

    def label_of(self, key: ObservationKey) -> Any:
        """The current label of an observation; None if none is kept."""
        return self._current.get(key, (None,))[0]

    def state(self) -> dict[str, Any]:
        """The counts and the current labels, for a checkpoint."""
        counts = [[name, *self._counts[number]] for name, number in self._numbers.items()]
        return {"counts": counts, "standing": [[key, *entry] for key, entry in self._current.items()]}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned; the capacity may be smaller now."""
        rows = [stored_list(row, "labellers.counts", 4) for row in stored_list(state["counts"], "labellers.counts")]
        names = [stored_text(row[0], "labellers.counts") for row in rows]
        if len(set(names)) < len(names):
            message = "labellers.counts names a labeller twice"
            raise SnapshotDamaged(message)
        self._numbers = {name: number for number, name in enumerate(names)}
        self._counts = [[stored_int(count, "labellers.counts") for count in row[1:]] for row in rows]
        self._current = {}
        for entry in stored_list(state["standing"], "labellers.standing"):
            key, label, *givers = stored_list(entry, "labellers.standing")
            known = stored_label(label, "labellers.standing")
            numbers = [stored_int(giver, "labellers.standing", most=len(names) - 1) for giver in givers]
            self._remember(stored_key(key, "labellers.standing"), (known, *numbers))

    def _number_of(self, name: str) -> int:
        own = name if name in self._numbers or len(self._numbers) < self.apart else OTHERS
        if own not in self._numbers:
            self._numbers[own] = len(self._counts)
            self._counts.append([0, 0, 0])
        return self._numbers[own]

    def _check(self, givers: list[int], *, agreed: bool) -> None:
        for number in givers:
            self._counts[number][1 if agreed else 2] += 1

    def _remember(self, key: ObservationKey, entry: tuple[Any, ...]) -> None:
        self._current.pop(key, None)
        self._current[key] = entry
        if len(self._current) > self.places:
            del self._current[next(iter(self._current))]
