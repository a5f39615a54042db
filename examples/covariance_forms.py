"""Five forms of covariance for the same points: the contours of each class, and the boundary that follows from them.

Look at the shapes. "full" turns and stretches each ellipse by itself, and its boundary is a curve. "shared" gives both
classes one ellipse, and the boundary is a straight line. "diagonal" lies along the axes. "spherical" has a circle for
each class, so the boundary is a circle too. "shared-spherical" has one circle, and its line bisects the means at a
right angle, as far from one as from the other. Fewer parameters are learned faster, and miss what they cannot express.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from stream_bayes import GaussianDiscriminant, MvNormal

FORMS: Final = ("full", "shared", "diagonal", "spherical", "shared-spherical")
CLASSES: Final = MvNormal((0.0, 0.0), ((1.6, 1.0), (1.0, 1.2))), MvNormal((2.2, -0.8), ((0.7, 0.2), (0.2, 0.3)))
LEARNED: Final = 60
"""Points of each class."""
Points = NDArray[np.float64]


def points(count: int, seed: int) -> Points:
    """Return points of class 0 and class 1 in turn, one a row."""
    generator = np.random.default_rng(seed)
    factors = [np.linalg.cholesky(np.array(own.covariance)) for own in CLASSES]
    drawn = [
        np.array(own.mean) + generator.standard_normal((count, 2)) @ factor.T
        for own, factor in zip(CLASSES, factors, strict=True)
    ]
    return np.stack(drawn, axis=1).reshape(2 * count, 2)


def learned(covariance: str) -> GaussianDiscriminant:
    """Return a discriminant with the maximum-likelihood means and covariances of the points."""
    model = GaussianDiscriminant(covariance, prior=None, classes=(0, 1))
    for place, (x, y) in enumerate(points(LEARNED, seed=1).tolist()):
        model.learn_one({"x": x, "y": y}, place % 2)
    return model


def draw(axes: Axes, model: GaussianDiscriminant) -> None:
    """Draw the points, the contours of each class at one and two standard deviations, and the boundary."""
    side = np.linspace(-4.0, 5.0, 181)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    rows = [{"x": x, "y": y} for x, y in grid.tolist()]
    chances = model.predictive_many(rows).probabilities[:, 1].reshape(len(side), -1)
    known = points(LEARNED, seed=1)
    axes.scatter(known[:, 0], known[:, 1], s=5, c=["C0", "C1"] * LEARNED)
    for label in (0, 1):
        _, matrix = model.covariance_of(label)
        offset = grid - np.array(list(model.mean(label).values()))
        distance = np.sqrt((offset @ np.linalg.inv(matrix) * offset).sum(axis=1)).reshape(len(side), -1)
        axes.contour(side, side, distance, [1.0, 2.0], colors=f"C{label}", linewidths=1.2)
    axes.contour(side, side, chances, [0.5], colors="0.1")
    axes.set(title=model.covariance, xlabel="x", ylabel="y", aspect="equal")


def main() -> None:
    """Print covariances, boundaries and errors, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "covariance_forms.png"
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, panels = plt.subplots(2, 3, figsize=(9, 6.4))
    fresh = [{"x": x, "y": y} for x, y in points(5000, seed=2).tolist()]
    print("covariance            class 0: xx, xy, yy       class 1: xx, xy, yy      wrong of 10000")
    for covariance, axes in zip(FORMS, panels.flat[:5], strict=True):
        model = learned(covariance)
        draw(axes, model)
        entries = [model.covariance_of(label)[1][np.triu_indices(2)] for label in (0, 1)]
        shown = "  ".join("".join(f"{entry:>8.3f}" for entry in own) for own in entries)
        wrong = np.mean((model.predictive_many(fresh).probabilities[:, 1] > 0.5) != np.arange(len(fresh)) % 2)
        print(f"{covariance:<18}{shown}  {wrong:>12.4f}")
        if covariance.startswith("shared"):
            weights, bias = model.linear_form(1, 0)
            print(f"  log-odds of class 1: {weights['x']:.3f} x + {weights['y']:.3f} y + {bias:.3f}")
    panels.flat[5].axis("off")
    panels.flat[5].text(
        0.0, 0.4, "ellipses: one and two\nstandard deviations\n\nblack: where both classes\nare equally probable"
    )
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
