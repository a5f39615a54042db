"""When questions were asked."""

from __future__ import annotations

from bisect import bisect_right

from stream_bayes.errors import SnapshotDamaged
from stream_bayes.persistence.scalars import LARGEST_INT, stored_int, stored_list


class SlidingWindow:
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
        times = [stored_int(time, "times", -LARGEST_INT) for time in stored_list(state, "times")]
        if times != sorted(times):
            message = "times must not fall; those in the file do"
            raise SnapshotDamaged(message)
        self._times = times
