"""Naive Bayes against river on the same synthetic mail: predict each message, then learn it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from river import feature_extraction
from river import naive_bayes as river_naive_bayes

from benchmarks.measure import Mail, seconds, synthetic_mail, whole_vocabulary
from stream_bayes import BernoulliNB, MultinomialNB

VOCABULARY = 30_000
MESSAGES = 2_000
BATCH = 500
REPEATS = 3
TARGETS = {"BernoulliNB": (200, 50), "MultinomialNB": (100, 10)}


def run(console: Console) -> None:
    """Print the table of ratios, and how the time depends on the vocabulary."""
    table = Table(title=f"predict + learn, microseconds a message of 300 words, vocabulary {VOCABULARY:,}")
    for column in ("learner", "way", "ours", "river", "times faster", "target"):
        table.add_column(column, justify="left" if column in ("learner", "way") else "right")
    mail, known = synthetic_mail(MESSAGES, VOCABULARY), whole_vocabulary(VOCABULARY)
    for kind, peer, peer_messages in (
        (BernoulliNB, river_naive_bayes.BernoulliNB, 60),
        (MultinomialNB, river_naive_bayes.MultinomialNB, 400),
    ):
        river_text = river_time(feature_extraction.BagOfWords() | peer(), known.texts, mail.texts, mail, peer_messages)
        river_dict = river_time(peer(), known.counts, mail.counts, mail, peer_messages)
        batch_target, dict_target = TARGETS[kind.__name__]
        single = single_time(kind, known, mail)
        rows = (
            ("test_then_train, batches given", batch_time(kind, known, mail, building=False), river_text, batch_target),
            (
                "test_then_train, batches built from dicts",
                batch_time(kind, known, mail, building=True),
                river_dict,
                None,
            ),
            ("predict_proba_one + learn_one on dicts", single, river_text, dict_target),
            ("the same, river given the dicts too", single, river_dict, None),
        )
        for way, ours, theirs, target in rows:
            shown = f"{target}" if target else ""
            table.add_row(kind.__name__, way, f"{ours:.1f}", f"{theirs:,.0f}", f"{theirs / ours:,.0f}", shown)
    console.print(table)
    growth(console)


def river_time(model: Any, known: list[Any], events: list[Any], mail: Mail, count: int) -> float:
    for x, y in zip(known, whole_vocabulary(VOCABULARY).labels, strict=True):
        model.learn_one(x, y)

    def loop() -> None:
        for x, y in zip(events[:count], mail.labels, strict=False):
            model.predict_proba_one(x)
            model.learn_one(x, y)

    return seconds(loop, REPEATS) / count * 1e6


def taught(kind: Any, known: Mail) -> Any:
    model = kind()
    model.test_then_train(known.counts, known.labels)
    return model


def batch_time(kind: Any, known: Mail, mail: Mail, *, building: bool) -> float:
    model = taught(kind, known)
    parts = [slice(begin, begin + BATCH) for begin in range(0, len(mail.labels), BATCH)]
    batches = [mail.counts[part] if building else model.batch(mail.counts[part]) for part in parts]

    def fold() -> None:
        for batch, part in zip(batches, parts, strict=True):
            model.test_then_train(batch, mail.labels[part])

    return seconds(fold, REPEATS) / len(mail.labels) * 1e6


def single_time(kind: Any, known: Mail, mail: Mail) -> float:
    model = taught(kind, known)

    def loop() -> None:
        for x, y in zip(mail.counts, mail.labels, strict=True):
            model.predict_proba_one(x)
            model.learn_one(x, y)

    return seconds(loop, REPEATS) / len(mail.labels) * 1e6


def growth(console: Console) -> None:
    """The same messages, to models that know more and more other words."""
    table = Table(title="BernoulliNB with absent words: the same messages, larger and larger vocabularies")
    for column in (
        "vocabulary",
        "test_then_train, us a message",
        "against 10,000",
        "river, us a message",
        "against 10,000",
    ):
        table.add_column(column, justify="right")
    mail = synthetic_mail(MESSAGES, 10_000)
    first: tuple[float, float] | None = None
    for vocabulary, count in ((10_000, 40), (30_000, 20), (100_000, 8), (300_000, 4)):
        known = whole_vocabulary(vocabulary)
        ours = batch_time(BernoulliNB, known, mail, building=False)
        river: Any = feature_extraction.BagOfWords() | river_naive_bayes.BernoulliNB()
        for text, label in zip(known.texts, known.labels, strict=True):
            river.learn_one(text, label)

        def loop(river: Any = river, count: int = count) -> None:
            for x, y in zip(mail.texts[:count], mail.labels, strict=False):
                river.predict_proba_one(x)
                river.learn_one(x, y)

        theirs = seconds(loop) / count * 1e6
        first = first or (ours, theirs)
        table.add_row(
            f"{vocabulary:,}", f"{ours:.1f}", f"{ours / first[0]:.2f}", f"{theirs:,.0f}", f"{theirs / first[1]:.1f}"
        )
    console.print(table)
