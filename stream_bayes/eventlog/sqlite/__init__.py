"""The embedded log: one SQLite file that several processes share, with no server."""

from stream_bayes.eventlog.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
