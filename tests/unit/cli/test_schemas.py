"""`stream-bayes schemas`."""

from __future__ import annotations

import json

from stream_bayes.events import schemas
from tests.support.commands import Run
from tests.support.events import GOLDEN

EVENTS = ["observation", "label", "prediction", "label-request", "label-outcome", "dead-letter", "status"]


def test_every_event_has_a_schema_with_its_fields() -> None:
    found = schemas()
    assert list(found) == EVENTS
    for value, event in GOLDEN.items():
        schema = found[json.loads(value)["type"]]
        assert schema["title"] == type(event).__name__
        # What other senders add to their events is ignored.
        assert schema["additionalProperties"] is (schema["title"] in ("Observation", "Label"))
        assert set(json.loads(value)) <= set(schema["properties"]) == set(type(event).model_fields)
        assert set(schema.get("required", ())) <= set(json.loads(value))
        assert schema["properties"]["type"]["const"] == event.model_dump()["type"]


def test_the_schema_of_an_observation_matches_the_decoder() -> None:
    schema = schemas()["observation"]
    assert "required" not in schema, "without an id it is the place of the record"
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
