"""The engine: a fold over a stream of observations and labels."""

from stream_bayes.engine.engine import Engine
from stream_bayes.engine.types import Arrival, Decided, Outcome, Refused, Terms

__all__ = ["Arrival", "Decided", "Engine", "Outcome", "Refused", "Terms"]
