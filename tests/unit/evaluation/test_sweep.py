"""Many passes at once, and the clock of the mails."""

from __future__ import annotations

import os
import time
from email.utils import formatdate
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.evaluation.feedback import FeedbackRegime
from stream_bayes.evaluation.label_delay import Delay, LabelSchedule, MailClock, parse_delay
from stream_bayes.evaluation.process_pool import Failure, available_cores, map_unordered
from stream_bayes.evaluation.strategy_comparison import ComparisonPlan, ComparisonResult
from stream_bayes.evaluation.stream import StreamSource
from stream_bayes.evaluation.sweep import Job, SweepResult, run_job, spread, sweep
from stream_bayes.evaluation.tables import strategies_table
from tests.support.mail_filters import RIVER, generated_mails, write
from tests.support.tiers import short_first


def square(number: int) -> int:
    if number == 13:
        message = "thirteen"
        raise ValueError(message)
    if number == 14:
        os._exit(1)
    return number * number


def slowly(number: int) -> int:
    time.sleep(60.0 * (number > 0))
    return number


@pytest.mark.long
def test_every_item_is_answered_once() -> None:
    assert sorted(map_unordered(square, range(9), 2)) == [number**2 for number in range(9)]
    assert list(map_unordered(square, [], 2)) == []
    assert available_cores() >= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "reason"), short_first([(14, "a process was ended from outside"), (13, "thirteen")])
)
def test_a_failure_in_one_process_is_reported_and_the_others_continue(number: int, reason: str) -> None:
    found = list(map_unordered(square, [2, number, 3, 4], 1))
    assert [each for each in found if isinstance(each, int)] == [4, 9, 16]
    (failed,) = (each for each in found if isinstance(each, Failure))
    assert failed.item == number
    assert reason in failed.reason


@pytest.mark.slow
def test_work_can_be_ended() -> None:
    done: list[int | Failure[int]] = []
    for answer in map_unordered(slowly, [0, 1], 2, stop=lambda: bool(done)):
        done.append(answer)
    assert done == [0]


def jobs(tmp_path: Path) -> list[Job]:
    mails = [
        mail._replace(
            raw=b"From: ann@%b.org\n\n%b" % (b"late" if place % 5 == 3 and place > 100 else b"early", mail.raw)
        )
        for place, mail in enumerate(generated_mails(200))
    ]
    source = StreamSource(write(tmp_path / "mails.jsonl.gz", mails))
    return [
        Job(source, RIVER, regime)
        for regime in (FeedbackRegime(), FeedbackRegime("active:20", "margin"), FeedbackRegime("first:9"))
    ]


@pytest.mark.long
def test_processes_change_nothing(tmp_path: Path) -> None:
    wanted = jobs(tmp_path)
    here, there = (
        {one.job: one for one in sweep(wanted, processes=count) if isinstance(one, SweepResult)} for count in (1, 2)
    )
    assert here == there
    assert list(here) == wanted
    assert here[wanted[1]] == run_job(wanted[1])
    assert [here[job].figures.labels for job in wanted[::2]] == [200, 9]
    assert {one.figures.late for one in here.values()} == {20}


def test_a_sweep_can_be_ended(tmp_path: Path) -> None:
    wanted = jobs(tmp_path)
    done: list[SweepResult] = []
    for outcome in sweep(wanted, processes=1, stop=lambda: bool(done)):
        assert isinstance(outcome, SweepResult)
        done.append(outcome)
    assert [outcome.job for outcome in done] == wanted[:1]
    assert run_job(wanted[0], lambda: True) is None


def test_a_table_of_passes_that_are_not_all_done(tmp_path: Path) -> None:
    full, active, _ = jobs(tmp_path)
    outcomes = tuple(one for one in sweep([active], processes=1) if isinstance(one, SweepResult))
    found = ComparisonResult(
        ComparisonPlan(full.source, RIVER, ("margin", "first"), (20,), (1, 2)), "mails", 200, outcomes
    )
    assert found.full is None
    assert found.cell("first", 20) is None
    assert found.cell("margin", 20) == spread(outcomes)
    lines = strategies_table(found, ["half of it"]).splitlines()
    assert [line.split() for line in lines if line.startswith("  first")] == [["first", "-"], ["first", "-"]]
    assert lines[-1] == "  note: half of it"


