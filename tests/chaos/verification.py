"""What must be true after a chaos run, found out from the log and not from what the engine says of itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from stream_bayes.engine.forwarding import FORWARDED, forwarded_by
from stream_bayes.eventlog.base import Log
from stream_bayes.records import Record
from stream_bayes.runtime import Worker
from tests.chaos.log_copy import copy_of
from tests.chaos.messages import EMAILS, LABELS, ExpectedOutcome, Message
from tests.chaos.workspace import BUDGET, ChaosWorkspace
from tests.support.workers import (
    JOURNAL,
    Place,
    State,
    all_records,
    assert_same,
    events,
    journal_order,
    one_pass,
    saved_state,
    state,
)

Fates = dict[Place, ExpectedOutcome]
_Copy = tuple[int, bytes | None]
"""Partition and key."""
_SUMMED = "predictions", "learned", "forwarded", "commits"


class _Messages(NamedTuple):
    """What the producer wrote, and the copies that workers must have written."""

    told: dict[tuple[str, int], list[tuple[bytes | None, ExpectedOutcome]]]
    """Keys and fates of the messages of each topic and partition, in order."""
    copies: dict[int, dict[bytes, ExpectedOutcome]]
    """Fates of the copies of each partition of the labels, by their keys."""


class Verified(NamedTuple):
    """Figures of a run in which everything was as it must be."""

    predictions: int
    learned: int
    """Labels that changed what was known."""
    forwarded: int
    """Labels that were appended again to the partition of their e-mail."""
    requests: int
    dead: Counter[str]
    commits: int


def verify(scene: ChaosWorkspace) -> Verified:
    """Check everything; an AssertionError says what is not as it must be."""
    messages = _messages(scene.script_of())
    found = []
    rebuilt = _rebuilt(scene)
    with scene.place.open() as log:
        parts = [copy_of(log, number) if scene.place.lead else log for number in range(scene.place.partitions)]
        _check_copies(scene, parts, messages)
        for number, part in enumerate(parts):
            found.append(_verify(scene, part, number, messages, rebuilt[number]))
    requests = sum(one.requests for one in found)
    assert requests <= BUDGET
    dead = sum((one.dead for one in found), Counter[str]())
    predictions, learned, forwarded, commits = (sum(getattr(one, name) for one in found) for name in _SUMMED)
    return Verified(predictions, learned, forwarded, requests, dead, commits)


def _verify(scene: ChaosWorkspace, log: Log, number: int, messages: _Messages, rebuilt: State) -> Verified:
    """One partition."""
    fates, copies = _fates(log, number, messages)
    order = _order(log, number, fates)
    fates |= _too_old(order, copies, scene.settings().engine.label_history)
    learned, repeated = _reference(order, fates)
    predictions = _check_predictions(log, number, fates)
    dead = _check_dead_letters(log, number, fates)
    requests = _check_requests(log, number, fates)
    partitions = scene.place.partitions
    assert requests <= BUDGET // partitions + (number < BUDGET % partitions)
    journal = [record.offset for record in all_records(log, JOURNAL, number)]
    last, saved = saved_state(scene.settings(), number)
    assert last == journal[-1] + 1, f"the last checkpoint is of {last}, the journal ends behind {journal[-1]}"
    assert_same(saved, one_pass(scene.settings(), log, number, partitions))
    assert_same(saved, rebuilt)
    _check_counts(saved.scalars, fates, learned, repeated)
    forwarded = sum(fate.what == "forward" for fate in fates.values())
    return Verified(predictions, learned, forwarded, requests, dead, len(journal))


def _messages(script: Iterable[Message]) -> _Messages:
    """Those of each topic and partition."""
    messages = _Messages(defaultdict(list), defaultdict(dict))
    for message in script:
        messages.told[message.topic, message.partition].append((message.key, message.fate))
        if message.copy is not None:
            assert message.named_partition is not None
            assert message.key is not None
            messages.copies[message.named_partition][message.key] = message.copy
    return messages


def _check_copies(scene: ChaosWorkspace, parts: Sequence[Log], messages: _Messages) -> None:
    """Exactly one copy of each label that is forwarded, in the partition of its e-mail; no others."""
    group = scene.settings().group.encode()
    originals: dict[bytes, Record] = {}
    copies: list[Record] = []
    for number, part in enumerate(parts):
        fates = {key: fate for key, fate in messages.told[LABELS, number] if key is not None}
        for record in all_records(part, LABELS, number):
            if forwarded_by(record) is not None:
                copies.append(record)
            elif record.key is not None and fates[record.key].what == "forward":
                originals[record.key] = record
    found: Counter[_Copy] = Counter((record.partition, record.key) for record in copies)
    expected: Counter[_Copy] = Counter((number, key) for number, keys in messages.copies.items() for key in keys)
    assert found == expected, f"forwarded wrongly: {(found - expected) + (expected - found)}"
    for copy in copies:
        assert copy.key is not None
        original = originals[copy.key]
        assert copy.value == original.value
        assert copy.headers == (*original.headers, (FORWARDED, group))


def _fates(log: Log, number: int, messages: _Messages) -> tuple[Fates, Fates]:
    """What must become of each record, by its place, and of the copies alone: the log has all messages, in order."""
    fates: Fates = {}
    copies: Fates = {}
    offsets: list[int] = []
    for topic in (EMAILS, LABELS):
        written = []
        told = messages.told[topic, number]
        for record in all_records(log, topic, number):
            if forwarded_by(record) is None:
                written.append(record)
            else:
                assert record.key is not None
                fate = messages.copies[number][record.key]
                copies[topic, record.offset] = fate._replace(target=offsets[fate.target])
        offsets = offsets or [record.offset for record in written]
        assert [record.key for record in written] == [key for key, _ in told], "the producer has failed"
        for record, (_, fate) in zip(written, told, strict=True):
            target = -1 if fate.target < 0 else offsets[fate.target]
            fates[topic, record.offset] = fate._replace(target=target)
    return fates | copies, copies


def _too_old(order: list[Place], copies: Fates, remembered: int) -> Fates:
    """The copies that came when the label of their e-mail was not remembered any more.

    How late a copy comes is not in the script: the partition from which it is forwarded may be far behind.
    """
    too_old: Fates = {}
    end = 0
    for place in order:
        if place[0] == EMAILS:
            end = place[1] + 1
        elif place in copies and copies[place].target < end - remembered:
            too_old[place] = ExpectedOutcome("label-too-old")
    return too_old


def _rebuilt(scene: ChaosWorkspace) -> list[State]:
    """By the worker's own replay of the whole journal, from no checkpoint at all."""
    settings = scene.settings(scene.folder / "elsewhere")
    with scene.place.open(settings.group) as log:
        worker = Worker(settings, log)
        worker.recover(rebuild=True)
        return [state(worker.processors[number].engine) for number in range(scene.place.partitions)]


