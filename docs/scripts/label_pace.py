"""Draw docs/images/label_pace.png: labels requested over a stream whose length the selector does not know."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from stream_bayes import LabelBudget, LabelSelector

DOCS = Path(__file__).parents[1]
TOTAL = 200
MESSAGES = 30 * TOTAL


def requested(is_spam: np.ndarray, certainty: float) -> np.ndarray:
    """The labels requested after each message; answers are those of a learner of this certainty."""
    selector = LabelSelector("variance", LabelBudget(total=TOTAL))
    generator = np.random.default_rng(1)
    used = []
    for number, spam in enumerate(is_spam):
        p = float(np.clip(generator.normal(certainty, 0.02), 0.5, 0.999))
        probabilities = {"spam": p, "ham": 1 - p} if spam else {"spam": 1 - p, "ham": p}
        if selector.ask(number, probabilities):
            selector.answered(number, "spam" if spam else "ham")
        used.append(selector.budget.used)
    return np.array(used)


if __name__ == "__main__":
    plt.style.use(DOCS.parent / "examples" / "pictures.mplstyle")
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    generator = np.random.default_rng(2)
    mixed = generator.random(MESSAGES) < 0.5
    late = mixed & (np.arange(MESSAGES) >= 10 * TOTAL)
    time = np.arange(MESSAGES) / TOTAL
    axes.plot(time, requested(mixed, 0.6) / TOTAL, label="uncertain answers")
    axes.plot(time, requested(mixed, 0.97) / TOTAL, label="two classes, answers as expected")
    axes.plot(time, requested(late, 0.97) / TOTAL, label="one class, the other from 10 on")
    axes.set(xlabel="messages, in units of the budget", ylabel="share of the budget", ylim=(0, 1), xlim=(0, 30))
    axes.legend(loc="lower right")
    figure.savefig(DOCS / "images" / "label_pace.png", dpi=150)
