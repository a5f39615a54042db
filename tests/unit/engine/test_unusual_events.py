"""What becomes of each awkward event, one at a time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from stream_bayes.engine import Engine
from stream_bayes.events import DeadLetter
from tests.support.engines import (
    KINDS,
    OBSERVATIONS,
    Kind,
    Stream,
    codes,
    comparable_state,
    encoded_result,
    fold,
    predictions,
    run,
    settings_for,
)

MAIL = {"text": "cheap pills, buy now"}
X = {"features": {"x": 1.0}}
Z = {"features": {"z": 2.0}}
SPAM = KINDS["SpamFilter"]
LINEAR = KINDS["BayesianLinearRegression"]
WORDS = KINDS["MultinomialNB"]


def refused(stream: Stream, **sizes: int) -> list[str]:
    """The codes of the dead letters of a filter."""
    return codes(run(settings_for(SPAM, **sizes), stream)[1])


def test_the_same_label_again_changes_nothing() -> None:
    stream = Stream()
    place = stream.observe(MAIL, None, "p")
    stream.answer("spam", "p")
    engine, _ = run(settings_for(SPAM), stream)
    before = engine.model.learner.state().arrays
    again = Stream()
    again.answer("spam", "p")
    again.answer("spam", "p", place)
    outcome = fold(engine, again.arrivals, (1,))
    assert encoded_result(outcome) == ([], [], [], [], [], [])
    assert {k: v.tobytes() for k, v in engine.model.learner.state().arrays.items()} == {
        name: array.tobytes() for name, array in before.items()
    }
    assert (engine.model_version, engine.counts["repeat"]) == (1, 2)


def test_the_label_that_came_with_an_observation_and_again_later_counts_once() -> None:
    stream = Stream()
    stream.observe(X, 1.5, "p")
    stream.answer(1.5, "p")
    engine, _ = run(settings_for(LINEAR), stream)
    assert (engine.model_version, engine.counts["repeat"]) == (1, 1)


def test_a_correction_is_as_if_the_first_label_had_never_come() -> None:
    wrong = Stream()
    right = Stream()
    for stream, first in ((wrong, "a"), (right, "b")):
        stream.observe(X, "a", "p0")
        stream.observe(Z, "b", "p1")
        stream.observe(X, first, "p2")
    wrong.answer("b", "p2")
    corrected, outcome = run(settings_for(WORDS), wrong, (10,))
    expected, _ = run(settings_for(WORDS), right)
    assert not outcome.rejected
    assert outcome.late == [2]
    arrays = corrected.model.learner.state().arrays
    for name, array in expected.model.learner.state().arrays.items():
        assert array.tobytes() == arrays[name].tobytes(), name
    assert (corrected.counts["correct"], corrected.model_version, expected.model_version) == (1, 4, 3)


def test_a_correction_of_a_target_gives_the_posterior_of_the_right_one() -> None:
    wrong = Stream()
    right = Stream()
    for stream, first in ((wrong, -7.0), (right, 2.0)):
        stream.observe(X, 1.0, "p0")
        stream.observe({"features": {"x": 3.0, "z": 1.0}}, first, "p1")
        stream.observe(Z, -1.0, "p2")
    wrong.answer(2.0, "p1")
    corrected, expected = (run(settings_for(LINEAR), stream)[0].model.learner for stream in (wrong, right))
    probe = {"x": 2.0, "z": -1.0}
    got, should = (model.predictive_one(probe) for model in (corrected, expected))
    assert (got.mean, got.variance) == pytest.approx((should.mean, should.variance), rel=1e-12)


def test_a_correction_that_is_refused_leaves_every_bit_as_it_was() -> None:
    kind = Kind("GramRegression", {}, (), ())
    stream = Stream()
    for number in range(8):
        stream.observe({"features": {"x": 0.1 + number / 3.0}}, number / 7.0, f"p{number}")
    engine, _ = run(settings_for(kind), stream)
    before = comparable_state(engine)[1]
    # A target that the engine would remember, and this learner does not take.
    late = Stream()
    late.answer(1e49, "p6")
    assert codes(fold(engine, late.arrivals, (1,))) == ["bad-input"]
    assert comparable_state(engine)[1] == before


def test_a_correction_of_a_mail_is_one_more_step_but_for_the_fusion() -> None:
    stream = Stream()
    stream.observe(MAIL, "ham", "p")
    stream.answer("spam", "p")
    engine, outcome = run(settings_for(SPAM), stream, (10,))
    again = Stream()
    again.observe(MAIL, "ham", "p")
    again.observe(MAIL, "spam", "q")
    twice, _ = run(settings_for(SPAM), again)
    once = Stream()
    once.observe(MAIL, "ham", "p")
    before, _ = run(settings_for(SPAM), once)
    assert (engine.model_version, outcome.late) == (2, [0])
    arrays, stepped, first = (comparable_state(one)[1] for one in (engine, twice, before))
    assert arrays["learner.word.weights"] == stepped["learner.word.weights"] != first["learner.word.weights"]
    assert arrays["learner.fusion_factor"] == first["learner.fusion_factor"] != stepped["learner.fusion_factor"]


def test_a_correction_is_not_counted_as_another_prediction() -> None:
    stream = Stream()
    stream.observe(MAIL, "ham", "p")
    stream.answer("spam", "p")
    engine, _ = run(settings_for(SPAM), stream)
    assert engine.metrics.label_figures()["labelled"] == 1.0


def test_a_label_of_an_observation_that_left_the_ring_is_too_old() -> None:
    stream = Stream()
    for number in range(9):
        stream.observe(MAIL, None, f"p{number}")
    stream.answer("spam", "p0", 0)
    stream.answer("spam", "p1", 1)
    stream.answer("spam", f"{OBSERVATIONS}-0-0")
    assert refused(stream, label_history=8, dedup_window=8) == ["label-too-old", "label-too-old"]


def test_a_label_for_nothing_is_unknown() -> None:
    stream = Stream()
    stream.answer("spam", "p")
    stream.answer("spam", "p", 5)
    stream.answer("spam", f"{OBSERVATIONS}-0-3")
    stream.answer("spam", f"{OBSERVATIONS}-0-" + "9" * 18)
    stream.answer("spam", f"{OBSERVATIONS}-0-" + "9" * 30)
    assert refused(stream) == ["unknown-observation"] * 5


def test_the_place_of_a_dead_letter_or_of_a_duplicate_holds_no_observation() -> None:
    stream = Stream()
    stream.put(OBSERVATIONS, b"{")
    stream.observe(MAIL, None, "p")
    stream.observe(MAIL, None, "p")
    stream.answer("spam", "q", 0)
    stream.answer("spam", "q", 2)
    assert refused(stream) == ["not-json", "unknown-observation", "unknown-observation"]


@pytest.mark.parametrize("cut", [1, 2, 100])
def test_a_label_that_names_the_place_of_a_duplicate_is_for_the_first_of_its_id(cut: int) -> None:
    stream = Stream()
    stream.observe(MAIL, None, "p")
    stream.observe(MAIL, None, "p")
    stream.answer("spam", "p", 1)
    stream.answer("spam", "p", 0)
    engine, outcome = run(settings_for(SPAM), stream, (cut,))
    assert codes(outcome) == []
    assert (engine.counts["learn"], engine.counts["repeat"], engine.model_version) == (1, 1, 1)


def test_an_id_that_left_the_window_needs_its_source() -> None:
    stream = Stream()
    for number in range(5):
        stream.observe(MAIL, None, f"p{number}")
    stream.answer("spam", "p0")
    stream.answer("spam", "p0", 0)
    _, outcome = run(settings_for(SPAM, dedup_window=4), stream)
    assert codes(outcome) == ["unknown-observation"]
    assert outcome.late == [0]


def test_an_observation_that_the_log_has_lost() -> None:
    engine = Engine(settings_for(SPAM, observation_cache_bytes=0))
    stream = Stream()
    stream.observe(MAIL, None, "p")
    stream.answer("spam", "p")
    observed, labelled = stream.arrivals
    engine.process([observed])
    assert engine.plan([labelled]).missing == {0}
    outcome = engine.process([labelled], {0: None})
    assert codes(outcome) == ["observation-gone"]
    assert engine.model_version == 0
    found = observed.event
    assert not isinstance(found, Exception)
    assert engine.process([labelled], {0: found}).late == [0]  # type: ignore[dict-item]


def test_a_source_and_an_id_that_do_not_belong_together() -> None:
    stream = Stream()
    stream.observe(MAIL, None, "p")
    stream.answer("spam", "q", 0)
    stream.answer("spam", "p", 0, partition=1)
    assert refused(stream) == ["wrong-id", "wrong-partition"]


def test_an_observation_seen_twice_is_counted_and_ignored() -> None:
    stream = Stream()
    stream.observe(MAIL, "ham", "p")
    stream.observe(MAIL, "ham", "p")
    stream.observe(MAIL, None, "p")
    for cut in (1, 10):
        engine, outcome = run(settings_for(SPAM), stream, (cut,))
        assert [prediction.source.offset for prediction in predictions(outcome)] == [0]
        assert (engine.counts["duplicate"], engine.model_version, codes(outcome)) == (2, 1, [])


def test_an_id_may_come_again_once_it_has_left_the_window() -> None:
    stream = Stream()
    for number in (0, 1, 2, 3, 4, 0, 1):
        stream.observe(MAIL, None, f"p{number}")
    stream.answer("spam", "p0")
    engine, outcome = run(settings_for(SPAM, dedup_window=4), stream, (10,))
    assert (engine.counts["duplicate"], outcome.late) == (0, [5])


@pytest.mark.parametrize("cut", [1, 2, 10])
def test_labels_for_the_newest_observation(cut: int) -> None:
    stream = Stream()
    stream.observe(X, None, "p0")
    stream.answer(1.0, "p0")
    stream.observe(X, None, "p1")
    stream.answer(2.0, "p1")
    stream.answer(4.0, "p1", 1)
    stream.answer(4.0, "p1")
    engine, outcome = run(settings_for(LINEAR, budget=0), stream, (cut,))
    assert [prediction.model_version for prediction in predictions(outcome)] == [0, 1]
    assert engine.counts == {"predict": 2, "learn": 2, "correct": 1, "repeat": 1}
    assert outcome.late == [0, 1, 1]
    model = LINEAR.parameters["prior_precision"] * LINEAR.parameters["noise_variance"]
    # Intercept and slope see the same 1, twice: their sum is 2 (1 + 4) / (2 * 2 + ridge).
    assert engine.model.learner.predict_one({"x": 1.0}) == pytest.approx(10.0 / (4.0 + model))


@pytest.mark.parametrize(
    ("timestamp", "at"),
    [
        (1000, datetime(1970, 1, 1, 0, 0, 1)),
        (-(2**62), datetime(1970, 1, 1)),
        (2**62, datetime(9999, 12, 31, 23, 59, 59)),
    ],
)
def test_a_dead_letter_has_the_record_and_its_timestamp(timestamp: int, at: datetime) -> None:
    stream = Stream()
    stream.observe(MAIL, None, "p", lead=60)
    stream.put("labels", b"\xff\x00")
    stream.records[-1] = stream.records[-1]._replace(timestamp=timestamp)
    _, outcome = run(settings_for(SPAM), stream)
    letter = outcome.outputs[-1]
    assert isinstance(letter, DeadLetter)
    assert (letter.code, letter.topic, letter.offset, letter.payload) == ("not-json", "labels", 0, b"\xff\x00")
    assert letter.at == at.replace(tzinfo=UTC)
