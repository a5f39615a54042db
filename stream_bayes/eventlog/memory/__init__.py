"""Log in memory, for tests, with sentinels that crash its reader or end the stream. Also in `stream_bayes.testing`.

log     MemoryLog
store   MemoryStore: records and positions that outlive a reader; the sentinels ABORT and EOF

>>> from stream_bayes.eventlog.memory import ABORT, EOF, Aborted, MemoryLog, MemoryStore
>>> store = MemoryStore()
>>> for value in (b"one", ABORT, b"two", EOF):
...     store.put("mails", value)
>>> log = MemoryLog("readers", ["mails"], store=store)
>>> [record.value for record in log.poll(10, timeout=0)]
[b'one']
>>> try:
...     log.poll(10, timeout=0)
... except Aborted:
...     log = MemoryLog("readers", ["mails"], store=store)
>>> [record.value for record in log.poll(10, timeout=0)]  # nothing was committed, so the first comes again
[b'one', b'two']
>>> log.poll(10, timeout=0), log.ended
([], True)
"""

from stream_bayes.eventlog.memory.log import MemoryLog
from stream_bayes.eventlog.memory.store import ABORT, EOF, Aborted, MemoryStore, Sentinel

__all__ = ["ABORT", "EOF", "Aborted", "MemoryLog", "MemoryStore", "Sentinel"]
