"""Nearest neighbours against river on one stream: 20,000 points in 20 dimensions, each predicted and then learned."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from river import neighbors

from benchmarks.measure import seconds
from stream_bayes import Batch, NearestNeighbours
from stream_bayes.typing import FloatArray

POINTS = 20_000
DIMENSIONS = 20
NAMES = [f"x{place}" for place in range(DIMENSIONS)]
NEIGHBOURS = 5
REPEATS = 3
TARGET = 10
# Windows, and how many points river is given at each, once the window is full.
WINDOWS = {1_000: 400, POINTS: 15}


class Stream(NamedTuple):
    """Points, and which side of a noisy plane each is on."""

    matrix: FloatArray
    labels: list[bool]


def stream() -> Stream:
    generator = np.random.default_rng(20)
    matrix = generator.normal(size=(POINTS, DIMENSIONS))
    labels = matrix[:, 0] + matrix[:, 1] + 0.5 * generator.normal(size=POINTS) > 0.0
    return Stream(matrix, labels.tolist())


def run(console: Console) -> None:
    """Print the table of ratios."""
    table = Table(title=f"NearestNeighbours(k={NEIGHBOURS}), {DIMENSIONS} dimensions: predict + learn, microseconds")
    for column in ("window", "way", "ours", "river", "times faster", "target"):
        table.add_column(column, justify="left" if column == "way" else "right")
    data = stream()
    for window, few in WINDOWS.items():
        peer = neighbors.KNNClassifier(NEIGHBOURS, engine=neighbors.LazySearch(window_size=window), weighted=False)
        theirs = one_by_one(peer, data, few)
        ours: dict[str, float] = {
            "predict_proba_one + learn_one on dicts": one_by_one(learner(window), data, 10 * few),
            "test_then_train, a batch given": in_one_batch(window, data),
        }
        for way, time in ours.items():
            table.add_row(f"{window:,}", way, f"{time:.1f}", f"{theirs:,.0f}", f"{theirs / time:,.1f}", str(TARGET))
    console.print(table)
    graph = one_by_one(neighbors.KNNClassifier(NEIGHBOURS), data, 400, known=1_500)
    console.print(f"river's default, a graph of the last 1,000 (SWINN), takes {graph:,.0f} microseconds a point")


def learner(window: int) -> NearestNeighbours:
    return NearestNeighbours(k=NEIGHBOURS, window=window)


def one_by_one(model: Any, data: Stream, count: int, known: int = POINTS) -> float:
    """Microseconds a point of dicts, after the first `known` points were learned."""
    for x, label in zip(dicts(data.matrix[:known]), data.labels, strict=False):
        model.learn_one(x, label)
    passes = [
        partial(predict_and_learn, model, dicts(data.matrix[:count]), data.labels[:count]) for _ in range(REPEATS)
    ]
    return min(seconds(one) for one in passes) / count * 1e6


def dicts(matrix: FloatArray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in matrix.tolist()]


def predict_and_learn(model: Any, events: list[dict[str, float]], labels: list[bool]) -> None:
    for x, label in zip(events, labels, strict=True):
        model.predict_proba_one(x)
        model.learn_one(x, label)


def in_one_batch(window: int, data: Stream) -> float:
    """Microseconds a point of a batch, the window full of earlier points."""
    model = learner(window)
    batch = Batch.from_matrix(data.matrix, NAMES)
    model.learn_many(batch, data.labels)
    return seconds(lambda: model.test_then_train(batch, data.labels), repeats=REPEATS) / POINTS * 1e6
