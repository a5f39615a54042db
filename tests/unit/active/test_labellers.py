"""What is believed of those who give the labels."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes import Beta
from stream_bayes.active.labellers import OTHERS, UNNAMED, Labellers
from stream_bayes.errors import ParameterError

NAMES = ("ann", "bob", None, "cid")
sayings = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["spam", "ham", "news"]), st.sampled_from(NAMES)), max_size=60
)


def after(said: list[tuple[int, str, str | None]], **bounds: int) -> Labellers:
    labellers = Labellers(**bounds)
    for place, label, labeller in said:
        labellers.record(place, label, labeller)
    return labellers


def test_a_first_label_changes_no_labellers_agreement() -> None:
    labellers = after([(1, "spam", "ann"), (2, "ham", "bob")])
    assert labellers.posterior("ann") == labellers.posterior("bob") == labellers.posterior("stranger") == Beta(1, 1)
    assert labellers.figures()["ann"] == pytest.approx(
        {"agreement": 0.5, "low": 0.025, "high": 0.975, "checked": 0, "labels": 1}
    )


def test_a_later_label_checks_the_labeller_of_the_earlier_one() -> None:
    labellers = after([(1, "spam", "ann"), (2, "ham", "ann"), (1, "spam", "bob"), (2, "spam", "bob")])
    assert labellers.posterior("ann") == Beta(2, 2)
    assert labellers.posterior("bob") == Beta(1, 1)
    assert labellers.figures()["ann"]["checked"] == 2
    # Both had said spam; nobody has checked what bob said of 2.
    labellers.record(1, "ham", "cid")
    assert labellers.posterior("ann") == Beta(2, 3)
    assert labellers.posterior("bob") == Beta(1, 2)
    assert [labellers.label_of(place) for place in (1, 2, 3)] == ["ham", "spam", None]


def test_an_own_repetition_counts_nothing_and_an_own_correction_against() -> None:
    labellers = after([(1, "spam", "ann"), (1, "spam", "ann")])
    assert labellers.posterior("ann") == Beta(1, 1)
    assert labellers.figures()["ann"]["labels"] == 1
    labellers.record(1, "ham", "ann")
    assert labellers.posterior("ann") == Beta(1, 2)
    assert labellers.figures()["ann"]["labels"] == 2


def test_a_known_agreement_is_found() -> None:
    generator = np.random.default_rng(5)
    labellers = Labellers()
    for place in range(4000):
        truth = generator.random() < 0.5
        for name, skill in (("ann", 0.95), ("bob", 0.7)):
            labellers.record(place, bool(truth if generator.random() < skill else not truth), name)
        labellers.record(place, bool(truth), "audit")
    bob = labellers.posterior("bob").interval(0.99)
    assert bob[0] < 0.7 < bob[1]
    # What ann says is checked by bob, who is often wrong.
    figures = labellers.figures()["ann"]
    assert figures["low"] < figures["agreement"] < figures["high"]


@given(sayings)
def test_a_repeated_label_changes_nothing(said: list[tuple[int, str, str | None]]) -> None:
    once = Labellers()
    twice = Labellers()
    for event in said:
        once.record(*event)
        twice.record(*event)
        twice.record(*event)
    assert once.state() == twice.state()


@given(sayings)
def test_each_check_is_of_a_label_given(said: list[tuple[int, str, str | None]]) -> None:
    figures = after(said).figures()
    assert all(0 < own["low"] < own["agreement"] < own["high"] < 1 for own in figures.values())
    # A label is agreed with once and spoken against once, at most.
    assert all(own["checked"] <= 2 * own["labels"] for own in figures.values())
    assert sum(own["labels"] for own in figures.values()) <= len(said)


@given(sayings, st.integers(0, 60), st.integers(1, 6), st.integers(1, 5))
def test_a_state_goes_through_json(said: list[tuple[int, str, str | None]], cut: int, places: int, apart: int) -> None:
    straight = after(said, places=places, apart=apart)
    restored = Labellers(places, apart)
    restored.restore(json.loads(json.dumps(after(said[:cut], places=places, apart=apart).state())))
    for event in said[cut:]:
        restored.record(*event)
    assert restored.state() == straight.state()
    assert restored.figures() == straight.figures()


def test_its_memory_is_bounded() -> None:
    labellers = after([(place, "spam", f"labeller {place}") for place in range(1000)], places=10, apart=5)
    assert len(labellers) == 6
    assert labellers.figures()[OTHERS]["labels"] == 995
    assert [place for place in range(1000) if labellers.label_of(place)] == list(range(990, 1000))
    # A forgotten place is a new one.
    labellers.record(0, "ham", "labeller 1")
    assert labellers.posterior("labeller 0") == Beta(1, 1)
    # There is less room where the state goes.
    smaller = Labellers(places=3)
    smaller.restore(labellers.state())
    assert [place for place in range(1000) if smaller.label_of(place)] == [0, 998, 999]


def test_a_place_may_be_an_id_and_a_label_a_number() -> None:
    labellers = Labellers()
    labellers.record("mail-1", np.float64(2.5), None)
    labellers.record("mail-1", 2.5, "ann")
    assert labellers.posterior() == labellers.posterior(UNNAMED) == Beta(2, 1)
    assert json.loads(json.dumps(labellers.state())) == labellers.state()
    labellers.record("mail-2", np.bool_(True), "ann")
    assert labellers.label_of("mail-2") is True


@pytest.mark.parametrize("bad", [-1, 1.5, "many"])
def test_bounds_are_whole_numbers(bad: object) -> None:
    with pytest.raises(ParameterError, match="places"):
        Labellers(places=bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="apart"):
        Labellers(apart=bad)  # type: ignore[arg-type]
