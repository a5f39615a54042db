"""When questions were asked."""

from __future__ import annotations

from bisect import bisect_right


class Times:
    """The last so many times, at least; they never fall."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: list[int] = []

    def add(self, time: int) -> None:
        """One more, at the last time if it is said to be before that."""
        self._times.append(max(time, self._times[-1]) if self._times else time)
        if len(self._times) >= 2 * self._most:
            del self._times[: -self._most]

    def after(self, time: int) -> int:
        """How many are later than this."""
        return len(self._times) - bisect_right(self._times, time)

    def state(self) -> list[int]:
        """As JSON."""
        return self._times[-self._most :]

    def restore(self, state: list[int]) -> None:
        """Take over what `state` gave."""
        self._times = [int(time) for time in state]
