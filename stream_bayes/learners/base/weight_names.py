"""Names of weights as texts that differ, for plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from stream_bayes.features.values import FeatureName

INTERCEPT = "intercept"
"""The name of the weight of the constant."""

Weight = TypeVar("Weight")


def by_text(weights: Mapping[FeatureName, Weight], intercept: Weight | None = None) -> dict[str, Weight]:
    """The intercept, if there is one, and weights by the text of their names.

    Where two texts would be the same, as those of 1 and "1" are, all names are written as Python literals.
    """
    texts = [str(name) for name in weights] + [INTERCEPT] * (intercept is not None)
    written = str if len(set(texts)) == len(texts) else repr
    constant = {} if intercept is None else {INTERCEPT: intercept}
    return constant | {written(name): weight for name, weight in weights.items()}
