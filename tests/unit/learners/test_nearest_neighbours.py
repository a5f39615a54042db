"""Nearest neighbours: votes and distances against scikit-learn, posteriors by hand, the window, and k by evidence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from river.preprocessing import StandardScaler
from sklearn.neighbors import KNeighborsClassifier

from stream_bayes import Beta, NearestNeighbours
from stream_bayes.errors import InputError, ParameterError, SnapshotDamaged
from stream_bayes.features import Batch
from stream_bayes.learners.nearest_neighbours import METRICS
from stream_bayes.typing import FloatArray

NAMES = [f"x{number}" for number in range(6)]
LABELS = ("red", "green", "blue")


def clouds(count: int, seed: int, classes: int = 3) -> tuple[FloatArray, list[str]]:
    """Events of classes whose means differ."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, classes, count)
    means = generator.normal(size=(classes, len(NAMES)))
    return means[codes] + generator.normal(size=(count, len(NAMES))), [LABELS[code] for code in codes]


def events(rows: FloatArray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 4, 15])
def test_shares_of_votes_are_those_of_scikit_learn(metric: str, k: int) -> None:
    rows, labels = clouds(300, seed=1)
    probes, _ = clouds(80, seed=2)
    model = NearestNeighbours(k=k, window=300, metric=metric, probabilistic=False, classes=LABELS)
    model.learn_many(events(rows), labels)
    oracle = KNeighborsClassifier(k, metric=metric, algorithm="brute").fit(rows, labels)
    predictions = model.predictive_many(Batch.from_matrix(probes, NAMES))
    order = [LABELS.index(label) for label in oracle.classes_]
    assert predictions.probabilities[:, order] == pytest.approx(oracle.predict_proba(probes), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_and_distances_are_those_of_scikit_learn(metric: str) -> None:
    rows, labels = clouds(200, seed=3)
    probes, _ = clouds(20, seed=4)
    model = NearestNeighbours(k=7, window=200, metric=metric)
    model.learn_many(events(rows), labels)
    oracle = KNeighborsClassifier(7, metric=metric, algorithm="brute").fit(rows, labels)
    distances, places = oracle.kneighbors(probes)
    for x, near, expected in zip(events(probes), places.tolist(), distances.tolist(), strict=True):
        found = model.neighbours_one(x)
        assert [one.label for one in found] == [labels[place] for place in near]
        assert [one.distance for one in found] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("prior_count", "k"), [(1.0, 3), (0.4, 5), (2.5, 2)])
def test_votes_have_a_beta_posterior(prior_count: float, k: int) -> None:
    """k = 3 and 1 pseudo-vote each: votes (2, 1) of the nearest 3 make Beta(3, 2) and p = 3 / 5."""
    model = NearestNeighbours(k=k, window=20, prior_count=prior_count)
    for x, label in ((0.0, "a"), (1.0, "b"), (2.0, "a"), (3.5, "b"), (5.0, "b"), (6.0, "b")):
        model.learn_one({"x": x}, label)
    nearest = ["a", "b", "a", "b", "b", "b"][:k]
    own = prior_count + nearest.count("a")
    other = prior_count + nearest.count("b")
    probabilities = model.predict_proba_one({"x": -1.0})
    assert probabilities == pytest.approx({"a": own / (own + other), "b": other / (own + other)})
    if (prior_count, k) == (1.0, 3):
        assert probabilities["a"] == pytest.approx(3 / 5)
    draws = Beta(max(own, other), min(own, other)).sample(200_000, np.random.default_rng(1))
    log_odds = np.log(draws / (1.0 - draws))
    predictions = model.predictive_many([{"x": -1.0}])
    assert predictions.latent_mean[0] == pytest.approx(log_odds.mean(), abs=0.02)
    assert predictions.latent_variance[0] == pytest.approx(log_odds.var(), rel=0.03)


