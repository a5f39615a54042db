"""Questions and leases: nobody gets what somebody else has before them, and nothing is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stream_bayes.web.readmodel import request_queue as subject
from stream_bayes.web.readmodel.daily_stats import DailyStats, LabelerTotals
from stream_bayes.web.readmodel.request_queue import LeaseOwner, Place, RequestQueue, RequestRefused, SubmittedLabel
from tests.support.web_events import NOW, request

LEASE = 10.0


def asked(*scores: float) -> RequestQueue:
    questions = RequestQueue(LEASE)
    for offset, score in enumerate(scores):
        questions.ask(request(offset, score))
    return questions


def taken(questions: RequestQueue, labeller: str, now: float, skip: Any = ()) -> Place | None:
    entry = questions.take(LeaseOwner(labeller), skip, now)
    return None if entry is None else entry.place


def test_the_highest_score_comes_first_and_of_equals_the_oldest() -> None:
    questions = asked(0.1, 0.25, 0.2, 0.25, float("nan"))
    assert [entry.place[1] for entry in questions.waiting()] == [1, 3, 2, 0, 4]
    assert taken(questions, "ann", 0.0) == (0, 1)


def test_two_labellers_get_two_questions() -> None:
    questions = asked(0.1, 0.2)
    assert (taken(questions, "ann", 0.0), taken(questions, "bob", 1.0)) == ((0, 1), (0, 0))
    assert taken(questions, "cyd", 2.0) is None
    assert questions.count(2.0) == (2, 2)


def test_two_of_the_same_name_sit_in_different_places() -> None:
    questions = asked(0.1, 0.2)
    first = LeaseOwner("ann", "desk")
    second = LeaseOwner("ann", "sofa")
    places = [entry.place for holder in (first, second) if (entry := questions.take(holder, (), 0.0)) is not None]
    assert places == [(0, 1), (0, 0)]
    with pytest.raises(RequestRefused, match="somebody else has this question"):
        questions.hold((0, 1), second, 1.0)
    questions.give((0, 1), SubmittedLabel("spam", "ann", NOW))
    # What ann has said is hers wherever she sits.
    assert questions.reopen((0, 1), second, 2.0).given == SubmittedLabel("spam", "ann", NOW)


def test_a_lease_that_is_over_comes_back_and_one_that_is_held_does_not() -> None:
    questions = asked(0.2)
    assert taken(questions, "ann", 0.0) == (0, 0)
    assert questions.hold((0, 0), LeaseOwner("ann"), 8.0) == LEASE
    assert taken(questions, "bob", 17.9) is None
    assert taken(questions, "bob", 18.0) == (0, 0)
    with pytest.raises(RequestRefused, match="somebody else has this question") as refusal:
        questions.hold((0, 0), LeaseOwner("ann"), 19.0)
    assert refusal.value.code == "taken"


def test_who_comes_back_has_what_they_had() -> None:
    questions = asked(0.1, 0.2)
    questions.take(LeaseOwner("ann"), (), 0.0)
    questions.ask(request(9, 0.25))
    assert taken(questions, "ann", 1.0) == (0, 1)
    assert taken(questions, "ann", 2.0, skip={(0, 1)}) == (0, 9)
    # What was let go of in favour of another is free.
    assert taken(questions, "bob", 3.0) == (0, 1)


def test_what_is_let_go_of_is_free_at_once() -> None:
    questions = asked(0.2)
    questions.take(LeaseOwner("ann"), (), 0.0)
    questions.release((0, 0), LeaseOwner("bob"))
    assert taken(questions, "bob", 1.0) is None
    questions.release((0, 0), LeaseOwner("ann"))
    assert taken(questions, "bob", 1.0) == (0, 0)


def test_an_answer_takes_a_question_away_until_the_worker_refuses_it() -> None:
    questions = asked(0.2)
    questions.give((0, 0), SubmittedLabel("spam", "ann", NOW))
    assert questions.waiting() == []
    with pytest.raises(RequestRefused) as refusal:
        questions.hold((0, 0), LeaseOwner("bob"), 0.0)
    assert refusal.value.code == "answered"
    assert questions.refuse((0, 0), "spam", still_open=True) is None
    assert taken(questions, "bob", 0.0) == (0, 0)


def test_an_older_answer_that_is_told_late_does_not_replace_a_newer_one() -> None:
    questions = asked(0.2)
    later = SubmittedLabel("ham", "ann", NOW + timedelta(seconds=5))
    questions.give((0, 0), later)
    questions.end((0, 0), SubmittedLabel("spam", "ann", NOW, learned=True))
    assert questions.get((0, 0)).given == later
    # The correction is refused: what was learned counts again.
    assert questions.refuse((0, 0), "ham", still_open=False) == SubmittedLabel("spam", "ann", NOW, learned=True)
    assert questions.waiting() == []


def test_holders_whose_time_is_over_are_forgotten() -> None:
    questions = asked(*[0.2] * 3000)
    for number in range(2500):
        questions.take(LeaseOwner("ann", str(number)), (), 20.0 * number)
    assert len(questions._taken) <= 1001


def test_only_ones_own_answer_is_taken_up_again() -> None:
    questions = asked(0.2)
    questions.give((0, 0), SubmittedLabel("spam", "ann", NOW))
    with pytest.raises(RequestRefused, match="of your own"):
        questions.reopen((0, 0), LeaseOwner("bob"), 0.0)
    assert questions.reopen((0, 0), LeaseOwner("ann"), 0.0).given == SubmittedLabel("spam", "ann", NOW)
    assert questions.hold((0, 0), LeaseOwner("ann"), 1.0) == LEASE


def test_what_expires_is_nobodys_but_can_still_be_answered() -> None:
    questions = asked(0.2)
    questions.take(LeaseOwner("ann"), (), 0.0)
    questions.end((0, 0), None)
    assert (taken(questions, "bob", 99.0), questions.get((0, 0)).state) == (None, "closed")
    assert questions.hold((0, 0), LeaseOwner("ann"), 99.0) == LEASE


def test_the_same_question_twice_is_one() -> None:
    questions = asked(0.2)
    questions.give((0, 0), SubmittedLabel("spam", "ann", NOW))
    questions.ask(request(0))
    assert questions.waiting() == []


def test_ranks_and_states_by_score() -> None:
    questions = asked(0.1, 0.2, 0.3)
    assert [questions.rank(questions.get((0, offset))) for offset in range(3)] == [0.0, 0.5, 1.0]
    assert asked(0.1).rank(questions.get((0, 0))) is None
    questions.end((0, 1), SubmittedLabel("ham", None, NOW, learned=True))
    questions.end((0, 2), None)
    assert sorted(questions.scored()) == [(0.1, "open"), (0.2, "answered"), (0.3, "closed")]


def test_item09_order_and_rank_follow_the_newest_score() -> None:
    questions = asked(0.1, 0.2, 0.3, 0.2)
    questions.rescore((0, 0), 0.9, scored_at=1)
    questions.rescore((0, 2), 0.15, scored_at=1)
    questions.rescore((0, 3), float("nan"), scored_at=1)
    questions.rescore((0, 9), 0.9, scored_at=1)
    assert [(entry.place[1], entry.score) for entry in questions.waiting()] == [(0, 0.9), (1, 0.2), (3, 0.2), (2, 0.15)]
    ranks = [questions.rank(entry) for entry in questions.waiting()]
    assert ranks == [1.0, pytest.approx(1 / 3), pytest.approx(1 / 3), 0.0]
    questions.give((0, 0), SubmittedLabel("spam", "ann", NOW))
    questions.rescore((0, 0), 0.0, scored_at=2)
    assert [entry.place[1] for entry in questions.waiting()] == [1, 3, 2]
    assert questions.rank(questions.get((0, 0))) == 0.0
    assert questions.strategy == "epistemic"


def test_what_is_over_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MAX_KEPT", 3)
    questions = asked(0.1, 0.2)
    questions.give((0, 1), SubmittedLabel("spam", "ann", NOW))
    questions.ask(request(2, score=0.3))
    questions.ask(request(3, score=0.4))
    assert questions.known((0, 1)) is None
    assert len(list(questions.scored())) == 3
    questions.ask(request(4, score=0.5))
    assert {entry.place[1] for entry in questions.waiting()} == {0, 2, 3, 4}
    with pytest.raises(RequestRefused, match="nothing was asked about the observation 0-1"):
        questions.get((0, 1))


class Labelling(RuleBasedStateMachine):
    """Labellers who take, hold, skip and answer in any order, while time passes and the worker talks."""

    def __init__(self) -> None:
        super().__init__()
        self.questions = RequestQueue(LEASE)
        self.now = 0.0
        self.next = 0
        self.has: dict[str, tuple[Place, float]] = {}

    names = st.sampled_from(["ann", "bob", "cyd"])

    @rule(score=st.floats(0.0, 0.25))
    def ask(self, score: float) -> None:
        self.questions.ask(request(self.next, score=score))
        self.next += 1

    @rule(score=st.floats(0.0, 0.25) | st.just(float("nan")), back=st.integers(1, 5))
    def rescore(self, score: float, back: int) -> None:
        self.questions.rescore((0, self.next - back), score, scored_at=self.next)
        scores = [entry.score for entry in self.questions.waiting()]
        assert scores == sorted(scores, reverse=True)

    @rule(seconds=st.floats(0.0, 12.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(name=names)
    def take(self, name: str) -> None:
        entry = self.questions.take(LeaseOwner(name), (), self.now)
        self.has.pop(name, None)
        if entry is not None:
            self.has[name] = entry.place, self.now + LEASE

    @rule(name=names)
    def hold(self, name: str) -> None:
        if name in self.has:
            place, until = self.has[name]
            try:
                self.questions.hold(place, LeaseOwner(name), self.now)
            except RequestRefused:
                assert self.now >= until or self.questions.get(place).given is not None
                del self.has[name]
            else:
                self.has[name] = place, self.now + LEASE

    @rule(name=names, label=st.sampled_from(["ham", "spam"]))
    def answer(self, name: str, label: str) -> None:
        if name in self.has:
            place, _ = self.has.pop(name)
            try:
                self.questions.hold(place, LeaseOwner(name), self.now)
            except RequestRefused:
                return
            self.questions.give(place, SubmittedLabel(label, name, NOW))

    @rule(name=names)
    def skip(self, name: str) -> None:
        if name in self.has:
            place, _ = self.has.pop(name)
            self.questions.release(place, LeaseOwner(name))

    @invariant()
    def nobody_has_what_somebody_else_has(self) -> None:
        valid = [place for place, until in self.has.values() if self.now < until]
        assert len(valid) == len(set(valid))

    @invariant()
    def every_question_waits_or_is_answered(self) -> None:
        waiting = {entry.place for entry in self.questions.waiting()}
        for offset in range(self.next):
            entry = self.questions.get((0, offset))
            assert (entry.given is None) == (entry.place in waiting)


TestLabelling = Labelling.TestCase
TestLabelling.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_answers_of_a_day_count_once_and_corrections_count() -> None:
    def answer(labeller: str, differs: bool | None, *, unsure: bool = False, corrected: bool = False) -> LabelerTotals:
        return LabelerTotals(labeller, differs, unsure, corrected)

    answers = DailyStats()
    answers.note((0, 1), NOW, answer("ann", False))
    answers.note((0, 1), NOW + timedelta(seconds=1), answer("ann", False))
    answers.note((0, 2), NOW - timedelta(hours=2), answer("bob", True))
    answers.note((0, 2), NOW, answer("bob", False, corrected=True))
    answers.note((0, 2), NOW, answer("bob", False))
    answers.note((0, 3), NOW, answer("bob", None, unsure=True))
    answers.note((0, 4), NOW - timedelta(days=1), answer("bob", True))
    tally = answers.tally(NOW.date(), "bob")
    assert tally == (3, 2, 0, 2, 1, 1, NOW - timedelta(hours=2))
    answers.note((0, 5), NOW + timedelta(days=1), answer("ann", True))
    assert answers.tally(NOW.date(), "ann").today == 0
    assert answers.tally((NOW + timedelta(days=1)).date(), "ann")[:3] == (1, 1, 1)
    answers.take_back((0, 5))
    assert answers.tally((NOW + timedelta(days=1)).date(), "ann").today == 0
