"""Poisson regression: counts whose rate grows by a factor, learned one event at a time, beside a straight line.

Look at the bands: counts scatter more where there are more of them. The line of least squares bends away from the rate
at both ends, and its interval is as wide at the quiet hours, where it reaches below zero, as at the busy ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from stream_bayes import BayesianLinearRegression, Poisson, PoissonRegression

EVENTS = 4000
BASE = 2.0
GROWTH = 1.2
RAIN = -0.5
"""Calls in an hour: BASE exp(GROWTH busy + RAIN rain), with `busy` between -1 and 1."""
Numbers = NDArray[np.float64]


def stream() -> list[tuple[dict[str, float], int]]:
    """Return how busy an hour was, whether it rained, and how many called."""
    generator = np.random.default_rng(5)
    busy = generator.uniform(-1, 1, EVENTS)
    rain = (generator.random(EVENTS) < 0.3).astype(float)
    counts = generator.poisson(BASE * np.exp(GROWTH * busy + RAIN * rain))
    rows = zip(busy.tolist(), rain.tolist(), counts.tolist(), strict=True)
    return [({"busy": a, "rain": b}, count) for a, b, count in rows]


def main() -> None:
    """Print weights and predictions of both, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "poisson_regression.png"
    events = stream()
    model = PoissonRegression()
    line = BayesianLinearRegression(0.01, noise="unknown")
    log_densities = np.zeros(2)
    for x, count in events:
        forecast = line.predictive_one(x)
        on_the_line = np.log(forecast.cdf(count + 0.5) - forecast.cdf(count - 0.5))
        log_densities += Poisson(model.predict_one(x)).log_pmf(count), on_the_line
        model.learn_one(x, count)
        line.learn_one(x, count)
    print(f"weights of the log rate: busy {model.weight('busy'):.3f}, rain {model.weight('rain'):.3f}, ", end="")
    print(f"constant {model.intercept_value:.3f} (truth {GROWTH:g}, {RAIN:g}, {np.log(BASE):.3f})")
    poisson, straight = log_densities / EVENTS
    print(f"log density of each count before it was learned: Poisson {poisson:.4f}, line {straight:.4f}")
    print("busy      rate   Poisson   95 %        line   95 %")
    for busy in (-1.0, -0.5, 0.0, 0.5, 1.0):
        x = {"busy": busy, "rain": 0.0}
        number = model.predictive_one(x)
        normal = line.predictive_one(x)
        rate = BASE * np.exp(GROWTH * busy)
        ends = (*number.interval(0.95), *normal.interval(0.95))
        print(
            f"{busy:>4.1f}{rate:>10.3f}{number.mean:>10.3f}   {ends[0]:>2.0f} to {ends[1]:<4.0f}"
            f"{normal.mean:>8.3f}  {ends[2]:>6.2f} to {ends[3]:<6.2f}"
        )
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 4.6))
    shown = [(x["busy"], count) for x, count in events if not x["rain"]][:700]
    jitter = np.random.default_rng(1).uniform(-0.3, 0.3, len(shown))
    label = f"{len(shown)} counts, moved up or down by up to 0.3"
    places = [place for place, _ in shown]
    axes.plot(places, [count for _, count in shown] + jitter, ".", color="0.55", markersize=3, label=label)
    grid = np.linspace(-1, 1, 101)
    dry = [{"busy": place, "rain": 0.0} for place in grid.tolist()]
    axes.plot(grid, BASE * np.exp(GROWTH * grid), color="0.2", linewidth=6, label="true rate")
    for color, predictions, name in (
        ("C0", model.predictive_many(dry), "Poisson regression"),
        ("C1", line.predictive_many(dry), "straight line"),
    ):
        axes.plot(grid, predictions.mean, color=color, label=name)
        axes.fill_between(grid, *predictions.interval(0.95), color=color, alpha=0.15, linewidth=0)
    axes.set(xlabel="busy", ylabel="calls in a dry hour", title="mean and 95 % interval")
    axes.legend(loc="upper left")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
