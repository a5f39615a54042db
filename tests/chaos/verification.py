"""What must be true after a chaos run, found out from the log and not from what the engine says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from stream_bayes.log.base import Log
from stream_bayes.log.sqlite import SqliteLog
from stream_bayes.worker import Worker
from tests.chaos.messages import EMAILS, LABELS, Fate, Message
from tests.chaos.scene import BUDGET, Scene
from tests.workers import (
    INPUTS,
    JOURNAL,
    Place,
    State,
    assert_same,
    events,
    journal_order,
    one_pass,
    saved_state,
    state,
)

Fates = dict[Place, Fate]


class Verified(NamedTuple):
    """Figures of a run in which everything was as it must be."""

    predictions: int
    learned: int
    """Labels that changed what was known."""
    requests: int
    dead: Counter[str]
    commits: int


def fates_of(messages: Iterable[Message]) -> Fates:
    """What must become of each record, by its place."""
    ends = Counter[str]()
    fates = {}
    for message in messages:
        fates[message.topic, ends[message.topic]] = message.fate
        ends[message.topic] += 1
    return fates


def verify(scene: Scene, fates: Fates) -> Verified:
    """Check everything; an AssertionError says what is not as it must be."""
    with SqliteLog(scene.log) as log:
        order = journal_order(log)
        _check_order(order, fates)
        learned, repeated = _reference(order, fates)
        predictions = _check_predictions(log, fates)
        dead = _check_dead_letters(log, fates)
        requests = _check_requests(log, fates)
        number, saved = saved_state(scene.settings())
        commits = sum(log.ends(JOURNAL).values())
        assert number == commits, f"the last checkpoint is of {number}, the journal ends at {commits}"
        assert_same(saved, one_pass(scene.settings(), log))
    assert_same(saved, _rebuilt(scene))
    _check_counts(saved.scalars, fates, learned, repeated)
    return Verified(predictions, learned, requests, dead, commits)


def _rebuilt(scene: Scene) -> State:
    """By the worker's own replay of the whole journal, from no checkpoint at all."""
    settings = scene.settings(scene.folder / "elsewhere")
    with SqliteLog(scene.log, settings.group, INPUTS) as log:
        worker = Worker(settings, log)
        worker.recover(rebuild=True)
    return state(worker.shards[0].engine)


def _check_order(order: list[Place], fates: Fates) -> None:
    """Every input record once, each topic in its order, none left out."""
    assert len(order) == len(fates), f"the journal has {len(order)} records, {len(fates)} were written"
    for topic in (EMAILS, LABELS):
        offsets = [offset for name, offset in order if name == topic]
        assert offsets == list(range(len(offsets))), f"the journal has {topic} twice, not at all, or out of order"


def _reference(order: list[Place], fates: Fates) -> tuple[int, int]:
    """How many labels change something, and how many say nothing new, in the order of the journal."""
    labels: dict[int, str | None] = {}
    learned = repeated = 0
    for place in order:
        what, _, label, target = fates[place]
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


def _check_predictions(log: Log, fates: Fates) -> int:
    """Exactly one for each e-mail that is one, none for anything else, in the order of the e-mails."""
    found = events(log, "predictions")
    expected = [(fate.id, place[1]) for place, fate in sorted(fates.items()) if fate.what == "predict"]
    assert [(event["id"], event["source"]["offset"]) for event in found] == expected
    assert len({name for name, _ in expected}) == len(expected)
    assert all(0.0 <= event["probabilities"]["spam"] <= 1.0 for event in found)
    return len(found)


def _check_dead_letters(log: Log, fates: Fates) -> Counter[str]:
    """Exactly one for each record that cannot be used, with the record in it."""
    alive = ("predict", "duplicate", "learn", "repeat", "unsure")
    expected = {place: fate.what for place, fate in fates.items() if fate.what not in alive}
    found = events(log, "dead-letters")
    places = [(event["topic"], event["offset"]) for event in found]
    assert len(set(places)) == len(places), "some record has two dead letters"
    codes = dict(zip(places, (event["code"] for event in found), strict=True))
    wrong = {place: (codes.get(place), expected.get(place)) for place in {*codes, *expected}}
    wrong = {place: both for place, both in wrong.items() if both[0] != both[1]}
    assert not wrong, f"{len(wrong)} records ended otherwise than they must, such as {sorted(wrong.items())[:5]}"
    return Counter(expected.values())


def _check_requests(log: Log, fates: Fates) -> int:
    """Within the budget, each once, each for an e-mail that came without a label, and as the journal has it."""
    written = events(log, "label-requests")
    found = [event["source"]["offset"] for event in written if event["type"] == "label-request"]
    _check_outcomes(written)
    assert len(found) <= BUDGET
    assert len(set(found)) == len(found)
    assert all(fates[EMAILS, offset].what == "predict" and fates[EMAILS, offset].label is None for offset in found)
    entries = events(log, JOURNAL)
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
