"""Naive Bayes against river on the same synthetic mail: predict each message, then learn it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from river import feature_extraction
from river import naive_bayes as river_naive_bayes

from benchmarks.measure import Mail, seconds, seconds_each, synthetic_mail, whole_vocabulary
from stream_bayes import BernoulliNB, MultinomialNB

VOCABULARY = 30_000
MESSAGES = 2_000
BATCH = 500
REPEATS = 3
# A pass in batches takes milliseconds, so more of them fit between the disturbances of a shared machine.
BATCH_REPEATS = 20
# Vocabularies, and how many messages river is given at each.
GROWTH = {10_000: 40, 30_000: 20, 100_000: 8, 300_000: 4}


class Case(NamedTuple):
    """A learner, its peer in river, how many messages the peer is given, and the ratios to reach."""

    ours: Callable[[], Any]
    peer: Callable[[], Any]
    peer_messages: int
    batch_target: int
    dict_target: int


CASES = {
    "BernoulliNB": Case(BernoulliNB, river_naive_bayes.BernoulliNB, 60, 200, 50),
    "MultinomialNB": Case(MultinomialNB, river_naive_bayes.MultinomialNB, 400, 100, 10),
}


def run(console: Console) -> None:
    """Print the table of ratios, and how the time depends on the vocabulary."""
    table = Table(title=f"predict + learn, microseconds a message of 300 words, vocabulary {VOCABULARY:,}")
    for column in ("learner", "way", "ours", "river", "times faster", "target"):
        table.add_column(column, justify="left" if column in ("learner", "way") else "right")
    mail = synthetic_mail(MESSAGES, VOCABULARY)
    known = whole_vocabulary(VOCABULARY)
    for name, case in CASES.items():
        for way, ours, theirs, target in measured(case, known, mail):
            table.add_row(name, way, f"{ours:.1f}", f"{theirs:,.0f}", f"{theirs / ours:,.1f}", target)
    console.print(table)
    growth(console)


def measured(case: Case, known: Mail, mail: Mail) -> list[tuple[str, float, float, str]]:
    """Rows of the table: the way, our time, river's time, the ratio to reach."""
    text = one_by_one(river_taught(case, known), lambda place: mail.texts[place], mail, case.peer_messages)
    bare = case.peer()
    for x, y in zip(known.counts, known.labels, strict=True):
        bare.learn_one(x, y)
    counts = one_by_one(bare, lambda place: counted(mail.texts[place]), mail, case.peer_messages)
    single = one_by_one(taught(case, known), lambda place: counted(mail.texts[place]), mail, MESSAGES)
    given = in_batches(case, known, mail, building=False)
    built = in_batches(case, known, mail, building=True)
    return [
        ("test_then_train, batches given", given, text, str(case.batch_target)),
        ("test_then_train, batches built from dicts", built, counts, ""),
        ("predict_proba_one + learn_one on dicts", single, text, str(case.dict_target)),
        ("the same, river given the dicts too", single, counts, ""),
    ]


def counted(text: str) -> dict[str, int]:
    return dict(Counter(text.split()))


def taught(case: Case, known: Mail) -> Any:
    model = case.ours()
    model.test_then_train(known.counts, known.labels)
    return model


def river_taught(case: Case, known: Mail) -> Any:
    model: Any = feature_extraction.BagOfWords() | case.peer()
    for text, label in zip(known.texts, known.labels, strict=True):
        model.learn_one(text, label)
    return model


def one_by_one(model: Any, make: Callable[[int], Any], mail: Mail, count: int) -> float:
    """Microseconds a message, single calls; the shortest of several runs."""

    def predict_and_learn(x: Any, place: int) -> None:
        model.predict_proba_one(x)
        model.learn_one(x, mail.labels[place])

    return min(seconds_each(make, predict_and_learn, count) for _ in range(REPEATS)) / count * 1e6


def in_batches(case: Case, known: Mail, mail: Mail, *, building: bool) -> float:
    """Microseconds a message in batches, with or without the building of them."""
    return seconds(one_pass(case, known, mail, building=building), BATCH_REPEATS) / len(mail.labels) * 1e6


def one_pass(case: Case, known: Mail, mail: Mail, *, building: bool) -> Callable[[], None]:
    """All messages in batches, for a learner that knows the vocabulary."""
    model = taught(case, known)
    parts = [slice(begin, begin + BATCH) for begin in range(0, len(mail.labels), BATCH)]
    batches = [mail.counts[part] if building else model.batch(mail.counts[part]) for part in parts]

    def fold() -> None:
        for batch, part in zip(batches, parts, strict=True):
            model.test_then_train(batch, mail.labels[part])

    return fold


def growth(console: Console) -> None:
    """The same messages, to models that know more and more other words."""
    table = Table(title="BernoulliNB with absent words: the same messages, larger and larger vocabularies")
    for column in ("vocabulary", "test_then_train, us", "against 10,000", "river, us", "against 10,000"):
        table.add_column(column, justify="right")
    mail = synthetic_mail(MESSAGES, 10_000)
    case = CASES["BernoulliNB"]
    known = {vocabulary: whole_vocabulary(vocabulary) for vocabulary in GROWTH}
    passes = {vocabulary: one_pass(case, known[vocabulary], mail, building=False) for vocabulary in GROWTH}
    # In turns, so that a disturbance of the machine hits all sizes alike.
    turns = [{vocabulary: seconds(fold) for vocabulary, fold in passes.items()} for _ in range(BATCH_REPEATS)]
    first: tuple[float, float] | None = None
    for vocabulary, count in GROWTH.items():
        ours = min(turn[vocabulary] for turn in turns) / MESSAGES * 1e6
        theirs = one_by_one(river_taught(case, known[vocabulary]), lambda place: mail.texts[place], mail, count)
        first = first or (ours, theirs)
        growths = f"{ours / first[0]:.2f}", f"{theirs / first[1]:.1f}"
        table.add_row(f"{vocabulary:,}", f"{ours:.1f}", growths[0], f"{theirs:,.0f}", growths[1])
    console.print(table)
