"""A data frame of a million rows and 30 columns through `learn_many`, beside river's mini-batches or single calls."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from river import base, stream
from river.base import tags

from benchmarks.measure import seconds
from benchmarks.river_peers import PEERS, Peer, learners
from stream_bayes.learners import CategoricalNB, PoissonRegression

ROWS = 1_000_000
COLUMNS = 30
# Of a model that learns single events, and of one that learns mini-batches of a few rows.
SINGLE_EVENTS = 5_000
SMALL_BATCH = 100
SMALL_BATCH_ROWS = 20_000
TARGET = 20
# What only keeps its events has nothing to compute when it learns them.
LAZY = ("NearestNeighbours",)


class Data(NamedTuple):
    """A frame, and the labels or targets of its rows."""

    frame: Any
    targets: Any

    def rows(self, begin: int, end: int) -> Data:
        """A run of the rows."""
        return Data(self.frame.iloc[begin:end], self.targets.iloc[begin:end])


class Frames(NamedTuple):
    """The same rows for each kind of learner."""

    measurements: Data
    numbers: Data
    counts: Data
    rates: Data

    @classmethod
    def drawn(cls, rows: int) -> Frames:
        """Normal columns with labels and numbers, and counts with labels; the targets depend on one or two columns."""
        generator = np.random.default_rng(1)
        names = [f"x{place}" for place in range(COLUMNS)]
        matrix = generator.normal(size=(rows, COLUMNS))
        labels = pd.Series(matrix[:, 0] + generator.normal(size=rows) > 0.0)
        frame = pd.DataFrame(matrix, columns=names)
        words = generator.poisson(np.where(labels, 0.7, 0.3)[:, None], size=(rows, COLUMNS)).astype(np.float64)
        targets = pd.Series(matrix[:, 0] - 2.0 * matrix[:, 1] + generator.normal(size=rows))
        return cls(
            Data(frame, labels),
            Data(frame, targets),
            Data(pd.DataFrame(words, columns=names), labels),
            Data(frame, pd.Series(generator.poisson(np.exp(0.3 * matrix[:, 0])).astype(np.float64))),
        )

    def of(self, learner: Any) -> Data:
        """The frame that a learner takes."""
        if isinstance(learner, PoissonRegression):
            return self.rates
        if isinstance(learner, base.Regressor):
            return self.numbers
        counts = tags.POSITIVE_INPUT in learner._tags or isinstance(learner, CategoricalNB)
        return self.counts if counts else self.measurements


def run(console: Console) -> None:
    """Print a row for each learner."""
    table = Table(title=f"A data frame of {ROWS:,} rows and {COLUMNS} columns, seconds to learn it")
    titles = ("learner", "learn_many", "river", "river, all rows in one step", f"by {SMALL_BATCH} rows", "single calls")
    for column in (*titles, "times faster than single calls"):
        table.add_column(column, justify="left" if column in ("learner", "river") else "right")
    frames = Frames.drawn(ROWS)
    for name, learner in learners().items():
        if name in PEERS and name not in LAZY:
            table.add_row(name, *measured(learner, PEERS[name], frames.of(learner)))
    console.print(table)
    console.print(f"Target: {TARGET} times faster. River's linear models take one step for each mini-batch.")


def measured(learner: Any, peer: Peer, data: Data) -> list[str]:
    """The seconds of both as the cells of a row."""
    learner.clone().learn_many(*data.rows(0, 100))  # compiles
    ours = min(seconds(partial(learner.clone().learn_many, *data)) for _ in range(2))
    whole = mini_batches(peer, data, len(data.targets), len(data.targets)) if peer.takes_frames else None
    small = mini_batches(peer, data, SMALL_BATCH, SMALL_BATCH_ROWS) if peer.takes_frames else None
    single = single_calls(peer.make(), data.rows(0, SINGLE_EVENTS)) * len(data.targets)
    cells = ["-" if time is None else f"{time:,.2f}" for time in (whole, small)]
    return [f"{ours:,.2f}", peer.name, *cells, f"{single:,.0f}", f"{single / ours:,.0f}"]


def mini_batches(peer: Peer, data: Data, size: int, count: int) -> float:
    """Seconds of all rows in mini-batches of one size, measured on the first `count` rows."""
    model = peer.make()
    # River's multinomial and Bernoulli naive Bayes take the sparse frames of its bag of words.
    is_sparse = tags.POSITIVE_INPUT in model._tags
    kind = pd.SparseDtype("float64", 0.0)
    parts = [data.rows(begin, begin + size) for begin in range(0, count, size)]
    given = [Data(part.frame.astype(kind), part.targets) if is_sparse else part for part in parts]

    def learn() -> None:
        for part in given:
            model.learn_many(*part)

    return seconds(learn) * len(data.targets) / count


def single_calls(model: Any, data: Data) -> float:
    """Seconds an event of learning the rows one by one, as river's `stream.iter_frame` gives them."""

    def learn() -> None:
        for x, target in stream.iter_frame(data.frame, data.targets):
            model.learn_one(x, target)

    return seconds(learn) / len(data.targets)


if __name__ == "__main__":
    run(Console(width=140))
