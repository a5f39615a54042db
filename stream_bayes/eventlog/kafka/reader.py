"""PartitionReader: reads of records from any partition, without a consumer group."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka import errors as kafka_errors

from stream_bayes.errors import LogUnavailable
from stream_bayes.eventlog import validation
from stream_bayes.eventlog.kafka.client_workarounds import poll_consumer
from stream_bayes.eventlog.kafka.connection import KafkaConnection
from stream_bayes.eventlog.kafka.error_mapping import mapped_errors
from stream_bayes.eventlog.kafka.topics import Topics
from stream_bayes.records import Partition, Record

_WAIT_MILLISECONDS = 20
# Prefetch: late labels mostly refer to observations that follow each other.
_AHEAD = 100
_TIMEOUT_SECONDS = 30.0


def record_of(found: Any) -> Record:
    """The `Record` of a record of the client; a missing value or header content becomes empty."""
    headers = tuple((name, b"" if content is None else content) for name, content in found.headers)
    value = b"" if found.value is None else found.value
    return Record(found.topic, found.partition, found.offset, found.timestamp, found.key, value, headers)


class PartitionReader:
    """Reads partitions; goes on where it stopped without a new request, as a replay reads each partition in order.

    Each topic has its own client: a replay alternates between topics, and a seek drops what a client has fetched.
    """

    def __init__(self, connection: KafkaConnection, topics: Topics) -> None:
        self._connection = connection
        self._topics = topics
        self._ends: dict[TopicPartition, int] = {}
        self._courses: dict[str, _Course] = {}

    def read(self, place: Partition, offset: int, most: int) -> list[Record]:
        """At most `most` records from this offset on; none where none is committed yet, or there is no such offset."""
        tp = TopicPartition(*place)
        if offset >= self._ends.get(tp, 0) and not self._has_more(tp, offset):
            return []
        with mapped_errors(self._connection.name):
            if tp.topic not in self._courses:
                self._courses[tp.topic] = _Course(self._connection.reader(), tp)
            course = self._courses[tp.topic]
            course.go_to(tp, offset)
        while True:
            with mapped_errors(self._connection.name):
                self._fetch(course, most)
            # Where there was nothing but marks and aborted records up to the known end, records may have come since.
            if course.records or not self._has_more(tp, self._ends[tp]):
                return course.take(most)

    def close(self) -> None:
        """Let go of the clients."""
        for course in self._courses.values():
            course.consumer.close()

    def _has_more(self, tp: TopicPartition, offset: int) -> bool:
        """Query the committed end of a partition again; whether it is after this offset."""
        self._ends.pop(tp, None)
        end = self._topics.end_offsets(tp.topic).get(Partition(*tp))
        if end is None or offset >= end:
            return False
        self._ends[tp] = end
        return True

    def _fetch(self, course: _Course, most: int) -> None:
        """The wanted number of records, or those up to the known end, which may be none but transaction marks."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while len(course.records) < most and course.size < validation.MAX_POLL_BYTES:
            try:
                if course.fetch(max(most, _AHEAD)):
                    continue
            except kafka_errors.OffsetOutOfRangeError:
                # Retention was here since.
                begin = self._topics.earliest_offsets(course.tp.topic)[Partition(*course.tp)]
                if course.consumer.position(course.tp) >= begin:
                    raise
                course.consumer.seek(course.tp, begin)
            if (course.consumer.position(course.tp) or 0) >= self._ends[course.tp]:
                return
            if time.monotonic() > deadline:
                message = f"{self._connection.name} gives no record of {course.tp.topic}-{course.tp.partition}"
                raise LogUnavailable(message)


class _Course:
    """Where in a topic is read, and what was fetched there already."""

    def __init__(self, consumer: KafkaConsumer, tp: TopicPartition) -> None:
        self.consumer = consumer
        self.tp = tp
        self.records: deque[Record] = deque()
        self.size = 0
        self._begin = self._end = -1

    def go_to(self, tp: TopicPartition, offset: int) -> None:
        """Be about to read from there; what was fetched of it is used."""
        if tp == self.tp and self._begin <= offset <= self._end:
            while self.records and self.records[0].offset < offset:
                self._drop()
        else:
            self.consumer.assign([tp])
            self.consumer.seek(tp, offset)
            self.records.clear()
            self.tp = tp
            self.size = 0
            self._end = offset
        self._begin = offset

    def fetch(self, most: int) -> bool:
        """Whether more records have come."""
        found = poll_consumer(self.consumer, _WAIT_MILLISECONDS, most).get(self.tp, ())
        for one in found:
            record = record_of(one)
            self.records.append(record)
            self.size += len(record.value)
            self._end = record.offset + 1
        return bool(found)

    def take(self, most: int) -> list[Record]:
        """At most `most` of the records that were fetched."""
        taken = [self._drop() for _ in range(min(most, len(self.records)))]
        if taken:
            self._begin = taken[-1].offset + 1
        return taken

    def _drop(self) -> Record:
        record = self.records.popleft()
        self.size -= len(record.value)
        return record
