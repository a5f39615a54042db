from __future__ import annotations

import json
import string
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stream_bayes.events import Event, Label, Limits, Observation, Prediction, decode, encode
from stream_bayes.records import Source
from tests.support.events import GOLDEN, LIMITS, PLACE, observed, record_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
FEATURE_VALUES = TEXTS | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False)
LABEL_VALUES = FEATURE_VALUES.filter(lambda value: value != "")
ZONES = st.none() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.none() | st.builds(datetime.replace, st.datetimes(min_value=datetime(1600, 1, 1)), tzinfo=ZONES)
CONTENTS = (
    st.fixed_dictionaries({"features": st.dictionaries(TEXTS, FEATURE_VALUES, max_size=5)})
    | st.fixed_dictionaries({"text": TEXTS})
    | st.fixed_dictionaries({"raw": st.binary(max_size=40)})
)
MAYBE = st.none() | TEXTS
SOURCES = st.builds(Source, TEXTS, st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
OBSERVATIONS = st.builds(
    lambda content, **fields: Observation(**content, **fields),
    CONTENTS,
    **{"id": IDS, "label": st.none() | LABEL_VALUES, "at": MOMENTS},
    **{"key": MAYBE, "subject": MAYBE, "sender": MAYBE, "mailbox": MAYBE},
)
LABELS = st.builds(Label, id=IDS, label=LABEL_VALUES, labeller=st.none() | IDS, at=MOMENTS, source=st.none() | SOURCES)


@pytest.mark.parametrize(("value", "event"), GOLDEN.items(), ids=[json.loads(value)["type"] for value in GOLDEN])
def test_every_event_has_this_form_in_a_log(value: bytes, event: Event) -> None:
    assert encode(event) == value
    assert type(event).model_validate_json(value) == event
    if isinstance(event, Observation | Label):
        assert decode(record_of(value), type(event), LIMITS) == event


@pytest.mark.slow
@given(OBSERVATIONS | LABELS)
def test_encoded_events_decode_to_themselves(event: Observation | Label) -> None:
    for kind in (Observation, Label):
        again = decode(record_of(encode(event)), kind, LIMITS)
        assert again == event
        assert hash(again) == hash(event)
        assert type(again) is type(event)
        assert type(again.label) is type(event.label)
        assert encode(again) == encode(event)


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("1.0", 1.0), ("true", True), ('"1"', "1"), ("-0", 0), ("1e3", 1000.0), ("0", 0)]
)
def test_a_value_keeps_its_type(text: str, value: object) -> None:
    label = decode(record_of(f'{{"id":"a","label":{text}}}'.encode()), Label, LIMITS).label
    features = observed(f'{{"features":{{"x":{text}}},"label":{text}}}'.encode())
    assert features.features is not None
    for found in (label, features.label, features.features["x"]):
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_integers_of_64_bits_are_allowed(value: int) -> None:
    assert observed(f'{{"features":{{"x":{value}}},"label":{value}}}'.encode()).label == value


@pytest.mark.parametrize("content", [{"features": {"a": 1}}, {"features": {}}, {"text": ""}, {"raw": b""}])
def test_the_content_is_the_given_field(content: dict[str, object]) -> None:
    assert Observation.model_validate({"id": "a", **content}).content == next(iter(content.values()))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"id": "a"}, "exactly one of features, text and raw must be given, not none"),
        ({"id": "a", "text": "b", "raw": b"c"}, "must be given, not text and raw"),
        ({"id": "", "text": "b"}, "at least 1 character"),
        ({"text": "b"}, "Field required"),
        ({"id": "a", "text": "b", "label": 2**63}, "within 64 bits"),
        ({"id": "a", "features": {"x": -(2**63) - 1}}, "'features.x' must be within 64 bits"),
        ({"id": "a", "features": {"x": float("nan")}}, "finite"),
        ({"id": "a", "text": "b", "lable": "spam"}, "not permitted"),
    ],
)
def test_an_observation_that_cannot_be_is_not_built(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Observation.model_validate(fields)


def test_a_label_that_cannot_be_is_not_built() -> None:
    with pytest.raises(ValidationError, match="within 64 bits"):
        Label(id="a", label=-(2**63) - 1)


def test_events_are_frozen_and_equal_by_value() -> None:
    one, same = (Observation(id="a", features={"x": 1}, label="spam") for _ in range(2))
    assert len({one, same, Observation(id="a", features={"x": 2}, label="spam")}) == 2
    assert len({Label(id="a", label=1), Label(id="a", label=1), Label(id="a", label=2)}) == 2
    with pytest.raises(ValidationError, match="frozen"):
        one.id = "b"


@pytest.mark.parametrize("half", ["\ud800", "a\ud83d b\ude00"])
def test_half_a_surrogate_pair_does_not_stop_an_event_from_being_written(half: str) -> None:
    event = Observation(id="a", features={half: half})
    shown = half.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    assert observed(encode(event)) == Observation(id="a", features={shown: shown})
    infinite = Prediction(
        id=half, mean=float("-inf"), variance=float("nan"), epistemic_variance=0, source=PLACE, model_version=0
    )
    found = json.loads(encode(infinite))
    assert (found["id"], found["mean"], found["variance"]) == (shown, "-Infinity", "NaN")
    assert "label" not in found


@given(st.text(string.printable, min_size=1, max_size=700), st.integers(4, 600))
def test_the_length_of_an_id_is_counted_in_bytes(text: str, most: int) -> None:
    identifier = "é" + text.translate(dict.fromkeys(range(32)))
    event = Observation(id=identifier, text="")
    limits = Limits(id_bytes=most)
    if len(identifier.encode()) <= most:
        assert observed(encode(event), limits=limits) == event
    else:
        with pytest.raises(ValueError, match=f"at most {most} are allowed"):
            observed(encode(event), limits=limits)
