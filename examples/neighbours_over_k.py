"""How many neighbours should vote: errors over k on the events learned and on others, and the evidence of each k.

Look at the two ends: one neighbour makes no error on what it has learned and many on what it has not, and hundreds of
them vote almost alike everywhere. The evidence, summed while the stream was learned, finds the middle, and no event was
held out. The regions below show why: too few neighbours follow the noise, too many see only where most events are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from stream_bayes import Batch, NearestNeighbours

EVENTS = 400
CHOICES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SHOWN = (1, 16, 128)
SPREAD = 0.35
NAMES = ["x", "y"]
Numbers = NDArray[np.float64]


def moons(count: int, seed: int) -> tuple[Numbers, list[bool]]:
    """Return points of two half circles that reach into each other, and which of them each belongs to."""
    generator = np.random.default_rng(seed)
    angles = generator.uniform(0, np.pi, count)
    second = generator.random(count) < 0.5
    x = np.where(second, 1 - np.cos(angles), np.cos(angles))
    y = np.where(second, 0.5 - np.sin(angles), np.sin(angles))
    return np.column_stack((x, y)) + generator.normal(0, SPREAD, (count, 2)), second.tolist()


def chances(k: int, known: tuple[Numbers, list[bool]], points: Numbers) -> Numbers:
    """Return the probability of the second half circle at each point, by k neighbours."""
    model = NearestNeighbours(k=k, window=EVENTS, classes=(False, True))
    model.learn_many(Batch.from_matrix(known[0], NAMES), known[1])
    return model.predictive_many(Batch.from_matrix(points, NAMES)).probabilities[:, 1]


def error(probabilities: Numbers, labels: list[bool]) -> float:
    """Return the share of labels that are less probable than the other one; half of those that are as probable."""
    wrong = np.where(labels, probabilities < 0.5, probabilities > 0.5)
    return float(np.mean(wrong + 0.5 * (probabilities == 0.5)))


def log_loss(probabilities: Numbers, labels: list[bool]) -> float:
    """Return the mean of -ln p(label)."""
    return float(-np.log(np.where(labels, probabilities, 1 - probabilities)).mean())


def draw_regions(axes: Axes, k: int, known: tuple[Numbers, list[bool]]) -> None:
    """Draw the probability over the plane, where it is one half, and the points that were learned."""
    across = np.linspace(-2, 3, 121)
    down = np.linspace(-1.6, 2.1, 91)
    grid = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    surface = chances(k, known, grid).reshape(len(down), -1)
    colors = LinearSegmentedColormap.from_list("classes", ("C0", "white", "C1"))
    axes.pcolormesh(across, down, surface, cmap=colors, vmin=0, vmax=1, alpha=0.4)
    axes.contour(across, down, surface, [0.5], colors="0.1", linewidths=1)
    axes.scatter(known[0][:, 0], known[0][:, 1], s=4, c=["C1" if label else "C0" for label in known[1]])
    axes.set(title=f"k = {k}", xticks=[], yticks=[])


def main() -> None:
    """Print errors and evidence over k and draw them, with the regions of three of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "neighbours_over_k.png"
    known = moons(EVENTS, seed=1)
    fresh, labels = moons(4000, seed=2)
    model = NearestNeighbours(k=CHOICES, window=EVENTS, classes=(False, True))
    model.learn_many(Batch.from_matrix(known[0], NAMES), known[1])
    evidence = model.log_evidence()
    learned = [error(chances(k, known, known[0]), known[1]) for k in CHOICES]
    others = [chances(k, known, fresh) for k in CHOICES]
    print(f"{'k':>3}  {'error, learned':>14}  {'error, others':>13}  {'log loss, others':>16}  log evidence")
    for k, seen, found in zip(CHOICES, learned, others, strict=True):
        unseen = error(found, labels)
        print(f"{k:>3}  {seen:>14.4f}  {unseen:>13.4f}  {log_loss(found, labels):>16.4f}  {evidence[k]:>12.2f}")
    print(f"chosen by evidence: {model.best_k}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (upper, lower) = plt.subplots(2, 3, figsize=(9, 6))
    for axes, k in zip(lower, SHOWN, strict=True):
        draw_regions(axes, k, known)
    upper[0].plot(CHOICES, learned, "o-", label="learned events")
    upper[0].plot(CHOICES, [error(found, labels) for found in others], "o-", label="other events")
    upper[0].legend(loc="lower right")
    upper[1].plot(CHOICES, [log_loss(found, labels) for found in others], "o-", color="C1")
    upper[2].plot(CHOICES, list(evidence.values()), "o-", color="C2")
    titles = ("share of errors", "log loss on other events", "log evidence")
    for axes, title in zip(upper, titles, strict=True):
        axes.axvline(model.best_k, color="0.6", linestyle="--", linewidth=1)
        axes.set(xscale="log", title=title, xlabel="k")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
