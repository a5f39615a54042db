"""Beta-Bernoulli counts of each key: score each row, then learn it, in one pass."""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.kernels.common.csr import added
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import BoolArray, FloatArray, IntArray


class KeyRows(NamedTuple):
    """Events by the slot of their key."""

    read: IntArray
    """Slot to predict from, -1 for the prior."""
    write: IntArray
    """Slot to learn into, -1 to learn nothing."""
    emptied: BoolArray
    """Whether the slot to learn into changed hands and starts from nothing."""
    outcomes: IntArray
    """1 for the second label, 0 for the first."""
    weights: FloatArray


@kernel
def fold_keys(
    rows: KeyRows, prior_successes: float, prior_failures: float, counts: FloatArray, posteriors: FloatArray
) -> None:
    """`counts[slot]` holds (failures, successes); `posteriors[row]` the same of the Beta before the row is learned."""
    for row in range(len(rows.read)):
        slot = rows.read[row]
        posteriors[row, 0] = prior_failures + (counts[slot, 0] if slot >= 0 else 0.0)
        posteriors[row, 1] = prior_successes + (counts[slot, 1] if slot >= 0 else 0.0)
        slot = rows.write[row]
        if slot >= 0:
            if rows.emptied[row]:
                counts[slot, 0] = 0.0
                counts[slot, 1] = 0.0
            counts[slot, rows.outcomes[row]] = added(counts[slot, rows.outcomes[row]], rows.weights[row])
