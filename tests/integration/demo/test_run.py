"""The demo from its beginning to its end, with a worker in a process of its own."""

from __future__ import annotations

import base64
import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.demo.mailbox import mailbox
from stream_bayes.eventlog.factory import open_log
from stream_bayes.events import Label, LabelOutcome, LabelRequest, Prediction, decode_request
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE
from tests.support.corpora import put

MAILS = 600


def played(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    """What `demo --json --fast` prints."""
    command = [*COMMAND, "demo", "--json", "--fast", "--folder", str(folder), *map(str, arguments)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, timeout=PATIENCE, check=True)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "folder"


@pytest.fixture(scope="module")
def figures(folder: Path) -> dict[str, Any]:
    return played(folder, "--mails", str(MAILS), "--budget", "100")


def test_every_mail_has_exactly_one_prediction_although_the_worker_was_killed(
    figures: dict[str, Any], folder: Path
) -> None:
    assert figures["exactly_once"] is True
    assert 0.4 * MAILS <= figures["killed"]["mail"] < MAILS
    reports = [json.loads(line) for line in (folder / "worker.log").read_text().splitlines()]
    assert [each["events"] for each in reports if each["event"] == "recovered"] == [0, figures["killed"]["replayed"]]
    with open_log(f"sqlite:///{folder / 'demo.db'}") as log:
        predictions = [Prediction.model_validate_json(each.value) for each in log.read("predictions", 0, 0, 2 * MAILS)]
        mails = log.read("emails", 0, 0, 2 * MAILS)
    assert [each.id for each in predictions] == [mail.id for mail in mailbox(1, MAILS)]
    assert [each.source for each in predictions] == [mail[:3] for mail in mails]
    assert {name for mail in mails for name, _ in mail.headers} == {"content-type", "id"}, (
        "no mail has its label with it"
    )


def test_the_labeller_keeps_to_the_budget_and_the_true_labels(figures: dict[str, Any], folder: Path) -> None:
    assert figures["labels_requested"] == figures["labels_answered"] == figures["labels_learned"]
    assert 30 < figures["labels_requested"] <= 100
    assert figures["labels_remaining"] == 100 - figures["labels_requested"]
    truth = {mail.id: mail.label for mail in mailbox(1, MAILS)}
    with open_log(f"sqlite:///{folder / 'demo.db'}") as log:
        events = [decode_request(each.value) for each in log.read("label-requests", 0, 0, 400)]
        labels = [Label.model_validate_json(each.value) for each in log.read("labels", 0, 0, 200)]
    requests = [each for each in events if isinstance(each, LabelRequest)]
    assert sorted((each.id, each.source) for each in requests) == sorted((each.id, each.source) for each in labels)
    closed = [each for each in events if isinstance(each, LabelOutcome)]
    assert [each.source for each in closed] == [each.source for each in labels]
    assert {(each.outcome, each.labeller) for each in closed} == {("answered", "demo")}
    assert all(each.label == truth[each.id] for each in labels)


def test_the_folder_holds_everything(figures: dict[str, Any], folder: Path) -> None:
    assert figures["folder"] == str(folder)
    assert {"demo.db", "checkpoints", "stream_bayes.toml", "learning_curve.svg"} <= {
        path.name for path in folder.iterdir()
    }
    assert any((folder / "checkpoints").rglob("checkpoint-*.safetensors"))
    ET.parse(figures["picture"])
    assert (figures["mails"], figures["predictions"]) == (MAILS, MAILS)
    assert sum(each["mails"] for each in figures["calibration"]) == MAILS
    assert figures["stage_seconds"]["fold"] > 0.0


@pytest.mark.long
def test_a_folder_with_a_demo_in_it_is_refused(figures: dict[str, Any]) -> None:
    command = [*COMMAND, "demo", "--folder", figures["folder"]]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"demo.db is there already: name another folder" in done.stderr


@pytest.mark.long
def test_item03_large_real_mails_are_processed(tmp_path: Path) -> None:
    mails = [(mail.id, mail.label, mail.raw) for mail in mailbox(5, 60)]
    mails[30] = (*mails[30][:2], mails[30][2] + b"x" * (1 << 20))
    lines = [{"id": id_, "label": label, "raw": base64.b64encode(raw).decode()} for id_, label, raw in mails]
    corpus = put(tmp_path / "own.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    figures = played(tmp_path / "demo", "--corpus", corpus)
    assert (figures["source"], figures["mails"], figures["predictions"]) == ("own", 60, 60)
    assert (figures["dead_letters"], figures["exactly_once"]) == (0, True)
