"""Robust against least squares: a line through points of which one in six was measured badly wrong.

Look at the lines: least squares goes where the outliers pull it. Laplace noise makes the loss absolute, so that each
outlier pulls with the same small force; Student's t takes a point far away for an outlier, which pulls hardly at all.
The log evidence, a sum over predictions made before each point was learned, tells which noise there is. In this stream
the first points are good ones: see `robust_streams.py` for streams in which an outlier comes first.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from stream_bayes import BayesianLinearRegression, RobustRegression

EVENTS = 150
LINE = (1.0, 2.0)
NOISE = 0.4
WRONG = 1 / 6
BOTTOM = -17
Learner = BayesianLinearRegression | RobustRegression
Numbers = NDArray[np.float64]


def points() -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """Return places, targets, and which of them were measured wrong: to one side, and more so on the right."""
    generator = np.random.default_rng(12)
    x = generator.uniform(-1, 1, EVENTS)
    y = LINE[0] + LINE[1] * x + generator.normal(0, NOISE, EVENTS)
    wrong = generator.random(EVENTS) < WRONG
    y[wrong] -= generator.exponential(4, wrong.sum()) * (1.2 + x[wrong])
    return x, y, wrong


def learners() -> dict[str, Learner]:
    """Return the learners by name, each with the same wide prior."""
    return {
        "least squares": BayesianLinearRegression(0.01, noise="unknown"),
        "Laplace": RobustRegression("laplace", 2 * NOISE, prior_precision=0.01),
        "Student's t": RobustRegression("student-t", NOISE, degrees=2.0, prior_precision=0.01),
    }


def main() -> None:
    """Print each line, how sure its learner is of it, and its evidence; draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "robust_regression.png"
    (x, y, wrong) = points()
    models = learners()
    history: dict[str, list[float]] = {name: [] for name in models}
    for place, target in zip(x.tolist(), y.tolist(), strict=True):
        for name, model in models.items():
            model.learn_one({"x": place}, target)
            history[name].append(model.weights()["x"].mean)
    print(f"{wrong.sum()} of {EVENTS} points are wrong; the line is {LINE[0]:g} + {LINE[1]:g} x")
    print("noise           constant     slope   deviation   log evidence")
    for name, model in models.items():
        weights = model.weights()
        slope = weights["x"]
        figures = f"{weights['intercept'].mean:>10.4f}{slope.mean:>10.4f}{slope.std:>12.4f}"
        print(f"{name:<14}{figures}{model.log_evidence():>15.4f}")
    far = {name: model.snapshot_copy() for name, model in models.items()}
    print("after one more point, at x = 1 and 30 above the line, the slope moves by")
    for name, model in far.items():
        before = model.weights()["x"].mean
        model.learn_one({"x": 1.0}, LINE[0] + LINE[1] + 30)
        print(f"{name:<14}{model.weights()['x'].mean - before:>10.4f}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.3))
    grid = np.linspace(-1, 1, 51)
    left.plot(grid, LINE[0] + LINE[1] * grid, color="0.85", linewidth=8, label="truth", zorder=0)
    left.plot(x[~wrong], y[~wrong], "o", color="0.6", markersize=3, label="measured right")
    left.plot(x[wrong], y[wrong], "x", color="0.3", markersize=5, label="measured wrong")
    for name, model in models.items():
        left.plot(grid, [model.predict_one({"x": place}) for place in grid.tolist()], label=name)
        right.plot(range(1, EVENTS + 1), history[name])
    far_below = y < BOTTOM
    label = f"{far_below.sum()} below, to {y.min():.0f}"
    left.plot(x[far_below], np.full(far_below.sum(), BOTTOM + 0.3), "v", color="0.3", markersize=5, label=label)
    left.set(xlabel="x", title="three lines", ylim=(BOTTOM, 5))
    right.axhline(LINE[1], color="0.85", linewidth=8, zorder=0)
    right.set(xlabel="points learned", title="the slope, point by point", ylim=(-0.5, 3))
    figure.legend(loc="outside lower center", ncols=7)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
