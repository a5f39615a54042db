"""The audit: unbiased, and an interval that covers the accuracy of the whole stream as often as it says."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from stream_bayes import LabelBudget, LabelSelector
from stream_bayes.active import Candidate, Expected
from stream_bayes.active.audit import Audit, AuditEstimate
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.typing import FloatArray

MESSAGES = 10_000
# The accuracy of the predictor over the stream, from 0 to 1.
COURSES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "always 0.99": lambda part: np.full(len(part), 0.99),
    "always 0.8": lambda part: np.full(len(part), 0.8),
    "learns to 0.99": lambda part: 0.99 - 0.4 * np.exp(-20.0 * part),
    "falls from 0.99": lambda part: 0.99 - 0.2 * part,
    "breaks at the end": lambda part: np.where(part < 0.9, 0.99, 0.5),
    "comes and goes": lambda part: np.where(np.sin(20.0 * part) > 0.5, 0.65, 0.95),
}
answers = st.lists(st.tuples(st.booleans(), st.floats(1e-6, 1.0)), min_size=1, max_size=40)


def audited(course: str, seed: int, pace: float = 20.0, patience: float = 400.0) -> tuple[float, AuditEstimate | None]:
    """The true accuracy of a stream, and its estimate from draws with probability pace / (t + patience)."""
    generator = np.random.default_rng(seed)
    time = np.arange(MESSAGES)
    right = generator.random(MESSAGES) < COURSES[course](time / MESSAGES)
    chances = pace / (time + patience)
    audit = Audit()
    for place in np.flatnonzero(generator.random(MESSAGES) < chances).tolist():
        audit.add(bool(right[place]), float(chances[place]))
    return float(right.mean()), audit.estimate()


def filled(events: list[tuple[bool, float]]) -> Audit:
    audit = Audit()
    for right, probability in events:
        audit.add(right, probability)
    return audit


def estimated(events: list[tuple[bool, float]], mass: float = 0.95) -> AuditEstimate:
    estimate = filled(events).estimate(mass)
    assert estimate is not None
    return estimate


@pytest.mark.parametrize("course", COURSES)
def test_the_interval_covers_the_accuracy(course: str) -> None:
    covered = 0
    widths = []
    for seed in range(100):
        truth, estimate = audited(course, seed)
        assert estimate is not None
        covered += estimate.low <= truth <= estimate.high
        widths.append(estimate.high - estimate.low)
    print(f"{course:<18} covered in {covered} of 100 streams, mean width {np.mean(widths):.3f}")
    assert covered >= 93
    assert np.mean(widths) < 0.35


def selected(course: str, seed: int, messages: int = 3000, total: int = 400) -> tuple[float, LabelSelector]:
    """The true accuracy of a stream, and a selector that asked about what is doubtful; answers come 20 messages later.

    Where the predictor is wrong it is mostly in doubt, so that what is chosen for its score says nothing of the rest.
    """
    generator = np.random.default_rng(seed)
    right = generator.random(messages) < COURSES[course](np.arange(messages) / messages)
    sure = 0.5 + 0.5 * np.where(right, generator.beta(8, 1, messages), generator.beta(2, 2, messages))
    selector = LabelSelector("variance", LabelBudget(total=total), seed=seed + 1)
    waiting: deque[int] = deque()
    for place, probability in enumerate(sure.tolist()):
        candidate = Candidate(place, probability * (1.0 - probability), Expected("as told", probability))
        question = selector.request_reason(candidate)
        selector.note(candidate, 0, question)
        waiting.extend([] if question is None else [place])
        while waiting and (place - waiting[0] >= 20 or place == messages - 1):
            answered = waiting.popleft()
            selector.answered(answered, "as told" if right[answered] else "otherwise")
    return float(right.mean()), selector


@pytest.mark.long
@pytest.mark.parametrize("course", ["breaks at the end", "learns to 0.99", "falls from 0.99"])
def test_the_interval_of_a_selector_covers_the_accuracy(course: str) -> None:
    """Of 400 labels at most 20 are of the audit; the others would make the accuracy look worse than it is."""
    covered = 0
    widths = []
    answers = []
    for seed in range(100):
        truth, selector = selected(course, seed)
        estimate = selector.audit.estimate()
        assert estimate is not None
        covered += estimate.low <= truth <= estimate.high
        widths.append(estimate.high - estimate.low)
        answers.append(estimate.answers)
        assert estimate.answers <= selector.counts["audited"] <= 20
        assert selector.budget.used <= 400
    told = f"mean width {np.mean(widths):.3f}, {np.mean(answers):.1f} answers"
    print(f"{course:<18} covered by selectors in {covered} of 100 streams, {told}")
    assert covered >= 93


def test_the_interval_covers_with_very_few_answers() -> None:
    found = [audited("breaks at the end", seed, pace=1.0) for seed in range(300)]
    told = [(truth, estimate) for truth, estimate in found if estimate is not None]
    assert len(told) > 250
    assert np.mean([estimate.low <= truth <= estimate.high for truth, estimate in told]) >= 0.95


def test_the_estimate_is_not_that_of_equal_weights() -> None:
    found = [audited("breaks at the end", seed) for seed in range(300)]
    errors = [estimate.accuracy - truth for truth, estimate in found if estimate is not None]
    assert abs(np.mean(errors)) < 3.0 * np.std(errors) / math.sqrt(len(errors)) + 0.005


@pytest.mark.slow
@given(right=st.integers(0, 50), wrong=st.integers(0, 50), probability=st.floats(1e-3, 1.0))
def test_with_equal_weights_it_is_the_interval_of_clopper_and_pearson(
    right: int, wrong: int, probability: float
) -> None:
    if right + wrong:
        estimate = estimated([(True, probability)] * right + [(False, probability)] * wrong)
        exact = binomtest(right, right + wrong).proportion_ci(0.95, "exact")
        expected = (right / (right + wrong), exact.low, exact.high, right + wrong, right + wrong)
        assert estimate == pytest.approx(expected, abs=1e-9)


@given(answers)
def test_the_interval_holds_the_estimate(events: list[tuple[bool, float]]) -> None:
    estimate = estimated(events)
    assert 0.0 <= estimate.low <= estimate.accuracy <= estimate.high <= 1.0
    assert estimate.answers == len(events)
    assert 1.0 <= estimate.effective <= len(events)
    wider = estimated(events, 0.99)
    assert wider.low <= estimate.low
    assert wider.high >= estimate.high


@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_the_answers_does_not_matter(events: list[tuple[bool, float]], random: object) -> None:
    estimate = estimated(events)
    random.shuffle(events)  # type: ignore[attr-defined]
    assert estimated(events) == pytest.approx(estimate, abs=1e-9)


@given(answers)
def test_a_state_goes_through_json(events: list[tuple[bool, float]]) -> None:
    audit = filled(events)
    other = Audit()
    other.restore(json.loads(json.dumps(audit.state())))
    for one in (audit, other):
        one.add(True, 0.25)
    assert other.state() == audit.state()
    assert other.estimate() == audit.estimate()


def test_without_answers_there_is_no_estimate() -> None:
    assert Audit().estimate() is None


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.5, math.nan, 1e-200])
def test_a_probability_that_cannot_be_is_refused(bad: float) -> None:
    audit = filled([(True, 0.5)])
    before = audit.state()
    with pytest.raises(InputError, match="probability must be at least"):
        audit.add(False, bad)
    assert audit.state() == before


def test_other_bad_arguments_are_refused() -> None:
    audit = Audit()
    with pytest.raises(InputError, match="right must be True or False"):
        audit.add("yes", 0.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="mass"):
        audit.estimate(1.0)
    assert audit.answers == 0
