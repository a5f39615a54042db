"""Density-weighted sampling, exploration while one label is known, and the probability of a request."""

from __future__ import annotations

import numpy as np
import pytest

from stream_bayes import LabelBudget, LabelSelector
from stream_bayes.active import Candidate
from stream_bayes.active.coverage import RECENT_MAILS, Coverage, message_of
from stream_bayes.errors import ParameterError, SnapshotDamaged

LISTS = ("ann", "bob", "cid", "dan")


def body_of(number: int) -> bytes:
    """A text that is like no other, so that it is no near-duplicate."""
    return b"\n" + bytes(np.random.default_rng(number).integers(97, 123, 60).astype(np.uint8))


def mail(source: str, number: int = 0) -> bytes:
    fields = {"From": f"{source}@{source}.example", "To": "me@home.example", "List": source, "Date": f"day {number}"}
    return "".join(f"{name}: {value}\n" for name, value in fields.items()).encode() + body_of(number)


def unscored(selector: LabelSelector, sources: list[str]) -> list[int]:
    """The mails that are requested for their coverage if the learner is certain of all of them, and always right."""
    requested = []
    for place, source in enumerate(sources):
        candidate = Candidate(place, 0.0, content=mail(source, place))
        reason = selector.request_reason(candidate)
        selector.note(candidate, 0, reason)
        if reason is not None:
            selector.answered(place, "ham")
        if reason is not None and reason.covered:
            requested.append(place)
    return requested


def test_the_score_is_the_mean_share_of_features_over_requests() -> None:
    """Of 4 mails of ann and 1 of bob, the host of ann has the share 4/5, that of bob 1/5, and all other features 5/5.

    Of k features the mean is (k - 1 + 4/5) / k and (k - 1 + 1/5) / k. A request of ann halves all but the host of bob.
    """
    coverage = Coverage()
    assert coverage.score(mail("ann")) == 0.0
    for source in ("ann", "ann", "ann", "ann", "bob"):
        coverage.add(mail(source))
    ann = coverage.score(mail("ann"))
    bob = coverage.score(mail("bob"))
    # A mail weighs 1 / RECENT_MAILS more than the one before.
    k = 0.6 / (ann - bob)
    assert k == pytest.approx(round(k), abs=0.01)
    assert ann == pytest.approx(1.0 - 0.2 / round(k), abs=10.0 / RECENT_MAILS)
    coverage.add_request(mail("ann"))
    assert coverage.score(mail("ann")) == pytest.approx(ann / 2.0)
    assert coverage.score(mail("bob")) == pytest.approx((bob - 0.2 / k) / 2.0 + 0.2 / k, abs=0.001)


def test_old_mails_are_forgotten() -> None:
    coverage = Coverage()
    for _ in range(20):
        coverage.add(mail("ann"))
    before = coverage.score(mail("ann")) - coverage.score(mail("bob"))
    for _ in range(int(2 * RECENT_MAILS)):
        coverage.add("a text without a header")
    after = coverage.score(mail("ann")) - coverage.score(mail("bob"))
    assert 0.0 < after < 0.01 * before


@pytest.mark.parametrize("message", [b"", b"hello", "Subject: short\n\nhello", "\ud800 and more", b"\xff" * 99])
def test_a_text_without_a_header_has_no_coverage(message: bytes | str) -> None:
    coverage = Coverage()
    for _ in range(3):
        coverage.add(message)
    assert coverage.score(message) == 0.0


@pytest.mark.parametrize(
    "content", [None, 1.5, ["a"], {"a": 1.0}, {"text": 3, "raw": None}, {"text": ["a"]}, {"raw": {}}]
)
def test_other_contents_are_no_messages(content: object) -> None:
    assert message_of(content) is None
    selector = LabelSelector(budget=LabelBudget(total=10))
    candidate = Candidate(1, 0.5, content=content)
    selector.note(candidate)
    assert selector.counts["covered"] == 0


def test_a_buffer_that_is_used_again_is_read_again() -> None:
    coverage = Coverage()
    buffer = bytearray(mail("ann"))
    for source in ("ann", "bob"):
        buffer[:] = mail(source)
        message = message_of(buffer)
        assert message is not None
        coverage.add(message)
    other = Coverage()
    for source in ("ann", "bob"):
        other.add(mail(source))
    assert coverage.score(mail("bob")) == other.score(mail("bob"))


def test_a_dict_and_its_raw_mail_have_the_same_features() -> None:
    coverage = Coverage()
    coverage.add(mail("ann"))
    for content in ({"raw": mail("ann"), "tags": ["a"]}, {"text": mail("ann").decode()}, bytearray(mail("ann"))):
        message = message_of(content)
        assert message is not None
        assert coverage.score(message) == coverage.score(mail("ann")) > coverage.score(mail("bob"))


