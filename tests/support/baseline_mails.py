"""Mails that any mail filter can tell apart."""

from __future__ import annotations

import numpy as np

SPAM_WORDS = ("cheap", "pills", "winner", "viagra", "prize", "casino", "credit", "lottery")
HAM_WORDS = ("meeting", "lunch", "report", "agenda", "project", "review", "monday", "notes")


def mails(count: int, seed: int = 3) -> tuple[list[bytes], list[str]]:
    """Ham and spam in turn, each of five words, one of them of the other kind."""
    generator = np.random.default_rng(seed)
    texts = []
    labels = []
    for place in range(count):
        own, other = (SPAM_WORDS, HAM_WORDS) if place % 2 else (HAM_WORDS, SPAM_WORDS)
        words = [*generator.choice(own, 4), *generator.choice(other, 1)]
        texts.append(f"From: a@example.org\nSubject: {words[0]}\n\n{' '.join(words)}\n".encode())
        labels.append("spam" if place % 2 else "ham")
    return texts, labels
