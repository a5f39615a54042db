"""Level sets of two penalties: why the LASSO makes weights exactly zero, and ridge does not.

Look at where the ellipses of equal squared error touch a set of equal penalty: the square of l1 has corners on the
axes, and is touched there; the circle of l2 is round, and is touched beside them. A power between 1 and 2 is round too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from stream_bayes import Batch, GramRegression
from stream_bayes.learners.gram import Fit

EVENTS = 100
STRENGTHS = (10.0, 40.0, 70.0)
POWERS = {"l1": 1.0, "l1.5": 1.5, "l2": 2.0}
GRID = np.linspace(-0.6, 1.4, 81)


def stream() -> GramRegression:
    """Return a learner of two features that lean the same way; the second has little of the weight."""
    generator = np.random.default_rng(11)
    features = generator.normal(size=(EVENTS, 2))
    features[:, 1] += 0.5 * features[:, 0]
    model = GramRegression(intercept=False)
    model.learn_many(Batch.from_matrix(features, ["a", "b"]), features @ [1.0, 0.3] + generator.normal(0, 0.7, EVENTS))
    return model


def squares(model: GramRegression, a: float, b: float) -> float:
    """Return the sum of squared errors of two weights, less a constant: -2 log likelihood for noise of variance 1."""
    return -2 * model.log_likelihood({"a": a, "b": b}, noise_variance=1.0)


def solve(model: GramRegression, strength: float, power: float) -> Fit:
    """Return the weights of least squares / 2 + strength (|a|^power + |b|^power) / power."""
    return model.solve("lp", strength, power=power)


def draw(axes: Axes, model: GramRegression, name: str) -> None:
    """Draw ellipses of equal squares, the path of the weights, and the level set that one solution touches."""
    power = POWERS[name]
    least = model.solve("none").weights
    touching = solve(model, STRENGTHS[-1], power).weights
    heights = np.array([[squares(model, a, b) for a in GRID.tolist()] for b in GRID.tolist()])
    bottom = squares(model, least["a"], least["b"])
    rise = squares(model, touching["a"], touching["b"]) - bottom
    axes.contour(GRID, GRID, heights, bottom + rise * np.array((0.1, 0.4, 1.0, 2.0)), colors="C0", linewidths=1)
    penalty = np.abs(GRID) ** power + np.abs(GRID[:, None]) ** power
    inside = sum(abs(weight) ** power for weight in touching.values())
    axes.contourf(GRID, GRID, penalty, (0, inside), colors="C1", alpha=0.25)
    path = model.path("lp", np.geomspace(0.01, 500, 60).tolist(), power=power)
    axes.plot(
        path.weights[:, path.names.index("a")],
        path.weights[:, path.names.index("b")],
        color="0.5",
        linewidth=1,
        label="all strengths",
    )
    axes.plot(least["a"], least["b"], "o", color="C0", label="least squares")
    axes.plot(touching["a"], touching["b"], "o", color="C1", label=f"strength {STRENGTHS[-1]:g}")
    axes.axhline(0, color="0.85", linewidth=1, zorder=0)
    axes.axvline(0, color="0.85", linewidth=1, zorder=0)
    axes.set(title=f"{name}: |a|^{power:g} + |b|^{power:g}", aspect="equal", xlabel="weight of a")


def main() -> None:
    """Print the weights under each penalty and draw the level sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "level_sets.png"
    model = stream()
    fit = model.solve("none")
    errors = fit.standard_errors()
    print("penalty  strength         a         b   degrees")
    print(f"none {0:>12g}{fit.weights['a']:>10.4f}{fit.weights['b']:>10.4f}{fit.degrees_of_freedom:>10.4f}")
    for name, power in POWERS.items():
        for strength in STRENGTHS:
            fit = solve(model, strength, power)
            figures = fit.weights["a"], fit.weights["b"], fit.degrees_of_freedom
            print(f"{name:<5}{strength:>12g}" + "".join(f"{figure:>10.4f}" for figure in figures))
    print(f"standard errors of least squares: {errors['a']:.4f} and {errors['b']:.4f}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, panels = plt.subplots(1, 3, figsize=(10.5, 4.2), sharey=True)
    for axes, name in zip(panels, POWERS, strict=True):
        draw(axes, model, name)
    panels[0].set_ylabel("weight of b")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
