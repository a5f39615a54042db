"""Which measurement to make next: the one whose outcome is least certain, against any one.

Look at how many labels each way needs for the same error. Where the predictive variance is largest, the entropy of the
belief falls most, by 1/2 ln(variance / noise). No answer changes that: all rows can be chosen before the first comes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from stream_bayes import Batch, BayesianLinearRegression

REPEATS, POOL, FEATURES, LABELS, PRECISION, NOISE = 30, 400, 7, range(1, 61), 0.25, 1.0
WAYS = {"random": "C1-", "largest variance": "C0-", "ranked beforehand": "k:"}


def measure(seed: int) -> NDArray[np.float64]:
    """Return error, entropy and the row chosen, for each way after each label; half of the events are the pool."""
    generator, curves = np.random.default_rng(seed), np.empty((len(WAYS), len(LABELS), 3))
    features = generator.normal(size=(2 * POOL, FEATURES)) @ generator.normal(size=(FEATURES, FEATURES))
    line = np.column_stack((np.ones(2 * POOL), features)) @ generator.normal(0, PRECISION**-0.5, FEATURES + 1)
    answers = generator.normal(line, NOISE**0.5)
    pool, test = (Batch.from_matrix(half, range(FEATURES)) for half in np.split(features, 2))
    ranked = BayesianLinearRegression(PRECISION, NOISE).rank_by_information(pool, len(LABELS))
    for order, curve in zip((generator.permutation(POOL), None, ranked), curves, strict=True):
        model, left = BayesianLinearRegression(PRECISION, NOISE), np.ones(POOL, dtype=bool)
        for place in range(len(LABELS)):
            variances = np.where(left, model.predictive_many(pool).variance, 0)
            row = int(variances.argmax() if order is None else order[place])
            left[row] = False
            model.learn_one(dict(enumerate(features[row].tolist())), answers[row])
            away = model.predictive_many(test).mean - line[POOL:]
            curve[place] = np.sqrt(np.mean(away**2)), model.entropy(), row
    return curves


def draw(axes: Axes, curves: NDArray[np.float64], **labels: str) -> None:
    """Draw the median of each way and the quartiles around it."""
    for curve, (name, style) in zip(curves, WAYS.items(), strict=True):
        low, middle, high = np.quantile(curve, (0.25, 0.5, 0.75), axis=0)
        axes.plot(LABELS, middle, style, label=name)
        axes.fill_between(LABELS, low, high, color=style[:-1], alpha=0.15 * (style[0] == "C"), linewidth=0)
    axes.set(xlabel="labels", **labels)


def main() -> None:
    """Measure, print the table and draw both curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "active_regression.png"
    curves = np.stack([measure(seed) for seed in range(REPEATS)], axis=1)
    middle, same = np.median(curves, axis=1), (curves[1] == curves[2]).all(axis=(1, 2)).sum()
    print(f"Medians of {REPEATS} repetitions: error, entropy\nlabels" + "".join(f"{way:>20}" for way in WAYS))
    for count in (5, 10, 20, 40, 60):
        print(f"{count:>6}" + "".join(f"{error:>11.4f}{entropy:>9.4f}" for error, entropy, _ in middle[:, count - 1]))
    error, entropy, _ = 1 + (middle[0] <= middle[1, 19]).argmax(axis=0)
    print(f"20 labels of largest variance are worth {error} at random by error, {entropy} by entropy")
    print(f"all ranked beforehand or each chosen in turn: the same rows and curves in {same} of {REPEATS}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2))
    draw(left, curves[..., 0], title="error against the true line", ylabel="root mean square")
    left.set_yscale("log", subs=())
    left.set_yticks((0.2, 0.5, 1, 2, 5, 10), ("0.2", "0.5", "1", "2", "5", "10"))
    draw(right, curves[..., 1], title="entropy of the belief", ylabel="nats")
    right.legend(title=f"median and quartiles of {REPEATS} repetitions", alignment="left")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
