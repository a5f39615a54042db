"""Queue and leases: two labellers never lease the same request, and no request is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stream_bayes.web.readmodel import request_queue as subject
from stream_bayes.web.readmodel.request_queue import (
    LeaseOwner,
    PartitionOffset,
    RequestQueue,
    RequestRefused,
    SubmittedLabel,
)
from stream_bayes.web.readmodel.statistics import DailyLabel, DailyStats
from tests.support.web_events import NOW, request

LEASE = 10.0


def queue_of(*scores: float) -> RequestQueue:
    queue = RequestQueue(LEASE)
    for offset, score in enumerate(scores):
        queue.add(request(offset, score))
    return queue


def lease_next(queue: RequestQueue, labeller: str, now: float, skip: Any = ()) -> PartitionOffset | None:
    queued = queue.take(LeaseOwner(labeller), skip, now)
    return None if queued is None else queued.place


def test_the_highest_score_comes_first_and_of_equals_the_oldest() -> None:
    queue = queue_of(0.1, 0.25, 0.2, 0.25, float("nan"))
    assert [queued.place[1] for queued in queue.waiting()] == [1, 3, 2, 0, 4]
    assert lease_next(queue, "ann", 0.0) == (0, 1)


def test_two_labellers_get_two_requests() -> None:
    queue = queue_of(0.1, 0.2)
    assert (lease_next(queue, "ann", 0.0), lease_next(queue, "bob", 1.0)) == ((0, 1), (0, 0))
    assert lease_next(queue, "cyd", 2.0) is None
    assert queue.count(2.0) == (2, 2)


def test_two_sessions_of_one_name_have_two_leases() -> None:
    queue = queue_of(0.1, 0.2)
    first = LeaseOwner("ann", "desk")
    second = LeaseOwner("ann", "sofa")
    places = [queued.place for owner in (first, second) if (queued := queue.take(owner, (), 0.0)) is not None]
    assert places == [(0, 1), (0, 0)]
    with pytest.raises(RequestRefused, match="another labeller has this request"):
        queue.renew((0, 1), second, 1.0)
    queue.set_label((0, 1), SubmittedLabel("spam", "ann", NOW))
    # What ann has said is hers wherever she sits.
    assert queue.reopen((0, 1), second, 2.0).submitted == SubmittedLabel("spam", "ann", NOW)


def test_an_expired_lease_is_offered_again_and_a_renewed_one_is_not() -> None:
    queue = queue_of(0.2)
    assert lease_next(queue, "ann", 0.0) == (0, 0)
    assert queue.renew((0, 0), LeaseOwner("ann"), 8.0) == LEASE
    assert lease_next(queue, "bob", 17.9) is None
    assert lease_next(queue, "bob", 18.0) == (0, 0)
    with pytest.raises(RequestRefused, match="another labeller has this request") as refusal:
        queue.renew((0, 0), LeaseOwner("ann"), 19.0)
    assert refusal.value.code == "leased"


def test_a_returning_labeller_gets_the_same_request() -> None:
    queue = queue_of(0.1, 0.2)
    queue.take(LeaseOwner("ann"), (), 0.0)
    queue.add(request(9, 0.25))
    assert lease_next(queue, "ann", 1.0) == (0, 1)
    assert lease_next(queue, "ann", 2.0, skip={(0, 1)}) == (0, 9)
    # What was let go of in favour of another is free.
    assert lease_next(queue, "bob", 3.0) == (0, 1)


def test_a_released_request_is_free() -> None:
    queue = queue_of(0.2)
    queue.take(LeaseOwner("ann"), (), 0.0)
    queue.release((0, 0), LeaseOwner("bob"))
    assert lease_next(queue, "bob", 1.0) is None
    queue.release((0, 0), LeaseOwner("ann"))
    assert lease_next(queue, "bob", 1.0) == (0, 0)


def test_a_label_closes_a_request_until_the_worker_refuses_it() -> None:
    queue = queue_of(0.2)
    queue.set_label((0, 0), SubmittedLabel("spam", "ann", NOW))
    assert queue.waiting() == []
    with pytest.raises(RequestRefused) as refusal:
        queue.renew((0, 0), LeaseOwner("bob"), 0.0)
    assert refusal.value.code == "answered"
    assert queue.refuse((0, 0), "spam", still_open=True) is None
    assert lease_next(queue, "bob", 0.0) == (0, 0)


def test_a_late_outcome_of_an_older_label_does_not_replace_a_newer_one() -> None:
    queue = queue_of(0.2)
    later = SubmittedLabel("ham", "ann", NOW + timedelta(seconds=5))
    queue.set_label((0, 0), later)
    queue.close((0, 0), SubmittedLabel("spam", "ann", NOW, learned=True))
    assert queue.get((0, 0)).submitted == later
    # The correction is refused: what was learned counts again.
    assert queue.refuse((0, 0), "ham", still_open=False) == SubmittedLabel("spam", "ann", NOW, learned=True)
    assert queue.waiting() == []


def test_owners_of_expired_leases_are_dropped() -> None:
    queue = queue_of(*[0.2] * 3000)
    for number in range(2500):
        queue.take(LeaseOwner("ann", str(number)), (), 20.0 * number)
    assert len(queue._leased) <= 1001


def test_only_the_own_answer_can_be_reopened() -> None:
    queue = queue_of(0.2)
    queue.set_label((0, 0), SubmittedLabel("spam", "ann", NOW))
    with pytest.raises(RequestRefused, match="answered yourself"):
        queue.reopen((0, 0), LeaseOwner("bob"), 0.0)
    assert queue.reopen((0, 0), LeaseOwner("ann"), 0.0).submitted == SubmittedLabel("spam", "ann", NOW)
    assert queue.renew((0, 0), LeaseOwner("ann"), 1.0) == LEASE


def test_an_expired_request_is_not_leased_but_can_still_be_answered() -> None:
    queue = queue_of(0.2)
    queue.take(LeaseOwner("ann"), (), 0.0)
    queue.close((0, 0), None)
    assert (lease_next(queue, "bob", 99.0), queue.get((0, 0)).state) == (None, "closed")
    assert queue.renew((0, 0), LeaseOwner("ann"), 99.0) == LEASE


def test_a_repeated_request_is_ignored() -> None:
    queue = queue_of(0.2)
    queue.set_label((0, 0), SubmittedLabel("spam", "ann", NOW))
    queue.add(request(0))
    assert queue.waiting() == []


def test_ranks_and_states_by_score() -> None:
    queue = queue_of(0.1, 0.2, 0.3)
    assert [queue.rank(queue.get((0, offset))) for offset in range(3)] == [0.0, 0.5, 1.0]
    assert queue_of(0.1).rank(queue.get((0, 0))) is None
    queue.close((0, 1), SubmittedLabel("ham", None, NOW, learned=True))
    queue.close((0, 2), None)
    assert sorted(queue.scored()) == [(0.1, "open"), (0.2, "answered"), (0.3, "closed")]


def test_item09_order_and_rank_follow_the_newest_score() -> None:
    queue = queue_of(0.1, 0.2, 0.3, 0.2)
    queue.rescore((0, 0), 0.9, scored_at=1)
    queue.rescore((0, 2), 0.15, scored_at=1)
    queue.rescore((0, 3), float("nan"), scored_at=1)
    queue.rescore((0, 9), 0.9, scored_at=1)
    assert [(queued.place[1], queued.score) for queued in queue.waiting()] == [(0, 0.9), (1, 0.2), (3, 0.2), (2, 0.15)]
    ranks = [queue.rank(queued) for queued in queue.waiting()]
    assert ranks == [1.0, pytest.approx(1 / 3), pytest.approx(1 / 3), 0.0]
    queue.set_label((0, 0), SubmittedLabel("spam", "ann", NOW))
    queue.rescore((0, 0), 0.0, scored_at=2)
    assert [queued.place[1] for queued in queue.waiting()] == [1, 3, 2]
    assert queue.rank(queue.get((0, 0))) == 0.0
    assert queue.strategy == "epistemic"


def test_closed_requests_are_dropped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MAX_KEPT", 3)
    queue = queue_of(0.1, 0.2)
    queue.set_label((0, 1), SubmittedLabel("spam", "ann", NOW))
    queue.add(request(2, score=0.3))
    queue.add(request(3, score=0.4))
    assert queue.find((0, 1)) is None
    assert len(list(queue.scored())) == 3
    queue.add(request(4, score=0.5))
    assert {queued.place[1] for queued in queue.waiting()} == {0, 2, 3, 4}
    with pytest.raises(RequestRefused, match="there is no label request for the observation 0-1"):
        queue.get((0, 1))


class Labelling(RuleBasedStateMachine):
    """Labellers who take, hold, skip and answer in any order, while time passes and the worker talks."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = RequestQueue(LEASE)
        self.now = 0.0
        self.next = 0
        self.has: dict[str, tuple[PartitionOffset, float]] = {}

    names = st.sampled_from(["ann", "bob", "cyd"])

    @rule(score=st.floats(0.0, 0.25))
    def add(self, score: float) -> None:
        self.queue.add(request(self.next, score=score))
        self.next += 1

    @rule(score=st.floats(0.0, 0.25) | st.just(float("nan")), back=st.integers(1, 5))
    def rescore(self, score: float, back: int) -> None:
        self.queue.rescore((0, self.next - back), score, scored_at=self.next)
        scores = [queued.score for queued in self.queue.waiting()]
        assert scores == sorted(scores, reverse=True)

    @rule(seconds=st.floats(0.0, 12.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(name=names)
    def take(self, name: str) -> None:
        queued = self.queue.take(LeaseOwner(name), (), self.now)
        self.has.pop(name, None)
        if queued is not None:
            self.has[name] = queued.place, self.now + LEASE

    @rule(name=names)
    def renew(self, name: str) -> None:
        if name in self.has:
            place, until = self.has[name]
            try:
                self.queue.renew(place, LeaseOwner(name), self.now)
            except RequestRefused:
                assert self.now >= until or self.queue.get(place).submitted is not None
                del self.has[name]
            else:
                self.has[name] = place, self.now + LEASE

    @rule(name=names, label=st.sampled_from(["ham", "spam"]))
    def answer(self, name: str, label: str) -> None:
        if name in self.has:
            place, _ = self.has.pop(name)
            try:
                self.queue.renew(place, LeaseOwner(name), self.now)
            except RequestRefused:
                return
            self.queue.set_label(place, SubmittedLabel(label, name, NOW))

    @rule(name=names)
    def skip(self, name: str) -> None:
        if name in self.has:
            place, _ = self.has.pop(name)
            self.queue.release(place, LeaseOwner(name))

    @invariant()
    def nobody_has_what_somebody_else_has(self) -> None:
        valid = [place for place, until in self.has.values() if self.now < until]
        assert len(valid) == len(set(valid))

    @invariant()
    def every_request_waits_or_is_answered(self) -> None:
        waiting = {queued.place for queued in self.queue.waiting()}
        for offset in range(self.next):
            queued = self.queue.get((0, offset))
            assert (queued.submitted is None) == (queued.place in waiting)


TestLabelling = Labelling.TestCase
TestLabelling.settings = settings(max_examples=60, stateful_step_count=40)


def test_answers_of_a_day_count_once_and_corrections_count() -> None:
    def answer(labeller: str, differs: bool | None, *, abstained: bool = False, corrected: bool = False) -> DailyLabel:
        return DailyLabel(labeller, differs, abstained, corrected)

    answers = DailyStats()
    answers.add((0, 1), NOW, answer("ann", False))
    answers.add((0, 1), NOW + timedelta(seconds=1), answer("ann", False))
    answers.add((0, 2), NOW - timedelta(hours=2), answer("bob", True))
    answers.add((0, 2), NOW, answer("bob", False, corrected=True))
    answers.add((0, 2), NOW, answer("bob", False))
    answers.add((0, 3), NOW, answer("bob", None, abstained=True))
    answers.add((0, 4), NOW - timedelta(days=1), answer("bob", True))
    tally = answers.totals(NOW.date(), "bob")
    assert tally == (3, 2, 0, 2, 1, 1, NOW - timedelta(hours=2))
    answers.add((0, 5), NOW + timedelta(days=1), answer("ann", True))
    assert answers.totals(NOW.date(), "ann").today == 0
    assert answers.totals((NOW + timedelta(days=1)).date(), "ann")[:3] == (1, 1, 1)
    answers.remove((0, 5))
    assert answers.totals((NOW + timedelta(days=1)).date(), "ann").today == 0