RECEIVED = b"Received: from a by b; %b\nReceived: from c by a; Tue, 1 Jan 2030 00:00:00 +0000\nDate: %b\n\nhello"
NOON = 1_000_000_000_000  # 9 September 2001, 01:46:40


@pytest.mark.parametrize(
    ("raw", "clock"),
    [
        (RECEIVED % (b"Sun, 9 Sep 2001 01:46:40 +0000", b"Tue, 1 Jan 2030 00:00:00 +0000"), NOON),
        (b"received: by b\r\n\t(x; y)\r\n\tid 1;\r\n\tSun, 9 Sep 2001 03:46:40 +0200 (CEST)\r\n\r\nhello", NOON),
        (b"Date: Sun, 9 Sep 2001 01:46:40 -0000\n\nhello", NOON),
        (b"Date: soon\n\nhello", 0),
        (b"Date: Sun, 99 Sep 2001 01:46:40 +9999\n\nhello", 0),
        (b"Subject: x\n\nDate: Sun, 9 Sep 2001 01:46:40 +0000", 0),
        (b"", 0),
    ],
)
def test_the_date_of_a_mail(raw: bytes, clock: int) -> None:
    assert MailClock().read(raw) == clock


def test_the_clock_never_goes_back_and_trusts_the_receiving_server() -> None:
    clock = MailClock()
    mail = RECEIVED % (b"Sun, 9 Sep 2001 01:46:40 +0000", b"x")
    assert [clock.read(raw) for raw in (mail, b"Date: Tue, 1 Jan 2030 00:00:00 +0000\n\n", b"", mail)] == [NOON] * 4
    assert clock.read(RECEIVED % (b"Sun, 9 Sep 2001 01:46:30 +0000", b"x")) == NOON


def dated(*days: float) -> list[bytes]:
    """Mails at these days after the beginning."""
    return [f"Date: {formatdate(NOON / 1000 + 86_400 * day)}\n\nhello".encode() for day in days]


def days_passed(*days: float) -> list[float]:
    clock = MailClock()
    return [(clock.read(raw) - NOON) / 86_400_000 for raw in dated(*days)]


def test_a_distant_date_is_accepted_when_the_next_mails_agree() -> None:
    assert days_passed(0, 1, 9999, 2, 9999, 8888, 3, 4) == [0, 1, 1, 2, 2, 2, 3, 4]
    assert days_passed(0, 1, 40, 40.5, 9999, 41) == [0, 1, 1, 1, 40, 41], "a quiet month has passed"
    assert days_passed(0, 3, 6, 9, 12, 15) == [0, 0, 0, 3, 6, 9], "mails are rare"
    assert days_passed(0, 1, -9999, -50, 2, -9999, 3) == [0, 1, 1, 1, 2, 2, 3]
    assert days_passed(0, 1, -3, -2, -1, -1, 2) == [0, 1, 1, 1, 1, 1, 2], "mails that were held up"


def test_the_clock_continues_with_the_next_mailbox() -> None:
    assert days_passed(900, 0, 1, 2, 3, 4) == [900, 900, 900, 900, 901, 902], "the first date was wrong"
    second = days_passed(0, 400, 401, 401, 10, 11, 12, 13, 401, 402, 403)
    assert second == [0, 0, 0, 400, 400, 400, 400, 401, 401, 401, 402]
    turns = [day + 500 * box for day in range(9) for box in (0, 1) for _ in range(3)]
    assert days_passed(*turns)[-1] <= 520, "mailboxes in turn do not add up"


@settings(max_examples=200)
@given(st.lists(st.integers(-20_000, 20_000) | st.integers(0, 90), max_size=30))
def test_whatever_the_dates_the_clock_never_goes_back(days: list[int]) -> None:
    clock = MailClock()
    found = [clock.read(raw) for raw in dated(*days)]
    assert found == sorted(found)
    assert all(now >= 0 for now in found)


def test_when_labels_are_due() -> None:
    by_messages = LabelSchedule(Delay(2))
    first = by_messages.arrive(b"")
    second = by_messages.arrive(b"")
    assert (first.before, first.after, second.before, first.clock) == (0, 1, 1, 0)
    assert by_messages.due(first) == 3, "after the prediction of the message at place 2"
    by_time = LabelSchedule(parse_delay("1h"))
    moment = by_time.arrive(RECEIVED % (b"Sun, 9 Sep 2001 01:46:40 +0000", b"x"))
    assert by_time.due(moment) == NOON + 3_600_000
