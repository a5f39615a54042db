"""Cards of notebooks: well-formed, escaped, without outside assets, and with the figures of the objects they show."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stream_bayes import (
    BernoulliNB,
    Beta,
    Dirichlet,
    Gamma,
    LabelBudget,
    LabelPredictive,
    LabelSelector,
    MvNormal,
    MvStudentT,
    Normal,
    NormalInverseGamma,
    Poisson,
    StudentT,
)
from stream_bayes.active.audit import Audit
from stream_bayes.decisions import spam_losses
from stream_bayes.notebook_html import bars_figure, card, distribution_figure, number
from stream_bayes.posteriors import LogitNormal
from tests.support.learners import LEARNERS

HOSTILE = "<img src=x onerror=alert(1)>&\"'\u202e$\\href{javascript:alert(1)}{x}$"
VOID = {"path", "rect", "line", "circle"}
ALLOWED = {"div", "table", "tbody", "tr", "td", "svg", "text", "details", "summary", *VOID}
SCALARS = [
    Beta(77, 62),
    Beta(0.5, 0.5),
    Beta(1, 1),
    Gamma(9, 3),
    Gamma(0.3, 1),
    Normal(3, 4, 1),
    StudentT(1, 0, 1),
    NormalInverseGamma(2, 3, 3.5, 7),
    Poisson(3),
    Poisson(1e7),
    Gamma(9, 3).predictive(),
    LogitNormal(1, 4),
]
OTHERS = [
    Dirichlet((3, 5, 5)),
    MvNormal([0, 1], [[1, 0.3], [0.3, 2]]),
    MvStudentT(5, [0, 1], [[1, 0.3], [0.3, 2]]),
    Beta(7, 3).predictive(),
    LabelPredictive({}, Beta(1, 1)),
    spam_losses(),
]


class Reader(HTMLParser):
    """Reads a card: its tags must be known and closed, its attributes harmless; it collects the texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("href", "src")]
        self.tags.append(tag)
        self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def row(self, name: str) -> str:
        return self.texts[self.texts.index(name) + 1]


def read(shown: Any) -> Reader:
    html = shown._repr_html_()
    assert not re.search(r"https?:|url\(|<script|\bnan\b|\binf\b", html)
    return Reader(html)


@pytest.mark.parametrize("posterior", SCALARS, ids=repr)
def test_posterior_has_its_density_mean_and_interval(posterior: Any) -> None:
    shown = read(posterior)
    low, high = posterior.interval(0.9)
    assert shown.row("mean") == number(posterior.mean)
    assert shown.row("90 % interval") == f"[{number(low)}, {number(high)}]"
    assert shown.tags.count("svg") == 1
    assert {"path", "rect"} & set(shown.tags)


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
def test_every_other_value_has_a_card(value: Any) -> None:
    assert read(value).texts


def test_vector_has_a_row_for_each_coordinate_and_says_how_many_are_left_out() -> None:
    shown = read(MvNormal(np.arange(12.0), np.eye(12)))
    low, high = stats.norm(3, 1).interval(0.9)
    assert shown.row("[3]") == f"3  [{low:.4g}, {high:.4g}]"
    assert shown.row("…") == "and 4 more"


def test_curve_has_the_height_of_the_density() -> None:
    html = distribution_figure(Normal(0, 1))
    (line,) = re.findall(r'<path d="M([^"]+)" fill="none"', html)
    tops = np.array([float(pair.split(",")[1]) for pair in line.split("L")])
    low, high = stats.norm.interval(0.9995)
    points = np.linspace(low, high, len(tops))
    heights = (64.0 - tops) / 60.0
    assert heights == pytest.approx(stats.norm.pdf(points) / stats.norm.pdf(0), abs=2e-3)


@pytest.mark.parametrize("posterior", [Beta(1e-300, 1), LogitNormal(2, 0), Normal(1e16, 1e-12)], ids=repr)
def test_density_too_narrow_for_numbers_is_not_drawn(posterior: Any) -> None:
    assert "svg" not in read(posterior).tags


def test_probabilities_at_huge_parameters_are_drawn() -> None:
    assert "svg" in read(Gamma(87358471496.0, 1e-06).predictive()).tags


