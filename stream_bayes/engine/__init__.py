"""The engine: a fold over a stream of observations and labels."""

from stream_bayes.engine.arrivals import Arrival, Decided, Outcome, Refused, Terms
from stream_bayes.engine.engine import Engine

__all__ = ["Arrival", "Decided", "Engine", "Outcome", "Refused", "Terms"]
