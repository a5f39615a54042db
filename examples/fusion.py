"""Weighted classifiers: three classes (SoftmaxRegression), intervals (BayesianLogisticRegression), and a fusion.

Look at the intervals: near the border between the colours BayesianLogisticRegression is least sure, and says which part
of the variance more events would remove. It sees each event once and approximates its posterior: far from the border
the true probability may lie outside. LogOddsFusion learns how far to trust it and naive Bayes.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from stream_bayes import BayesianLogisticRegression, GaussianNB, LogOddsFusion, SoftmaxRegression

CENTRES: Final = {"red": (0.0, 0.0), "green": (3.0, 0.0), "blue": (0.0, 3.0)}
TWO: Final = ("red", "green")

Event = tuple[dict[str, float], str]


def make_events(count: int, seed: int, colours: tuple[str, ...]) -> list[Event]:
    """Make points around the centres of these colours, with a deviation of 1."""
    generator = np.random.default_rng(seed)
    events = []
    for _ in range(count):
        colour = str(generator.choice(colours))
        x, y = generator.normal(CENTRES[colour], 1.0)
        events.append(({"x": float(x), "y": float(y)}, colour))
    return events


def score_prequentially(
    model: SoftmaxRegression | BayesianLogisticRegression | LogOddsFusion, events: list[Event]
) -> float:
    """Predict each event, then learn it; return the share of right predictions."""
    right = 0
    for x, label in events:
        right += model.predict_one(x) == label
        model.learn_one(x, label)
    return right / len(events)


def main() -> None:
    """Print how often each was right, and how sure the Bayesian one is."""
    softmax = SoftmaxRegression(classes=tuple(CENTRES))
    print(f"softmax, three colours: {score_prequentially(softmax, make_events(2000, 1, tuple(CENTRES))):.3f} right")
    events = make_events(1000, 2, TWO)
    logistic = BayesianLogisticRegression(classes=TWO)
    print(f"Bayesian logistic, two colours: {score_prequentially(logistic, events):.3f} right")
    print("probability of green at x: true, mean, 95 % interval, epistemic variance")
    for x in (0.0, 1.5, 3.0):
        prediction = logistic.predictive_one({"x": x, "y": 0.0})
        green = prediction.probabilities["green"]
        low, high = prediction.interval(0.95)
        ends = (low, high) if prediction.label == "green" else (1.0 - high, 1.0 - low)
        true = 1.0 / (1.0 + math.exp(4.5 - 3.0 * x))
        print(
            f"  {x:>4}{true:>8.3f}{green:>8.3f}   {ends[0]:.3f} to {ends[1]:.3f}   {prediction.epistemic_variance:.5f}"
        )
    fusion = LogOddsFusion((BayesianLogisticRegression(classes=TWO), GaussianNB(classes=TWO)), classes=TWO)
    print(f"fusion with naive Bayes: {score_prequentially(fusion, events):.3f} right")
    print(f"expected calibration error of the fusion: {fusion.reliability().expected_calibration_error:.3f}")


if __name__ == "__main__":
    main()
