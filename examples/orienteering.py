"""Fourteen days of weather, and whether the orienteers ran: naive Bayes with and without pseudo-counts.

Look at the zero in the first table: no overcast day was a "no", so maximum likelihood rules it out for ever. Look at
rain: it is likelier on a day without a run, and yet a rainy day more likely has one, as runs are common. In the picture
the probability moves with every day learned, and the interval says how little fourteen days are.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import numpy as np

from stream_bayes import CategoricalNB

FEATURES: Final = ("outlook", "temperature", "humidity", "windy")
TABLE: Final = """
sunny hot high false no, sunny hot high true no, overcast hot high false yes, rainy mild high false yes, rainy cool
normal false yes, rainy cool normal true no, overcast cool normal true yes, sunny mild high false no, sunny cool normal
false yes, rainy mild normal false yes, sunny mild normal true yes, overcast mild high true yes, overcast hot normal
false yes, rainy mild high true no"""
DAYS: Final = [tuple(day.split()) for day in TABLE.split(",")]
LABELS: Final = ("no", "yes")
QUESTION: Final = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "windy": "true"}


def share(place: int, value: str, label: str) -> float:
    """Return how many of the days with this label had this value: the maximum-likelihood estimate."""
    values = [day[place] for day in DAYS if day[-1] == label]
    return values.count(value) / len(values)


def chances(model: CategoricalNB) -> tuple[float, float, float]:
    """Return the probability of a run on the day in question, and its 90 % credible interval."""
    answer = model.predictive_one(QUESTION)
    low, high = answer.interval(0.9)
    return (answer.mean, low, high) if answer.label == "yes" else (1 - answer.mean, 1 - high, 1 - low)


def print_tables(exact: CategoricalNB, smooth: CategoricalNB) -> None:
    """Print what was learned, and what follows for a rainy day and for the day in question."""
    print(f"{'':<26}no counts added   one added to each\n{'P(outlook | run)':<26}    no     yes         no     yes")
    for place, value in enumerate(smooth.categories("outlook")):
        no, yes = (smooth.posterior("outlook", label).mean[place] for label in LABELS)
        print(f"{value:<26}{share(0, value, 'no'):>6.4f}{share(0, value, 'yes'):>8.4f}{no:>11.4f}{yes:>8.4f}")
    print("P(run | day)")
    for day in ({}, {"outlook": "rainy"}, QUESTION):
        (no, yes), (smooth_no, smooth_yes) = (model.predict_proba_one(day).values() for model in (exact, smooth))
        print(f"{', '.join(day.values()) or 'any day':<26}{no:>6.4f}{yes:>8.4f}{smooth_no:>11.4f}{smooth_yes:>8.4f}")
    for label in LABELS:
        parts = [exact.predict_proba_one({})[label], *(share(n, v, label) for n, v in enumerate(QUESTION.values()))]
        print(f"score of {label:<3} by hand: {' x '.join(f'{part:.2f}' for part in parts)} = {math.prod(parts):.4f}")


def main() -> None:
    """Learn the days one by one, and draw what the models think of the day in question after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "orienteering.png"
    exact, smooth = (CategoricalNB(count, class_prior_count=count, classes=LABELS) for count in (0, 1))
    history = [(chances(exact), chances(smooth))]
    for *weather, label in DAYS:
        for model in (exact, smooth):
            model.learn_one(dict(zip(FEATURES, weather, strict=True)), label)
        history.append((chances(exact), chances(smooth)))
    print_tables(exact, smooth)
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    plain, (mean, low, high) = [one[0] for one, _ in history], np.array([two for _, two in history]).T
    axes.fill_between(range(len(history)), low, high, color="C0", alpha=0.15, linewidth=0)
    axes.plot(mean, "o-", color="C0", label="one added to each count, 90 % interval")
    axes.plot(plain, "o--", color="C1", markersize=4, linewidth=1.5, label="no counts added")
    axes.text(3, 0.52, "both scores are 0", color="C1", ha="center")
    axes.set_xticks(range(len(history)), ["start", *(f"{n}\n{day[-1]}" for n, day in enumerate(DAYS, 1))])
    axes.set(xlabel="day learned, and whether there was a run", ylabel="probability of a run", ylim=(-0.03, 1.03))
    axes.set_title("A sunny, cool, humid, windy day: will there be a run?")
    axes.legend(loc="upper right")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
