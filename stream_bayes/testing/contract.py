"""Checks of every learner: predicting and learning."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from river import base

from stream_bayes.errors import StreamBayesError
from stream_bayes.testing import streams

_BAD_VALUES = (math.nan, math.inf, -math.inf, [1.0], object(), 1j)
_BAD_WEIGHTS = (-1.0, math.nan, math.inf, "2", None)
# Equal to each other, as dict keys too, and of four types.
_ONES = (1, 1.0, True, np.int64(1))


def check_predicts_before_learning(learner: Any) -> None:
    """Predictions are valid before any learning, and sum to one where labels are known."""
    model = learner.clone()
    for x, _ in [({}, None), *streams.events(learner, 3)]:
        prediction = streams.answer(model, x)
        assert model.predictive_one(x).variance >= 0.0
        if isinstance(prediction, dict) and prediction:
            streams.assert_close(sum(prediction.values()), 1.0)


def check_predicting_changes_nothing(learner: Any) -> None:
    """No prediction moves a bit of the state, nor of what is learned afterwards.

    Not even one of an equal event whose names or numbers are of other types: the state is that of what was learned.
    """
    stream = streams.events(learner)
    model = streams.taught(learner, stream)
    before = streams.frozen(model)
    for x in (stream[0][0], {}, {"never seen": 1.0}, stream[1][0]):
        _predict(model, x)
    assert streams.frozen(model) == before
    for past, value in ((stream, lambda one: {"new": one}), ([], lambda one: {"a": one})):
        _assert_predicting_teaches_no_type(learner, past, value)
        _assert_predicting_teaches_no_type(learner, past, lambda one: {one: 2.0, "b": 1})


def _assert_predicting_teaches_no_type(
    learner: Any, past: list[streams.Event], make: Callable[[Any], dict[Any, Any]]
) -> None:
    label = streams.targets(learner)[0]
    experienced = streams.taught(learner, past)
    for known in _ONES:
        alone = streams.frozen(streams.taught(learner, [*past, (make(known), label)]))
        for other in _ONES:
            model = copy.deepcopy(experienced)
            _predict(model, make(other))
            model.learn_one(make(known), label)
            assert streams.frozen(model) == alone, f"predicting {make(other)} changed what learning {make(known)} does"


def _predict(model: Any, x: dict[Any, Any]) -> None:
    model.predict_one(x)
    streams.answer(model, x)
    model.predictive_one(x).interval(0.9)


def check_keeps_no_reference_to_the_event(learner: Any) -> None:
    """Check that a dict that the caller changes between predicting and learning is read as it then is."""
    stream = streams.events(learner)
    x = {"a": 1.0, "b": 2, "e": 3.0}
    label = stream[0][1]
    changes: tuple[dict[Any, Any], ...] = ({"a": 3.0, "b": 2, "e": 3.0}, {**x, "new": 1.0}, {"b": 2, "e": 3.0}, {})
    for later in changes:
        model = streams.taught(learner, stream)
        event = dict(x)
        streams.answer(model, event)
        event.clear()
        event.update(later)
        assert streams.answer(model, event) == streams.answer(streams.taught(learner, stream), later)
        model.learn_one(event, label)
        assert streams.frozen(model) == streams.frozen(streams.taught(learner, [*stream, (later, label)])), (
            f"{x} became {later} in between"
        )
        before = streams.frozen(model)
        event.clear()
        assert streams.frozen(model) == before
        _assert_batch_is_a_copy(learner, x, later, label)


def _assert_batch_is_a_copy(learner: Any, x: dict[Any, Any], later: dict[Any, Any], label: Any) -> None:
    model = learner.clone()
    event = dict(x)
    batch = model.batch([event])
    event.clear()
    event.update(later)
    model.test_then_train(batch, [label])
    assert streams.frozen(model) == streams.frozen(streams.taught(learner, [(x, label)])), (
        "a batch changed with the dicts it was made of"
    )


def check_bad_features_change_nothing(learner: Any) -> None:
    """NaN, infinities, wrong types and things that are not dicts are refused."""
    stream = streams.events(learner)
    model = streams.taught(learner, stream)
    label = stream[0][1]
    streams.refused(model, partial(model.learn_one, [1.0, 2.0], label))
    streams.refused(model, partial(model.test_then_train, [{"a": 1.0}], [label, label]))
    if getattr(learner, "on", "features") is None:
        return  # one posterior for all events: features are not looked at
    name = getattr(learner, "on", "a")
    for bad in _BAD_VALUES:
        x = {**stream[0][0], name: bad}
        streams.refused(model, partial(model.learn_one, x, label))
        streams.refused(model, partial(model.predict_one, x))
        streams.refused(model, partial(model.test_then_train, [stream[0][0], x], [label, label]))


def check_bad_targets_and_weights_change_nothing(learner: Any) -> None:
    """A target of the wrong type and a weight that is not a number from 0 on are refused."""
    stream = streams.events(learner)
    model = streams.taught(learner, stream)
    x, label = stream[0]
    for target in (None, math.nan, [label], object()):
        streams.refused(model, partial(model.learn_one, x, target))
    for weight in _BAD_WEIGHTS:
        streams.refused(model, partial(model.learn_one, x, label, w=weight))


def check_batch_equals_loop(learner: Any) -> None:
    """`test_then_train` and `learn_many` are the loop of single calls, to the last bit, however the stream is cut."""
    stream = streams.partly_labelled(learner)
    loop = learner.clone()
    result = []
    for x, y in stream:
        result.append(streams.answer(loop, x))
        if y is not None:
            loop.learn_one(x, y)
    for size in (1, 7, len(stream)):
        model = learner.clone()
        answers = []
        for begin in range(0, len(stream), size):
            part = stream[begin : begin + size]
            predictions = model.test_then_train(model.batch([x for x, _ in part]), [y for _, y in part])
            answers += [streams.answer_of(predictions, row) for row in range(len(part))]
        assert answers == result, f"batches of {size} and the loop differ"
        assert streams.frozen(model) == streams.frozen(loop), f"batches of {size} and the loop end in different states"
    model = learner.clone()
    model.learn_many([x for x, _ in stream], [y for _, y in stream])
    assert streams.frozen(model) == streams.frozen(loop), "learn_many and the loop end in different states"


def check_unlabelled_rows_teach_nothing(learner: Any) -> None:
    """Rows without a label are predicted only, and their names are not kept."""
    model = streams.taught(learner, streams.events(learner))
    before = streams.frozen(model)
    rows: list[streams.Event] = [*streams.events(learner, seed=2), ({"never labelled": 1.0, "nor this": True}, None)]
    model.test_then_train([x for x, _ in rows], [None] * len(rows))
    assert streams.frozen(model) == before


def check_numpy_scalars_are_numbers(learner: Any) -> None:
    """numpy's numbers, booleans and strings are taken for what they stand for."""
    stream = streams.events(learner)
    plain = learner.clone()
    scalars = learner.clone()
    for x, y in stream:
        plain.learn_one(x, y)
        scalars.learn_one({name: np.array([value])[0] for name, value in x.items()}, np.array([y])[0])
    assert streams.frozen(plain) == streams.frozen(scalars)


