"""The data sets that come with river: each learner beside river's, each event predicted and then learned."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from river import base, datasets, preprocessing
from river.base import tags
from river.datasets.base import BINARY_CLF, MULTI_CLF, REG, FileDataset, RemoteDataset

from benchmarks.river_peers import PEERS, learners
from stream_bayes.learners import CategoricalNB, PoissonRegression

EVENTS = 5_000
REPEATS = 3
# Standard errors of the mean difference that count as noise.
NOISE = 2.0

# A feature with more different values than this is a measurement.
MOST_CATEGORIES = 10

Event = tuple[dict[str, float], Any]


class Stream(NamedTuple):
    """The events of a data set, raw and scaled by what was seen up to each."""

    name: str
    task: str
    raw: list[Event]
    scaled: list[Event]

    def of(self, learner: Any) -> list[Event] | None:
        """The events as a learner takes them; None where it cannot."""
        is_regression = self.task == REG
        if is_regression != isinstance(learner, base.Regressor):
            return None
        if not is_regression and not learner._multiclass and self.task == MULTI_CLF:
            return None
        if isinstance(learner, PoissonRegression):
            return self.scaled if min(y for _, y in self.raw) >= 0.0 else None
        if isinstance(learner, CategoricalNB):
            return self.raw if self._has_categories() else None
        if tags.POSITIVE_INPUT in learner._tags:
            return self.raw if min(min(x.values()) for x, _ in self.raw) >= 0.0 else None
        return self.scaled

    def _has_categories(self) -> bool:
        values: dict[str, set[float]] = {}
        for x, _ in self.raw:
            for name, value in x.items():
                values.setdefault(name, set()).add(value)
        return max(map(len, values.values())) <= MOST_CATEGORIES


class Run(NamedTuple):
    """Whether each event was right, or its absolute error, and the seconds an event."""

    losses: NDArray[np.float64]
    seconds: float


def streams() -> Iterator[Stream]:
    """Every data set of the package with one target and features that are numbers."""
    kinds: list[tuple[str, Any]] = inspect.getmembers(datasets, inspect.isclass)
    for name, kind in kinds:
        if not issubclass(kind, FileDataset) or issubclass(kind, RemoteDataset):
            continue
        source = kind()
        if source.task not in (BINARY_CLF, MULTI_CLF, REG):
            continue
        raw = list(_numeric(source.take(EVENTS)))
        if not raw[0][0]:
            continue
        scaler = preprocessing.StandardScaler()
        scaled = []
        for x, y in raw:
            scaler.learn_one(x)
            scaled.append((scaler.transform_one(x), y))
        yield Stream(name, source.task, raw, scaled)


def _numeric(events: Any) -> Iterator[Event]:
    for x, y in events:
        yield {name: float(value) for name, value in x.items() if isinstance(value, (int, float))}, y


def run(console: Console) -> None:
    """Print a row for each learner and data set."""
    table = Table(title=f"The data sets of river, up to {EVENTS:,} events: accuracy, or mean absolute error")
    scores = ("ours", "river", "river's learner", "behind")
    times = ("us, one by one", "us, in a batch", "river's us", "times faster")
    titles = ("data set", "learner", *scores, *times)
    for column in titles:
        left = column in ("data set", "learner", "river's learner")
        table.add_column(column, justify="left" if left else "right")
    for stream in streams():
        for name, learner in learners().items():
            events = stream.of(learner)
            if events is not None and name in PEERS:
                peer = PEERS[name]
                cells = compared(learner, peer.make, events, is_regression=stream.task == REG)
                table.add_row(stream.name, name, *cells[:2], peer.name, *cells[2:])
    console.print(table)
    console.print("Times faster: in a batch, with the same predictions as one by one; river has no such call.")
    console.print(f"Behind: by more than {NOISE:g} standard errors of the mean difference over the events.")


def compared(learner: Any, make: Any, events: list[Event], *, is_regression: bool) -> list[str]:
    """The cells of a row, but for the names."""
    passed(learner.clone(), events[:50], is_regression=is_regression)  # compiles
    ours = [passed(learner.clone(), events, is_regression=is_regression) for _ in range(REPEATS)]
    theirs = [passed(make(), events, is_regression=is_regression) for _ in range(REPEATS)]
    worse = ours[0].losses - theirs[0].losses
    error = worse.std() / np.sqrt(len(worse))
    behind = "yes" if worse.mean() > NOISE * error else "no"
    fast, slow = (min(one.seconds for one in runs) * 1e6 for runs in (ours, theirs))
    shown = [
        f"{runs[0].losses.mean():.4g}" if is_regression else f"{1.0 - runs[0].losses.mean():.4f}"
        for runs in (ours, theirs)
    ]
    batch = min(in_a_batch(learner.clone(), events) for _ in range(REPEATS)) * 1e6
    times = [f"{taken:.1f}" for taken in (fast, batch, slow)]
    return [*shown, behind, *times, f"{slow / batch:.1f}"]


def in_a_batch(model: Any, events: list[Event]) -> float:
    """Seconds an event of the same predictions in one call, the making of the batch included."""
    xs = [x for x, _ in events]
    ys = [y for _, y in events]
    begin = time.process_time()
    model.test_then_train(xs, ys)
    return (time.process_time() - begin) / len(events)


def passed(model: Any, events: list[Event], *, is_regression: bool) -> Run:
    """One pass in which each event is predicted, then learned."""
    losses = []
    begin = time.process_time()
    for x, y in events:
        predicted = model.predict_one(x)
        losses.append(abs(predicted - y) if is_regression else float(predicted != y))
        model.learn_one(x, y)
    return Run(np.array(losses, dtype=np.float64), (time.process_time() - begin) / len(events))


if __name__ == "__main__":
    run(Console(width=150))
