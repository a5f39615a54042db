"""The engine: a fold over a stream of observations and labels."""

from stream_bayes.engine.arrivals import Arrival, Outcome, Refused
from stream_bayes.engine.engine import Engine

__all__ = ["Arrival", "Engine", "Outcome", "Refused"]