def _order(log: Log, number: int, fates: Fates) -> list[Place]:
    """Every input record once, each topic in its order, none left out; the gaps of the log are none."""
    order = [place for place in journal_order(log, number) if place in fates]
    for topic in (EMAILS, LABELS):
        offsets = [offset for name, offset in order if name == topic]
        expected = sorted(offset for name, offset in fates if name == topic)
        assert offsets == expected, f"the journal has {topic} twice, not at all, or out of order"
    return order


def _reference(order: list[Place], fates: Fates) -> tuple[int, int]:
    """How many labels change something, and how many say nothing new, in the order of the journal."""
    labels: dict[int, str | None] = {}
    learned = repeated = 0
    for place in order:
        what, _, label, target, _ = fates[place]
        if what == "predict":
            assert target not in labels
            labels[target] = label
            learned += label is not None
        elif what in ("learn", "repeat"):
            assert target in labels, f"{place} was processed before its e-mail"
            learned += labels[target] != label
            repeated += labels[target] == label
            labels[target] = label
    return learned, repeated


def _check_predictions(log: Log, number: int, fates: Fates) -> int:
    """Exactly one for each e-mail that is one, none for anything else, in the order of the e-mails."""
    found = events(log, "predictions", number)
    expected = [(fate.id, place[1]) for place, fate in sorted(fates.items()) if fate.what == "predict"]
    assert [(event["id"], event["source"]["offset"]) for event in found] == expected
    assert len({name for name, _ in expected}) == len(expected)
    assert all(0.0 <= event["probabilities"]["spam"] <= 1.0 for event in found)
    return len(found)


