"""Naive Bayes with Laplace smoothing, and how the costs of the two errors move its decision threshold.

200 short texts are learned, and 1,000 others are filtered. The probabilities do not depend on the costs. What to do
with a text does: if a false positive (ham that is quarantined) costs c times as much as a false negative (spam that is
delivered), a text is quarantined only if P(spam) is at least c / (c + 1). Look along the rows of the table: there are
fewer false positives and more false negatives. The last two columns say what that costs, and what the threshold 1/2
would cost. In the picture, each error falls where the other one rises.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import numpy as np

from stream_bayes import MultinomialNB
from stream_bayes.decisions import QUARANTINE, spam_losses

LEARNED: Final = 200
FILTERED: Final = 1000
COSTS: Final = (0.2, 1.0, 4.0, 20.0, 100.0)
"""The cost of a ham that is quarantined; that of a spam that is delivered is 1."""
HAM_WORDS: Final = ("lunch", "minutes", "train", "garden", "draft", "thanks", "order")
SPAM_WORDS: Final = ("price", "offer", "free", "click", "prize", "loan", "casino", "pills")
WORDS: Final = HAM_WORDS + SPAM_WORDS


def make_texts(count: int, seed: int) -> list[tuple[dict[str, int], str]]:
    """Return texts of eight words each, as counts, with their labels: the first words are rarer in spam than in ham."""
    chance = random.Random(seed)
    places = range(len(WORDS))
    weights = {"ham": [len(WORDS) - place for place in places], "spam": [1 + place for place in places]}
    labels = chance.choices(["ham", "spam"], [0.6, 0.4], k=count)
    return [(dict(Counter(chance.choices(WORDS, weights[label], k=8))), label) for label in labels]


def count_errors(probabilities: list[float], labels: list[str], threshold: float) -> tuple[int, int]:
    """Return the numbers of false positives and of false negatives, if P(spam) >= threshold is quarantined."""
    pairs = list(zip(probabilities, labels, strict=True))
    false_positives = sum(p >= threshold for p, label in pairs if label == "ham")
    false_negatives = sum(p < threshold for p, label in pairs if label == "spam")
    return false_positives, false_negatives


def draw(probabilities: list[float], labels: list[str], picture: Path) -> None:
    """Draw both errors against the threshold, and the thresholds of the table."""
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    thresholds = np.linspace(0.001, 0.999, 999)
    errors = np.array([count_errors(probabilities, labels, threshold) for threshold in thresholds.tolist()])
    axes.plot(thresholds, errors[:, 0], "C0", label="false positives")
    axes.plot(thresholds, errors[:, 1], "C1", label="false negatives")
    for cost in COSTS:
        threshold = spam_losses(cost, 1.0).threshold
        axes.axvline(threshold, color="0.6", linestyle=":")
        axes.text(threshold - 0.005, 0.97 * errors.max(), f"{cost:g} : 1", ha="right", va="top", rotation=90)
    axes.set(xlabel="threshold of P(spam)", ylabel=f"texts of {FILTERED:,}", xlim=(0, 1))
    axes.legend(loc=(0.19, 0.6), title="dotted: threshold at these costs", alignment="left")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main() -> None:
    """Learn, filter, print the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "naive_bayes_costs.png"
    model = MultinomialNB(prior_count=1.0, class_prior_count=0.0, predictive="plug-in")
    for words, label in make_texts(LEARNED, seed=1):
        model.learn_one(words, label)
    filtered = make_texts(FILTERED, seed=2)
    labels = [label for _, label in filtered]
    predictions = [model.predict_proba_one(words) for words, _ in filtered]
    probabilities = [prediction["spam"] for prediction in predictions]
    errors = f"{'false positives':>17}{'false negatives':>17}"
    print(f"{'costs':>8}{'threshold':>11}{errors}{'cost':>10}{'cost at 1/2':>13}")
    at_half = count_errors(probabilities, labels, 0.5)
    for cost in COSTS:
        losses = spam_losses(false_positive_cost=cost, false_negative_cost=1.0)
        quarantined = [losses.bayes_action(prediction).action == QUARANTINE for prediction in predictions]
        outcomes = Counter(zip(labels, quarantined, strict=True))
        false_positives = outcomes["ham", True]
        false_negatives = outcomes["spam", False]
        start = f"{cost:>4g} : 1{losses.threshold:>11.4f}{false_positives:>17}{false_negatives:>17}"
        print(f"{start}{cost * false_positives + false_negatives:>10.1f}{cost * at_half[0] + at_half[1]:>13.1f}")
    draw(probabilities, labels, picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
