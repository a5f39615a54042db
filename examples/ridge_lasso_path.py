"""One pass over a stream, then every ridge and LASSO fit of it: how the weights grow as the penalty is let go.

Look at "windows", which follow "rooms" and do nothing: ridge gives them a share of the weight of "rooms" at first; the
LASSO lets features in one after the other, those that matter first, and "windows" when almost no penalty is left. Its
degrees of freedom are the features it let in. No fit looks at an event again: means and scatter are all that is kept.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from stream_bayes import GramRegression
from stream_bayes.learners.gram import Path as Profile

EVENTS = 400
GAP = 0.24
TRUTH = {"rooms": 3.0, "garden": 2.0, "traffic": -1.5, "age": -1.0}
OTHERS = ("windows", "colour", "number", "weekday")


def stream() -> GramRegression:
    """Return a learner after one pass: four features matter, one of the others follows the first of them."""
    generator = np.random.default_rng(4)
    model = GramRegression()
    for _ in range(EVENTS):
        x = {name: float(generator.normal()) for name in (*TRUTH, *OTHERS)}
        x["windows"] = 0.9 * x["rooms"] + 0.45 * x["windows"]
        model.learn_one(x, 10 + sum(weight * x[name] for name, weight in TRUTH.items()) + 3 * float(generator.normal()))
    return model


def draw(axes: Axes, profile: Profile, shown: NDArray[np.intp], title: str, marker: str = "") -> None:
    """Draw the weight of each feature over these fits, and a thin line from its end to its name."""
    degrees = profile.degrees_of_freedom[shown]
    weights = profile.weights[shown]
    end = len(profile.names)
    heights = weights[-1].copy()
    # Names too close push each other apart.
    for lower, upper in [*pairwise(np.argsort(heights))] * 50:
        push = max(GAP - heights[upper] + heights[lower], 0) / 2
        heights[[lower, upper]] += -push, push
    for place, name in enumerate(map(str, profile.names)):
        color, width = (f"C{list(TRUTH).index(name)}", 2.0) if name in TRUTH else ("0.5", 1.2)
        axes.plot(degrees, weights[:, place], color=color, linewidth=width, clip_on=False, marker=marker)
        axes.plot((end, end + 0.4), (weights[-1, place], heights[place]), color=color, linewidth=0.6, clip_on=False)
        axes.text(end + 0.5, heights[place], name, color=color, va="center")
    axes.axhline(0, color="0.85", linewidth=1, zorder=0)
    axes.set(title=title, xlim=(0, end), xlabel="degrees of freedom")


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
    ridge = model.path("ridge", 200)
    lasso = model.path("lasso", 200)
    draw(left, ridge, np.arange(len(ridge)), "ridge: all at once")
    last = np.flatnonzero(np.diff(lasso.degrees_of_freedom, append=np.inf))  # fit with each number of features
    draw(right, lasso, last, "LASSO: one after the other", marker=".")
    left.set_ylabel("weight")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
