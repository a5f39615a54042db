"""The learner contract as code: `yield_checks(learner)` gives one function for each promise.

    >>> from stream_bayes import BernoulliNB
    >>> from stream_bayes.checks import yield_checks
    >>> for check in yield_checks(BernoulliNB()):
    ...     check(BernoulliNB())

Each check takes a learner, works on clones of it, and raises AssertionError when a promise is broken. They need no
test framework, so third parties can run them on learners of their own. Give `yield_checks` learners with odd
hyper-parameters: the bugs of this field hide where they are all 1.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import base

from stream_bayes.errors import MergeError, StreamBayesError, UnlearnError
from stream_bayes.learners.base import Additive, Learner, State

Check = Callable[[Any], None]
Event = tuple[dict[Any, Any], Any]

_FEATURES = ("a", "b", "c", ("d", 1), "e")
_BAD_VALUES = (math.nan, math.inf, -math.inf, [1.0], object(), 1j)
_BAD_WEIGHTS = (-1.0, math.nan, math.inf, "2", None)


def yield_checks(learner: Learner) -> Iterator[Check]:
    """Every promise that holds for this kind of learner."""
    yield check_speaks_before_learning
    yield check_predicting_changes_nothing
    yield check_keeps_no_reference_to_the_event
    yield check_bad_features_change_nothing
    yield check_bad_targets_and_weights_change_nothing
    yield check_batch_equals_loop
    yield check_unlabelled_rows_teach_nothing
    yield check_restored_learner_goes_on_exactly
    yield check_saved_learner_goes_on_exactly
    yield check_state_is_a_copy
    yield check_clone_has_no_data
    yield check_numpy_scalars_are_numbers
    yield check_empty_and_unseen_events
    yield check_weight_counts_repetitions
    yield check_predictive_is_honest
    if isinstance(learner, Additive):
        yield check_order_does_not_matter
        yield check_merge_is_union
        yield check_merge_refuses_strangers
        yield check_unlearn_undoes_learn
        yield check_unlearn_refuses_what_never_came
        yield check_forget_scales_evidence


def events(learner: Any, count: int = 40, seed: int = 1) -> list[Event]:
    """A stream this kind of learner can take: a few features, some missing, small whole numbers."""
    generator = np.random.default_rng(seed)
    labels = targets(learner)
    stream = []
    for _ in range(count):
        names = [name for name in _FEATURES if generator.random() < 0.8]
        x = {name: float(generator.integers(0, 4)) for name in names}
        stream.append((x, labels[int(generator.integers(len(labels)))]))
    return stream


def targets(learner: Any) -> list[Any]:
    """Labels or numbers the learner can be taught."""
    if isinstance(learner, base.Regressor):
        return [0.5, -1.25, 3.0, 2.0]
    return list(getattr(learner, "classes", None) or ("red", "green", "blue"))


def taught(learner: Any, stream: list[Event]) -> Any:
    """A clone that has learned the stream."""
    model = learner.clone()
    for x, y in stream:
        model.learn_one(x, y)
    return model


def answer(model: Any, x: dict[Any, Any]) -> Any:
    """What the model says about an event, as something comparable."""
    return model.predict_proba_one(x) if isinstance(model, base.Classifier) else model.predict_one(x)


def frozen(model: Learner) -> tuple[Any, ...]:
    """The state as bytes: two learners are equal to the last bit when these are."""
    state: State = model.state()
    arrays = [(name, array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(state.arrays.items())]
    return state.kind, repr(state.parameters), arrays


def assert_close(one: Any, two: Any, tolerance: float = 1e-9) -> None:
    """Answers agree up to rounding."""
    if isinstance(one, dict):
        assert set(one) == set(two), f"labels differ: {sorted(map(str, one))} and {sorted(map(str, two))}"
        for label, value in one.items():
            assert_close(value, two[label], tolerance)
    else:
        assert math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance), f"{one!r} is not {two!r}"


def assert_same_answers(one: Any, two: Any, stream: list[Event], tolerance: float = 1e-9) -> None:
    """Two models agree on every event of the stream."""
    for x, _ in stream:
        assert_close(answer(one, x), answer(two, x), tolerance)


def refused(model: Any, action: Callable[[], Any], kind: type[StreamBayesError] = StreamBayesError) -> None:
    """The action raises one of our errors, with a message, and leaves the state byte-equal."""
    before = frozen(model)
    said = "nothing: it was accepted, and should have been refused"
    try:
        action()
    except kind as problem:
        said = f"{kind.__name__}: {problem}"
    assert said.startswith(kind.__name__), said
    assert frozen(model) == before, "a refused update changed the state"


def check_speaks_before_learning(learner: Any) -> None:
    """Predictions are valid before any learning, and sum to one where labels are known."""
    model = learner.clone()
    for x, _ in [({}, None), *events(learner, 3)]:
        said = answer(model, x)
        assert model.predictive_one(x).variance >= 0.0
        if isinstance(said, dict) and said:
            assert_close(sum(said.values()), 1.0)


def check_predicting_changes_nothing(learner: Any) -> None:
    """No prediction, on events known or new, moves a bit of the state."""
    stream = events(learner)
    model = taught(learner, stream)
    before = frozen(model)
    for x in (stream[0][0], {}, {"never seen": 1.0}, stream[1][0]):
        model.predict_one(x)
        answer(model, x)
        model.predictive_one(x).interval(0.9)
    assert frozen(model) == before


def check_keeps_no_reference_to_the_event(learner: Any) -> None:
    """What the caller does to a dict afterwards is no business of the learner's."""
    stream = events(learner)
    model = taught(learner, stream[:-1])
    x = dict(stream[-1][0])
    first = answer(model, x)
    model.learn_one(x, stream[-1][1])
    before = frozen(model)
    x["a"] = 3.0 if x.get("a") != 3.0 else 1.0
    x["new"] = 1.0
    model.predict_one(x)
    assert frozen(model) == before
    assert_close(first, answer(taught(learner, stream[:-1]), stream[-1][0]))


