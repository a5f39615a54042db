"""Compile the kernels of all learners: `python -m tests.support.compile_kernels`, which takes all cores.

Tests in several processes would otherwise compile the same kernels side by side.
"""

from __future__ import annotations

import multiprocessing
import time

from stream_bayes.features.hashing import hash_words
from stream_bayes.learners.gram import GramRegression
from stream_bayes.testing import events, taught
from tests.support import gram_regressions
from tests.support.learners import LEARNERS

# Those with most to compile come first, so that no core is left alone with one of them at the end.
FIRST = ("GaussianDiscriminant", "SpamFilter", "BernoulliNB", "BayesianLinearRegression")


TEXT = "hashing of words"
SOLVERS = "solvers of Gram regression"


def use(name: str) -> None:
    """Learn, predict, and undo: what needs a kernel compiles it."""
    if name == TEXT:
        hash_words(["a word"], 64)
    elif name == SOLVERS:
        _use_solvers()
    else:
        _use_learner(name)


def _use_solvers() -> None:
    model = gram_regressions.taught(GramRegression(), *gram_regressions.sample())
    model.solve("none")
    model.solve("lasso", strength=0.1)
    model.select("forward")
    model.select("backward")
    model.best_subsets()
    model.solve("lp", strength=0.1)


def _use_learner(name: str) -> None:
    learner = LEARNERS[name]
    stream = events(learner)
    model = taught(learner, stream)
    x, y = stream[0]
    options = {"remember": [True]} if learner.remembers else {}
    model.learn_many([x], [y], **options)
    model.predictive_one(x)
    if model.is_additive:
        model.merge(taught(learner, stream))
        model.unlearn_one(x, y)
        model.forget(0.5)
    type(learner).from_state(model.state())


def main() -> None:
    """Use every learner, and what else has kernels, in a process for each core."""
    began_at = time.monotonic()
    with multiprocessing.Pool() as processes:
        processes.map(use, [*FIRST, TEXT, SOLVERS, *(name for name in LEARNERS if name not in FIRST)], chunksize=1)
    print(f"kernels: compiled in {time.monotonic() - began_at:.0f} s")


if __name__ == "__main__":
    main()
