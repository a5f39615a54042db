"""Ids that come twice: duplicates, other labels for the same content, and ids that were given to another content."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from stream_bayes.engine import Engine
from stream_bayes.engine.history import content_digest
from stream_bayes.events import NO_LIMITS, DeadLetter, LabelRequest, Observation, decode_records
from stream_bayes.mail.parse.identity import message_digest
from stream_bayes.records import Record
from tests.support.engines import (
    KINDS,
    PLENTY,
    Stream,
    codes,
    comparable_state,
    encoded_result,
    fold,
    predictions,
    run,
    settings_for,
)
from tests.support.label_requests import outcomes, replay_decisions, replayed_events

SPAM = KINDS["SpamFilter"]
WORDS = KINDS["MultinomialNB"]
CONTENT = {"features": {"x": 2, "z": 1}}
RAW = b"Received: from a\nSubject: cheap\nFrom: a@b.example\n\nbuy now\n"
MOVED = b"X-Spam-Flag: YES\r\nSubject: cheap\r\nFrom: a@b.example\r\nStatus: RO\r\n\r\nbuy now\r\n"


def raw(content: bytes) -> dict[str, str]:
    return {"raw": b64encode(content).decode()}


def learned(engine: Engine) -> dict[str, bytes]:
    """The state of a learner, comparable."""
    return {name: array.tobytes() for name, array in engine.model.learner.state().arrays.items()}


def test_item01_different_mails_with_few_keys_are_all_predicted() -> None:
    settings = settings_for(SPAM, dedup_window=200, label_history=200)
    headers = (("content-type", b"message/rfc822"),)
    records = [
        Record(
            "emails", 0, number, 1000 * number, b"mailbox-%d" % (number % 5), b"Subject: %d\n\nwords" % number, headers
        )
        for number in range(100)
    ]
    outcome = Engine(settings).process(decode_records(records, settings.topics.observations, NO_LIMITS))
    assert [event.id for event in predictions(outcome)] == [f"emails-0-{number}" for number in range(100)]
    assert codes(outcome) == []


@pytest.mark.parametrize("cut", [1, 10])
def test_item01_the_same_id_with_another_content_is_a_dead_letter(cut: int) -> None:
    stream = Stream()
    stream.observe(CONTENT, "a", "p")
    stream.observe({"features": {"z": 1, "x": 2}}, None, "p")
    stream.observe({"features": {"x": 2, "z": 1.5}}, "b", "p")
    engine, outcome = run(settings_for(WORDS), stream, (cut,))
    assert (engine.counts["duplicate"], engine.model_version, engine.refused) == (1, 1, {"id-reused": 1})
    (letter,) = [event for event in outcome.outputs if isinstance(event, DeadLetter)]
    assert (letter.code, letter.offset) == ("id-reused", 2)
    assert "at emails-0-0" in letter.message


def test_item01_an_id_that_has_left_the_window_is_free_again() -> None:
    stream = Stream()
    stream.observe(CONTENT, None, "p")
    for _ in range(4):
        stream.observe(CONTENT)
    stream.observe({"features": {"x": 7}}, None, "p")
    assert codes(run(settings_for(WORDS), stream)[1]) == []


def test_item01_a_mail_that_was_moved_is_the_same_content() -> None:
    stream = Stream()
    stream.observe(raw(RAW), "ham", "m")
    stream.observe(raw(MOVED), None, "m")
    stream.observe(raw(MOVED), "spam", "m")
    stream.observe(raw(MOVED.replace(b"now", b"later")), "spam", "m")
    corrected, outcome = run(settings_for(SPAM), stream)
    assert len(predictions(outcome)) == 1
    assert corrected.counts == {"predict": 1, "duplicate": 1, "correct": 1, "refuse": 1}
    assert codes(outcome) == ["id-reused"]
    # The first copy is what is learned again: as by a label that comes alone.
    alone = Stream()
    place = alone.observe(raw(RAW), "ham", "m")
    alone.observe(raw(MOVED), None, "m")
    alone.answer("spam", "m", place)
    assert learned(corrected) == learned(run(settings_for(SPAM), alone)[0])


@pytest.mark.parametrize("memory", [0, PLENTY])
@pytest.mark.parametrize("cut", [1, 10])
def test_item01_a_duplicate_with_another_label_is_a_label(memory: int, cut: int) -> None:
    stream = Stream()
    stream.observe(CONTENT, None, "p")
    stream.observe({"features": {"x": 1}}, "b", "q")
    stream.observe(CONTENT, "a", "p")
    stream.observe(CONTENT, "a", "p")
    stream.observe(CONTENT, "b", "p")
    stream.observe(CONTENT, 0.5, "p")
    engine, outcome = run(settings_for(WORDS, observation_cache_bytes=memory, dedup_window=8, budget=9), stream, (cut,))
    assert engine.counts == {"predict": 2, "learn": 1, "duplicate": 1, "correct": 1, "refuse": 1}
    assert (codes(outcome), outcome.late) == (["bad-input"], [0, 0])
    alone = Stream()
    alone.observe(CONTENT, None, "p")
    alone.observe({"features": {"x": 1}}, "b", "q")
    alone.answer("a", "p")
    alone.answer("b", "p")
    assert learned(engine) == learned(run(settings_for(WORDS), alone)[0])


def test_item01_a_duplicate_with_a_label_answers_a_request() -> None:
    stream = Stream()
    stream.observe(CONTENT, None, "p")
    stream.observe(CONTENT, "a", "p")
    _, outcome = run(settings_for(WORDS, budget=1000), stream)
    assert [event.id for event in outcome.outputs if isinstance(event, LabelRequest)] == ["p"]
    assert outcomes(outcome) == [(0, "answered", False)]


def test_item01_the_observation_of_a_duplicate_with_a_label_is_fetched() -> None:
    stream = Stream()
    stream.observe(CONTENT, None, "p")
    engine, _ = run(settings_for(WORDS, observation_cache_bytes=0), stream)
    for label, wanted in ((None, set()), ("a", {0})):
        again = Stream()
        again.ends["emails"] = 1
        again.observe(CONTENT, label, "p")
        assert engine.plan(again.arrivals).missing == wanted
    gone = engine.process(again.arrivals, {0: None})
    assert codes(gone) == ["observation-gone"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"raw": RAW}, {"raw": MOVED}, True),
        ({"raw": RAW}, {"raw": RAW + b"more"}, False),
        ({"text": "a"}, {"text": "a", "label": "ham", "key": "k"}, True),
        ({"text": "a"}, {"text": "a", "subject": "s"}, False),
        ({"text": "a"}, {"features": {"text": "a"}}, False),
        ({"features": {"a": 1, "b": "x"}}, {"features": {"b": "x", "a": 1}}, True),
        ({"features": {"a": 1}}, {"features": {"a": "1"}}, False),
        ({"features": {"a": 1}}, {"features": {"a": True}}, False),
    ],
)
def test_item01_content_digests(one: dict[str, object], other: dict[str, object], *, same: bool) -> None:
    digests = [content_digest(Observation.model_validate({"id": "a", **fields})) for fields in (one, other)]
    assert (digests[0] == digests[1]) is same
    assert all(0 <= digest < 2**64 for digest in digests)


def test_item01_hostile_headers_take_a_time_that_grows_with_their_length() -> None:
    """Each of these takes minutes where the time grows with the square of the length."""
    for line in (
        b"x-spam-" + b" " * (4 << 20),
        b"status" + b"\t" * (4 << 20),
        b"\nlines" * (1 << 20),
        b">" * (4 << 20) + b"\n>From ",
    ):
        assert len(message_digest(line)) == 16


@pytest.mark.parametrize("cut", [1, 10])
def test_item04_a_label_outside_the_classes_leaves_the_prediction(cut: int) -> None:
    stream = Stream()
    stream.observe({"text": "cheap pills"}, "SPAM", "p")
    stream.observe({"text": "lunch at noon"}, "ham", "q")
    stream.answer("spam", "p")
    stream.observe({"features": {"x": 1.0, "y": [1]}}, "SPAM", "r")
    engine, outcome = run(settings_for(SPAM, budget=1000), stream, (cut,))
    assert [event.id for event in predictions(outcome)] == ["p", "q"]
    assert (engine.model_version, engine.refused) == (2, {"bad-input": 1, "wrong-shape": 1})
    letter = next(event for event in outcome.outputs if isinstance(event, DeadLetter))
    assert (letter.code, letter.offset, letter.payload) == ("bad-input", 0, stream.records[0].value)
    assert "'SPAM' is neither of 'ham', 'spam'" in letter.message
    assert "the observation was predicted" in letter.message
    assert outcome.rejected[0] == ("emails", 0, "bad-input", 0)
    assert outcomes(outcome)[0] == (0, "answered", False)


def test_item04_a_refused_label_is_refused_again_in_a_replay() -> None:
    """Even where it would be taken now, as a learner that takes all labels does."""
    stream = Stream()
    stream.observe(CONTENT, 0.5, "p")
    stream.observe(CONTENT, "a", "q")
    stream.observe(CONTENT, 0.5, "q")
    settings = settings_for(WORDS, budget=9)
    engine, outcome = run(settings, stream)
    assert len(predictions(outcome)) == 2
    again = Engine(settings)
    good = Observation(id="p", features={"x": 2, "z": 1}, label="a")
    arrivals = [stream.arrivals[0]._replace(event=good), *stream.arrivals[1:]]
    replayed = fold(again, replayed_events(arrivals, outcome), (10,), replay_decisions(outcome))
    assert replayed.rejected == outcome.rejected
    assert comparable_state(again) == comparable_state(engine)


def test_item07_unknown_fields_are_counted_and_kept() -> None:
    stream = Stream()
    stream.put("emails", json.dumps({"id": "p", **CONTENT, "tenant": 1, "more": []}).encode())
    stream.put("labels", json.dumps({"id": "p", "label": "a", "why": "so"}).encode())
    stream.put("labels", json.dumps({"id": "nobody", "label": "a", "why": "so"}).encode())
    one, outcome = run(settings_for(WORDS), stream)
    whole, same = run(settings_for(WORDS), stream, (10,))
    assert (one.unknown_fields, whole.unknown_fields) == (3, 3)
    assert encoded_result(outcome) == encoded_result(same)
    assert comparable_state(one) == comparable_state(whole)


@pytest.mark.parametrize("cut", [1, 10])
def test_item01_the_label_of_a_reused_id_is_not_learned_for_the_other_content(cut: int) -> None:
    stream = Stream()
    stream.observe({"features": {"x": 1.0}}, None, "p")
    stream.observe({"features": {"x": 2.0}}, None, "p")
    stream.observe({"features": {"x": 1.0}}, None, "p")
    stream.answer("a", "p", offset=1)
    engine, outcome = run(settings_for(WORDS), stream, (cut,))
    assert engine.refused == {"id-reused": 1, "unknown-observation": 1}
    assert engine.model_version == 0
    stream.answer("a", "p", offset=2)
    engine, outcome = run(settings_for(WORDS), stream, (cut,))
    assert engine.counts["learn"] == 1
    assert engine.label_history.label_of(0) == "a"
    assert outcome.late == [0]


@pytest.mark.parametrize("cut", [1, 2, 10])
def test_item01_labels_by_the_place_of_a_duplicate_do_not_depend_on_cuts_or_memory(cut: int) -> None:
    stream = Stream()
    stream.observe({"features": {"x": 1.0}}, None, "p")
    stream.observe({"features": {"x": 1.0}}, None, "p")
    stream.answer("a", "p", offset=1)
    plain, expected = run(settings_for(WORDS), stream, (1,))
    engine, outcome = run(settings_for(WORDS, observation_cache_bytes=0), stream, (cut,))
    assert encoded_result(outcome) == encoded_result(expected)
    assert comparable_state(engine) == comparable_state(plain)
    assert engine.counts["learn"] == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"From tomorrow on", b"From here after"),
        (b"Status: home safe", b"Received: your parcel"),
        (b"From a\nto b", b"From c\nto b"),
        (b"Status: RO\n\n", b"Status: O\n\n"),
    ],
)
def test_item02_texts_that_begin_like_a_header_have_digests_of_their_own(one: bytes, other: bytes) -> None:
    assert len({message_digest(one), message_digest(other), message_digest(b"")}) == 3


@pytest.mark.parametrize(
    "stored",
    [
        b"From me Sat Jan 3 01:05:34 1996\nSubject: a\n\nb\n",
        b"Subject: a\r\nStatus: RO\r\n\r\nb\r\n\r\n",
        b"ARC-Seal: i=1;\n a=rsa\nX-Delivered-To: me\nSubject: a\n\nb",
    ],
)
def test_item02_a_stored_mail_has_the_digest_of_the_mail(stored: bytes) -> None:
    assert message_digest(stored) == message_digest(b"Subject: a\n\nb")


@pytest.mark.parametrize("line", [b"From here on", b">From here on", b">>>From here on", b">From here on\r"])
def test_quotes_of_a_line_that_begins_with_from_do_not_count(line: bytes) -> None:
    mail = b"Subject: a\n\nto begin\n%b\nthe end\n"
    assert message_digest(mail % line) == message_digest(mail % b"From here on")
    assert message_digest(line + b"\n") == message_digest(b"From here on")


@pytest.mark.parametrize(
    "line", [b"> From here on", b">Fromage", b" >From here on", b"so >From here on", b">from here"]
)
def test_quotes_of_other_lines_count(line: bytes) -> None:
    mail = b"Subject: a\n\n%b\n"
    assert message_digest(mail % line) != message_digest(mail % line.replace(b">", b""))


@pytest.mark.parametrize("label", ["", "x" * 5000, ["spam"], 2**70, {"a": 1}])
@pytest.mark.parametrize("cut", [1, 10])
def test_item04_a_malformed_label_leaves_the_prediction(label: object, cut: int) -> None:
    stream = Stream()
    stream.put("emails", json.dumps({"id": "p", **CONTENT, "label": label}).encode())
    stream.put("emails", json.dumps({"id": "p", **CONTENT, "label": label}).encode())
    engine, outcome = run(settings_for(WORDS), stream, (cut,))
    assert [event.id for event in predictions(outcome)] == ["p"]
    assert engine.refused == {"wrong-shape": 2}
    again = Engine(settings_for(WORDS))
    fold(again, replayed_events(stream.arrivals, outcome), (10,), replay_decisions(outcome))
    assert comparable_state(again) == comparable_state(engine)
