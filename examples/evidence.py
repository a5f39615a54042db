"""How strong a prior should be: by the evidence of all events at once, and by cross-validation, from the same sums.

Look at the two curves: the precision under which the targets are likeliest is about the one that predicts best, and to
find it no event was held out. Folds cost little either: all sums, less those of a fold, are the sums of the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from stream_bayes import GramRegression

EVENTS = 60
WIDTH = 30
FOLDS = 10
PRECISION = 4.0
NOISE = 4.0
GRID = np.geomspace(0.05, 200, 121)
Numbers = NDArray[np.float64]


def events() -> tuple[Numbers, Numbers]:
    """Return features and targets: small weights and much noise, which least squares would fit far too well."""
    generator = np.random.default_rng(2)
    features = generator.normal(size=(EVENTS, WIDTH))
    weights = generator.normal(0, PRECISION**-0.5, WIDTH)
    return features, features @ weights + generator.normal(0, NOISE**0.5, EVENTS)


def held_out(model: GramRegression, features: Numbers, targets: Numbers, noise: float) -> Numbers:
    """Return the squared error of each event, a row, for each precision: predicted by all folds but its own."""
    errors = np.empty((EVENTS, len(GRID)))
    for fold in range(FOLDS):
        rest = model.clone()
        own = slice(fold, EVENTS, FOLDS)
        rest.merge(model)
        for x, y in zip(features[own].tolist(), targets[own].tolist(), strict=True):
            rest.unlearn_one(dict(enumerate(x)), y)
        weights = rest.path("ridge", (GRID * noise).tolist()).weights[::-1]
        errors[own] = (targets[own, None] - features[own] @ weights.T) ** 2
    return errors


def draw(axes: Axes, curve: Numbers, best: tuple[float, float], color: str, **labels: str) -> None:
    """Draw a curve over the precisions, where it is best, and the precision that the weights were drawn with."""
    axes.plot(GRID, curve, color)
    axes.plot(*best, "o", color=color, label=f"best: {best[0]:.2f}")
    axes.axvline(PRECISION, color="0.6", linestyle="--", linewidth=1, label=f"truth: {PRECISION:g}")
    axes.legend(loc="upper left")
    axes.set(xscale="log", **labels)


def main() -> None:
    """Print both choices and draw both curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "evidence.png"
    model = GramRegression(intercept=False)
    (features, targets) = events()
    for x, y in zip(features.tolist(), targets.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), y)
    precision, noise, height, determined = model.maximise_evidence()
    mean = held_out(model, features, targets, noise).mean(axis=0)
    chosen = float(GRID[mean.argmin()]), float(mean.min())
    print(f"evidence: prior precision {precision:.4f}, noise variance {noise:.4f}")
    print(f"          log evidence {height:.4f}, {determined:.4f} of {WIDTH} weights determined")
    print("cross-validation: prior precision {:.4f}, error {:.4f}".format(*chosen), f"(at 0.05: {mean[0]:.4f})")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (upper, lower) = plt.subplots(2, figsize=(8, 6.5), sharex=True)
    curve = np.array([model.log_evidence(point, noise) for point in GRID.tolist()])
    draw(upper, curve, (precision, height), "C0", ylabel="log evidence", title="all events at once")
    draw(lower, mean, chosen, "C1", ylabel="squared error", title="ten folds held out", xlabel="prior precision")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
