"""Single calls take a way without a batch: the same bits and the same refusals as a batch of one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BayesianLogisticRegression,
    BernoulliNB,
    BetaBernoulli,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    GramRegression,
    LogisticRegression,
    MultinomialNB,
    PoissonNB,
    PoissonRegression,
    RobustRegression,
    SoftmaxRegression,
)
from stream_bayes.errors import EvidenceError, InputError
from stream_bayes.testing.streams import frozen

LABELS = ("ham", "spam")
CLASSIFIERS = (
    LogisticRegression(step="inverse-root", rate=0.3, l1=0.01, l2=0.2, classes=LABELS),
    LogisticRegression(buckets=8, classes=LABELS),
    SoftmaxRegression(rate=0.4, l2=0.1, classes=LABELS),
    SoftmaxRegression(),
    BayesianLogisticRegression(prior_precision=0.3, classes=LABELS),
    BayesianLogisticRegression(intercept=False, forgetting=0.9, classes=LABELS),
    BayesianLogisticRegression(buckets=8, classes=LABELS),
    BayesianLogisticRegression(covariance="diagonal", buckets=8, classes=LABELS),
    BernoulliNB(classes=LABELS),
    CategoricalNB(prior_count=0.5, classes=LABELS),
    GaussianDiscriminant(classes=LABELS),
    GaussianNB(classes=LABELS),
    MultinomialNB(classes=LABELS),
    PoissonNB(classes=LABELS),
    BetaBernoulli(classes=LABELS),
    BetaBernoulli(on="a", classes=LABELS),
)
REGRESSORS = (
    PoissonRegression(rate=0.05, l1=0.01),
    PoissonRegression(buckets=8),
    RobustRegression("laplace", noise_scale=0.5),
    RobustRegression(covariance="diagonal", buckets=8),
    GramRegression(strength=0.5),
)
EVENTS: list[dict[str, Any]] = [
    {},
    {"a": 1.0, "b": 2.0},
    {"a": 3.0, "b": 0.0},
    {"a": 3.0, "b": 0.0},
    {"b": 0.0, "a": 3.0},
    {"a": True, "b": 1},
    {"a": 2.0, "new": 1.0},
    {"a": 1.0, "b": 2.0},
    {},
]


@pytest.mark.parametrize("prototype", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_single_calls_give_the_bits_of_batches_of_one(prototype: Any) -> None:
    """From the first event on, an empty one of a label that is declared: nothing was reserved for it before."""
    is_classifier = prototype in CLASSIFIERS
    targets: list[Any] = [LABELS[place % 3 == 1] if is_classifier else float(place % 3) for place in range(len(EVENTS))]
    single = prototype.clone()
    batches = prototype.clone()
    is_categorical = isinstance(prototype, (CategoricalNB, BetaBernoulli))
    events = [{name: float(x[name]) for name in x} for x in EVENTS] if is_categorical else EVENTS
    for x, y in zip(events * 2, targets * 2, strict=True):
        predictions = batches.test_then_train([x], [y])
        if is_classifier:
            probabilities = predictions.probabilities_of(0)
            assert single.predict_proba_one(x) == probabilities
            assert single.predict_one(x) == max(probabilities, key=probabilities.__getitem__, default=None)
        else:
            assert single.predict_one(x) == predictions.mean[0]
        single.learn_one(x, y)
    assert frozen(single) == frozen(batches)


# To learners of categories any number is one.
MEASURING = [each for each in (*CLASSIFIERS, *REGRESSORS) if not isinstance(each, (CategoricalNB, BetaBernoulli))]


@pytest.mark.parametrize("prototype", MEASURING, ids=repr)
def test_what_a_batch_refuses_a_single_call_refuses_with_the_same_words(prototype: Any) -> None:
    """An event of known features and a known label, its value too large, is refused as in a batch."""
    target: Any = "ham" if prototype in CLASSIFIERS else 1.0
    model = prototype.clone()
    for _ in range(2):
        model.learn_one({"a": 1.0, "b": 2.0}, target)
    before = frozen(model)
    large = {"a": 1e200, "b": 2.0}
    with pytest.raises(InputError) as in_a_batch:
        model.test_then_train([large], [target])
    for call in (partial(model.predict_one, large), partial(model.learn_one, large, target)):
        with pytest.raises(InputError) as refusal:
            call()
        assert str(refusal.value) == str(in_a_batch.value)
    assert frozen(model) == before


def test_a_count_beyond_the_largest_is_refused_by_single_calls() -> None:
    """As by a batch, when all features are known."""
    model = PoissonRegression()
    model.learn_one({"a": 1.0}, 1.0)
    for target in (-1.0, 1e31):
        with pytest.raises(InputError, match="a count is between 0 and 1e\\+30"):
            model.learn_one({"a": 1.0}, target)


def test_a_type_of_feature_that_changes_is_refused_by_single_calls() -> None:
    """Where the feature of BetaBernoulli was a text, a number is refused, and the other way round."""
    model = BetaBernoulli(on="sender", classes=LABELS)
    model.learn_one({"sender": "bob"}, "ham")
    with pytest.raises(InputError, match="a feature keeps its type"):
        model.predict_one({"sender": 1})
    with pytest.raises(InputError, match="a feature keeps its type"):
        model.learn_one({"sender": 1}, "ham")


def test_no_memory_for_one_event_is_an_error_of_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing is new, so that the event takes no batch."""
    model = GaussianNB(classes=LABELS)
    model.learn_one({"a": 1.0}, "ham")

    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(GaussianNB, "_fold", fail)
    with pytest.raises(EvidenceError, match="no memory for 1 features"):
        model.learn_one({"a": 2.0}, "ham")


def test_labels_equal_to_a_known_one_but_of_another_type_are_checked() -> None:
    """1.0 and numpy's 1 are the label 1; a complex number equal to it is none."""
    model = GaussianNB(classes=(0, 1))
    for label in (1, True, 1.0, np.int64(1)):
        model.learn_one({"a": 1.0}, label)
    assert model.class_counts() == {0: 0.0, 1: 4.0}
    with pytest.raises(InputError, match="a label is"):
        model.learn_one({"a": 1.0}, 1 + 0j)