@pytest.mark.slow
@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_card_of_any_parameters_is_well_formed(first: float, second: float) -> None:
    posteriors = (
        Beta(first, second),
        Gamma(first, second),
        StudentT(first, 0, second),
        Gamma(first, second).predictive(),
    )
    for posterior in posteriors:
        for coordinate in re.findall(r' (?:d|x|y|x1|width|height)="([^"]*)"', posterior._repr_html_()):
            assert "n" not in coordinate  # neither nan nor inf
        read(posterior)


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_has_a_card_before_any_event(name: str) -> None:
    learner = LEARNERS[name].clone()
    shown = read(learner)
    assert shown.texts[0] == type(learner).__name__
    assert set(learner._get_params()) <= set(shown.texts)


def test_learner_shows_changed_parameters_and_its_evidence() -> None:
    model = BernoulliNB(prior=Beta(1, 2))
    model.learn_one({"cheap": 1, "pills": 1}, "spam")
    model.learn_one({"cheap": 1}, "spam", w=2.0)
    model.learn_one({"lunch": 1}, "ham")
    shown = read(model)
    above = shown.texts[: shown.texts.index("all parameters")]
    assert above[:3] == ["BernoulliNB", "prior", "Beta(1, 2)"]
    assert above[3:] == ["events", "4", "events of each class", "spam: 3, ham: 1", "features", "3"]


def test_names_of_strangers_are_escaped_and_kept_from_mathjax() -> None:
    model = BernoulliNB()
    model.learn_one({HOSTILE: 1}, HOSTILE)
    cards: list[Any] = [model, LabelPredictive({HOSTILE: 1.0}, Beta(2, 1))]
    for shown in cards:
        html = shown._repr_html_()
        assert html.startswith('<div class="tex2jax_ignore mathjax_ignore"')
        # Neither markup nor a character that turns the direction of the text.
        assert "<img" not in html
        assert "\u202e" not in html
        assert any("\\u202e" in text for text in read(shown).texts)


@given(st.text(), st.text())
def test_any_text_comes_back_as_text(title: str, value: str) -> None:
    shown = Reader(card(title, {"name": value}, bars_figure({value: 0.5})))
    row = ["table", "tbody", "tr", "td", "td"]
    assert shown.tags == ["div", "div", *row, "svg", "rect", "rect", *row]


def test_long_text_is_cut() -> None:
    assert len(card("a" * 10_000, {"b": "c" * 10_000})) < 2_000


def test_budget_shows_what_was_spent() -> None:
    budget = LabelBudget(total=100, per_period=8, period="1h", audit_fraction=0.25)
    for minute in (0, 50, 70):
        budget.see(minute * 60_000)
        budget.spend(minute * 60_000, audit=minute == 50)
    shown = read(budget)
    assert shown.row("requested") == "3 of 100 labels"
    assert shown.row("in the last period") == "2 of 8 labels within 1h"
    assert shown.row("for the audit") == "1 of 25"
    assert [text for text in shown.texts if re.fullmatch(r" 0\.\d{3}", text)] == [" 0.250", " 0.030"]


def test_audit_shows_its_estimate() -> None:
    audit = Audit()
    assert read(audit).row("accuracy") == "no audited answer yet"
    for right in (True, True, False, True):
        audit.add(right, probability=0.1)
    # Clopper and Pearson: all weights are equal.
    low = stats.beta(3, 2).ppf(0.05)
    high = stats.beta(4, 1).ppf(0.95)
    shown = read(audit)
    assert (shown.row("accuracy"), shown.row("audited answers")) == ("0.75", "4")
    assert shown.row("90 % interval") == f"[{low:.4g}, {high:.4g}]"


def test_selector_shows_strategy_budget_and_outcomes() -> None:
    selector = LabelSelector("epistemic", LabelBudget(total=500))
    assert read(selector).row("outcomes") == "none yet"
    assert selector.ask("mail 17", Beta(2, 1).predictive())
    shown = read(selector)
    assert shown.row("strategy") == "epistemic"
    assert shown.row("requested") == "1 of 500 labels"
    assert shown.row("open requests") == "1 of at most 100"
    assert shown.row("outcomes") == "requested: 1"


def test_density_of_a_logit_normal_is_that_of_its_log_odds() -> None:
    belief = LogitNormal(1.0, 4.0)
    points = np.array([0.01, 0.3, 0.7, 0.999])
    log_odds = np.log(points / (1 - points))
    assert belief.density(points) == pytest.approx(stats.norm(1, 2).pdf(log_odds) / (points * (1 - points)))
    assert belief.density(np.array([0.0, 1.0])) == pytest.approx([0, 0])
    grid = np.linspace(0, 1, 200_001)
    assert np.trapezoid(belief.density(grid), grid) == pytest.approx(1, abs=1e-6)
