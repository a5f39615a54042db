"""`stream-bayes schemas` and `stream-bayes config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_bayes.events import schemas
from tests.commands import Run, run
from tests.events import GOLDEN

__all__ = ["run"]

EVENTS = ["observation", "label", "prediction", "label-request", "dead-letter", "status"]


def test_every_event_has_a_schema_with_its_fields() -> None:
    found = schemas()
    assert list(found) == EVENTS
    for value, event in GOLDEN.items():
        schema = found[json.loads(value)["type"]]
        assert schema["title"] == type(event).__name__
        assert schema["additionalProperties"] is False
        assert set(json.loads(value)) <= set(schema["properties"]) == set(type(event).model_fields)
        assert set(schema.get("required", ())) <= set(json.loads(value))
        assert schema["properties"]["type"]["const"] == event.model_dump()["type"]


def test_the_schema_of_an_observation_says_what_decode_wants() -> None:
    schema = schemas()["observation"]
    assert "required" not in schema, "without an id it is the key of the record"
    assert [choice["required"] for choice in schema["oneOf"]] == [["features"], ["text"], ["raw"]]
    assert {"type": "string", "contentEncoding": "base64"} in schema["properties"]["raw"]["anyOf"]
    source = schemas()["label"]["properties"]["source"]["anyOf"][0]
    assert source["required"] == ["topic", "partition", "offset"]


def test_schemas_prints_all_or_one(run: Run) -> None:
    code, output, errors = run("schemas")
    assert (code, errors) == (0, "")
    assert json.loads(output) == schemas()
    assert json.loads(run("schemas", "--json")[1]) == schemas()
    assert json.loads(run("schemas", "dead-letter", "--json")[1]) == schemas()["dead-letter"]


def test_schemas_of_an_unknown_event(run: Run) -> None:
    code, output, errors = run("schemas", "email")
    assert (code, output) == (2, "")
    assert errors == f"stream-bayes: there is no event 'email'; there are {', '.join(EVENTS)}\n"


def test_config_prints_each_setting_and_where_it_came_from(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STREAM_BAYES__COMMIT__EVENTS", "5")
    (tmp_path / "stream_bayes.toml").write_text('[topics]\nlabels = "answers"\n')
    code, output, errors = run("config")
    assert (code, errors) == (0, "")
    lines = output.splitlines()
    assert (
        len({line.index(" = ") for line in lines})
        == len({line.index("   (") for line in lines if "{" not in line})
        == 1
    )
    found = {line.split(" = ")[0].rstrip(): line.split(" = ")[1].split("   ", 1) for line in lines}
    assert found["topics.labels"][0] == '"answers"'
    assert found["topics.labels"][1].strip() == "(stream_bayes.toml)"
    assert found["commit.events"][0] == "5"
    assert found["commit.events"][1].strip() == "(environment STREAM_BAYES__COMMIT__EVENTS)"
    assert found["retention.days"][0] == "(not set)"
    content = json.loads(run("config", "--json")[1])
    assert list(content) == list(found)
    assert content["topics.labels"] == {"value": "answers", "origin": "stream_bayes.toml"}
    assert content["retention.days"] == {"value": None, "origin": "default"}


def test_config_of_a_file_by_name(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[learner]\nparameters = { x = nan, day = 2026-01-31 }\n")
    content = json.loads(run("config", "--config", file, "--json")[1])
    assert content["learner.parameters"]["value"] == {"x": "NaN", "day": "2026-01-31"}
    file.write_text("[learnr]\n")
    assert run("config", "--config", file) == (
        2,
        "",
        f"stream-bayes: unknown section 'learnr' ({file}): did you mean 'learner'?\n",
    )
