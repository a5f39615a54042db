"""Passes made up for the tests of the report."""

from __future__ import annotations

import numpy as np

from stream_bayes.evaluation.protocol import PassResult

STAGES = {"read": (0.5, 0.6), "features": (0.25, 0.3), "predict and learn": (1.0, 1.25)}


def made_run(spam: list[bool], log_odds: list[float], name: str = "default", **changes: object) -> PassResult:
    """A pass in which that was said of those messages, told to it at once."""
    count = len(spam)
    fields: dict[str, object] = {
        "filter_name": name,
        "corpus": "toy",
        "feedback": "immediate",
        "ids": [f"mail/{place}" for place in range(count)],
        "spam": np.array(spam, dtype=np.bool_),
        "log_odds": np.array(log_odds, dtype=np.float64),
        "learned": np.ones(count, dtype=np.bool_),
        "members": {},
        "stages": STAGES,
        "peak_memory_mb": 123.0,
        "memory_mb": (100.0,) * 11,
        "unlabelled": 0,
        "stopped": False,
    }
    return PassResult(**{**fields, **changes})  # type: ignore[arg-type]


def noisy(count: int, seed: int, name: str = "default") -> PassResult:
    generator = np.random.default_rng(seed)
    spam = generator.random(count) < 0.4
    return made_run(spam.tolist(), (3.0 * spam - 1.5 + 2.0 * generator.normal(size=count)).tolist(), name)
