"""Logs by their address: what the settings and the command line call `log`."""

from __future__ import annotations

from collections.abc import Sequence

from stream_bayes.errors import LogError
from stream_bayes.log.base import Log
from stream_bayes.log.sqlite import SqliteLog

_SQLITE = "sqlite:///"
_KAFKA = "kafka://"


def open_log(url: str, group: str | None = None, topics: Sequence[str] = (), partitions: int = 1) -> Log:
    """The log at an address: `sqlite:///relative/path.db` or `sqlite:////absolute/path.db`.

    With a group it reads these topics on the group's behalf; a topic that does not exist yet gets so many partitions.
    """
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        return SqliteLog(url.removeprefix(_SQLITE), group, topics, partitions)
    if url.startswith(_KAFKA):
        message = f"{url}: Kafka comes with a later version of stream_bayes. Use {_SQLITE}path.db until then"
        raise LogError(message)
    message = (
        f"{url!r} is not the address of a log. Write {_SQLITE}relative/path.db or {_SQLITE}/absolute/path.db "
        "(three slashes, then the path)"
    )
    raise LogError(message)