def test_before_any_event_the_prior_speaks() -> None:
    assert NearestNeighbours().predict_proba_one({"x": 1.0}) == {}
    declared = NearestNeighbours(classes=LABELS, prior_count=0.3)
    assert declared.predict_proba_one({"x": 1.0}) == pytest.approx(dict.fromkeys(LABELS, 1 / 3))
    shares = NearestNeighbours(classes=LABELS, probabilistic=False)
    assert shares.predict_proba_one({}) == pytest.approx(dict.fromkeys(LABELS, 1 / 3))


def test_oldest_event_leaves_the_window() -> None:
    model = NearestNeighbours(k=1, window=3, probabilistic=False)
    for x, label in ((0.0, "a"), (10.0, "b"), (20.0, "b")):
        model.learn_one({"x": x}, label)
    assert model.predict_one({"x": 0.0}) == "a"
    model.learn_one({"x": 30.0}, "b")
    assert model.predict_proba_one({"x": 0.0}) == {"a": 0.0, "b": 1.0}
    assert [one.distance for one in model.neighbours_one({"x": 0.0})] == [10.0]


def test_of_events_at_the_same_distance_the_newest_votes() -> None:
    model = NearestNeighbours(k=1, window=2, probabilistic=False)
    for label in "abcb":
        model.learn_one({"x": 1.0}, label)
        assert model.predict_one({"x": 1.0}) == label


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
@pytest.mark.parametrize("k", [1, 2, 9, 40, 64])
def test_neighbours_in_any_order_are_the_nearest_and_of_equals_the_newest(order: str, k: int) -> None:
    """Each distance comes four times in a full window of 50 events, and 10 events have left it."""
    distances = np.repeat(np.arange(15.0), 4)
    distances = {"ascending": distances, "descending": distances[::-1], "shuffled": distances}[order]
    if order == "shuffled":
        distances = np.random.default_rng(k).permutation(distances)
    window = 50 if k <= 50 else 64
    model = NearestNeighbours(k=k, window=window)
    for age, distance in enumerate(distances.tolist()):
        model.learn_one({"x": distance}, age)
    kept = range(max(60 - window, 0), 60)
    expected = sorted(kept, key=lambda number: (distances[number], -number))[:k]
    assert [one.label for one in model.neighbours_one({"x": 0.0})] == expected


def test_weight_is_that_of_the_vote() -> None:
    """Votes 2.5 for a and 1 for b, a pseudo-vote each: 3.5 / 5.5."""
    model = NearestNeighbours(k=2, window=5)
    model.learn_one({"x": 0.0}, "a", w=2.5)
    model.learn_one({"x": 1.0}, "b")
    assert model.predict_proba_one({"x": 5.0})["a"] == pytest.approx(3.5 / 5.5)


@pytest.mark.parametrize("metric", METRICS)
def test_feature_that_no_event_had_counts_as_a_difference_to_all(metric: str) -> None:
    model = NearestNeighbours(k=2, window=5, metric=metric)
    model.learn_one({"x": 3.0, "y": 4.0}, "a")
    model.learn_one({"x": 1.0, "y": 1.0}, "b")
    x = {"x": 1.0, "new": -2.0}
    points = np.array([[3.0, 4.0, 0.0], [1.0, 1.0, 0.0]])
    probe = np.array([1.0, 0.0, -2.0])
    oracle = KNeighborsClassifier(2, metric=metric, algorithm="brute").fit(points, ["a", "b"])
    distances, places = oracle.kneighbors(probe[None])
    found = model.neighbours_one(x)
    assert [one.distance for one in found] == pytest.approx(distances[0].tolist())
    assert [one.label for one in found] == ["ab"[place] for place in places[0]]


def test_late_feature_is_zero_in_earlier_events() -> None:
    model = NearestNeighbours(k=1, window=5)
    model.learn_one({"x": 1.0}, "a")
    model.learn_one({"x": 1.0, "late": 7.0}, "b")
    assert model.predict_one({"x": 1.0}) == "a"
    assert model.predict_one({"x": 1.0, "late": 5.0}) == "b"


