"""Draw docs/images/variance_split.png: the two parts of the variance, of a number and of a label."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from stream_bayes import BayesianLinearRegression, Beta, BetaBernoulli

DOCS = Path(__file__).parents[1]
NOISE = "#8fb3d9"
IGNORANCE = "#d95f4c"


def draw_number(axes: Axes) -> None:
    """Draw a regression line with the bands of noise and of the whole variance."""
    line = BayesianLinearRegression(prior_precision=2.0, noise_variance=0.04)
    points = ((-0.8, -0.71), (0.1, -0.22), (0.4, -0.13), (0.9, 0.17))
    for x, y in points:
        line.learn_one({"x": x}, y)
    grid = np.linspace(-3.0, 4.0, 141)
    predictions = line.predictive_many([{"x": x} for x in grid])
    noise = 2.0 * np.sqrt(predictions.aleatoric_variance)
    total = 2.0 * np.sqrt(predictions.variance)
    axes.fill_between(grid, predictions.mean - total, predictions.mean + total, color=IGNORANCE, alpha=0.4, lw=0)
    axes.fill_between(grid, predictions.mean - noise, predictions.mean + noise, color=NOISE, lw=0)
    axes.plot(grid, predictions.mean, color="black", lw=1)
    axes.plot(*zip(*points, strict=True), "ko", ms=4)
    axes.set(title="a number: two deviations around the mean", xlabel="x", ylabel="target")


def draw_label(axes: Axes) -> None:
    """Draw the parts of the variance of a coin while it is tossed."""
    coin = BetaBernoulli(prior=Beta(1, 1))
    generator = np.random.default_rng(1)
    parts = []
    for _ in range(60):
        predictive = coin.predictive_one({})
        parts.append((predictive.aleatoric_variance, predictive.epistemic_variance))
        coin.learn_one({}, bool(generator.random() < 0.7))
    axes.stackplot(range(60), *np.array(parts).T, colors=(NOISE, IGNORANCE), labels=("aleatoric", "epistemic"))
    axes.set(title="a label: p (1 - p) of a coin", xlabel="tosses learned", ylabel="variance", xlim=(0, 59))
    axes.legend(loc="lower right", frameon=True, facecolor="white", framealpha=1.0)


if __name__ == "__main__":
    plt.style.use(DOCS.parent / "examples" / "pictures.mplstyle")
    figure, (above, below) = plt.subplots(2, 1, figsize=(5, 5.6), layout="constrained")
    draw_number(above)
    draw_label(below)
    figure.savefig(DOCS / "images" / "variance_split.png", dpi=150)
