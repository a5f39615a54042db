"""`stream-bayes tail` and `send`: what is in a log, and events into it."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import pytest

from stream_bayes.eventlog.memory import MemoryLog
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.events import Prediction, encode
from stream_bayes.records import Source
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE, Run
from tests.support.logs import put
from tests.support.offset_gaps import LogWithGaps
from tests.support.workers import all_records, events, observation, settings_in, write_config


class Scene:
    """A log that may not be there yet."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.db"
        self.url = f"sqlite:///{self.path}"

    def write(self, topic: str, *values: bytes, key: bytes | None = None, partition: int = 0) -> None:
        """Each in a transaction of its own; a new topic gets two partitions."""
        with SqliteLog(self.path, partitions=2) as log:
            for value in values:
                log.append(topic, value, key, partition)
                log.commit({})


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def given(monkeypatch: pytest.MonkeyPatch, *lines: bytes) -> None:
    """These lines are standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n".join(lines) + b"\n")))


def test_the_newest_of_all_partitions(scene: Scene, run: Run) -> None:
    for number in range(0, 10, 2):
        scene.write("predictions", b'{"id": "%d"}' % number, key=b"k%d" % number, partition=0)
        scene.write("predictions", b'{"id": "%d"}' % (number + 1), partition=1)
    code, output, errors = run("tail", "predictions", "--log", scene.url, "--lines", "3")
    assert (code, errors) == (0, "")
    lines = [line.split("  ") for line in output.splitlines()]
    assert [line[-1] for line in lines] == ['{"id": "7"}', '{"id": "8"}', '{"id": "9"}']
    assert [line[0].split()[0] for line in lines] == ["1-3", "0-4", "1-4"]
    assert [line[-2] for line in lines] == ["-", "k8", "-"]
    code, output, _ = run("tail", "predictions", "--log", scene.url, "--json", "--lines", "100")
    assert [json.loads(line)["id"] for line in output.splitlines()] == [str(number) for number in range(10)]
    assert run("tail", "predictions", "--log", scene.url, "--lines", "0")[:2] == (0, "")


@pytest.mark.parametrize("count", [0, 1, 5, 17, 1000])
def test_the_newest_where_offsets_have_gaps(run: Run, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    log = LogWithGaps(partitions=2)
    for number in range(20):
        log.append("status", b'{"n": %d}' % number, partition=int(number % 7 == 0))
        log.commit({})
    monkeypatch.setattr("stream_bayes.cli.tail.open_existing_log", lambda _: log)
    _, output, _ = run("tail", "status", "--json", "--lines", str(count))
    found = [json.loads(line)["n"] for line in output.splitlines()]
    assert len(found) == min(count, 20)
    if count >= 20:
        assert sorted(found) == list(range(20))


def test_a_time_that_no_calendar_has(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryLog() as log:
        put(log, "emails", b"x", b"y", b"z")
        read = log.read
        times = iter([2**62, -1, 253_402_300_800_000] * 2)
        monkeypatch.setattr(
            log, "read", lambda *place: [record._replace(timestamp=next(times)) for record in read(*place)]
        )
        monkeypatch.setattr("stream_bayes.cli.tail.open_existing_log", lambda _: log)
        code, output, errors = run("tail", "emails")
    assert (code, errors) == (0, "")
    assert f"0-0        {2**62} ms  -  x\n" in output
    assert "0-1        1969-12-31 23:59:59  -  y\n" in output
    assert "0-2        253402300800000 ms  -  z\n" in output


def test_json_in_another_encoding(scene: Scene, run: Run) -> None:
    value = '{"a": 1}'.encode("utf-16")
    scene.write("status", value)
    code, output, _ = run("tail", "status", "--log", scene.url, "--json")
    assert (code, b64decode(json.loads(output)["value"])) == (0, value)


def test_tail_begins_after_removed_records(scene: Scene, run: Run) -> None:
    scene.write("status", *(b'{"n": %d}' % number for number in range(9)))
    with SqliteLog(scene.path) as log:
        log.trim(dict.fromkeys(log.end_offsets("status"), 7))
    _, output, _ = run("tail", "status", "--log", scene.url, "--json")
    assert output.splitlines() == ['{"n": 7}', '{"n": 8}']


def test_nothing_harms_the_terminal(scene: Scene, run: Run) -> None:
    scene.write("emails", b"Subject: \x1b[2J\n\nbody\n" + b"x" * 10_000, key=b"\x1b]0;a\x07")
    code, output, _ = run("tail", "observations", "--log", scene.url)
    assert (code, output.count("\n")) == (0, 1)
    assert "\x1b" not in output
    assert len(output) < 1000
    _, output, _ = run("tail", "emails", "--log", scene.url, "--json")
    assert b64decode(json.loads(output)["value"]).startswith(b"Subject: \x1b[2J\n")


def test_an_event_of_several_lines_is_one(scene: Scene, run: Run) -> None:
    scene.write("emails", b'{"id": "a",\n "text": "b"}')
    assert run("tail", "emails", "--log", scene.url, "--json")[1] == '{"id": "a", "text": "b"}\n'


def test_topics_by_what_they_are_for(tmp_path: Path, run: Run) -> None:
    settings = settings_in(tmp_path, topics={"predictions": "said", "label_requests": "asked"})
    config = write_config(settings, tmp_path / "settings.toml")
    scene = Scene(tmp_path)
    scene.write("said", b'{"a": 1}')
    scene.write("asked", b'{"b": 2}')
    scene.write(settings.journal, b'{"c": 3}')
    names = ("predictions", "said", "label-requests", "journal")
    found = [run("tail", name, "--config", config, "--json")[1] for name in names]
    assert found == ['{"a": 1}\n', '{"a": 1}\n', '{"b": 2}\n', '{"c": 3}\n']
    code, output, errors = run("tail", "prediction", "--config", config)
    assert (code, output) == (2, "")
    assert "'prediction' is not a topic of the settings: use one of observations, labels, predictions" in errors


def test_a_missing_log_or_topic_is_an_error(scene: Scene, run: Run) -> None:
    code, _, errors = run("tail", "status", "--log", scene.url)
    assert (code, scene.path.exists()) == (2, False)
    assert "there is no such log" in errors
    scene.write("emails", b"{}")
    code, _, errors = run("tail", "status", "--log", scene.url)
    assert (code, errors) == (2, "stream-bayes: the log has no topic 'status' yet\n")


@pytest.mark.slow
def test_following(scene: Scene) -> None:
    scene.write("status", b'{"n": 0}', b'{"n": 1}')
    command = [*COMMAND, "tail", "status", "--log", scene.url, "--follow", "--json", "--lines", "1"]
    with subprocess.Popen(command, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tail:
        assert tail.stdout is not None
        assert json.loads(tail.stdout.readline()) == {"n": 1}
        for number in range(2, 5):
            scene.write("status", b'{"n": %d}' % number)
            assert json.loads(tail.stdout.readline()) == {"n": number}
        tail.send_signal(signal.SIGINT)
        rest, errors = tail.communicate(timeout=PATIENCE)
    assert (tail.returncode, rest, errors) == (130, "", "stream-bayes: stopped\n")


def test_events_are_sent_and_used(scene: Scene, worker_command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, *(observation(number) for number in range(700)), b"", b'{"text": "without an id"}')
    code, output, errors = worker_command("send", "observations", "--log", scene.url)
    assert (code, output, errors) == (0, "701 records sent to emails\n", "")
    given(monkeypatch, b'{"id": "id-3", "label": "spam"}')
    assert json.loads(worker_command("send", "labels", "--log", scene.url, "--json")[1]) == {"sent": 1}
    monkeypatch.setenv("STREAM_BAYES__LEARNER__NAME", "MultinomialNB")
    assert worker_command("run", "--log", scene.url, "--drain")[0] == 0
    with SqliteLog(scene.path) as log:
        assert [record.key for record in all_records(log, "emails")] == [*(b"id-%d" % n for n in range(700)), None]
        assert len(events(log, "predictions")) == 701
        assert events(log, "status")[-1]["labels_learned"] == 1
        assert not any(log.end_offsets("dead-letters").values())


def test_a_label_is_forwarded_to_the_partition_of_its_observation(
    scene: Scene, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.write("emails", observation(1), partition=1)
    line = {"id": "id-1", "label": "ham", "source": {"topic": "emails", "partition": 1, "offset": 0}}
    given(monkeypatch, json.dumps(line).encode())
    assert run("send", "labels", "--log", scene.url)[0] == 0
    with SqliteLog(scene.path) as log:
        # As many partitions as the observations have.
        assert [number for _, number in log.end_offsets("labels")] == [0, 1]
        assert [event["id"] for event in events(log, "labels", 1)] == ["id-1"]


@pytest.mark.parametrize(
    "case",
    [
        ("emails", b"no event", "(not-json)"),
        ("emails", b'{"id": "x"}', "(wrong-shape)"),
        ("emails", b'{"id": "x", "txt": "a"}', "(wrong-shape)"),
        ("emails", b'{"type": "label", "id": "x", "label": "ham"}', "a label does not belong in 'emails'"),
        ("labels", b'{"type": "observation", "id": "x", "text": "a"}', "does not belong in 'labels'"),
        ("labels", b'{"id": "", "label": "ham"}', "(bad-id)"),
        (
            "labels",
            b'{"id": "x", "label": "ham", "source": {"topic": "emails", "partition": 7, "offset": 0}}',
            "the source is in partition 7, and there are 1",
        ),
        ("status", b"[1]", "line 3 is no JSON object"),
        ("status", b"{", "line 3 is no JSON"),
    ],
)
def test_the_first_bad_line_is_named_and_nothing_is_written(
    scene: Scene, run: Run, monkeypatch: pytest.MonkeyPatch, case: tuple[str, bytes, str]
) -> None:
    topic, line, expected = case
    if topic == "labels":
        scene.write("status")
    good = {"emails": observation(1), "labels": b'{"id": "a", "label": "ham"}', "status": b"{}"}[topic]
    given(monkeypatch, good, b"", line, good, b"bad as well")
    code, output, errors = run("send", topic, "--log", scene.url)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("stream-bayes: line 3")
    assert expected in errors
    if topic == "labels":
        with SqliteLog(scene.path) as log:
            assert not any(log.end_offsets(topic).values())
    else:
        assert not scene.path.exists()


def test_labels_for_a_missing_log_are_refused(scene: Scene, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, b'{"id": "a", "label": "ham"}')
    code, output, errors = run("send", "labels", "--log", scene.url)
    assert (code, output) == (2, "")
    reason = "so there are no observations to label: check --log"
    # A terminal may have any width: the message may be wrapped.
    assert "".join(errors.split()) == "".join(f"stream-bayes: there is no such log ({scene.path}), {reason}".split())
    assert not scene.path.exists()


def prediction_of(id_: str, offset: int) -> bytes:
    """A prediction of the observation at this offset of partition 1."""
    source = Source("emails", 1, offset)
    return encode(Prediction(id=id_, label="ham", variance=0.1, epistemic_variance=0.0, source=source, model_version=0))


def test_a_prediction_of_an_observation_beyond_the_default_limits_is_shown(scene: Scene, run: Run) -> None:
    scene.write("emails", json.dumps({"id": "m1", "text": "x" * (2 << 20), "subject": "Long"}).encode(), partition=1)
    scene.write("emails", b'{"id": "m2", "text": ', partition=1)
    scene.write("predictions", prediction_of("m1", 0), prediction_of("m2", 1))
    code, output, errors = run("tail", "predictions", "--log", scene.url)
    assert (code, errors) == (0, "")
    names = [line.partition('  {"')[0].split("  ")[-1] for line in output.splitlines()]
    assert names == ["Long", "-"]


def test_a_prediction_is_shown_with_the_sender_and_the_subject_of_its_mail(scene: Scene, run: Run) -> None:
    mail = b"From: Ann <ann@example.org>\nSubject: =?utf-8?q?caf=C3=A9?= today\x1b[2J\n\nAt noon?\n"
    with SqliteLog(scene.path, partitions=2) as log:
        log.append("emails", mail, b"m1", 1, headers=[("content-type", b"message/rfc822"), ("id", b"m1")])
        log.append("emails", b'{"id": "m2", "text": "hi", "subject": "Two", "sender": "bob"}', b"m2", 1)
        log.commit({})
    for offset, id_ in enumerate(("m1", "m2", "m3")):
        scene.write("predictions", prediction_of(id_, offset), key=id_.encode())
    code, output, errors = run("tail", "predictions", "--log", scene.url)
    assert (code, errors) == (0, "")
    names = [line.partition('  {"')[0].split("  ")[-1] for line in output.splitlines()]
    assert names[0].startswith("Ann <ann@example.org> | café today")
    assert names[1:] == ["bob | Two", "m3"]
    assert "\x1b" not in output
    code, output, _ = run("tail", "predictions", "--log", scene.url, "--json")
    assert [json.loads(line)["id"] for line in output.splitlines()] == ["m1", "m2", "m3"]
