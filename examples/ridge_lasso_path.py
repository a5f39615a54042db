"""One pass over a stream, then every ridge and LASSO fit of it: how the weights grow as the penalty is let go.

Look at "floor", which does nothing but follows "rooms": ridge gives it a share of the weight of "rooms" from the start;
the LASSO lets features in one after the other, those that matter first, and "floor" when almost no penalty is left.
Nothing but the means and the scatter of the stream is kept: no fit looks at an event again.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from stream_bayes import GramRegression
from stream_bayes.learners.gram import Path as Profile

EVENTS: Final = 400
TRUTH: Final = {"rooms": 3.0, "garden": 2.0, "noise": -1.5, "age": -1.0}
OTHERS: Final = ("floor", "colour", "door", "number")


def stream() -> GramRegression:
    """Return a learner after one pass: four features matter, one of the others follows the first of them."""
    generator, model = np.random.default_rng(4), GramRegression()
    for _ in range(EVENTS):
        x = {name: float(generator.normal()) for name in (*TRUTH, *OTHERS)}
        x["floor"] = 0.9 * x["rooms"] + 0.45 * x["floor"]
        price = sum(weight * x[name] for name, weight in TRUTH.items())
        model.learn_one(x, 10 + price + 3 * float(generator.normal()))
    return model


def draw(axes: Axes, profile: Profile, across: NDArray[np.float64]) -> None:
    """Draw the weight of each feature, with its name at the end of the line."""
    heights = profile.weights[-1].copy()
    # Names keep a distance from each other, from the lowest up.
    for lower, upper in pairwise(np.argsort(heights)):
        heights[upper] = max(heights[upper], heights[lower] + 0.22)
    for place, name in enumerate(map(str, profile.names)):
        color = f"C{list(TRUTH).index(name)}" if name in TRUTH else "0.6"
        axes.plot(across, profile.weights[:, place], color=color, linewidth=2 if name in TRUTH else 1.2)
        axes.text(np.ceil(across[-1]) * 1.02, heights[place], name, color=color, va="center")
    axes.axhline(0, color="0.85", linewidth=1, zorder=0)
    axes.set_xlim(0, np.ceil(across[-1]))


def main() -> None:
    """Print some fits and draw both profiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "ridge_lasso_path.png"
    model = stream()
    print(f"{'penalty':<9}{'strength':>9}{'degrees':>9}  " + "".join(f"{name:>8}" for name in (*TRUTH, *OTHERS)))
    for penalty, strength in (("none", 0.0), ("ridge", 40.0), ("ridge", 400.0), ("lasso", 40.0), ("lasso", 400.0)):
        fit = model.solve(penalty, strength)
        shown = "".join(f"{fit.weights[name]:>8.3f}" for name in (*TRUTH, *OTHERS))
        print(f"{penalty:<9}{strength:>9g}{fit.degrees_of_freedom:>9.3f}  {shown}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.5), sharey=True)
    ridge, lasso, sizes = model.path("ridge", 200), model.path("lasso", 200), model.solve("none").weights.values()
    draw(left, ridge, ridge.degrees_of_freedom)
    draw(right, lasso, np.abs(lasso.weights).sum(axis=1) / sum(map(abs, sizes)))
    left.set(title="ridge: all at once", xlabel="degrees of freedom", ylabel="weight")
    right.set(title="LASSO: one after the other", xlabel="sum of |weights|, as a share of least squares")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
