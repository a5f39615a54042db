"""The worker: an engine at work on a log."""

from stream_bayes.worker.worker import Worker

__all__ = ["Worker"]