def check_empty_and_unseen_events(learner: Any) -> None:
    """An empty dict, features never seen and features gone missing are normal."""
    stream = streams.events(learner)
    model = streams.taught(learner, stream)
    for x in ({}, {"never seen": 1.0}, {"a": 1.0}):
        model.predict_one(x)
        model.learn_one(x, stream[0][1])
        assert math.isfinite(model.predictive_one(x).variance)


def check_weight_counts_repetitions(learner: Any) -> None:
    """A weight of 2 is the event learned twice, for additive learners."""
    if not learner.is_additive:
        return
    stream = streams.events(learner)
    model = streams.taught(learner, stream)
    twice = streams.taught(learner, [*stream, stream[0], stream[0]])
    model.learn_one(*stream[0], w=2.0)
    streams.assert_same_answers(model, twice, stream)


def check_no_weight_is_no_event(learner: Any) -> None:
    """A weight of 0 leaves every bit of the state: no new name, no new label, no type of a feature."""
    stream = streams.events(learner)
    for past in ([], stream):
        model = streams.taught(learner, past)
        before = streams.frozen(model)
        for x in (stream[0][0], {}, {"never seen": 1.0}, {"a": 17.0, "b": 17}):
            for label in (*streams.targets(learner), "never seen"):
                with contextlib.suppress(StreamBayesError):  # a label may be refused for what it is
                    model.learn_one(x, label, w=0.0)
                    model.test_then_train([x], [label], [0.0])
                assert streams.frozen(model) == before, f"{x} of label {label!r} was learned with a weight of 0"


def check_predictive_is_honest(learner: Any) -> None:
    """Noise and ignorance add up to the variance, the interval is one, and the mean is what `predict` says."""
    stream = streams.events(learner)
    model = streams.taught(learner, stream)
    for x, _ in stream:
        predictive = model.predictive_one(x)
        low, high = predictive.interval(0.95)
        narrow_low, narrow_high = predictive.interval(0.5)
        assert low <= narrow_low <= narrow_high <= high
        assert predictive.epistemic_variance >= 0.0
        assert predictive.aleatoric_variance >= 0.0
        streams.assert_close(predictive.aleatoric_variance + predictive.epistemic_variance, predictive.variance)
        if isinstance(learner, base.Classifier):
            assert dict(predictive.probabilities) == model.predict_proba_one(x)
        else:
            streams.assert_close(predictive.mean, model.predict_one(x))