def test_counts_are_restored() -> None:
    coverage = Coverage()
    for source in LISTS:
        coverage.add(mail(source))
    coverage.add_request(mail("ann"))
    again = Coverage()
    again.restore(coverage.arrays())
    assert [again.score(mail(source)) for source in LISTS] == [coverage.score(mail(source)) for source in LISTS]
    with pytest.raises(SnapshotDamaged):
        again.restore({**coverage.arrays(), "coverage_totals": np.array((-1.0, 1.0))})
    with pytest.raises(SnapshotDamaged):
        again.restore({**coverage.arrays(), "coverage_seen": np.zeros(3, dtype=np.float32)})
    with pytest.raises(SnapshotDamaged):
        again.restore({**coverage.arrays(), "coverage_buckets": coverage.arrays()["coverage_buckets"] + 2**16})


def test_counts_stay_finite_when_weights_start_again() -> None:
    coverage = Coverage()
    coverage.add(mail("ann"))
    coverage._weight = 0.99999e6
    for _ in range(40):
        coverage.add(mail("bob"))
    assert coverage._weight < 2.0
    assert coverage.score(mail("bob")) > coverage.score(mail("ann"))
    assert coverage.score(mail("bob")) == pytest.approx(1.0, abs=1e-4)


def test_a_new_kind_is_requested_although_the_learner_is_certain_of_it() -> None:
    """After 3,000 mails of 40 senders a list begins, with 30 % of the mails; half of the budget is spent by then."""
    late: list[str] = []
    found = 0
    for seed in range(1, 9):
        generator = np.random.default_rng(seed)
        sources = [f"sender{number}" for number in generator.integers(0, 40, 4500)]
        for place in np.flatnonzero(generator.random(1500) < 0.3).tolist():
            sources[3000 + place] = "newlist"
        selector = LabelSelector(budget=LabelBudget(total=150, audit_fraction=0.0), coverage=0.5, seed=seed)
        selector.budget.used = 75
        requested = [sources[place] for place in unscored(selector, sources) if place >= 3000]
        found += "newlist" in requested
        late += requested
    assert found >= 5
    assert late.count("newlist") > 0.7 * len(late)


def test_without_coverage_only_scores_decide() -> None:
    sources = [LISTS[place % 4] for place in range(2000)]
    counts = {}
    for coverage in (0.0, 0.5):
        selector = LabelSelector(budget=LabelBudget(total=200), coverage=coverage)
        selector.budget.used = 120
        unscored(selector, sources)
        counts[coverage] = selector.counts["covered"]
    assert counts[0.0] == 0 < counts[0.5]


@pytest.mark.parametrize("coverage", [-0.1, 1.0, float("nan")])
def test_coverage_is_a_share_below_one(coverage: float) -> None:
    with pytest.raises(ParameterError, match="coverage"):
        LabelSelector(budget=LabelBudget(total=10), coverage=coverage)


def test_a_rare_label_is_found_although_its_scores_are_the_lowest() -> None:
    """A learner that has seen ham only may be surest of spam; chance finds it then."""
    found = []
    for seed in range(1, 21):
        generator = np.random.default_rng(seed)
        selector = LabelSelector(budget=LabelBudget(total=100, audit_fraction=0.0), seed=seed)
        for place, spam in enumerate((generator.random(600) < 0.15).tolist()):
            p = float(generator.uniform(0.97, 0.99)) if spam else float(generator.uniform(0.9, 0.96))
            if selector.ask(place, {"ham": p, "spam": 1.0 - p}):
                selector.answered(place, "spam" if spam else "ham")
                if spam:
                    break
        found.append(place)
    assert np.median(found) < 150
    assert max(found) < 599


@pytest.mark.parametrize("most", [10_000, 20])
def test_requests_weighted_by_their_probability_count_all_messages(most: int) -> None:
    """The Horvitz-Thompson estimate of the number of messages is unbiased, also with a backlog."""
    totals = []
    for seed in range(1, 81):
        generator = np.random.default_rng(seed)
        budget = LabelBudget(total=300, audit_fraction=0.5)
        selector = LabelSelector(budget=budget, max_open_requests=most, seed=seed)
        total = 0.0
        for place in range(800):
            candidate = Candidate(place, float(generator.random()), content=mail(LISTS[place % 4], place))
            reason = selector.request_reason(candidate)
            selector.note(candidate, 0, reason)
            if len(selector.requests) >= 19 and most == 20:
                for key in list(selector.requests)[:2]:
                    selector.answered(key, "ham")
            if reason is not None:
                assert 0.0 < reason.probability <= 1.0
                total += 1.0 / reason.probability
        totals.append(total)
    error = np.std(totals) / np.sqrt(len(totals))
    assert error < 40.0
    assert abs(np.mean(totals) - 800.0) < 3.0 * error
