"""Compression codecs of other producers, read by a worker; and what it says where the package of one is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import confluent_kafka
import pytest

from tests.support.commands import ENVIRONMENT
from tests.support.kafka_workers import CommandProcess, KafkaTestBed, Make
from tests.support.workers import observation

pytestmark = pytest.mark.broker

CODECS = ("gzip", "lz4", "snappy", "zstd")
MODULES = {"lz4": "lz4", "snappy": "snappy", "zstd": "zstandard"}
PACKAGES = {"lz4": "lz4", "snappy": "python-snappy", "zstd": "zstandard"}


def produce(scene: KafkaTestBed, codec: str, first: int, count: int) -> None:
    """Mails in one compressed batch, by a client that is not ours."""
    options = {"bootstrap.servers": scene.address, "compression.type": codec, "linger.ms": 100}
    producer = confluent_kafka.Producer(options)
    for number in range(first, first + count):
        producer.produce(scene.emails, observation(number), b"a mailbox")
    producer.flush()


def without(codec: str, folder: Path) -> dict[str, str]:
    """Variables of a process that cannot import the package of a codec."""
    package = folder / "missing"
    package.mkdir()
    module = MODULES[codec]
    (package / f"{module}.py").write_text(f"raise ModuleNotFoundError('No module named {module}', name='{module}')\n")
    return {"PYTHONPATH": os.pathsep.join([str(package), ENVIRONMENT["PYTHONPATH"]])}


def test_item06_a_worker_reads_each_codec(make: Make) -> None:
    scene = make(1)
    scene.create(scene.emails)
    scene.create(scene.labels)
    for number, codec in enumerate(CODECS):
        produce(scene, codec, 10 * number, 10)
    scene.work()
    assert scene.predicted() == 10 * len(CODECS)
    assert scene.letters() == []


@pytest.mark.parametrize("codec", ["lz4", *(pytest.param(name, marks=pytest.mark.long) for name in ("snappy", "zstd"))])
def test_item06_a_missing_codec_is_named_before_any_record_is_read(make: Make, tmp_path: Path, codec: str) -> None:
    scene = make(1)
    scene.create(scene.emails)
    scene.create(scene.labels)
    produce(scene, "gzip", 0, 10)
    produce(scene, codec, 10, 10)
    variables = without(codec, tmp_path)
    with CommandProcess(scene.folder, "run", "--config", scene.config, "--json", variables=variables) as worker:
        code, _, errors = worker.ended()
    lines = errors.splitlines()
    first = json.loads(lines[0])
    assert first["event"] == "records compressed with this codec cannot be read"
    assert (first["codec"], first["remedy"]) == (codec, f"pip install {PACKAGES[codec]}")
    assert code == 2
    assert f"records are compressed with {codec}, for which a package is missing" in lines[-1]
    assert f"pip install {PACKAGES[codec]}" in lines[-1]
    assert "Traceback" not in errors


def test_item06_a_topic_that_is_kept_in_a_missing_codec_is_refused_at_once(make: Make, tmp_path: Path) -> None:
    scene = make(1)
    scene.create(scene.emails, **{"compression.type": "zstd"})
    scene.create(scene.labels)
    variables = without("zstd", tmp_path)
    with CommandProcess(scene.folder, "run", "--config", scene.config, "--json", variables=variables) as worker:
        code, _, errors = worker.ended()
    assert code == 2
    (line,) = errors.splitlines()
    assert f"records of the topic '{scene.emails}' are compressed with zstd" in line
    assert "pip install zstandard" in line
