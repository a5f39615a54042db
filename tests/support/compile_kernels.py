"""Compile the kernels of all learners: `python -m tests.support.compile_kernels`, which takes all cores.

Tests in several processes would otherwise compile the same kernels side by side.
"""

from __future__ import annotations

import multiprocessing
import time

from stream_bayes.testing import events, taught
from tests.support.learners import LEARNERS

# Those with most to compile come first, so that no core is left alone with one of them at the end.
FIRST = ("GaussianDiscriminant", "SpamFilter", "BernoulliNB", "BayesianLinearRegression")


def use(name: str) -> None:
    """Learn, predict, and undo: what needs a kernel compiles it."""
    learner = LEARNERS[name]
    stream = events(learner)
    model = taught(learner, stream)
    x, y = stream[0]
    model.learn_many([x], [y])
    model.predictive_one(x)
    if model.is_additive:
        model.merge(taught(learner, stream))
        model.unlearn_one(x, y)
        model.forget(0.5)
    type(learner).from_state(model.state())


def main() -> None:
    """Use every learner, in a process for each core."""
    began_at = time.monotonic()
    with multiprocessing.Pool() as processes:
        processes.map(use, [*FIRST, *(name for name in LEARNERS if name not in FIRST)], chunksize=1)
    print(f"kernels: compiled in {time.monotonic() - began_at:.0f} s")


if __name__ == "__main__":
    main()
