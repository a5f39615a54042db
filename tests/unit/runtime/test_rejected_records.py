"""Records that cannot be used: each ends as the right dead letter, whole, and the stream goes on."""

from __future__ import annotations

import json
import random
from base64 import b64decode, b64encode
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.logs import Logs
from tests.support.workers import INPUTS, assert_nothing_lost, events, label, observation, settings_in, work

MAIL = (("content-type", b"message/rfc822"),)


class Bad(NamedTuple):
    """A record, and the code of its dead letter."""

    code: str
    topic: str
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


def source(offset: int, partition: int = 0, topic: str = "emails") -> dict[str, object]:
    return {"source": {"topic": topic, "partition": partition, "offset": offset}}


def event(**fields: object) -> bytes:
    return json.dumps(fields).encode()


BAD = {
    "10 MB": Bad("too-large", "emails", b"x" * 10_000_000),
    "an id of another content": Bad("id-reused", "emails", event(id="id-0", text="other words")),
    "zero bytes": Bad("empty-record", "emails", b""),
    "zero bytes of mail": Bad("empty-record", "emails", b"", MAIL),
    "random bytes": Bad("not-json", "emails", b"\xff" + random.Random(3).randbytes(2000)),
    "random bytes as a label": Bad("not-json", "labels", b"\x00\x1b[2J\xff"),
    "a list": Bad("wrong-shape", "emails", b"[1, 2]"),
    "no content": Bad("wrong-shape", "emails", event(id="x")),
    "two contents": Bad("wrong-shape", "emails", event(id="x", text="a", features={})),
    "an unknown field": Bad("wrong-shape", "labels", event(id="x", lable="ham")),
    "NaN": Bad("wrong-shape", "emails", b'{"id": "x", "features": {"a": NaN}}'),
    "an unknown event": Bad("unknown-event", "emails", event(type="invoice", id="x")),
    "an id of 1 MB": Bad("bad-id", "emails", event(id="i" * 1_000_000, text="a")),
    "an id of 1 MB in a label": Bad("bad-id", "labels", event(id="i" * 1_000_000, label="ham")),
    "an id with a control character": Bad("bad-id", "emails", event(id="a\x1b[2J", text="a")),
    "deep nesting": Bad("too-deep", "emails", b'{"id":"x","features":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001),
    "a label for nothing": Bad("unknown-observation", "labels", event(id="nothing", label="ham")),
    "a label for a place to come": Bad("unknown-observation", "labels", event(id="x", label="ham", **source(10**6))),
    "a label for a dead letter": Bad("unknown-observation", "labels", event(id="x", label="ham", **source(1))),
    "a label for another id": Bad("wrong-id", "labels", event(id="x", label="ham", **source(0))),
    "a label for another partition": Bad("wrong-partition", "labels", event(id="x", label="ham", **source(0, 3))),
    "a label for another topic": Bad("wrong-partition", "labels", event(id="x", label="ham", **source(0, 0, "others"))),
    "an observation among the labels": Bad("wrong-topic", "labels", event(type="observation", id="x", text="a")),
    "a picture": Bad("unknown-content-type", "emails", b"GIF89a", (("content-type", b"image/gif"),)),
    "a feature that the learner refuses": Bad("bad-input", "emails", event(id="x", features={"a": -1})),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_a_dead_letter(logs: Logs, tmp_path: Path, name: str) -> None:
    bad = BAD[name]
    settings = settings_in(tmp_path)
    writer = logs.open()
    writer.append("emails", observation(0))
    writer.append("emails", b"a dead letter at offset 1")
    writer.commit({})
    writer.append(bad.topic, bad.value, b"the key", headers=bad.headers)
    writer.append("emails", observation(1, "ham"))
    writer.append("labels", label(0, "spam"))
    writer.commit({})
    log = logs.open(settings.group, INPUTS)
    engine = work(settings, log).processors[0].engine
    first, found = events(log, "dead-letters")
    assert (first["code"], found["code"]) == ("not-json", bad.code)
    assert b64decode(found["payload"]) == bad.value
    assert b64decode(found["key"]) == b"the key"
    assert (found["topic"], found["partition"]) == (bad.topic, 0)
    given = next(record for record in log.read(bad.topic, 0, found["offset"]))
    assert given.value == bad.value
    assert found["message"].isprintable()
    assert len(found["message"]) <= 300
    assert [event["id"] for event in events(log, "predictions")] == ["id-0", "id-1"]
    assert engine.model_version == 2
    assert_nothing_lost(settings, log)


@pytest.mark.slow
def test_all_of_them_in_one_batch_of_mails(logs: Logs, tmp_path: Path) -> None:
    """For the filter of mails, between good ones, and again after the model was recovered."""
    settings = settings_in(
        tmp_path, learner={"name": "SpamFilter", "parameters": {"buckets": 1024}}, commit={"events": 100}
    )
    kept = [bad for bad in BAD.values() if bad.code not in {"bad-input", "id-reused"}]
    writer = logs.open()
    for number, bad in enumerate(kept):
        raw = b64encode(b"Subject: mail %d\n\nwords of %d\n" % (number, number)).decode()
        writer.append("emails", event(id=f"m{number}", raw=raw, label=(None, "ham", "spam")[number % 3]))
        writer.append(bad.topic, bad.value, headers=bad.headers)
    writer.commit({})
    for _ in range(2):
        with logs.open(settings.group, INPUTS) as log:
            work(settings, log)
        assert len(events(writer, "predictions")) == len(kept)
        assert len(events(writer, "dead-letters")) == len(kept)
        assert_nothing_lost(settings, writer)
        for path in settings.checkpoint_folder.rglob("*.safetensors"):
            path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["value", "key", "headers"])
def test_a_record_that_no_letter_can_hold_stops_nothing(logs: Logs, tmp_path: Path, part: str) -> None:
    large = b"x" * (60 << 20)
    record = {"value": (large, b"k", ()), "key": (b"", large, ()), "headers": (b"", b"k", (("a", large),))}[part]
    settings = settings_in(tmp_path)
    writer = logs.open()
    writer.append("emails", record[0], record[1], 0, record[2])
    writer.append("emails", observation(1), None, 0)
    writer.commit({})
    log = logs.open(settings.group, INPUTS)
    work(settings, log)
    (letter,) = events(log, "dead-letters")
    assert (letter["offset"], letter["size"]) == (0, len(record[0]))
    assert len(events(log, "predictions")) == 1
