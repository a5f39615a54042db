"""Where one class becomes likelier than the other: a single boundary for equal spreads, a region for unequal ones.

Look at the upper pictures: with equal variances the log-odds are linear and split the line once; with unequal ones they
are quadratic, and the narrow class owns an interval. Below, the same in two dimensions, learned from a stream: a shared
covariance can only draw a straight boundary, a covariance for each class bends it round the compact class.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from stream_bayes import GaussianDiscriminant, MvNormal, Normal

LINE: Final = {"shared": (Normal(0, 1), Normal(1, 1)), "full": (Normal(0, 1), Normal(1, 0.25))}
PLANE: Final = MvNormal((0, 0), ((1.5, 0.7), (0.7, 1.3))), MvNormal((1.5, 1), ((0.25, -0.1), (-0.1, 0.2)))
Points = NDArray[np.float64]


def stream(classes: tuple[Normal | MvNormal, ...], count: int, seed: int) -> Points:
    """Return points of class 0 and class 1 in turn, one a row."""
    generator = np.random.default_rng(seed)
    return np.stack([own.sample(count, generator) for own in classes], axis=1).reshape(2 * count, -1)


def chances(covariance: str, learned: Points, points: Points) -> Points:
    """Return the probability of class 1 at each of the points, after learning a stream."""
    model = GaussianDiscriminant(covariance, classes=(0, 1))
    for place, point in enumerate(learned.tolist()):
        model.learn_one(dict(enumerate(point)), place % 2)
    return model.predictive_many(dict(enumerate(point)) for point in points.tolist()).probabilities[:, 1]


def draw(line: Axes, plane: Axes, covariance: str) -> str:
    """Draw the classes on the line and in the plane; return true and learned boundaries, and the error in the plane."""
    grid = np.linspace(-3.5, 4, 1501)
    side = np.linspace(-4, 4, 161)
    classes = LINE[covariance]
    zero, one = (own.density(grid) for own in classes)
    ours = chances(covariance, stream(classes, 2000, seed=1), grid[:, None]) > 0.5
    true, found = (" to ".join(f"{x:.2f}" for x in grid[:-1][np.diff(own)] + 0.0025) for own in (one > zero, ours))
    line.plot(grid, zero, "C0", label=f"class 0: N(0, {classes[0].variance:g})")
    line.plot(grid, one, "C1", label=f"class 1: N(1, {classes[1].variance:g})")
    line.fill_between(grid, 1, where=(one > zero).tolist(), color="C1", alpha=0.12, linewidth=0)
    line.set(title=f"class 1 is likelier from {true}", xlabel="feature", ylabel="density", ylim=(0, 1))
    line.legend(loc="upper left")
    points = stream(PLANE, 300, seed=2)
    fresh = stream(PLANE, 2000, seed=3)
    square = np.meshgrid(side, side)
    surface = chances(covariance, points, np.stack(square, axis=-1).reshape(-1, 2)).reshape(len(side), -1)
    wrong = np.mean((chances(covariance, points, fresh) > 0.5) != np.arange(len(fresh)) % 2)
    colors = LinearSegmentedColormap.from_list("classes", ("C0", "white", "C1"))
    plane.pcolormesh(side, side, surface, cmap=colors, vmin=0, vmax=1, alpha=0.4)
    plane.contour(side, side, surface, [0.5], colors="0.1")
    plane.scatter(points[:, 0], points[:, 1], s=5, c=["C0", "C1"] * 300)
    plane.set(title=f"{covariance} covariance: {wrong:.1%} wrong", xlabel="first feature", ylabel="second feature")
    return f"{covariance:<12}{true:<15}{found:<15}{wrong:.4f}"


def main() -> None:
    """Print boundaries and errors, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "bayes_boundaries.png"
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, ((left, right), lower) = plt.subplots(2, 2, figsize=(8, 7), height_ratios=(2, 3))
    print(f"{'covariance':<12}{'class 1 from':<15}{'learned':<15}error in two dimensions")
    print(draw(left, lower[0], "shared"), draw(right, lower[1], "full"), sep="\n")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
