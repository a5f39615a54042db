"""A producer as a process of its own, to be killed: `python -m tests.chaos.producer PLACE SCRIPT FIRST PAUSE SEED`.

What was written before it sees from the log, since the messages are written in order, some in each transaction. Copies
of labels that workers have forwarded are none of its messages.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from stream_bayes.engine.forwarding import forwarded_by
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.retry import RetryPolicy
from stream_bayes.records import Partition
from tests.chaos.log_locations import LogLocation
from tests.chaos.messages import EMAILS, LABELS, ExpectedOutcome, Message, with_offset
from tests.support.workers import all_records

_MOST = 200


def write_script(path: Path, messages: Iterable[Message]) -> None:
    """Put messages into a file, one a line."""
    with path.open("w", encoding="utf-8") as file:
        for topic, value, key, headers, _, partition, named, named_partition, _ in messages:
            name = None if key is None else key.decode()
            pairs = [(header, content.decode()) for header, content in headers]
            fields = [topic, value.decode("latin-1"), name, pairs, partition, named, named_partition]
            file.write(json.dumps(fields) + "\n")


def read_line(line: str) -> Message:
    """The message of a line, whose fate is not there."""
    topic, value, key, headers, partition, named, named_partition = json.loads(line)
    pairs = tuple((header, content.encode()) for header, content in headers)
    name = None if key is None else key.encode()
    return Message(
        topic, value.encode("latin-1"), name, pairs, ExpectedOutcome("unknown"), partition, named, named_partition
    )


class Writing:
    """Writes messages in order, each once, whatever the broker does meanwhile.

    Parameters
    ----------
    log
        Open for writing; only it and workers that forward labels write to its inputs.
    place
        Where it is.
    """

    def __init__(self, log: Log, place: LogLocation) -> None:
        self._log = log
        self._insist = RetryPolicy()
        self.count = 0
        """How many messages are in the log, without copies."""
        self._partitions = place.partitions
        # Only a broker chooses the partition of a key as the script does.
        self._keys_choose = bool(place.lead) or place.partitions == 1
        self._offsets: list[list[int]] = [[] for _ in range(place.partitions)]
        for topic in (EMAILS, LABELS):
            for number in range(place.partitions):
                self._insist(partial(self._look, topic, number, gaps=bool(place.lead)))

    def write(self, messages: Sequence[Message]) -> None:
        """In one transaction."""
        for topic, value, key, headers, _, partition, named, named_partition, _ in messages:
            mail_partition = partition if named_partition is None else named_partition
            content = value if named is None else with_offset(value, self._offset(mail_partition, named))
            where = None if key is not None and self._keys_choose else partition
            self._insist(partial(self._log.append, topic, content, key, where, headers))
        written = self._insist(lambda: self._log.commit({}))
        mails = Counter(message.partition for message in messages if message.topic == EMAILS)
        for number, count in mails.items():
            end = written[Partition(EMAILS, number)]
            self._offsets[number].extend(range(end - count, end))
        self.count += len(messages)

    def _look(self, topic: str, number: int, *, gaps: bool) -> None:
        """What is there already."""
        place = Partition(topic, number)
        if gaps:
            # A producer that was killed may have left a transaction.
            self._log.wait_for_open_transactions(place)
        if gaps or (topic == LABELS and self._partitions > 1):
            records = all_records(self._log, topic, number)
            found = [record.offset for record in records if forwarded_by(record) is None]
        else:
            found = list(range(self._log.end_offsets(topic).get(place, 0)))
        self.count += len(found)
        if topic == EMAILS:
            self._offsets[number] = found

    def _offset(self, partition: int, named: int) -> int:
        known = self._offsets[partition]
        # Only where there are no gaps a message names an e-mail of its own transaction.
        return known[named] if named < len(known) else named


def main(place: LogLocation, script: str, first: int, pause: float, seed: int) -> None:
    """Write what is still to be written, a few messages a transaction, in no haste."""
    rng = random.Random(seed)
    log = RetryPolicy()(place.open)
    with log, Path(script).open(encoding="utf-8") as file:
        writing = Writing(log, place)
        lines = islice(file, writing.count - first, None)
        while some := list(islice(lines, rng.randint(1, _MOST))):
            writing.write([read_line(line) for line in some])
            time.sleep(rng.uniform(0.0, 2.0 * pause))


if __name__ == "__main__":
    main(LogLocation(*json.loads(sys.argv[1])), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