def brute_evidence(rows: FloatArray, labels: list[str], k: int, prior_count: float, window: int) -> float:
    """The sum of log p(label) by the posterior of the votes, each before its event, from the definition."""
    total = 0.0
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        known = set(labels[:place])
        if label not in known:
            continue
        first = max(place - window, 0)
        distances = ((rows[first:place] - row) ** 2).sum(axis=1)
        near = [labels[first + one] for one in np.argsort(distances)[:k]]
        counts = {one: prior_count + near.count(one) for one in known}
        total += math.log(counts[label] / sum(counts.values()))
    return total


@pytest.mark.parametrize(("prior_count", "window"), [(1.0, 500), (0.3, 60)])
def test_evidence_is_the_sum_of_log_predictive_probabilities(prior_count: float, window: int) -> None:
    rows, labels = clouds(150, seed=5)
    choices = (1, 3, 10, 30)
    model = NearestNeighbours(k=choices, window=window, prior_count=prior_count)
    model.learn_many(events(rows), labels)
    expected = {k: brute_evidence(rows, labels, k, prior_count, window) for k in choices}
    assert model.log_evidence() == pytest.approx(expected, rel=1e-10)
    assert model.best_k == max(expected, key=expected.__getitem__)
    alone = NearestNeighbours(k=model.best_k, window=window, prior_count=prior_count)
    alone.learn_many(events(rows), labels)
    probes, _ = clouds(10, seed=6)
    for x in events(probes):
        assert model.predict_proba_one(x) == alone.predict_proba_one(x)


def test_evidence_by_hand() -> None:
    """x = 0, 1, 2, 3 of a, b, a, a; prior 1. The first a and the first b are of no known class; then with k = 1 the
    nearest of 2 is b: p(a) = 1 / 3; that of 3 is a: 2 / 3. With k = 2: votes (1, 1): 1 / 2; then a and b: 1 / 2.
    """
    model = NearestNeighbours(k=(1, 2), window=10)
    for x, label in ((0, "a"), (1, "b"), (2, "a"), (3, "a")):
        model.learn_one({"x": x}, label)
    assert model.log_evidence() == pytest.approx({1: math.log(2 / 9), 2: math.log(1 / 4)})
    assert model.best_k == 2


@pytest.mark.parametrize(("prior_count", "window"), [(1.0, 60), (0.4, 25)])
def test_evidence_of_one_number_is_that_among_several(prior_count: float, window: int) -> None:
    """Learners of one k each can be compared, however their events were learned."""
    rows, labels = clouds(60, seed=9)
    several = NearestNeighbours(k=(3, 5), window=window, prior_count=prior_count)
    several.learn_many(events(rows), labels)
    for k in (3, 5):
        one = NearestNeighbours(k=k, window=window, prior_count=prior_count)
        for x, label in zip(events(rows[:20]), labels, strict=False):
            one.learn_one(x, label)
        one.learn_many(events(rows[20:40]), labels[20:40])
        one.test_then_train(events(rows[40:]), labels[40:])
        assert one.log_evidence() == {k: several.log_evidence()[k]}
        assert one.log_evidence()[k] == pytest.approx(brute_evidence(rows, labels, k, prior_count, window))


def test_a_list_of_numbers_is_a_tuple() -> None:
    assert NearestNeighbours(k=[1, 3]).k == NearestNeighbours(k=[1, 3]).clone().k == (1, 3)


def test_evidence_finds_many_neighbours_for_noise_and_few_for_detail() -> None:
    generator = np.random.default_rng(9)
    x = generator.uniform(0.0, 8.0, 1500)
    stripes = np.where((20.0 * x).astype(int) % 2 == 0, "a", "b").tolist()
    noisy = np.where(generator.random(1500) < np.where(x < 4.0, 0.7, 0.3), "a", "b").tolist()
    chosen = []
    for labels in (stripes, noisy):
        model = NearestNeighbours(k=(1, 5, 25, 125), window=1500)
        model.learn_many([{"x": value} for value in x.tolist()], labels)
        chosen.append(model.best_k)
    assert chosen[0] < chosen[1]


