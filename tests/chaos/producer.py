"""A producer as a process of its own, to be killed: `python -m tests.chaos.producer LOG SCRIPT FIRST PAUSE SEED`.

What it has written it sees from the ends of the topics, since each message goes into one of them, in order.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from stream_bayes.log.sqlite import SqliteLog
from tests.chaos.messages import EMAILS, LABELS, Message

_MOST = 200


def write_script(path: Path, messages: Iterable[Message]) -> None:
    """Put messages into a file, one a line."""
    with path.open("w", encoding="utf-8") as file:
        for topic, value, key, headers, _ in messages:
            name = None if key is None else key.decode()
            pairs = [(header, content.decode()) for header, content in headers]
            file.write(json.dumps([topic, value.decode("latin-1"), name, pairs]) + "\n")


def append(log: SqliteLog, line: str) -> None:
    """Stage the message of a line."""
    topic, value, key, headers = json.loads(line)
    pairs = [(header, content.encode()) for header, content in headers]
    log.append(topic, value.encode("latin-1"), None if key is None else key.encode(), headers=pairs)


def written(log: SqliteLog) -> int:
    """How many messages are in the log."""
    return sum(end for topic in (EMAILS, LABELS) for end in log.ends(topic).values())


def main(path: str, script: str, first: int, pause: float, seed: int) -> None:
    """Write what is still to be written, a few messages a transaction, in no haste."""
    rng = random.Random(seed)
    with SqliteLog(path) as log, Path(script).open(encoding="utf-8") as file:
        lines = islice(file, written(log) - first, None)
        while some := list(islice(lines, rng.randint(1, _MOST))):
            for line in some:
                append(log, line)
            log.commit({})
            time.sleep(rng.uniform(0.0, 2.0 * pause))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
