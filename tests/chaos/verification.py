"""What must be true after a chaos run, found out from the log and not from what the engine says of itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from stream_bayes.log.base import Log
from stream_bayes.worker import Worker
from tests.chaos.copies import copy_of
from tests.chaos.messages import EMAILS, LABELS, Fate, Message
from tests.chaos.scene import BUDGET, Scene
from tests.workers import (
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

Fates = dict[Place, Fate]
_Messages = dict[tuple[str, int], list[tuple[bytes | None, Fate]]]
_SUMMED = "predictions", "learned", "commits"


class Verified(NamedTuple):
    """Figures of a run in which everything was as it must be."""

    predictions: int
    learned: int
    """Labels that changed what was known."""
    requests: int
    dead: Counter[str]
    commits: int


def verify(scene: Scene) -> Verified:
    """Check everything; an AssertionError says what is not as it must be."""
    told = _messages(scene.script_of())
    found = []
    rebuilt = _rebuilt(scene)
    with scene.place.open() as log:
        for number in range(scene.place.partitions):
            part = copy_of(log, number) if scene.place.lead else log
            found.append(_verify(scene, part, number, told, rebuilt[number]))
    requests = sum(one.requests for one in found)
    assert requests <= BUDGET
    dead = sum((one.dead for one in found), Counter[str]())
    predictions, learned, commits = (sum(getattr(one, name) for one in found) for name in _SUMMED)
    return Verified(predictions, learned, requests, dead, commits)


def _verify(scene: Scene, log: Log, number: int, told: _Messages, rebuilt: State) -> Verified:
    """One partition."""
    fates = _fates(log, number, told)
    order = _order(log, number, fates)
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
    return Verified(predictions, learned, requests, dead, len(journal))


def _messages(script: Iterable[Message]) -> _Messages:
    """Those of each topic and partition."""
    told: _Messages = defaultdict(list)
    for message in script:
        told[message.topic, message.partition].append((message.key, message.fate))
    return told


def _fates(log: Log, number: int, told: _Messages) -> Fates:
    """What must become of each record, by its place: the log has all messages, in order."""
    fates: Fates = {}
    offsets: list[int] = []
    for topic in (EMAILS, LABELS):
        records = [(record.offset, record.key) for record in all_records(log, topic, number)]
        offsets = offsets or [offset for offset, _ in records]
        assert [key for _, key in records] == [key for key, _ in told[topic, number]], "the producer has failed"
        for (offset, _), (_, fate) in zip(records, told[topic, number], strict=True):
            target = -1 if fate.target < 0 else offsets[fate.target]
            fates[topic, offset] = fate._replace(target=target)
    return fates


def _rebuilt(scene: Scene) -> list[State]:
    """By the worker's own replay of the whole journal, from no checkpoint at all."""
    settings = scene.settings(scene.folder / "elsewhere")
    with scene.place.open(settings.group) as log:
        worker = Worker(settings, log)
        worker.recover(rebuild=True)
        return [state(worker.shards[number].engine) for number in range(scene.place.partitions)]


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
    alive = ("predict", "duplicate", "learn", "repeat", "unsure")
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
    assert found == [offset for entry in entries for offset in entry["asked"]]
    audited = {offset for entry in entries for offset, _ in entry.get("audited", ())}
    strategies = {event["source"]["offset"]: event["strategy"] for event in written if "strategy" in event}
    assert {offset for offset, strategy in strategies.items() if strategy == "audit"} == audited
    return len(found)


def _check_outcomes(written: list[dict[str, Any]]) -> None:
    """A question ends once, and only after it was asked; after it ended without a label, one may come late."""
    state: dict[int, str] = {}
    for event in written:
        offset, what = event["source"]["offset"], event.get("outcome", "asked")
        before = state.get(offset)
        if what == "asked":
            assert before in (None, "corrected"), f"{offset} was asked about after it was {before}"
        elif what in ("answered", "expired", "unsure", "refused"):
            assert before == "asked", f"{offset} was {what} after it was {before}"
        elif what == "late":
            assert before in ("expired", "unsure"), f"{offset} was late after it was {before}"
        if what != "corrected" and not event.get("open", False):
            state[offset] = what


def _check_counts(scalars: dict[str, Any], fates: Fates, learned: int, repeated: int) -> None:
    """What the engine says of itself."""
    counts, expected = scalars["counts"], Counter(fate.what for fate in fates.values())
    assert scalars["model_version"] == learned == expected["learn"] + _own_labels(fates)
    assert counts["repeat"] == repeated == expected["repeat"]
    assert counts["duplicate"] == expected["duplicate"]
    # Of the answers that nobody knows, those that close a question are an end of it.
    assert scalars["selector"]["counts"]["unsure"] <= counts["unsure"] == expected["unsure"]
    assert counts["predict"] == expected["predict"]
    assert sum(counts.values()) == len(fates)


def _own_labels(fates: Fates) -> int:
    return sum(fate.what == "predict" and fate.label is not None for fate in fates.values())
