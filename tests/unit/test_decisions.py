from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.decisions import Decision, LossMatrix, decide, spam_losses
from stream_bayes.errors import InputError, ParameterError

WEATHER = LossMatrix(("rain", "snow", "sun"), ("umbrella", "boots"), ((1, 6), (4, 0), (2, 3)))


def _mail(spam: float) -> dict[str, float]:
    return {"spam": spam, "ham": 1.0 - spam}


def test_bayes_action_by_hand() -> None:
    """p = (.5, .3, .2): umbrella .5*1 + .3*4 + .2*2 = 2.1, boots .5*6 + .3*0 + .2*3 = 3.6."""
    decision = WEATHER.bayes_action({"rain": 0.5, "snow": 0.3, "sun": 0.2})
    assert decision.action == "umbrella"
    assert decision.risk == pytest.approx(2.1)
    assert decision.risks == pytest.approx({"umbrella": 2.1, "boots": 3.6})


def test_value_of_a_label_by_hand() -> None:
    """Told the label one loses 1, 0 or 2: .5*1 + .3*0 + .2*2 = 0.9; the label is worth 2.1 - 0.9 = 1.2."""
    probabilities = {"rain": 0.5, "snow": 0.3, "sun": 0.2}
    assert WEATHER.informed_risk(probabilities) == pytest.approx(0.9)
    assert WEATHER.value_of_label(probabilities) == pytest.approx(1.2)
    asked = decide(probabilities, WEATHER, price=1.1)
    assert asked.action == "ask"
    assert asked.risk == pytest.approx(2.0)
    assert asked.risks == pytest.approx({"umbrella": 2.1, "boots": 3.6, "ask": 2.0})
    assert decide(probabilities, WEATHER, price=1.3).action == "umbrella"


def test_labels_left_out_have_no_probability() -> None:
    """Snow alone: boots cost nothing."""
    assert WEATHER.bayes_action({"snow": 1.0}).risks == {"umbrella": 4.0, "boots": 0.0}


@pytest.mark.parametrize(("false_positive_cost", "false_negative_cost"), [(20.0, 1.0), (3.0, 1.0), (2.0, 5.0)])
@pytest.mark.parametrize("offset", [-1e-9, 1e-9])
def test_quarantine_from_the_threshold_on(
    false_positive_cost: float, false_negative_cost: float, offset: float
) -> None:
    """With costs P and N, quarantine loses P p(ham) and delivery N p(spam): equal at P / (P + N)."""
    losses = spam_losses(false_positive_cost, false_negative_cost)
    assert losses.threshold == pytest.approx(false_positive_cost / (false_positive_cost + false_negative_cost))
    expected = "quarantine" if offset > 0 else "deliver"
    assert losses.bayes_action(_mail(losses.threshold + offset)).action == expected


def test_the_threshold_itself_is_quarantined() -> None:
    """false_positive_cost 3, false_negative_cost 1: at p = 3/4 both lose exactly 3/4."""
    decision = spam_losses(3, 1).bayes_action(_mail(0.75))
    assert decision == Decision("quarantine", 0.75, {"quarantine": 0.75, "deliver": 0.75})


def test_three_ways_for_a_mail() -> None:
    """Defaults: asking for 0.3 pays where min(p, 20 (1 - p)) > 0.3: from p = 0.3 to p = 0.985."""
    losses = spam_losses()
    assert round(losses.threshold, 4) == 0.9524
    actions = [decide(_mail(p), losses, price=0.3).action for p in (0.0, 0.29, 0.31, 0.98, 0.99, 1.0)]
    assert actions == ["deliver", "deliver", "ask", "ask", "quarantine", "quarantine"]


def test_a_free_label_is_not_requested_when_it_changes_nothing() -> None:
    assert decide(_mail(1.0), spam_losses(), price=0).action == "quarantine"
    assert decide(_mail(0.999), spam_losses(), price=0).action == "ask"


@given(p=st.floats(0, 1), lost=st.floats(0.1, 100), passed=st.floats(0.1, 100), price=st.floats(0, 50))
def test_the_decision_has_the_least_risk(p: float, lost: float, passed: float, price: float) -> None:
    decision = decide(_mail(p), spam_losses(lost, passed), price)
    assert decision.risk == decision.risks[decision.action]
    assert decision.risk == pytest.approx(min(decision.risks.values()))


@given(weights=st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_knowing_never_costs(weights: list[float]) -> None:
    probabilities = {label: w / sum(weights) for label, w in zip(WEATHER.labels, weights, strict=True)}
    assert WEATHER.value_of_label(probabilities) >= 0.0


def test_value_semantics() -> None:
    losses = spam_losses(20, 1)
    assert losses == spam_losses() != spam_losses(10, 1)
    assert copy.deepcopy(losses) == pickle.loads(pickle.dumps(losses)) == losses
    decision = decide(_mail(0.5), losses, 0.3)
    assert copy.deepcopy(decision) == pickle.loads(pickle.dumps(decision)) == decision
    assert hash(decision) == hash(copy.copy(decision))
    with pytest.raises(TypeError):
        decision.risks["ask"] = 0.0  # type: ignore[index]


@pytest.mark.parametrize(
    ("labels", "actions", "losses", "message"),
    [
        ((), ("a",), (), "labels must be one or more different names"),
        (("x", "x"), ("a",), ((1,), (2,)), "labels must be one or more different names"),
        (("x",), ("a", "a"), ((1, 2),), "actions must be one or more different names"),
        (("x", "y"), ("a",), ((1,),), "losses must be 2 rows"),
        (("x",), ("a", "b"), ((1,),), "losses must be 1 rows"),
        (("x",), ("a",), ((math.nan,),), "losses must be a finite number"),
        (("x",), ("a",), (("1",),), "losses must be a finite number"),
        (("x",), ("a",), (1,), "losses must be several numbers"),
    ],
)
def test_impossible_matrices_are_refused(labels: Any, actions: Any, losses: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        LossMatrix(labels, actions, losses)


@pytest.mark.parametrize("bad", [{}, {"spam": 0.5}, {"spam": 0.5, "eggs": 0.5}, {"spam": math.nan}, [0.5, 0.5]])
def test_impossible_probabilities_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="probabilit"):
        decide(bad, spam_losses(), 0.3)


def test_other_refusals() -> None:
    with pytest.raises(ParameterError, match="false_positive_cost"):
        spam_losses(false_positive_cost=0)
    with pytest.raises(ParameterError, match="false_negative_cost"):
        spam_losses(false_negative_cost=-1)
    with pytest.raises(ParameterError, match="price"):
        decide(_mail(0.5), spam_losses(), -0.1)
    with pytest.raises(ParameterError, match="two and two"):
        _ = WEATHER.threshold
    with pytest.raises(ParameterError, match="for a threshold"):
        _ = LossMatrix("xy", "ab", ((1, 0), (0, 1))).threshold
    with pytest.raises(ParameterError, match="ask"):
        decide({"x": 1.0}, LossMatrix(("x",), ("ask",), ((1,),)), 0.1)
