"""Label requests in events, `tail` and `inspect`, and settings under which no label is requested."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.cli.formatting import format_event
from stream_bayes.config import Settings
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.events import LabelOutcome, LabelRequest, Prediction, encode
from stream_bayes.records import Source
from tests.support.commands import Run
from tests.support.engines import KINDS, Stream, settings_for
from tests.support.engines import run as run_engine
from tests.support.events import GOLDEN, MOMENT, PLACE
from tests.support.label_requests import dissimilar_observations, requests
from tests.support.workers import feed, settings_in, write_config

BY_TYPE: dict[str, bytes] = {json.loads(value)["type"]: value for value in GOLDEN}


class Scene:
    """A worker with label requests and an answer."""

    def __init__(self, folder: Path, command: Run, **labels: Any) -> None:
        self.settings: Settings = settings_in(folder, labels=labels)
        self.config = write_config(self.settings, folder / "stream_bayes.toml")
        self.run = command
        self.more(dissimilar_observations(300))
        with SqliteLog(folder / "log.db") as log:
            self.requested = requests(log)
        answers = [
            {"id": self.requested[0]["id"], "label": "ham", "labeller": "ann"},
            {"id": "id-299", "label": "spam"},
        ]
        self.more([("labels", json.dumps(each).encode()) for each in answers])

    def more(self, records: list[tuple[str, bytes]]) -> None:
        """The worker takes these too."""
        with SqliteLog(Path(self.settings.log.removeprefix("sqlite:///"))) as log:
            feed(log, records)
        assert self.run("run", "--config", self.config, "--drain")[0] == 0

    def lines(self, topic: str) -> list[str]:
        """What `tail` shows of all its records."""
        return self.run("tail", topic, "--config", self.config, "--lines", "1000")[1].splitlines()


@pytest.fixture
def scene(tmp_path: Path, worker_command: Run) -> Scene:
    return Scene(tmp_path, worker_command, request_ttl="3d")


def test_a_request_has_its_expiry_and_the_abstain_label(scene: Scene) -> None:
    first = scene.requested[0]
    assert datetime.fromisoformat(first["expires_at"]) - datetime.fromisoformat(first["at"]) == timedelta(days=3)
    assert first["abstain_label"] == "unsure"
    assert "labels" not in first, "the learner was not told any"
    assert first["preview"].startswith("w")


@pytest.mark.parametrize(
    ("labels", "settings", "expected"),
    [
        (["ham", "spam"], {}, (("ham", "spam"), "unsure")),
        (["ham", "unsure"], {}, (("ham", "unsure"), None)),
        ([2, 7, False], {"abstain_label": ""}, ((2, 7, False), None)),
    ],
)
def test_a_request_has_the_possible_labels(
    labels: list[Any], settings: dict[str, str], expected: tuple[Any, ...]
) -> None:
    kind = KINDS["MultinomialNB"]._replace(parameters={"classes": labels})
    stream = Stream()
    for number in range(200):
        stream.observe({"features": {f"x{number}": 1.0}}, None, f"p{number}")
    _, outcome = run_engine(settings_for(kind, budget=40, request_ttl="10000000d", **settings), stream)
    found = [event for event in outcome.outputs if isinstance(event, LabelRequest)]
    assert found
    for event in found:
        assert (event.labels, event.abstain_label) == expected
        assert LabelRequest.model_validate_json(encode(event)) == event
        assert event.expires_at is not None
        assert event.expires_at.year == 9999, "dates end there"


def test_tail_in_one_line_each(scene: Scene) -> None:
    lines = scene.lines("label-requests")
    first = scene.requested[0]
    assert lines[0].split("  ")[-1].startswith(first["preview"][:50])
    assert re.search(rf"  requested {first['id']}  (audit|coverage|variance) [\d.e-]+  \d+ left  w", lines[0])
    assert any(line.endswith(f"  answered  {first['id']}  ham by ann") for line in lines)
    assert max(map(len, lines)) <= 160
    status = scene.lines("status")[-1]
    assert re.search(r"302 events, 2 learned, lag 0, dead 0  requested \d+ \(\d+ open, \d+ left\)", status)
    assert "  agree: ann 0.50, " in status
    assert "labellers" in scene.run("tail", "status", "--config", scene.config, "--json")[1]


def test_inspect_shows_open_requests_and_the_remaining_budget(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "checkpoints"
    code, output, _ = scene.run("inspect", folder, "--config", scene.config)
    used = len(scene.requested)
    assert code == 0
    assert re.search(rf"^  requests    {used} requested, \d+ of them drawn at random$", output, re.M)
    assert re.search(rf"^              {used - 1} open: ('id-\d+', ){{4}}'id-\d+' and {used - 6} more$", output, re.M)
    assert f"\n  budget      {used} used, {20 - used} left now: 20 in all\n" in output
    found = json.loads(scene.run("inspect", folder, "--config", scene.config, "--json")[1])
    assert found["requests"]["open"] == [event["id"] for event in scene.requested[1:]]
    assert found["budget"] == {"used": used, "left": 20 - used, "total": 20}
    monkeypatch.chdir(tmp_path)
    assert scene.run("inspect", folder)[1] == output, "the settings of here are those of the checkpoint"
    monkeypatch.chdir(folder)
    assert f"  budget      {used} used; with the --config of" in scene.run("inspect", folder)[1]


def test_a_budget_by_the_day(tmp_path: Path, worker_command: Run) -> None:
    scene = Scene(tmp_path, worker_command, budget=100, per_period=12, period="2h")
    used = len(scene.requested)
    expected = f"  budget      {used} used, {12 - used} left now: 100 in all; 12 per 2h, {used} used in the last"
    assert expected in scene.run("inspect", tmp_path / "checkpoints", "--config", scene.config)[1].splitlines()


def test_settings_here_that_are_broken_do_not_matter(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.config.write_text(scene.config.read_text().replace('"variance"', '"foo"'))
    monkeypatch.chdir(tmp_path)
    code, output, _ = scene.run("inspect", tmp_path / "checkpoints")
    assert (code, "with the --config of" in output) == (0, True)
    assert scene.run("inspect", tmp_path / "checkpoints", "--config", scene.config)[0] == 2


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({"labels": {"strategy": "foo"}}, "labels.strategy: "),
        ({"learner": {"name": "Foo"}}, "learner.name: there is no learner 'Foo'"),
        ({"learner": {"parameters": {"prior_count": -1.0}}}, "learner.parameters.prior_count must be"),
    ],
)
def test_invalid_engine_settings_are_refused_before_the_start(
    tmp_path: Path, worker_command: Run, sections: dict[str, dict[str, Any]], expected: str
) -> None:
    config = write_config(settings_in(tmp_path, **sections), tmp_path / "settings.toml")
    code, output, errors = worker_command("run", "--config", config, "--drain")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"stream-bayes: {expected}")
    assert not (tmp_path / "log.db").exists()


def test_plain_lines() -> None:
    assert format_event(BY_TYPE["label-request"]) == "requested a  variance 0.2  spam 0.500  9 left  s | hello"
    assert format_event(BY_TYPE["status"]) == (
        "10 events, 5 learned, lag 3, dead 1, duplicates 1  requested 4 (1 open, 6 left)  "
        "audit 0.750 (0.200 to 0.990) of 4  agree: me 0.50"
    )
    number = LabelRequest(id="m", score=1 / 3, strategy="audit", mean=2.0, variance=0.25, source=PLACE)
    assert format_event(encode(number)) == "requested m  audit 0.333  2 ± 0.5"
    hostile = LabelOutcome(
        id="a\x1b" * 100,
        outcome="refused",
        label="b\n" * 90,
        labeller="\u202e" * 90,
        open=True,
        source=PLACE,
        at=MOMENT,
    )
    line = format_event(encode(hostile))
    assert line is not None
    assert line.isprintable()
    assert line.endswith("  still open")
    assert len(line) < 130
    old = LabelOutcome(outcome="expired", open=False, source=Source("emails", 0, 3), at=MOMENT)
    assert format_event(encode(old)) == "expired   emails 0-3"


@pytest.mark.parametrize(
    "value", [b"", b'"status"', b'{"type":"status"}', BY_TYPE["prediction"], b'{"type":"label-x"}']
)
def test_others_have_no_plain_line(value: bytes) -> None:
    assert format_event(value) is None


def test_a_prediction_of_the_label_status_is_no_status_event() -> None:
    event = Prediction(
        id='"status"', label="status", variance=0.1, epistemic_variance=0.1, source=PLACE, model_version=1
    )
    assert format_event(encode(event)) is None
