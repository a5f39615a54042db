"""Learning curves of a generative model, Gaussian naive Bayes, and of a discriminative one, logistic regression.

Look at where the curves cross. Naive Bayes takes the features as independent given the class: a wrong assumption, so it
soon stops improving, but one that leaves little to learn, so it gets there on few events. Logistic regression assumes
less and ends lower. Then look at the dashed curve: told the scale of each feature beforehand, logistic regression leads
from the start, so on these data its slow start is the wait for the scale, which naive Bayes learns as it goes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from river import linear_model, optim, preprocessing
from sklearn.datasets import load_breast_cancer

from stream_bayes import GaussianNB

SHUFFLES: Final = 30
EVENTS: Final = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400)
"""After how many events the error is measured, on the 169 tumours that are never learned."""
NAMES: Final = ("naive Bayes", "logistic", "logistic, scale known")


def learning_curve(model: Any, features: NDArray[np.float64], labels: list[bool]) -> list[float]:
    """Return the error on the held-out events, in percent, after each number of events learned."""
    events = [(dict(enumerate(row)), label) for row, label in zip(features.tolist(), labels, strict=True)]
    held_out, curve = events[EVENTS[-1] :], []
    for start, end in zip((0, *EVENTS), EVENTS, strict=False):
        for x, y in events[start:end]:
            model.learn_one(x, y)
        curve.append(100 * sum(model.predict_one(x) != y for x, y in held_out) / len(held_out))
    return curve


def measure() -> NDArray[np.float64]:
    """Return the curves, one a row, of each model for each shuffle of the data."""
    features, target = load_breast_cancer(return_X_y=True)
    curves = []
    for seed in range(SHUFFLES):
        order = np.random.default_rng(seed).permutation(len(target))
        raw, labels, seen = features[order], [bool(label) for label in target[order]], features[order[: EVENTS[-1]]]
        bayes, logistic, informed = GaussianNB(), *(linear_model.LogisticRegression(optim.SGD(0.1)) for _ in range(2))
        scaled = [learning_curve(preprocessing.StandardScaler() | model, raw, labels) for model in (bayes, logistic)]
        curves.append([*scaled, learning_curve(informed, (raw - seen.mean(axis=0)) / seen.std(axis=0), labels)])
    return np.array(curves).transpose(1, 0, 2)


def main() -> None:
    """Measure, print the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "generative_vs_discriminative.png"
    curves = measure()
    print(f"Error on held-out tumours in percent, mean of {SHUFFLES} shuffles +- 2 standard errors\n")
    print("events" + "".join(f"{name:>24}" for name in NAMES))
    for count, errors in zip(EVENTS, curves.transpose(2, 0, 1), strict=True):
        cells = [f"{own.mean():.2f} +-{2 * own.std(ddof=1) / SHUFFLES**0.5:5.2f}" for own in errors]
        print(f"{count:>6}" + "".join(f"{cell:>24}" for cell in cells))
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for name, own, color, style in zip(NAMES, curves, ("C0", "C1", "C1"), ("o-", "s-", "--"), strict=True):
        axes.plot(EVENTS, own.mean(axis=0), style, color=color, markersize=4, label=name)
        if style != "--":
            axes.fill_between(EVENTS, *np.quantile(own, (0.25, 0.75), axis=0), color=color, alpha=0.15, linewidth=0)
    axes.set(xscale="log", xlabel="events learned", ylabel="error on held-out tumours, %", ylim=(0, 50))
    axes.set_xticks(EVENTS[::2], [str(count) for count in EVENTS[::2]], minor=False)
    axes.legend(title=f"mean, and middle half, of {SHUFFLES} shuffles")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
