"""Logistic regression on hashed words, from texts: predict each, then learn it, against river and Vowpal Wabbit."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import vowpalwabbit
from rich.console import Console
from rich.table import Table
from river import feature_extraction, linear_model

from benchmarks.measure import Mail, synthetic_mail
from stream_bayes.features.hashing import hash_words
from stream_bayes.learners.gradient import LogisticRegression

VOCABULARY = 30_000
MESSAGES = 4_000
RIVER_MESSAGES = 400
BATCH = 500
BUCKETS = 2**20
REPEATS = 7
# Chosen among several on this very stream, since three hundred features an event are pulled at once; the peers run at
# their defaults. So the table of what was learned shows that speed does not cost accuracy. It is no ranking.
RATE = 0.03
VW = "--loss_function logistic -b 20 --quiet"
# The file repeats the messages, so that the start of the program does not count.
COPIES = 5


class Times(NamedTuple):
    """Microseconds a message."""

    cpu: float
    """Of all threads, in and out of the kernel."""
    wall: float


class Peer(NamedTuple):
    """One way to do it: a pass, over how many messages, and how many times faster ours is to be."""

    run: Callable[[], object]
    messages: int
    target: float | None


def run(console: Console) -> None:
    """Print times and ratios, then what each has learned from the same stream."""
    mail = synthetic_mail(MESSAGES, VOCABULARY)
    lines = [f"{1 if label == 'spam' else -1} | {text}" for text, label in zip(mail.texts, mail.labels, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mail.vw"
        path.write_text("\n".join(lines * COPIES) + "\n")
        peers = peers_of(mail, lines, path)
        # In turns, so that a disturbance of the machine hits all of them alike.
        turns = [{name: timed(peer) for name, peer in peers.items()} for _ in range(REPEATS)]
    best = {name: Times(*(min(turn[name][part] for turn in turns) for part in (0, 1))) for name in peers}
    console.print(time_table(peers, best))
    console.print(learned(mail, lines))


def peers_of(mail: Mail, lines: list[str], path: Path) -> dict[str, Peer]:
    """All ways, ours first; every model but that of the file is there before and goes on with each pass."""
    ours = our_model()
    learner = vowpalwabbit.Workspace(VW)
    predictor = vowpalwabbit.Workspace(VW)
    bags, weighted = (river_model(kind()) for kind in (feature_extraction.BagOfWords, feature_extraction.TFIDF))
    return {
        "hash_words + test_then_train": Peer(lambda: list(our_odds(ours, mail)), MESSAGES, None),
        "river, BagOfWords": Peer(lambda: list(river_odds(bags, mail)), RIVER_MESSAGES, 30.0),
        "river, TFIDF": Peer(lambda: list(river_odds(weighted, mail)), RIVER_MESSAGES, 30.0),
        "Vowpal Wabbit, Python, predict + learn": Peer(lambda: vw_predict_and_learn(predictor, lines), MESSAGES, 2.0),
        "Vowpal Wabbit, Python, learn alone": Peer(lambda: vw_learn(learner, lines), MESSAGES, 2.0),
        "Vowpal Wabbit, from a file": Peer(lambda: vw_file(path), COPIES * MESSAGES, 1.0),
    }


def timed(peer: Peer) -> Times:
    """One pass."""
    before = time.process_time()
    begin = time.perf_counter()
    peer.run()
    wall = time.perf_counter() - begin
    cpu = time.process_time() - before
    return Times(cpu / peer.messages * 1e6, wall / peer.messages * 1e6)


def our_model() -> LogisticRegression:
    return LogisticRegression(rate=RATE, buckets=BUCKETS, classes=("ham", "spam"))


def our_odds(model: LogisticRegression, mail: Mail) -> Iterator[float]:
    """The log-odds of spam, each before its message was learned."""
    for begin in range(0, MESSAGES, BATCH):
        part = slice(begin, begin + BATCH)
        predictions = model.test_then_train(hash_words(mail.texts[part], BUCKETS), mail.labels[part])
        yield from np.where(predictions.probabilities[:, 1] > 0.5, predictions.log_odds, -predictions.log_odds).tolist()


def river_model(transformer: Any) -> Any:
    return transformer | linear_model.LogisticRegression()


def river_odds(model: Any, mail: Mail) -> Iterator[float]:
    """The log-odds of spam from river, for the first messages."""
    for text, label in zip(mail.texts[:RIVER_MESSAGES], mail.labels[:RIVER_MESSAGES], strict=True):
        share = min(max(model.predict_proba_one(text)[True], 1e-15), 1.0 - 1e-15)
        model.learn_one(text, label == "spam")
        yield math.log(share / (1.0 - share))


def vw_predict_and_learn(model: Any, lines: list[str]) -> None:
    for line in lines:
        model.predict(line)
        model.learn(line)


def vw_learn(model: Any, lines: list[str]) -> None:
    for line in lines:
        model.learn(line)


def vw_file(path: Path) -> None:
    vowpalwabbit.Workspace(f"{VW} -d {path}").finish()


def vw_odds(lines: list[str]) -> Iterator[float]:
    """The log-odds of spam from Vowpal Wabbit, each before its message was learned."""
    model = vowpalwabbit.Workspace(VW)
    for line in lines:
        example = model.example(line)
        model.learn(example)
        yield example.get_simplelabel_prediction()
        model.finish_example(example)
    model.finish()


def time_table(peers: dict[str, Peer], best: dict[str, Times]) -> Table:
    title = f"LogisticRegression from text: predict + learn, microseconds a message of 300 words, {BUCKETS:,} buckets"
    table = Table(title=title)
    for column in ("way", "CPU", "wall", "ours faster, CPU", "ours faster, wall", "target"):
        table.add_column(column, justify="left" if column == "way" else "right")
    ours = next(iter(best.values()))
    for name, (cpu, wall) in best.items():
        target = peers[name].target
        ratios = (f"{cpu / ours.cpu:,.1f}", f"{wall / ours.wall:,.1f}", f"{target:g}") if target else ("", "", "")
        table.add_row(name, f"{cpu:,.1f}", f"{wall:,.1f}", *ratios)
    return table


def learned(mail: Mail, lines: list[str]) -> Table:
    """Log loss and accuracy of the predictions made on the way: speed is not bought with learning."""
    table = Table(title=f"what was learned on the way, {RIVER_MESSAGES:,} messages and {MESSAGES:,}")
    for column in ("way", "log loss", "accuracy", "log loss, all", "accuracy, all"):
        table.add_column(column, justify="left" if column == "way" else "right")
    ways = {
        f"ours, rate {RATE:g}": our_odds(our_model(), mail),
        "river, BagOfWords": river_odds(river_model(feature_extraction.BagOfWords()), mail),
        "river, TFIDF": river_odds(river_model(feature_extraction.TFIDF()), mail),
        "Vowpal Wabbit": vw_odds(lines),
    }
    signs = np.where(np.array(mail.labels) == "spam", 1.0, -1.0)
    for name, odds in ways.items():
        margins = np.array(list(odds))
        margins *= signs[: len(margins)]
        cells = [
            figures(margins[:count]) if count <= len(margins) else ("", "") for count in (RIVER_MESSAGES, MESSAGES)
        ]
        table.add_row(name, *cells[0], *cells[1])
    return table


def figures(margins: Any) -> tuple[str, str]:
    """Log loss and accuracy of log-odds in favour of the label that came."""
    return f"{np.logaddexp(0.0, -margins).mean():.3f}", f"{(margins > 0.0).mean():.3f}"
