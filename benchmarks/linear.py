"""Bayesian linear regression against river, against a copy of its own memory, and against BLAS."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from river import linear_model

from benchmarks.measure import seconds
from stream_bayes import Batch, BayesianLinearRegression

EVENTS = 300
REPEATS = 10
WIDTHS = (10, 50, 200)
ARRAY_TARGET = 15
DICT_TARGET = 6
# Weights, and how many times the time of a copy of the d x d matrix an event may take.
COPIES = {200: 4, 1000: 3, 2000: 3}
COPIED = 20
POOL = 10_000
CHOICES = 100
RANK_WIDTH = 200
RANK_TARGET = 10

FloatArray = NDArray[np.float64]


class Stream(NamedTuple):
    """Events as a matrix, and their targets."""

    names: list[str]
    matrix: FloatArray
    targets: FloatArray


def stream(width: int, count: int) -> Stream:
    generator = np.random.default_rng(width)
    matrix = generator.normal(size=(count, width))
    noise = generator.normal(size=count)
    return Stream([f"x{j}" for j in range(width)], matrix, matrix @ generator.normal(size=width) + noise)


def run(console: Console) -> None:
    """Print the three tables."""
    against_river(console)
    against_a_copy(console)
    against_blas(console)


def against_river(console: Console) -> None:
    table = Table(title="BayesianLinearRegression, full: predictive + learn, microseconds an event")
    for column in ("weights", "way", "ours", "river", "times faster", "target"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for width in WIDTHS:
        data = stream(width, EVENTS)
        arrays, single, theirs = in_turns([batches(data), dicts(data, ours=True), dicts(data, ours=False)])
        for way, ours, target in (
            ("test_then_train, a batch given", arrays, ARRAY_TARGET),
            ("predictive_one + learn_one on dicts", single, DICT_TARGET),
        ):
            table.add_row(str(width), way, f"{ours:.2f}", f"{theirs:.1f}", f"{theirs / ours:.1f}", str(target))
    console.print(table)


def in_turns(passes: list[Callable[[], float]]) -> list[float]:
    """The shortest time of each, in microseconds an event; in turns, so that a disturbance hits all alike."""
    turns = [[measured() for measured in passes] for _ in range(REPEATS)]
    return [min(times) / EVENTS * 1e6 for times in zip(*turns, strict=True)]


def batches(data: Stream) -> Callable[[], float]:
    model = BayesianLinearRegression(intercept=False)
    batch = Batch.from_matrix(data.matrix, data.names)
    model.test_then_train(batch, data.targets)
    return lambda: seconds(lambda: model.test_then_train(batch, data.targets), repeats=5)


def dicts(data: Stream, *, ours: bool) -> Callable[[], float]:
    """Fresh dicts, predicted with their variance and learned; river has no intercept."""
    model: Any = BayesianLinearRegression(intercept=False) if ours else linear_model.BayesianLinearRegression()
    rows = data.matrix.tolist()
    targets = data.targets.tolist()

    def own(events: list[dict[str, float]]) -> None:
        for x, target in zip(events, targets, strict=True):
            model.predictive_one(x)
            model.learn_one(x, target)

    def rivers(events: list[dict[str, float]]) -> None:
        for x, target in zip(events, targets, strict=True):
            model.predict_one(x, with_dist=True)
            model.learn_one(x, target)

    def measured() -> float:
        events = [dict(zip(data.names, row, strict=True)) for row in rows]
        return seconds(lambda: (own if ours else rivers)(events))

    return measured


def against_a_copy(console: Console) -> None:
    table = Table(title="The same through arrays, against one copy of the d x d matrix, microseconds")
    for column in ("weights", "an event", "a copy", "copies an event", "at most"):
        table.add_column(column, justify="right")
    for width, most in COPIES.items():
        data = stream(width, EVENTS if width < 1000 else 60)
        matrix = np.random.default_rng(0).normal(size=(width, width))
        target = np.empty_like(matrix)
        model = BayesianLinearRegression(intercept=False)
        batch = Batch.from_matrix(data.matrix, data.names)
        model.test_then_train(batch, data.targets)
        learn = partial(model.test_then_train, batch, data.targets)
        copy = partial(copied, matrix, target)
        turns = [(seconds(learn) / len(data.targets), seconds(copy) / COPIED) for _ in range(REPEATS)]
        ours, once = (min(times) * 1e6 for times in zip(*turns, strict=True))
        table.add_row(f"{width:,}", f"{ours:,.1f}", f"{once:,.1f}", f"{ours / once:.2f}", str(most))
    console.print(table)


def copied(matrix: FloatArray, target: FloatArray) -> None:
    for _ in range(COPIED):
        np.copyto(target, matrix)


def against_blas(console: Console) -> None:
    """Greedy choice by variance; the peer recomputes every variance after each choice."""
    data = stream(RANK_WIDTH, POOL)
    model = BayesianLinearRegression(intercept=False)
    model.test_then_train(Batch.from_matrix(data.matrix[:500], data.names), data.targets[:500])
    batch = Batch.from_matrix(data.matrix, data.names)
    covariance = np.linalg.inv(np.eye(RANK_WIDTH) + data.matrix[:500].T @ data.matrix[:500])
    ours = min(seconds(lambda: model.rank_by_information(batch, CHOICES)) for _ in range(3))
    theirs = seconds(lambda: recomputed(covariance, data.matrix))
    same = model.rank_by_information(batch, CHOICES).tolist() == recomputed(covariance, data.matrix)
    table = Table(title=f"{CHOICES} of {POOL:,} rows by information, {RANK_WIDTH} weights, one thread, seconds")
    for column in ("rank_by_information", "BLAS, all variances recomputed", "times faster", "target", "the same rows"):
        table.add_column(column, justify="right")
    table.add_row(f"{ours:.3f}", f"{theirs:.2f}", f"{theirs / ours:.1f}", str(RANK_TARGET), "yes" if same else "no")
    console.print(table)


def recomputed(covariance: Any, rows: FloatArray) -> list[int]:
    chosen: list[int] = []
    for _ in range(CHOICES):
        variances = np.einsum("ij,ij->i", rows @ covariance, rows)
        variances[chosen] = -np.inf
        chosen.append(int(variances.argmax()))
        h = covariance @ rows[chosen[-1]]
        covariance = covariance - np.outer(h, h) / (1.0 + rows[chosen[-1]] @ h)
    return chosen