def test_scaled_in_a_river_pipeline() -> None:
    """One feature tells the label, another is a thousand times larger and noise: without a scale it decides."""
    generator = np.random.default_rng(4)
    right = {"scaled": 0, "raw": 0}
    models: dict[str, Any] = {"scaled": StandardScaler() | NearestNeighbours(k=5), "raw": NearestNeighbours(k=5)}
    for _ in range(400):
        label = bool(generator.random() < 0.5)
        x = {"signal": float(label) + 0.2 * generator.normal(), "noise": 1000.0 * generator.normal()}
        for name, model in models.items():
            right[name] += model.predict_one(x) == label
            model.learn_one(x, label)
    assert right["scaled"] > 340
    assert right["raw"] < 260


def test_hashed_names_have_a_bounded_window() -> None:
    model = NearestNeighbours(k=3, window=8, buckets=32)
    for number in range(200):
        model.learn_one({f"name {number}": 1.0}, number % 2)
    assert {array.nbytes <= 8 * 32 * 8 for array in model.state().arrays.values()} == {True}


def test_restored_window_goes_on_where_it_was() -> None:
    rows, labels = clouds(70, seed=7)
    model = NearestNeighbours(k=(2, 5), window=30)
    model.learn_many(events(rows), labels)
    restored = NearestNeighbours.from_state(model.state())
    assert restored.best_k == model.best_k
    more, new = clouds(40, seed=8)
    for x, label in zip(events(more), new, strict=True):
        assert restored.predict_proba_one(x) == model.predict_proba_one(x)
        restored.learn_one(x, label)
        model.learn_one(x, label)
    assert restored.log_evidence() == model.log_evidence()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("values", np.zeros((2, 9))),
        ("codes", np.array([0, 7])),
        ("codes", np.zeros(2)),
        ("codes", np.array(0)),
        ("codes", np.zeros(5, dtype=np.int64)),
        ("weights", np.array([1.0, -1.0])),
        ("weights", np.array([1.0, 0.0])),
        ("weights", np.array([1.0, 1e308])),
        ("weights", np.array([1.0, 2.0])),
        ("seen", np.array([1.0, 0.0])),
        ("seen", np.array([1.0, -1.0])),
        ("seen", np.array([np.nan, 1.0])),
        ("evidence", np.zeros(3)),
        ("evidence", np.array([1e300])),
        ("evidence", np.array([0.5])),
        ("values", np.full((2, 1), 1e60)),
    ],
)
def test_damaged_arrays_are_refused(name: str, value: Any) -> None:
    model = NearestNeighbours(k=1, window=4)
    model.learn_many([{"x": 1.0}, {"x": 2.0}], ["a", "b"])
    state = model.state()
    state.arrays[name] = value
    with pytest.raises(SnapshotDamaged):
        NearestNeighbours.from_state(state)


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 0},
        {"k": ()},
        {"k": (3, 1)},
        {"k": (2, 2)},
        {"k": 6, "window": 5},
        {"k": 1.5},
        {"window": 0},
        {"metric": "hamming"},
        {"prior_count": 0.0},
        {"probabilistic": "yes"},
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        NearestNeighbours(**parameters)


def test_values_whose_squares_overflow_are_refused() -> None:
    with pytest.raises(InputError, match="values must lie between"):
        NearestNeighbours().learn_one({"x": 1e60}, "a")


def test_card_shows_what_was_chosen() -> None:
    model = NearestNeighbours(k=(1, 2), window=10)
    for x, label in ((0, "a"), (1, "b"), (2, "a"), (3, "a")):
        model.learn_one({"x": x}, label)
    card = model._repr_html_()
    assert "neighbours chosen" in card
    assert "events in the window" in card