def check_bad_features_change_nothing(learner: Any) -> None:
    """NaN, infinities, wrong types and things that are not dicts are refused."""
    stream = events(learner)
    model = taught(learner, stream)
    label = stream[0][1]
    refused(model, lambda: model.learn_one([1.0, 2.0], label))
    refused(model, lambda: model.test_then_train([{"a": 1.0}], [label, label]))
    if getattr(learner, "on", "features") is None:
        return  # one coin for all events: features are not looked at
    name = getattr(learner, "on", "a")
    for bad in _BAD_VALUES:
        x = {**stream[0][0], name: bad}
        refused(model, lambda x=x: model.learn_one(x, label))  # type: ignore[misc]
        refused(model, lambda x=x: model.predict_one(x))  # type: ignore[misc]
        refused(model, lambda x=x: model.test_then_train([stream[0][0], x], [label, label]))  # type: ignore[misc]


def check_bad_targets_and_weights_change_nothing(learner: Any) -> None:
    """A target of the wrong type and a weight that is not a number from 0 on are refused."""
    stream = events(learner)
    model = taught(learner, stream)
    x, label = stream[0]
    for target in (None, math.nan, [label], object()):
        refused(model, lambda target=target: model.learn_one(x, target))  # type: ignore[misc]
    for weight in _BAD_WEIGHTS:
        refused(model, lambda weight=weight: model.learn_one(x, label, w=weight))  # type: ignore[misc]


