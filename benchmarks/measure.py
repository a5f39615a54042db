"""Timing, and synthetic mail to time things on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

WORDS_PER_MESSAGE = 300

T = TypeVar("T")


class Mail(NamedTuple):
    """Messages as texts, as counts of words, and their labels."""

    texts: list[str]
    counts: list[dict[str, int]]
    labels: list[str]


def synthetic_mail(messages: int, vocabulary: int, seed: int = 0) -> Mail:
    """300 words a message, drawn by Zipf's law from a vocabulary that ham and spam use in different order."""
    generator = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, vocabulary + 1)
    cumulative = np.cumsum(shares / shares.sum())
    order = {label: np.random.default_rng(place).permutation(vocabulary) for place, label in enumerate(("ham", "spam"))}
    order["spam"][: vocabulary // 2] = order["ham"][: vocabulary // 2]
    labels = ["spam" if generator.random() < 0.4 else "ham" for _ in range(messages)]
    tokens = [
        [f"word{rank}" for rank in order[label][np.searchsorted(cumulative, generator.random(WORDS_PER_MESSAGE))]]
        for label in labels
    ]
    return Mail([" ".join(words) for words in tokens], [dict(Counter(words)) for words in tokens], labels)


def whole_vocabulary(vocabulary: int) -> Mail:
    """Messages that together hold every word once: after them a model knows the whole vocabulary."""
    starts = range(0, vocabulary, WORDS_PER_MESSAGE)
    tokens = [[f"word{rank}" for rank in range(begin, min(begin + WORDS_PER_MESSAGE, vocabulary))] for begin in starts]
    labels = [("ham", "spam")[place % 2] for place in range(len(tokens))]
    return Mail([" ".join(words) for words in tokens], [dict(Counter(words)) for words in tokens], labels)


def seconds_each(make: Callable[[int], T], act: Callable[[T, int], object], count: int) -> float:
    """CPU time of acting on each of many things, each made just before and not timed: in a stream they are fresh."""
    total = 0
    for place in range(count):
        made = make(place)
        begin = time.thread_time_ns()
        act(made, place)
        total += time.thread_time_ns() - begin
    return total * 1e-9


def seconds(action: Callable[[], object], repeats: int = 1) -> float:
    """The shortest CPU time of several runs."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        action()
        best = min(best, time.process_time() - begin)
    return best
