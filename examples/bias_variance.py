"""Bias and variance of ridge predictions over the strength: why a penalty helps, and how much of it.

Look at the sum of the two: least squares has no bias and much variance, a strong penalty the other way round, and the
least error is in between. The figures are exact, from the sums of one pass; the dots are averages over 2,000 streams of
new targets for the same features, each learned and predicted.
"""

from __future__ import annotations

import argparse
from collections.abc import Hashable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from stream_bayes import Batch, GramRegression

EVENTS = 40
WIDTH = 15
NOISE = 4.0
STREAMS = 2000
STRENGTHS = np.geomspace(0.1, 1000, 41)
NAMES = [f"x{column}" for column in range(WIDTH)]
Numbers = NDArray[np.float64]


def problem() -> tuple[Numbers, Numbers, Numbers]:
    """Return features that follow each other, true weights, and the events to be predicted."""
    generator = np.random.default_rng(6)
    common = generator.normal(size=(EVENTS + 50, 1))
    features = 0.7 * common + 0.7 * generator.normal(size=(EVENTS + 50, WIDTH))
    return features[:EVENTS], generator.normal(0, 0.6, WIDTH), features[EVENTS:]


def learn(features: Numbers, targets: Numbers) -> GramRegression:
    """Return a learner after these events."""
    model = GramRegression()
    model.learn_many(Batch.from_matrix(features, NAMES), targets)
    return model


def exact(model: GramRegression, weights: Numbers, probes: Numbers) -> Numbers:
    """Return the mean squared bias and the mean variance over the probes, a row for each strength."""
    truth: dict[Hashable, float] = dict(zip(NAMES, weights.tolist(), strict=True))
    events = [dict(zip(NAMES, probe.tolist(), strict=True)) for probe in probes]
    table = np.empty((len(STRENGTHS), 2))
    for row, strength in enumerate(STRENGTHS.tolist()):
        parts = [model.bias_variance(x, truth, strength, NOISE) for x in events]
        table[row] = np.mean([(part.bias**2, part.variance) for part in parts], axis=0)
    return table


def simulated(features: Numbers, weights: Numbers, probes: Numbers, strengths: list[float]) -> Numbers:
    """Return the same by predicting after many streams of new targets."""
    generator = np.random.default_rng(7)
    predictions = np.empty((STREAMS, len(strengths), len(probes)))
    for stream in range(STREAMS):
        model = learn(features, features @ weights + generator.normal(0, NOISE**0.5, EVENTS))
        path = model.path("ridge", strengths)
        predictions[stream] = (path.weights @ probes.T + path.intercepts[:, None])[::-1]
    bias = predictions.mean(axis=0) - probes @ weights
    return np.stack(((bias**2).mean(axis=1), predictions.var(axis=0).mean(axis=1)), axis=1)


def main() -> None:
    """Print bias and variance of some strengths, and draw them over all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "bias_variance.png"
    (features, weights, probes) = problem()
    # Bias and variance do not depend on the targets.
    model = learn(features, features @ weights)
    table = exact(model, weights, probes)
    total = table.sum(axis=1)
    best = int(total.argmin())
    chosen = [float(STRENGTHS[row]) for row in (0, 10, 20, 30, 40)]
    measured = simulated(features, weights, probes, chosen)
    print("strength   squared bias   variance     sum   measured: squared bias   variance")
    for row, seen in zip((0, 10, 20, 30, 40), measured, strict=True):
        bias, variance = table[row]
        print(f"{STRENGTHS[row]:<9g}{bias:>14.4f}{variance:>11.4f}{total[row]:>9.4f}{seen[0]:>24.3f}{seen[1]:>11.3f}")
    print(f"least sum {total[best]:.4f} at strength {STRENGTHS[best]:.4f}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    axes.plot(STRENGTHS, table[:, 0], label="squared bias")
    axes.plot(STRENGTHS, table[:, 1], label="variance")
    axes.plot(STRENGTHS, total, label="sum: expected squared error")
    axes.set_prop_cycle(None)
    for column in (*measured.T, measured.sum(axis=1)):
        axes.plot(chosen, column, "o")
    axes.plot([], [], "o", color="0.5", label=f"measured on {STREAMS:,} streams")
    axes.axvline(STRENGTHS[best], color="0.6", linestyle="--", linewidth=1, label="least sum")
    axes.set(xscale="log", xlabel="strength", title="error of ridge predictions, without the noise", ylim=(0, None))
    axes.legend(loc="upper left")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
