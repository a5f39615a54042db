"""The worker: an engine at work on a log."""

from stream_bayes.runtime.worker import Worker

__all__ = ["Worker"]
