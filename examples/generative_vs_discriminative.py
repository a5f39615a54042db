"""A generative model, Gaussian naive Bayes, against a discriminative one, logistic regression by gradient steps.

First look at single steps. Logistic regression predicts p, and moves its weight by rate x error x feature: where it was
nearly right it learns next to nothing. Naive Bayes counts every event, and moves the mean of its class alone.

Then look at where the learning curves cross. Naive Bayes takes features as independent given the class: that is wrong,
so it soon stops improving, but leaves little to learn, so it gets there on few events. Logistic regression assumes less
and ends lower. The dashed curve is logistic regression that knows the scale of each feature beforehand. It leads
from the start, so on these data the slow start of the other one is the wait for the scale.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from river import preprocessing
from sklearn.datasets import load_breast_cancer

from stream_bayes import GaussianNB, LogisticRegression

SHUFFLES: Final = 30
RATE: Final = 0.1
STEP_RATE: Final = 1.0
"""Of the single steps: larger, so that a few of them show."""
FEATURE: Final = "mean radius"
EVENTS: Final = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400)
"""After how many events the error is measured, on the 169 tumours that are never learned."""
NAMES: Final = ("naive Bayes", "logistic regression", "the same, scale known")


def learning_curve(model: Any, features: NDArray[np.float64], labels: list[bool], scaler: Any = None) -> list[float]:
    """Return the error on the held-out events, in percent, after each number of events learned."""
    rows = [dict(enumerate(row)) for row in features.tolist()]
    held_out = rows[EVENTS[-1] :]
    truth = np.array(labels[EVENTS[-1] :])
    curve = []
    for start, end in zip((0, *EVENTS), EVENTS, strict=False):
        for x, y in zip(rows[start:end], labels[start:end], strict=True):
            if scaler:
                scaler.learn_one(x)
            model.learn_one(scaler.transform_one(x) if scaler else x, y)
        events = [scaler.transform_one(x) for x in held_out] if scaler else held_out
        predicted = model.predictive_many(events).probabilities[:, 1] > 0.5
        curve.append(100 * float(np.mean(predicted != truth)))
    return curve


def print_steps(events: int = 8) -> None:
    """Print what the first events change in both models, with one feature, scaled to mean 0 and variance 1."""
    data = load_breast_cancer()
    column = data.data[:, list(data.feature_names).index(FEATURE)]
    order = np.random.default_rng(3).permutation(len(column))[:events]
    scaled = (column - column.mean()) / column.std()
    logistic = LogisticRegression("constant", STEP_RATE)
    bayes = GaussianNB(classes=(False, True))
    print(f"Single steps with the {FEATURE} alone; y is 1 for a benign tumour, the rate is {STEP_RATE:g}\n")
    print("  step       x  y       p   error  change of weight  weight  mean of y=0  mean of y=1")
    for step, (x, y) in enumerate(zip(scaled[order].tolist(), data.target[order].tolist(), strict=True), 1):
        event = {FEATURE: x}
        p = logistic.predict_proba_one(event)[True]
        before = logistic.weight(FEATURE)
        logistic.learn_one(event, bool(y))
        bayes.learn_one(event, bool(y))
        weight = logistic.weight(FEATURE)
        means = [bayes.posterior(FEATURE, label).mean for label in (False, True)]
        start = f"{step:>6}{x:>8.3f}{y:>3}{p:>8.4f}{y - p:>8.4f}{weight - before:>18.4f}{weight:>8.4f}"
        print(f"{start}{means[0]:>13.4f}{means[1]:>13.4f}")


def measure() -> NDArray[np.float64]:
    """Return the curves, one a row, of each model for each shuffle of the data."""
    (features, target) = load_breast_cancer(return_X_y=True)
    curves = []
    for seed in range(SHUFFLES):
        order = np.random.default_rng(seed).permutation(len(target))
        raw = features[order]
        labels = target[order].astype(bool).tolist()
        seen = features[order[: EVENTS[-1]]]
        bayes = GaussianNB(classes=(False, True))
        logistic = LogisticRegression("constant", RATE)
        curves.append([learning_curve(bayes, raw, labels, preprocessing.StandardScaler())])
        curves[-1].append(learning_curve(logistic.clone(), raw, labels, preprocessing.StandardScaler()))
        curves[-1].append(learning_curve(logistic, (raw - seen.mean(axis=0)) / seen.std(axis=0), labels))
    return np.array(curves).transpose(1, 0, 2)


def main() -> None:
    """Measure, print the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "generative_vs_discriminative.png"
    print_steps()
    curves = measure()
    print(f"\nError on held-out tumours in percent, mean of {SHUFFLES} shuffles +- 2 standard errors\n")
    print("events" + "".join(f"{name:>24}" for name in NAMES))
    means = curves.mean(axis=1)
    margins = 2 * curves.std(axis=1, ddof=1) / SHUFFLES**0.5
    for count, mean, margin in zip(EVENTS, means.T, margins.T, strict=True):
        print(f"{count:>6}" + "".join(f"{a:>16.2f} +-{b:>5.2f}" for a, b in zip(mean, margin, strict=True)))
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for name, mean, margin, style in zip(NAMES, means, margins, ("C0o-", "C1s-", "C1--"), strict=True):
        axes.fill_between(EVENTS, mean - margin, mean + margin, color=style[:2], alpha=0.15, linewidth=0)
        axes.plot(EVENTS, mean, style, markersize=4, label=name)
    axes.set(xscale="log", xlabel="events learned", ylabel="error on held-out tumours, %", ylim=(0, None))
    axes.set_xticks((2, *EVENTS[1::2], 400), [str(count) for count in (2, *EVENTS[1::2], 400)])
    axes.legend(title=f"mean of {SHUFFLES} shuffles ± 2 standard errors", alignment="left")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
