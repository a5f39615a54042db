"""Fourteen days of weather, and whether the orienteers ran: naive Bayes with and without pseudo-counts.

Look at the zero in the table: no overcast day was a "no", so maximum likelihood rules it out for ever. Look at rain: it
is likelier on a day without a run, and yet a rainy day more likely has one, as runs are common. In the picture the
probability moves with every day learned, and the interval says how little fourteen days are.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt

from stream_bayes import CategoricalNB

DAYS: Final = list(csv.DictReader(Path(__file__).with_suffix(".csv").read_text().splitlines()))
COUNTS: Final = Counter((value, day["run"]) for day in DAYS for value in day.values())
QUESTION: Final = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "windy": "true"}


def chances(model: CategoricalNB) -> tuple[float, float, float]:
    """Return the probability of a run on the day in question, and its 90 % credible interval."""
    answer = model.predictive_one(QUESTION)
    return answer.probabilities["yes"], *answer.interval(0.9, "yes")


def print_table(exact: CategoricalNB, smooth: CategoricalNB) -> None:
    """Print what was learned, what follows for three kinds of day, and the last of these by hand."""
    print(f"{'':<32}   no counts added   one added to each\n{'run:':<32}{'no':>9}{'yes':>9}{'no':>11}{'yes':>9}")
    for place, value in enumerate(smooth.categories("outlook")):
        row = [COUNTS[value, label] / COUNTS[label, label] for label in ("no", "yes")]
        row += [smooth.posterior("outlook", label).mean[place] for label in ("no", "yes")]
        print(f"{f'P({value} | run)':<32}{row[0]:>9.4f}{row[1]:>9.4f}{row[2]:>11.4f}{row[3]:>9.4f}")
    for name, day in (("any day", {}), ("rainy", {"outlook": "rainy"}), (", ".join(QUESTION.values()), QUESTION)):
        row = [*exact.predict_proba_one(day).values(), *smooth.predict_proba_one(day).values()]
        print(f"{f'P(run | {name})':<32}{row[0]:>9.4f}{row[1]:>9.4f}{row[2]:>11.4f}{row[3]:>9.4f}")
    for label in ("no", "yes"):
        total = COUNTS[label, label]
        parts = [total / len(DAYS), *(COUNTS[value, label] / total for value in QUESTION.values())]
        print(f"score of {label:<3} by hand: {' x '.join(f'{part:.2f}' for part in parts)} = {math.prod(parts):.4f}")


def main() -> None:
    """Learn the days one by one, and draw what the models think of the day in question after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "orienteering.png"
    exact, smooth = (CategoricalNB(count, class_prior_count=count, classes=("no", "yes")) for count in (0, 1))
    history = [(*chances(exact), *chances(smooth))]
    for day in DAYS:
        for model in (exact, smooth):
            model.learn_one({feature: day[feature] for feature in QUESTION}, day["run"])
        history.append((*chances(exact), *chances(smooth)))
    print_table(exact, smooth)
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    plain, _, _, mean, low, high = zip(*history, strict=True)
    axes.fill_between(range(len(history)), low, high, color="C0", alpha=0.15, linewidth=0)
    axes.plot(mean, "C0o-", label="one added to each count, 90 % interval")
    axes.plot(plain, "C1o--", markersize=4, linewidth=1.5, label="no counts added; 1/2 while both scores are 0")
    axes.set_xticks(range(len(history)), ["start", *(f"{n}\n{day['run']}" for n, day in enumerate(DAYS, 1))])
    axes.set(xlabel="day learned, and whether there was a run", ylabel="probability of a run", ylim=(-0.03, 1.03))
    axes.set_title("A sunny, cool, humid, windy day: will there be a run?")
    axes.legend(loc="upper right")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
