"""Fourteen days of weather, and whether there was a run: the table of the worked examples of naive Bayes."""

from __future__ import annotations

from stream_bayes import CategoricalNB

ORIENTEERING = [
    ("sunny", "hot", "high", False, "no"),
    ("sunny", "hot", "high", True, "no"),
    ("overcast", "hot", "high", False, "yes"),
    ("rainy", "mild", "high", False, "yes"),
    ("rainy", "cool", "normal", False, "yes"),
    ("rainy", "cool", "normal", True, "no"),
    ("overcast", "cool", "normal", True, "yes"),
    ("sunny", "mild", "high", False, "no"),
    ("sunny", "cool", "normal", False, "yes"),
    ("rainy", "mild", "normal", False, "yes"),
    ("sunny", "mild", "normal", True, "yes"),
    ("overcast", "mild", "high", True, "yes"),
    ("overcast", "hot", "normal", False, "yes"),
    ("rainy", "mild", "high", True, "no"),
]
FEATURES = ("outlook", "temperature", "humidity", "windy")


def orienteering(prior_count: float, class_prior_count: float) -> CategoricalNB:
    """Naive Bayes that has learned the fourteen days."""
    model = CategoricalNB(prior_count=prior_count, class_prior_count=class_prior_count)
    for *values, play in ORIENTEERING:
        model.learn_one(dict(zip(FEATURES, values, strict=True)), play)
    return model
