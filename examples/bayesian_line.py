"""A line learned from noisy points: what is believed of its intercept and slope before any point, after 1, 2 and 20.

Look at a picture on the left and the one beside it: every dot is a pair of weights drawn from the belief, and a line.
One point tells how high the line is there, not how steep, so the belief becomes a ridge; a second point, elsewhere,
closes it. The band is where the next point is expected: it narrows with the belief, but never below the noise.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from stream_bayes import BayesianLinearRegression

INTERCEPT = -0.3
SLOPE = 0.5
NOISE = 0.2  # the true line, and the standard deviation of points around it
TITLES = {0: "before any point", 1: "after 1 point", 2: "after 2 points", 20: "after 20 points"}


def report(count: int, model: BayesianLinearRegression) -> str:
    """Return mean, deviation and interval of both weights, how many truths are inside, and the log evidence."""
    belief = model.joint("intercept", "x")
    line = f"{count:>6}"
    inside = 0
    for place, (low, high) in enumerate(belief.interval(0.95)):
        line += f"{belief.mean[place]:>11.4f}{belief.variance[place] ** 0.5:>8.4f}  {low:>7.4f} to {high:>7.4f}"
        inside += low <= (INTERCEPT, SLOPE)[place] <= high
    return f"{line}  {inside} of 2{model.log_evidence():>z14.4f}"


def draw(left: Axes, right: Axes, model: BayesianLinearRegression) -> None:
    """Draw the density of the weights, the next point's band, and in both pictures some lines that are possible."""
    belief = model.joint("intercept", "x")
    side = np.linspace(-1.8, 1.8, 361)
    grid = np.linspace(-1, 1, 51)
    away = np.stack(np.meshgrid(side, side), axis=-1) - belief.mean
    # Relative to its peak: a normal density in two dimensions is 1/20 of that around the region that holds 95 %.
    density = np.exp(-0.5 * np.einsum("...i,ij,...j", away, np.linalg.inv(belief.covariance), away))
    left.pcolormesh(side, side, density, cmap=LinearSegmentedColormap.from_list("density", ("white", "C0")))
    left.contour(side, side, density, [0.05], colors="C0", linewidths=1)
    low, high = np.transpose([model.predictive_one({"x": x}).interval(0.95) for x in grid.tolist()])
    right.fill_between(grid, low, high, color="C0", alpha=0.15, linewidth=0, label="next point, 95 %")
    intercepts, slopes = belief.sample(12, np.random.default_rng(118)).T
    labels = ["drawn from the belief", *[""] * 11]
    right.plot(grid, intercepts + grid[:, None] * slopes, color="C1", linewidth=1, alpha=0.8, label=labels)
    left.plot(intercepts, slopes, "o", color="C1", markersize=3.5, markeredgecolor="white", markeredgewidth=0.4)
    left.plot(INTERCEPT, SLOPE, "x", color="0.1", markersize=7, markeredgewidth=1.5)
    right.plot(grid, INTERCEPT + SLOPE * grid, "--", color="0.1", linewidth=1.5, label="truth")


def main() -> None:
    """Learn the points one by one; print and draw what is believed on the way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "bayesian_line.png"
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(4, 2, figsize=(7.6, 9.2), sharex="col", width_ratios=(1, 1.9))
    generator = np.random.default_rng(9)
    model = BayesianLinearRegression(prior_precision=2.0, noise_variance=NOISE**2)
    x = generator.uniform(-1, 1, 20)
    y = INTERCEPT + SLOPE * x + generator.normal(0, NOISE, 20)
    print(f"points  intercept{'sd, 95 % interval':>25}{'slope':>11}{'sd, 95 % interval':>25}  truth in  log evidence")
    for (count, title), old, (left, right) in zip(TITLES.items(), (0, *TITLES), axes, strict=False):
        for place in range(old, count):
            model.learn_one({"x": x[place]}, y[place])
        print(report(count, model))
        draw(left, right, model)
        right.plot(x[:count], y[:count], "o", color="0.1", markersize=4.5, label="points")
        left.set(title=title, xticks=(-1, 0, 1), yticks=(-1, 0, 1), box_aspect=1, ylabel="slope")
        right.set(xticks=(-1, 0, 1), ylim=(-2.2, 2.2), ylabel="y", xlabel="" if count < 20 else "x")
    left.set(xlabel="intercept")
    figure.legend(*axes[3, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
