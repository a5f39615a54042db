"""A polynomial of degree 20 through 30 points, over the strength of its penalty: from a wild curve to a flat one.

Look at the two errors: on the points learned it only ever grows with the strength, on new points it falls first.
Cross-validation and the evidence find the valley without new points. One pass over each fold is all that was read; the
strengths are tried on the sums of powers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from stream_bayes import GramRegression, PolynomialFeatures
from stream_bayes.learners.gram import cross_validate

POINTS = 30
FOLDS = 10
NOISE = 0.3
STRENGTHS = np.geomspace(1e-8, 1e3, 111)
SHOWN = (1e-8, 1e-2, 1e2)
Numbers = NDArray[np.float64]


def truth(x: Numbers) -> Numbers:
    """Return the curve behind the points."""
    return np.sin(np.pi * x)


def points(count: int, seed: int) -> tuple[Numbers, Numbers]:
    """Return places between -1 and 1, and what was measured there."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, count)
    return x, truth(x) + generator.normal(0, NOISE, count)


def learn_folds(powers: PolynomialFeatures, x: Numbers, y: Numbers) -> tuple[GramRegression, list[GramRegression]]:
    """Return a learner of all points, and one for each fold."""
    folds = [GramRegression() for _ in range(FOLDS)]
    for row, (place, target) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        folds[row % FOLDS].learn_one(powers.transform_one({"x": place}), target)
    whole = GramRegression()
    for fold in folds:
        whole.merge(fold)
    return whole, folds


def main() -> None:
    """Print the errors of some strengths and the ones chosen, and draw curves and errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "polynomial_strength.png"
    powers = PolynomialFeatures(20)
    (x, y) = points(POINTS, seed=3)
    (new_x, new_y) = points(2000, seed=4)
    (model, folds) = learn_folds(powers, x, y)
    path = model.path("ridge", STRENGTHS.tolist())
    columns = new_x[:, None] ** np.arange(1, 21)
    order = [path.names.index(name) for name in powers.names("x", 20)]
    fits = path.weights[:, order] @ columns.T + path.intercepts[:, None]
    learned = np.sqrt(path.residual_squares / POINTS)
    unseen = np.sqrt(((fits - new_y) ** 2).mean(axis=1))
    crossed = cross_validate(STRENGTHS.tolist(), folds)
    held_out = np.sqrt(crossed.errors)
    best = model.maximise_evidence()
    by_evidence = best.prior_precision * best.noise_variance
    print("strength   degrees   learned       new   held out")
    for strength in (1e-8, 1e-5, 1e-3, 1e-1, 1e1, 1e3):
        row = int(np.abs(np.log(path.strengths / strength)).argmin())
        figures = path.degrees_of_freedom[row], learned[row], unseen[row], held_out[row]
        print(f"{strength:<9g}" + "".join(f"{figure:>10.4f}" for figure in figures))
    print(f"chosen by folds held out: {crossed.best:.4f}, within one standard error {crossed.one_standard_error:.4f}")
    print(f"chosen by the evidence: {by_evidence:.4f}, noise of deviation {best.noise_variance**0.5:.4f}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8))
    grid = np.linspace(-1, 1, 400)
    left.plot(grid, truth(grid), color="0.7", linestyle="--", label="truth")
    for strength in SHOWN:
        weights = model.solve("ridge", strength)
        curve = [weights.predict(powers.transform_one({"x": place})) for place in grid.tolist()]
        left.plot(grid, curve, label=f"strength {strength:g}")
    left.plot(x, y, "o", color="0.3", markersize=4, label="points learned")
    left.set(ylim=(-2, 2), xlabel="x", title="degree 20, three strengths")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)
    right.plot(path.strengths, learned, label="points learned")
    right.plot(path.strengths, unseen, label="new points")
    right.plot(path.strengths, held_out, label="folds held out")
    right.axvline(by_evidence, color="0.6", linestyle=":", linewidth=1.2, label="chosen by evidence")
    right.axvline(crossed.best, color="C2", linewidth=1, label="chosen by folds")
    simplest = "folds, one standard error"
    right.axvline(crossed.one_standard_error, color="C2", linestyle="--", linewidth=1, label=simplest)
    right.set(xscale="log", ylim=(0, 1.4), xlabel="strength", title="root of the mean squared error")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
