"""Embedded log: one SQLite file that several processes share, without a server.

log             SqliteLog
file            LogFile: connection, transactions and waits for locks; GroupLock: one reader for a group
tables          tables of the file, and all SQL on them
error_mapping   errors of SQLite and of the file system as errors of a log
"""

from stream_bayes.eventlog.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