def check_batch_equals_loop(learner: Any) -> None:
    """`test_then_train` is the loop of single calls, to the last bit, however the stream is cut."""
    stream = events(learner)
    known = [None if row % 5 == 2 else y for row, (_, y) in enumerate(stream)]
    loop = learner.clone()
    said = []
    for (x, _), y in zip(stream, known, strict=True):
        said.append(answer(loop, x))
        if y is not None:
            loop.learn_one(x, y)
    for size in (1, 7, len(stream)):
        model = learner.clone()
        answers = []
        for begin in range(0, len(stream), size):
            part = [x for x, _ in stream[begin : begin + size]]
            predictions = model.test_then_train(model.batch(part), known[begin : begin + size])
            answers += [_answer_of(predictions, row) for row in range(len(part))]
        assert answers == said, f"batches of {size} and the loop differ"
        assert frozen(model) == frozen(loop), f"batches of {size} and the loop end in different states"


def _answer_of(predictions: Any, row: int) -> Any:
    return predictions.probabilities_of(row) if hasattr(predictions, "probabilities_of") else predictions.mean[row]


def check_unlabelled_rows_teach_nothing(learner: Any) -> None:
    """Rows without a label are predicted only."""
    model = taught(learner, events(learner))
    before = frozen(model)
    model.test_then_train([x for x, _ in events(learner, seed=2)], [None] * 40)
    assert frozen(model) == before


def check_restored_learner_goes_on_exactly(learner: Any) -> None:
    """`from_state(state())` continues as if nothing had happened, to the last bit."""
    stream = events(learner)
    whole = taught(learner, stream[:20])
    half = type(learner).from_state(whole.state())
    assert frozen(half) == frozen(whole)
    for x, y in stream[20:]:
        assert answer(half, x) == answer(whole, x)
        half.learn_one(x, y)
        whole.learn_one(x, y)
    assert frozen(half) == frozen(whole)


