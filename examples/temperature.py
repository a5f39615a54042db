"""A mean temperature from one day and from seven: what is believed of the mean, and what is expected of tomorrow.

Look at the two deviations: that of the posterior shrinks with every day, as the mean becomes known; that of the
predictive can never fall below the noise, as single days keep differing. The first is for "how cold is January here?",
the second for "will the pipes freeze tomorrow?".
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from stream_bayes import Normal

PRIOR: Final = Normal(mean=0, variance=16)
"""Belief about the mean temperature of January before the first day, in degrees Celsius."""
NOISE_VARIANCE: Final = 25.0
"""How much single days differ from the mean, known."""
DAYS: Final = (-8.2, -3.1, -11.4, -0.9, -6.0, -9.3, -4.7)
"""Invented, but like a January in Toronto."""


def print_table() -> None:
    """Print belief and prediction before the first day and after each."""
    print(f"{'days':>4}{'mean':>9}{'posterior sd':>15}{'predictive sd':>15}    next day with 95 %")
    for count in range(len(DAYS) + 1):
        posterior = PRIOR.update_many(DAYS[:count], NOISE_VARIANCE)
        predictive = posterior.predictive(NOISE_VARIANCE)
        deviations = f"{math.sqrt(posterior.variance):>15.3f}{math.sqrt(predictive.variance):>15.3f}"
        low, high = predictive.interval(0.95)
        print(f"{count:>4}{posterior.mean:>9.3f}{deviations}    {low:>6.2f} to {high:>5.2f}")


def draw(axes: Axes, count: int, title: str) -> None:
    """Draw prior, posterior and predictive after some days, and the days themselves."""
    posterior = PRIOR.update_many(DAYS[:count], NOISE_VARIANCE)
    curves = (
        ("prior of the mean", PRIOR, "0.6", "--"),
        ("posterior of the mean", posterior, "C0", "-"),
        ("predictive of the next day", posterior.predictive(NOISE_VARIANCE), "C1", "-"),
    )
    grid = np.linspace(-22, 14, 601)
    for name, belief, color, style in curves:
        density = belief.density(grid)
        axes.plot(grid, density, style, color=color, label=f"{name}, sd {math.sqrt(belief.variance):.1f}")
        if style == "-":
            axes.fill_between(grid, density, color=color, alpha=0.12, linewidth=0)
    axes.plot(DAYS[:count], [0.0] * count, "|", color="0.2", markersize=14, markeredgewidth=2, label="days seen")
    axes.set(title=title, ylabel="density", ylim=(0, 0.24))
    axes.legend(loc="upper right")


def main() -> None:
    """Print the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "temperature.png"
    print_table()
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (one, seven) = plt.subplots(2, figsize=(8, 6), sharex=True)
    draw(one, 1, "after one day")
    draw(seven, 7, "after seven days")
    seven.set_xlabel("temperature, °C")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
