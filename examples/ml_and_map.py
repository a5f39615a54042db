"""Two answers of one model: the label of maximum likelihood, and that of maximum posterior probability.

Look at rain: it is likelier on a day without a run (2/5) than on one with a run (3/9), so by likelihood the answer is
no. But runs are common, and by Bayes' theorem a rainy day more likely has one. In the picture the data never change:
only the prior probability of a run moves, and each outlook turns to yes at another point.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import numpy as np

from stream_bayes import CategoricalNB

DAYS: Final = list(csv.DictReader(Path(__file__).with_name("orienteering.csv").read_text().splitlines()))
OUTLOOKS: Final = ("sunny", "overcast", "rainy")


def learned(prior_count: float) -> CategoricalNB:
    """Return naive Bayes after fourteen days; without pseudo-counts it is exact maximum likelihood."""
    model = CategoricalNB(prior_count, class_prior_count=0, classes=("no", "yes"))
    for day in DAYS:
        model.learn_one({feature: value for feature, value in day.items() if feature != "run"}, day["run"])
    return model


def print_table(model: CategoricalNB, title: str) -> None:
    """Print likelihoods and joint probabilities of each outlook, and both answers."""
    print(f"{title:<21}{'p(x | no)':>10}{'p(x | yes)':>11}{'p(x, no)':>10}{'p(x, yes)':>10}{'p(x)':>8}  y_ML  y_MAP")
    for outlook in OUTLOOKS:
        x = {"outlook": outlook}
        row = [*model.log_likelihood_one(x).values(), *model.log_joint_one(x).values(), model.log_evidence_one(x)]
        shown = "".join(f"{math.exp(log):>{width}.4f}" for log, width in zip(row, (10, 11, 10, 10, 8), strict=True))
        print(f"  {outlook:<19}{shown}  {model.predict_ml_one(x):<6}{model.predict_one(x)}")


def main() -> None:
    """Print the table without and with pseudo-counts, and draw when each outlook turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "ml_and_map.png"
    exact = learned(0)
    print_table(exact, "no counts added")
    print_table(learned(1), "one added to each")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    prior = np.linspace(0.0, 1.0, 401)
    for outlook, style in zip(OUTLOOKS, ("C1-", "C2-", "C0-"), strict=True):
        no, yes = (math.exp(log) for log in exact.log_likelihood_one({"outlook": outlook}).values())
        axes.plot(prior, yes * prior / np.maximum(yes * prior + no * (1 - prior), 1e-12), style, label=outlook)
        print(f"{outlook}: yes from a prior of {no / (no + yes):.4f} on")
    axes.axvline(9 / 14, color="0.5", linewidth=1)
    axes.axvline(0.5, color="0.5", linewidth=1, linestyle="--")
    axes.axhline(0.5, color="0.5", linewidth=1)
    axes.text(9 / 14 + 0.01, 0.04, "9 of 14 days: y_MAP")
    axes.text(0.5 - 0.01, 0.04, "both alike: y_ML", ha="right")
    axes.set(xlabel="prior probability of a run", ylabel="posterior probability of a run", xlim=(0, 1))
    axes.set_title("The same likelihoods under every prior")
    axes.legend(loc=(0.06, 0.68))
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