def check_saved_learner_goes_on_exactly(learner: Any) -> None:
    """`load` after `save` gives the same learner, whichever class reads it."""
    stream = events(learner)
    model = taught(learner, stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner"
        model.save(path)
        for reader in (type(learner), Learner):
            copy = reader.load(path)
            assert frozen(copy) == frozen(model)
            assert all(answer(copy, x) == answer(model, x) for x, _ in stream)


def check_state_is_a_copy(learner: Any) -> None:
    """Learning on does not change a state taken before."""
    stream = events(learner)
    model = taught(learner, stream[:20])
    state, before = model.state(), frozen(model)
    for x, y in stream[20:]:
        model.learn_one(x, y)
    assert frozen(type(learner).from_state(state)) == before


def check_clone_has_no_data(learner: Any) -> None:
    """A clone of a taught learner is a fresh one, and parameters are as they were given."""
    model = taught(learner, events(learner))
    assert frozen(model.clone()) == frozen(learner.clone())
    assert repr(model) == repr(learner)


def check_numpy_scalars_are_numbers(learner: Any) -> None:
    """numpy's numbers, booleans and strings are taken for what they stand for."""
    stream = events(learner)
    plain, scalars = learner.clone(), learner.clone()
    for x, y in stream:
        plain.learn_one(x, y)
        scalars.learn_one({name: np.float64(value) for name, value in x.items()}, np.array([y])[0])
    assert frozen(plain) == frozen(scalars)


def check_empty_and_unseen_events(learner: Any) -> None:
    """An empty dict, features never seen and features gone missing are normal."""
    stream = events(learner)
    model = taught(learner, stream)
    for x in ({}, {"never seen": 1.0}, {"a": 1.0}):
        model.predict_one(x)
        model.learn_one(x, stream[0][1])
        assert math.isfinite(model.predictive_one(x).variance)


def check_weight_counts_repetitions(learner: Any) -> None:
    """A weight of 2 is the event learned twice, for additive learners; a weight of 0 is no event."""
    stream = events(learner)
    model = taught(learner, stream)
    nothing = taught(learner, stream)
    nothing.learn_one(*stream[0], w=0.0)
    assert_same_answers(nothing, model, stream)
    if isinstance(learner, Additive):
        twice = taught(learner, stream)
        twice.learn_one(*stream[0])
        twice.learn_one(*stream[0])
        model.learn_one(*stream[0], w=2.0)
        assert_same_answers(model, twice, stream)


def check_predictive_is_honest(learner: Any) -> None:
    """Noise and ignorance add up to the variance, the interval is one, and the mean is what `predict` says."""
    stream = events(learner)
    model = taught(learner, stream)
    for x, _ in stream:
        predictive = model.predictive_one(x)
        low, high = predictive.interval(0.95)
        narrow_low, narrow_high = predictive.interval(0.5)
        assert low <= narrow_low <= narrow_high <= high
        assert predictive.epistemic_variance >= 0.0
        assert predictive.aleatoric_variance >= 0.0
        assert_close(predictive.aleatoric_variance + predictive.epistemic_variance, predictive.variance)
        if isinstance(learner, base.Classifier):
            assert dict(predictive.probabilities) == model.predict_proba_one(x)
        else:
            assert_close(predictive.mean, model.predict_one(x))


def check_order_does_not_matter(learner: Any) -> None:
    """Evidence is a sum: any order gives the same posterior."""
    stream = events(learner)
    shuffled = [stream[place] for place in np.random.default_rng(3).permutation(len(stream))]
    assert_same_answers(taught(learner, stream), taught(learner, shuffled), stream)


def check_merge_is_union(learner: Any) -> None:
    """Two learners merged are one that saw both streams."""
    first, second = events(learner, seed=4), events(learner, seed=5)
    extra = [({**x, "only here": 1.0}, y) for x, y in second]
    model, other = taught(learner, first), taught(learner, extra)
    before = frozen(other)
    model.merge(other)
    assert frozen(other) == before, "merging changed the other learner"
    assert_same_answers(model, taught(learner, first + extra), first + extra)
    empty = learner.clone()
    empty.merge(taught(learner, first))
    assert_same_answers(empty, taught(learner, first), first)


def check_merge_refuses_strangers(learner: Any) -> None:
    """Learners of another class or with other parameters do not add up."""
    model = taught(learner, events(learner))

    class Stranger(type(learner)):  # type: ignore[misc]
        """The same thing under another name."""

    stranger = Stranger(**learner._get_params())
    refused(model, lambda: model.merge(stranger), MergeError)


def check_unlearn_undoes_learn(learner: Any) -> None:
    """Taking an event back leaves the posterior as if it had never come."""
    stream, extra = events(learner), events(learner, 10, seed=6)
    model = taught(learner, stream + extra)
    for x, y in extra:
        model.unlearn_one(x, y)
    assert_same_answers(model, taught(learner, stream), stream)
    for x, y in stream:
        model.unlearn_one(x, y)
    assert_same_answers(model, learner.clone(), stream)


def check_unlearn_refuses_what_never_came(learner: Any) -> None:
    """What was never learned cannot be taken back."""
    stream = events(learner)
    x, y = stream[0]
    fresh = learner.clone()
    refused(fresh, lambda: fresh.unlearn_one(x, y), UnlearnError)
    model = taught(learner, stream)
    refused(model, lambda: model.unlearn_one(x, y, w=1e6), UnlearnError)


def check_forget_scales_evidence(learner: Any) -> None:
    """Forgetting a share of everything is having learned it all with that weight; forgetting all is the prior."""
    stream = events(learner)
    half, faint = taught(learner, stream), learner.clone()
    half.forget(0.5)
    for x, y in stream:
        faint.learn_one(x, y, w=0.5)
    assert_same_answers(half, faint, stream)
    half.forget(1.0)
    assert_same_answers(half, faint, stream)
    half.forget(0.0)
    assert_same_answers(half, learner.clone(), stream)
    for factor in (-0.1, 1.1, math.nan):
        refused(half, lambda factor=factor: half.forget(factor))  # type: ignore[misc]
