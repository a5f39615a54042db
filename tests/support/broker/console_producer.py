"""Kafka's console producer: a client in Java, whose default partitioner hashes keys by murmur2."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

SECONDS = 120.0
_SEPARATOR = "\t"


class ConsoleProducer:
    """Writes lines with keys, as `kafka-console-producer.sh` does.

    Parameters
    ----------
    jars
        The folder of Kafka's jars.
    address
        The bootstrap address of the broker, host:port.
    """

    def __init__(self, jars: Path, address: str) -> None:
        self._jars = jars
        self._address = address

    def produce(self, topic: str, records: Iterable[tuple[str, str]], compression: str = "none") -> None:
        """Write records of a key and a value, which have neither tabs nor line breaks; returns once all are written."""
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=ERROR"]
        properties = ["parse.key=true", f"key.separator={_SEPARATOR}"]
        command = [
            *("java", *options, "-cp", str(self._jars / "*"), "org.apache.kafka.tools.ConsoleProducer"),
            *("--bootstrap-server", self._address, "--topic", topic, "--compression-codec", compression),
            *(part for one in properties for part in ("--reader-property", one)),
        ]
        text = "".join(f"{key}{_SEPARATOR}{value}\n" for key, value in records)
        done = subprocess.run(
            command,
            check=False,
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
        )
        # It ends with 0 although a record was not written, and says so.
        if done.returncode != 0 or "ERROR" in done.stdout:
            message = f"the console producer ended with {done.returncode}:\n{done.stdout}"
            raise RuntimeError(message)