def _check_dead_letters(log: Log, number: int, fates: Fates) -> Counter[str]:
    """Exactly one for each record that cannot be used, with the record in it."""
    alive = ("predict", "duplicate", "learn", "repeat", "unsure", "forward")
    expected = {place: fate.what for place, fate in fates.items() if fate.what not in alive}
    expected |= {place: fate.dead for place, fate in fates.items() if fate.dead is not None}
    found = events(log, "dead-letters", number)
    places = [(event["topic"], event["offset"]) for event in found]
    assert len(set(places)) == len(places), "some record has two dead letters"
    codes = dict(zip(places, (event["code"] for event in found), strict=True))
    wrong = {place: (codes.get(place), expected.get(place)) for place in {*codes, *expected}}
    wrong = {place: both for place, both in wrong.items() if both[0] != both[1]}
    assert not wrong, f"{len(wrong)} records ended otherwise than they must, such as {sorted(wrong.items())[:5]}"
    return Counter(expected.values())


def _check_requests(log: Log, number: int, fates: Fates) -> int:
    """Within the budget, each once, each for an e-mail that came without a label, and as the journal has it."""
    written = events(log, "label-requests", number)
    found = [event["source"]["offset"] for event in written if event["type"] == "label-request"]
    _check_outcomes(written)
    assert len(set(found)) == len(found)
    assert all(fates[EMAILS, offset].what == "predict" and fates[EMAILS, offset].label is None for offset in found)
    entries = events(log, JOURNAL, number)
    requests = [request for entry in entries for request in entry["requests"]]
    assert found == [offset for offset, *_ in requests]
    audited = {offset for offset, _, drawn, _ in requests if drawn is not None}
    strategies = {event["source"]["offset"]: event["strategy"] for event in written if "strategy" in event}
    assert {offset for offset, strategy in strategies.items() if strategy == "audit"} == audited
    return len(found)


def _check_outcomes(written: list[dict[str, Any]]) -> None:
    """A request ends once, and only after it was requested; after it ended without a label, one may come late."""
    state: dict[int, str] = {}
    for event in written:
        offset = event["source"]["offset"]
        what = event.get("outcome", "requested")
        before = state.get(offset)
        if what == "requested":
            assert before in (None, "corrected"), f"{offset} was requested after it was {before}"
        elif what in ("answered", "expired", "unsure", "refused"):
            assert before == "requested", f"{offset} was {what} after it was {before}"
        elif what == "late":
            assert before in ("expired", "unsure"), f"{offset} was late after it was {before}"
        if what != "corrected" and not event.get("open", False):
            state[offset] = what


def _check_counts(scalars: dict[str, Any], fates: Fates, learned: int, repeated: int) -> None:
    """What the engine says of itself."""
    counts: Counter[str] = Counter(scalars["counts"])
    expected = Counter(fate.what for fate in fates.values())
    assert scalars["model_version"] == learned == expected["learn"] + _own_labels(fates)
    assert counts["repeat"] == repeated == expected["repeat"]
    assert counts["duplicate"] == expected["duplicate"]
    assert counts["forward"] == expected["forward"]
    # Of the answers that nobody knows, those that close a question are an end of it.
    assert scalars["selector"]["counts"]["unsure"] <= counts["unsure"] == expected["unsure"]
    assert counts["predict"] == expected["predict"]
    assert sum(counts.values()) == len(fates)


def _own_labels(fates: Fates) -> int:
    return sum(fate.what == "predict" and fate.label is not None for fate in fates.values())
