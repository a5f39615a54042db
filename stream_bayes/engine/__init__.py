"""The engine: a fold over a stream of observations and labels."""

from stream_bayes.engine.engine import Engine
from stream_bayes.engine.types import BatchResult, InputEvent, RejectedRecord, ReplayDecisions, RequestPolicy

__all__ = ["BatchResult", "Engine", "InputEvent", "RejectedRecord", "ReplayDecisions", "RequestPolicy"]
