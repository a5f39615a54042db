"""Gaussian discriminant analysis keeps the promises of every learner, and refuses what it cannot keep."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import NormalInverseGamma
from stream_bayes.errors import InputError, MergeError, ParameterError, SnapshotDamaged, UnlearnError
from stream_bayes.kernels.common.cholesky import floor_eigenvalues
from stream_bayes.learners.discriminant import FORMS, GaussianDiscriminant
from tests.support.contract_cases import our_cases, river_cases
from tests.support.discriminants import NAMES, PRIOR, Event, assert_same, contents, model_of, sample, taught, trained

quarters = st.integers(-12, 12).map(lambda number: number / 4.0)
streams = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(NAMES), quarters), st.sampled_from("xyz"), st.sampled_from([0.5, 1.0, 2.0])
    ),
    max_size=12,
)
forms = st.sampled_from(FORMS)


MODELS = {
    f"{covariance} {predictive}": model_of(covariance, predictive)
    for covariance in FORMS
    for predictive in ("posterior", "plug-in")
}


@pytest.mark.parametrize(("name", "check"), our_cases(MODELS, first=["full posterior", "shared plug-in"]))
def test_our_contract(name: str, check: Callable[[Any], None]) -> None:
    check(MODELS[name].clone())


@pytest.mark.parametrize(("name", "check"), river_cases(MODELS, first=["full posterior", "shared plug-in"]))
def test_river_contract(name: str, check: Callable[[Any], None]) -> None:
    check(MODELS[name].clone())


@settings(max_examples=40)
@given(streams, streams, forms, st.randoms(use_true_random=False))
def test_evidence_adds_up(first: list[Event], second: list[Event], covariance: str, random: Any) -> None:
    union = taught(model_of(covariance), first + second)
    probes = [x for x, _, _ in first + second] + [{"a": 0.5, "b": -1.0, "c": 2.0, "d": 0.0}]
    shuffled = first + second
    random.shuffle(shuffled)
    assert_same(taught(model_of(covariance), shuffled), union, probes)
    merged = taught(model_of(covariance), first)
    merged.merge(taught(model_of(covariance), second))
    assert_same(merged, union, probes)
    for x, y, w in second:
        union.unlearn_one(x, y, w)
    assert_same(union, taught(model_of(covariance), first), probes)


@settings(max_examples=40)
@given(streams, forms, st.sampled_from(["posterior", "plug-in"]), st.integers(0, 12))
def test_batches_and_restarts_change_no_bit(stream: list[Event], covariance: str, predictive: str, cut: int) -> None:
    loop = model_of(covariance, predictive)
    answers = []
    for x, y, w in stream:
        answers.append(loop.predict_proba_one(x))
        loop.learn_one(x, y, w)
    model = model_of(covariance, predictive)
    rows = []
    for part in (stream[:cut], stream[cut:]):
        predictions = model.test_then_train([x for x, _, _ in part], [y for _, y, _ in part], [w for _, _, w in part])
        rows += [predictions.probabilities_of(row) for row in range(len(part))]
        model = GaussianDiscriminant.from_state(model.state())
    assert rows == answers
    assert contents(model) == contents(loop)


@settings(max_examples=20)
@given(streams, forms)
def test_forgetting_scales_evidence_and_never_the_prior(stream: list[Event], covariance: str) -> None:
    model = taught(model_of(covariance), stream)
    model.forget(0.25)
    probes = [x for x, _, _ in stream]
    assert_same(model, taught(model_of(covariance), [(x, y, w / 4.0) for x, y, w in stream]), probes)
    model.forget(0.0)
    assert all(model.posterior(name, y) == PRIOR for name in NAMES for y in "xyz")
    assert [model.predict_proba_one(x) for x in probes] == [{}] * len(probes)


def test_a_loaded_snapshot_continues_bit_for_bit(tmp_path: Path) -> None:
    values, labels = sample(40)
    straight = trained(model_of("shared"), values, labels)
    trained(half := model_of("shared"), values[:20], labels[:20]).save(tmp_path / "half")
    resumed = trained(GaussianDiscriminant.load(tmp_path / "half"), values[20:], labels[20:])
    assert contents(resumed) == contents(straight)
    assert contents(half) != contents(straight)


@pytest.mark.parametrize("name", ["class_weight", "weight", "scatter"])
def test_arrays_that_are_no_evidence_are_refused(name: str) -> None:
    state = taught(model_of(), [({"a": 1.0}, "x", 1.0)]).state()
    state.arrays[name].flat[0] = -1.0
    with pytest.raises(SnapshotDamaged, match="0 or more"):
        GaussianDiscriminant.from_state(state)


@pytest.mark.parametrize("name", ["class_weight", "weight", "mean", "scatter"])
@pytest.mark.parametrize("kind", [np.float32, np.int64, np.bool_])
def test_arrays_of_another_kind_are_refused(name: str, kind: type) -> None:
    state = taught(model_of(), [({"a": 1.0}, "x", 1.0)]).state()
    state.arrays[name] = state.arrays[name].astype(kind)
    with pytest.raises(SnapshotDamaged, match="expected finite float64"):
        GaussianDiscriminant.from_state(state)


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
@pytest.mark.parametrize("covariance", FORMS)
def test_every_valid_prior_gives_finite_predictions(covariance: str, predictive: str) -> None:
    for numbers in itertools.product((0.0, 1e100), *((1e-100, 1e100),) * 3):
        for a, b in ((1e120, -1e120), (1.0, 2.0), (1e-160, 3e-160)):
            model = GaussianDiscriminant(covariance, NormalInverseGamma(*numbers), 1.0, ("never",), predictive)
            taught(model, [({"a": one, "b": two}, "x", 1.0) for one in (a, b) for two in (a, b)])
            taught(model, [({"a": a, "b": b}, "y", 1e12), ({"a": b, "b": b}, "y", 1.0)])
            for x in ({"a": a, "b": b}, {"a": -1e120, "b": 1e120}, {"a": 0.0}):
                prediction = model.predictive_one(x)
                assert sum(prediction.probabilities.values()) == pytest.approx(1.0)
                assert math.isfinite(prediction.epistemic_variance)


@pytest.mark.parametrize("hole", [math.nan, math.inf])
def test_correlations_that_are_no_numbers_do_not_raise(hole: float) -> None:
    matrix = np.full((2, 2), hole)
    floor_eigenvalues(matrix, 2)
    assert matrix.tolist() == np.eye(2).tolist()


@pytest.mark.parametrize(
    ("x", "y", "w"),
    [
        ({"a": "text"}, "x", 1.0),
        ({"a": math.nan}, "x", 1.0),
        ({"a": 1e121}, "x", 1.0),
        ({"a": 1.0, "new": None}, "x", 1.0),
        ({"a": 1.0, "new": 1.0}, 0.5, 1.0),
        ({"a": 1.0, "new": 1.0}, "x", -1.0),
        ({"a": 1.0, "new": 1.0}, "x", 1e13),
    ],
)
def test_bad_input_changes_nothing(x: dict[str, Any], y: Any, w: float) -> None:
    model = taught(model_of(), [({"a": 1.0, "b": 2.0}, "x", 1.0), ({"b": 2.0}, "y", 1.0)])
    before = contents(model)
    with pytest.raises(InputError):
        model.learn_one(x, y, w)
    assert contents(model) == before


@pytest.mark.parametrize(
    "x",
    [{"a": 1.0, "b": 1.0, "new": 0.0}, {"a": 9.0, "b": 9.0}, {"a": 1.0, "b": -1.0}, {"a": 1.0}, {}],
    ids=["a feature never seen", "far outside", "against the correlation", "without its pair", "without its features"],
)
def test_events_never_learned_cannot_be_unlearned(x: dict[str, float]) -> None:
    model = taught(model_of(), [({"a": v, "b": v}, "x", 1.0) for v in (-1.0, 0.0, 1.0, 1.5)])
    before = contents(model)
    with pytest.raises(UnlearnError):
        model.unlearn_one(x, "x")
    assert contents(model) == before


def test_refusals_of_parameters() -> None:
    with pytest.raises(ParameterError, match="covariance must be one of"):
        GaussianDiscriminant("tied")
    with pytest.raises(ParameterError, match="NormalInverseGamma"):
        GaussianDiscriminant(prior=(0.0, 1.0, 1.0, 1.0))  # type: ignore[arg-type]
    for numbers in ((1e101, 1.0, 1.0, 1.0), (0.0, 1e-101, 1.0, 1.0), (0.0, 1.0, 1e101, 1.0), (0.0, 1.0, 1.0, 1e-101)):
        with pytest.raises(ParameterError, match="prior must be"):
            GaussianDiscriminant(prior=NormalInverseGamma(*numbers))
    with pytest.raises(MergeError, match="covariance is 'full' here"):
        model_of("full").merge(model_of("shared"))
