"""The embedded log: one SQLite file that several processes share, with no server."""

from stream_bayes.log.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
