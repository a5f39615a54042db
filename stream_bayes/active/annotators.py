"""How far each labeller is borne out by later labels: a figure for people, and never the weight of a label."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from stream_bayes.active.requests import Place
from stream_bayes.errors import ParameterError, SnapshotDamaged
from stream_bayes.persistence.scalars import stored_int, stored_key, stored_label, stored_list, stored_text
from stream_bayes.posteriors import Beta
from stream_bayes.validation import whole

UNNAMED = "unnamed"
"""The labels that came without the name of a labeller, taken together as one."""
OTHERS = "others"
"""All labellers after the first so many, taken together as one."""
_PRIOR = Beta(1.0, 1.0)


class Annotators:
    """For each labeller a Beta posterior of how probably a label of theirs agrees with the next one for the same place.

    The first label for a place checks nobody. The next one, by somebody else, agrees with the newest of those who gave
    the label that stands, or speaks against all of them; a labeller who takes back an own label speaks against
    themselves. The same label again by the same labeller changes nothing.

    Parameters
    ----------
    places
        How many places are remembered, the newest labels first; a label for a forgotten one counts as its first.
    apart
        How many labellers are told apart; those who come later are counted together as "others".

    Examples
    --------
    >>> labellers = Labellers()
    >>> labellers.said(7, "spam", "ann")
    >>> labellers.said(7, "ham", "bob")
    >>> labellers.belief("ann"), labellers.belief("bob")
    (Beta(1, 2), Beta(1, 1))
    """

    def __init__(self, places: int = 10_000, apart: int = 1000) -> None:
        self.places = int(whole("places", places, ParameterError))
        self.apart = int(whole("apart", apart, ParameterError))
        self._numbers: dict[str, int] = {}
        # For each labeller: labels given, how many of them were agreed with, how many spoken against.
        self._counts: list[list[int]] = []
        # For each place: the label that stands, then the numbers of those who gave it.
        self._standing: dict[Place, tuple[Any, ...]] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def said(self, place: Place, label: Hashable, labeller: str | None = None) -> None:
        """This labeller gave this label to the observation at this place."""
        value = label.item() if isinstance(label, np.generic) else label
        number = self._number_of(UNNAMED if labeller is None else labeller)
        standing, *givers = self._standing.get(place, (value,))
        if standing == value:
            if number in givers:
                return
            self._check(givers[-1:], agreed=True)
            givers.append(number)
        else:
            self._check(givers, agreed=False)
            givers = [number]
        self._counts[number][0] += 1
        self._remember(place, (value, *givers))

    def belief(self, labeller: str | None = None) -> Beta:
        """How probably a label of theirs agrees with the next one for the same place; the prior for a stranger."""
        number = self._numbers.get(UNNAMED if labeller is None else labeller)
        return _PRIOR if number is None else _PRIOR.update_counts(*self._counts[number][1:])

    def figures(self) -> dict[str, dict[str, float]]:
        """For each labeller the mean of the belief, its 95 % interval, and the numbers of labels checked and given."""
        found = {}
        for name, number in self._numbers.items():
            belief = self.belief(name)
            low, high = belief.interval(0.95)
            labels, agreed, against = self._counts[number]
            figures = {"agreement": belief.mean, "low": low, "high": high}
            found[name] = {**figures, "checked": agreed + against, "labels": labels}
        return found

    def label_of(self, place: Place) -> Any:
        """The label that stands for the observation at this place; None where none is remembered."""
        return self._standing.get(place, (None,))[0]

    def state(self) -> dict[str, Any]:
        """All it knows, as JSON."""
        counts = [[name, *self._counts[number]] for name, number in self._numbers.items()]
        return {"counts": counts, "standing": [[place, *entry] for place, entry in self._standing.items()]}

    def restore(self, state: dict[str, Any]) -> None:
        """Know what was known when the state was taken, as far as there is room for it here."""
        rows = [stored_list(row, "labellers.counts", 4) for row in stored_list(state["counts"], "labellers.counts")]
        names = [stored_text(row[0], "labellers.counts") for row in rows]
        if len(set(names)) < len(names):
            message = "labellers.counts names a labeller twice"
            raise SnapshotDamaged(message)
        self._numbers = {name: number for number, name in enumerate(names)}
        self._counts = [[stored_int(count, "labellers.counts") for count in row[1:]] for row in rows]
        self._standing = {}
        for entry in stored_list(state["standing"], "labellers.standing"):
            place, label, *givers = stored_list(entry, "labellers.standing")
            known = stored_label(label, "labellers.standing")
            numbers = [stored_int(giver, "labellers.standing", most=len(names) - 1) for giver in givers]
            self._remember(stored_key(place, "labellers.standing"), (known, *numbers))

    def _number_of(self, name: str) -> int:
        own = name if name in self._numbers or len(self._numbers) < self.apart else OTHERS
        if own not in self._numbers:
            self._numbers[own] = len(self._counts)
            self._counts.append([0, 0, 0])
        return self._numbers[own]

    def _check(self, givers: list[int], *, agreed: bool) -> None:
        for number in givers:
            self._counts[number][1 if agreed else 2] += 1

    def _remember(self, place: Place, entry: tuple[Any, ...]) -> None:
        self._standing.pop(place, None)
        self._standing[place] = entry
        if len(self._standing) > self.places:
            del self._standing[next(iter(self._standing))]
