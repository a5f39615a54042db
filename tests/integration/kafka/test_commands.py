"""The commands on a real broker, as a user types them: what they say, how they end, and who is waited for."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stream_bayes.evaluation.corpora import Mail
from tests.support.commands import Run
from tests.support.corpora import MAILS, as_json_lines, mbox_bytes, put
from tests.support.kafka_workers import CommandProcess, KafkaTestBed, Make
from tests.support.workers import observation, stream, write_config

if TYPE_CHECKING:
    from tests.support.broker import Broker, SecureBroker

pytestmark = pytest.mark.broker

SPAM_FILTER: dict[str, Any] = {"name": "SpamFilter", "parameters": {"buckets": 16384}}


def done(folder: Path, *arguments: str | Path, variables: dict[str, str] | None = None) -> tuple[str, str]:
    """What a command prints, and says, that succeeds."""
    with CommandProcess(folder, *arguments, variables=variables) as process:
        code, output, errors = process.ended()
    assert code == 0, errors
    return output, errors


def config_of(scene: KafkaTestBed) -> Path:
    """The settings as a file that does not say where the log is."""
    path = write_config(scene.settings, scene.folder / "settings.toml")
    path.write_text(
        "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("log ="))
    )
    return path


def test_the_way_of_a_corpus(make: Make, tmp_path: Path) -> None:
    scene = make(2, learner=SPAM_FILTER, status={"seconds": 0.5})
    config = config_of(scene)
    url = f"kafka://{scene.address}"
    corpus = as_json_lines(tmp_path, MAILS)
    output, _ = done(tmp_path, "produce", corpus, "--to", url, "--config", config, "--partitions", "2")
    assert output.splitlines()[0].startswith(f"wrote {len(MAILS)} mails and ")
    assert output.splitlines()[-1] == f"To filter them: stream-bayes run --config {config} --log {url}"
    _, result = done(tmp_path, "run", "--log", url, "--config", config, "--drain", "--json")
    lines = [json.loads(line) for line in result.splitlines()]
    assert [line["partition"] for line in lines if line["event"] == "recovered"] == [0, 1]
    assert (lines[-1]["event"], lines[-1]["predictions"]) == ("stopped", len(MAILS))
    output, _ = done(tmp_path, "tail", "predictions", "--lines", "5", "--log", url, "--config", config, "--json")
    assert [json.loads(line)["type"] for line in output.splitlines()] == 5 * ["prediction"]


@pytest.mark.long
def test_what_the_way_of_a_corpus_leaves_behind(make: Make, tmp_path: Path) -> None:
    scene = make(2, learner=SPAM_FILTER, status={"seconds": 0.5})
    config = config_of(scene)
    url = f"kafka://{scene.address}"
    corpus = as_json_lines(tmp_path, MAILS)
    done(tmp_path, "produce", corpus, "--to", url, "--config", config, "--partitions", "2")
    done(tmp_path, "run", "--log", url, "--config", config, "--drain")
    output, _ = done(tmp_path, "produce", corpus, "--to", url, "--config", config)
    assert output.startswith(f"wrote 0 mails and 0 labels to {url}; {len(MAILS)} were there already\n")
    output, _ = done(tmp_path, "tail", "status", "--lines", "2", "--log", url, "--config", config, "--json")
    assert [json.loads(line)["lag"] for line in output.splitlines()] == [0, 0]
    output, _ = done(tmp_path, "inspect", scene.settings.checkpoint_folder, "--json")
    assert sum(one["state"]["counts"]["predict"] for one in json.loads(output)) == len(MAILS)
    output, _ = done(tmp_path, "dead-letters", "list", "--log", url, "--config", config)
    assert output == "open: 0 letters\n"


@pytest.mark.long
def test_item02_a_changed_label_corrects_the_mail_in_its_partition(make: Make, tmp_path: Path) -> None:
    scene = make(2, learner=SPAM_FILTER)
    config = config_of(scene)
    url = f"kafka://{scene.address}"
    mails = [Mail(f"m{number}", "ham", b"Subject: %d\n\nlunch\n" % number) for number in range(30)]
    for changed, expected in ((0, (30, 30, 0, 0)), (8, (0, 8, 8, 30)), (8, (0, 0, 0, 30))):
        corpus = put(
            tmp_path / "all.mbox",
            mbox_bytes([mail._replace(label="spam") for mail in mails[:changed]] + mails[changed:], labelled=True),
        )
        options = ("--to", url, "--config", config, "--partitions", "2", "--json")
        output, _ = done(tmp_path, "produce", corpus, *options)
        report = json.loads(output)
        assert (report["mails"], report["labels"], report["corrections"], report["already_there"]) == expected
        done(tmp_path, "run", "--log", url, "--config", config, "--drain")
    output, _ = done(tmp_path, "inspect", scene.settings.checkpoint_folder, "--json")
    counts = [one["state"]["counts"] for one in json.loads(output)]
    assert [sum(one.get(name, 0) for one in counts) for name in ("predict", "correct", "refuse")] == [30, 8, 0]


@pytest.mark.long
def test_a_signal_ends_it_in_every_phase(make: Make) -> None:
    """While it joins, while it recovers, and at work."""
    scene = make(2, commit={"events": 10}, checkpoint={"events": 20})
    for number in (0, 1):
        scene.feed(stream(100, 1000 * number), number)
    command = "run", "--config", scene.config, "--json"
    phases = [
        ("started", signal.SIGTERM),
        ("checkpoint", signal.SIGINT),
        ("no checkpoint: learning all again from the journal", signal.SIGTERM),
    ]
    for event, number in phases:
        if event.startswith("no checkpoint"):
            scene.forget_checkpoints()
        with CommandProcess(scene.folder, *command) as worker:
            worker.wait_for(event)
            worker.send(number)
            code, _, errors = worker.ended()
        assert code == 0, errors
        last = json.loads(errors.splitlines()[-1])["event"]
        assert last in {"stopped", "stopped before it had recovered"}
    done(scene.folder, *command, "--drain")
    scene.check()


@pytest.mark.long
def test_a_broker_that_starts_later_is_awaited(killable_broker: Broker, make: Make) -> None:
    scene = make()
    scene.feed(stream(20))
    scene.close()
    config = scene.config
    killable_broker.kill()
    with (
        CommandProcess(scene.folder, "run", "--config", config, "--json") as worker,
        CommandProcess(scene.folder, "run", "--config", config, "--json") as impatient,
        CommandProcess(scene.folder, "tail", "predictions", "--config", config) as tail,
    ):
        reason = worker.wait_for("waiting for the log")["reason"]
        assert f"kafka://{scene.address} does not answer" in reason
        impatient.wait_for("waiting for the log")
        impatient.send(signal.SIGTERM)
        code, _, errors = impatient.ended()
        assert (code, json.loads(errors.splitlines()[-1])["event"]) == (0, "stopped before it had begun")
        code, output, errors = tail.ended()
        assert (code, output, len(errors.splitlines())) == (2, "", 1)
        assert f"kafka://{scene.address} does not answer" in errors
        killable_broker.start()
        worker.wait_for("recovered")
        worker.send(signal.SIGINT)
        code, _, errors = worker.ended()
    assert (code, json.loads(errors.splitlines()[-1])["event"]) == (0, "stopped")


def test_a_start_that_cannot_be(make: Make, worker_command: Run) -> None:
    """One line each, and no second try."""
    scene = make(2)
    strict = scene.with_settings(kafka={"create_topics": False})
    code, output, errors = worker_command("run", "--config", strict.config, "--drain")
    assert (code, output, len(errors.splitlines())) == (2, "", 1)
    assert f"has no topic '{scene.emails}', and kafka.create_topics forbids to make it: make it, with" in errors
    for name in (scene.emails, scene.labels):
        scene.log.ensure(name, 2)
    assert worker_command("run", "--config", scene.config, "--partitions", "3") == (
        2,
        "",
        f"stream-bayes: '{scene.emails}' has 2 partitions, not 3: leave --partitions out, or name other topics\n",
    )


def test_a_refused_login_is_reported(secure_broker: SecureBroker, tmp_path: Path, worker_command: Run) -> None:
    secrets = _secrets(secure_broker) | {"STREAM_BAYES__KAFKA__PASSWORD": "another password"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in secrets.items():
            patch.setenv(name, value)
        patch.chdir(tmp_path)
        for command in (["run"], ["tail", "predictions"]):
            code, output, errors = worker_command(*command, "--log", _url(secure_broker))
            assert (code, output) == (2, "")
            (line,) = errors.splitlines()
            assert "kafka.username" in line
            assert "another password" not in errors


@pytest.mark.long
def test_behind_a_password_and_certificates(secure_broker: SecureBroker, tmp_path: Path) -> None:
    """Everything from the environment; whatever is said, the password is not in it."""
    scene = KafkaTestBed(tmp_path, secure_broker.addresses["PLAINTEXT"], learner=SPAM_FILTER)
    config = config_of(scene)
    url = _url(secure_broker)
    corpus = as_json_lines(tmp_path, MAILS)
    variables = _secrets(secure_broker) | {"STREAM_BAYES_KAFKA_DEBUG": "1"}
    result = ""
    for command in (
        ("produce", corpus, "--to", url, "--config", config),
        ("run", "--log", url, "--config", config, "--drain"),
        ("dead-letters", "list", "--log", url, "--config", config),
    ):
        output, errors = done(tmp_path, *command, variables=variables)
        assert "SCRAM" in errors, "the client says what it does"
        result += output + errors
    assert secure_broker.password not in result
    assert scene.predicted() == len(MAILS)
    scene.close()


def _url(broker: SecureBroker) -> str:
    return f"kafka://{broker.addresses['SASL_SSL']}"


def _secrets(broker: SecureBroker) -> dict[str, str]:
    return {
        "STREAM_BAYES__KAFKA__SECURITY_PROTOCOL": "SASL_SSL",
        "STREAM_BAYES__KAFKA__SASL_MECHANISM": "SCRAM-SHA-512",
        "STREAM_BAYES__KAFKA__USERNAME": broker.username,
        "STREAM_BAYES__KAFKA__PASSWORD": broker.password,
        "STREAM_BAYES__KAFKA__CA_FILE": str(broker.ca_file),
    }


# Dead letters


@pytest.mark.long
def test_letters_are_sent_again_after_a_fix(make: Make, worker_command: Run) -> None:
    """Also that of a record which is too large for the topic of the letters."""
    scene = make(2, events={"record_bytes": 1000})
    scene.create(scene.settings.topics.dead_letters, **{"max.message.bytes": "20000"})
    large = json.dumps({"id": "large", "text": 2000 * "word "}).encode()
    larger = json.dumps({"id": "larger", "text": 10_000 * "word "}).encode()
    scene.feed([("emails", value) for value in (large, b"no event", larger, observation(1))], 1)
    config = scene.config

    def letters() -> dict[str, Any]:
        code, output, _ = worker_command("dead-letters", "list", "--config", config, "--json")
        assert code == 0
        return dict(json.loads(output))

    assert worker_command("run", "--config", config, "--drain")[0] == 0
    assert letters()["open"] == {"too-large": 2, "not-json": 1}
    assert [one["source"] for one in letters()["newest"]] == [f"{scene.emails}-1-{offset}" for offset in (0, 1, 2)]
    place = letters()["newest"][2]["place"]
    assert "50,0" in worker_command("dead-letters", "show", place, "--config", config)[1]
    other = scene.with_settings(events={"record_bytes": 100_000})
    config = other.config
    code, output, _ = worker_command("dead-letters", "requeue", "--code", "too-large", "--config", config)
    assert (code, output) == (0, "2 records sent again\n")
    assert worker_command("run", "--config", config, "--drain")[0] == 0
    assert letters() | {"newest": []} == {"open": {"not-json": 1}, "sent_again": {"too-large": 2}, "newest": []}
    assert scene.predicted() == 3
    assert worker_command("dead-letters", "requeue", "--all", "--config", config)[1] == "1 record sent again\n"
