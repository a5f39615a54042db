"""The order of an autoregression by its evidence: how many past values the next one depends on, after one pass.

Look at the two curves: the likelihood of the targets learned only rises with the order, the evidence is highest at the
true one. All orders come from one learner with twelve lags: the sums of fewer lags are part of its sums.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from stream_bayes import BayesianLinearRegression, GramRegression, LagFeatures

COEFFICIENTS = (0.9, -0.7, 0.4)
LEVEL = 2.0
NOISE = 0.5
EVENTS = 600
MOST = 12
Numbers = NDArray[np.float64]


def series() -> Numbers:
    """Return an autoregression of order 3 around a level."""
    generator = np.random.default_rng(8)
    values = np.zeros(EVENTS + 100)
    for place in range(3, len(values)):
        values[place] = values[place - 3 : place][::-1] @ COEFFICIENTS + NOISE * generator.normal()
    return LEVEL + values[100:]


def learn(values: Numbers, lags: LagFeatures) -> GramRegression:
    """Return a learner of every value that has all its lags."""
    model = GramRegression()
    for value in values.tolist():
        if lags.is_filled:
            model.learn_one(lags.transform_one({}), value)
        lags.learn_one({}, value)
    return model


def main() -> None:
    """Print likelihood and evidence of each order, and draw them with the predictions of the chosen one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "autoregression.png"
    values = series()
    lags = LagFeatures(MOST)
    model = learn(values, lags)
    orders = [lags.names(order) for order in range(MOST + 1)]
    evidence = np.array([found.log_evidence for found in model.order_evidence(orders)])
    likelihood = np.array([model.restrict(names).solve("none").log_likelihood() for names in orders])
    chosen = int(evidence.argmax())
    print("order   log likelihood   log evidence   probability")
    shares = np.exp(evidence - evidence.max())
    for order, share in enumerate(shares / shares.sum()):
        print(f"{order:>5}{likelihood[order]:>17.4f}{evidence[order]:>15.4f}{share:>14.4f}")
    fit = model.restrict(orders[chosen]).solve("none")
    errors = fit.standard_errors()
    print(f"order {chosen}, noise of deviation {fit.noise_variance**0.5:.4f}")
    for name, truth in zip(orders[chosen], COEFFICIENTS, strict=False):
        print(f"{name}: {fit.weights[name]:.4f}, standard error {errors[name]:.4f} (truth {truth:g})")
    # The same order in a river pipeline: each value is predicted, then learned.
    pipeline = LagFeatures(chosen) | BayesianLinearRegression(0.1, noise="unknown")
    forecasts = np.empty((EVENTS, 3))
    for row, value in enumerate(values.tolist()):
        forecast = pipeline["BayesianLinearRegression"].predictive_one(pipeline.transform_one({}))
        forecasts[row] = forecast.mean, *forecast.interval(0.95)
        pipeline.learn_one({}, value)
    late = slice(50, None)
    inside = ((forecasts[late, 1] <= values[late]) & (values[late] <= forecasts[late, 2])).mean()
    off = np.sqrt(np.mean((forecasts[late, 0] - values[late]) ** 2))
    print(f"predictions of the pipeline: off by {off:.4f}, {inside:.3f} of the values inside 95 %")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(2, 3))
    left.plot(range(MOST + 1), likelihood, "o-", color="C1", label="log likelihood")
    left.plot(range(MOST + 1), evidence, "o-", color="C0", label="log evidence")
    left.axvline(chosen, color="0.6", linestyle="--", linewidth=1)
    left.set(xlabel="order", title="orders 0 to 12 from one pass")
    left.legend(loc="lower right")
    shown = np.arange(EVENTS - 60, EVENTS)
    right.fill_between(shown, forecasts[shown, 1], forecasts[shown, 2], color="C0", alpha=0.2, linewidth=0)
    right.plot(shown, forecasts[shown, 0], color="C0", label="prediction, 95 % interval")
    right.plot(shown, values[shown], ".", color="0.3", label="value")
    right.set(xlabel="time", title=f"the next value, order {chosen}")
    right.legend(loc="lower left")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
