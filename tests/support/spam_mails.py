"""Generated mails with labels, and how well scores tell them apart."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.support.mails import make_mail

SMALL = 2**14


def stream(count: int, seed: int) -> tuple[list[bytes], list[str]]:
    """Mails and their labels, two in five spam."""
    generator = random.Random(seed)
    kinds = [generator.random() < 0.4 for _ in range(count)]
    mails = [make_mail(generator, spam=kind) for kind in kinds]
    return mails, ["spam" if kind else "ham" for kind in kinds]


def area(labels: list[str], scores: Any) -> float:
    """How often a spam has a higher score than a ham."""
    spam = np.array([label == "spam" for label in labels])
    return float(np.mean(scores[spam][:, None] > scores[~spam][None, :]))
