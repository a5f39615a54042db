"""Wrong answers that are corrected: forgotten by learners whose evidence adds up, and in part by the mail filter.

`pytest -s tests/unit/active/test_corrected_labels.py` shows what is left of them in the mail filter.
"""

from __future__ import annotations

import os
import random
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes.engine import BatchResult, Engine
from stream_bayes.evaluation.corpora import open_corpus
from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.testing import answer, assert_close, events, targets
from tests.support.drifting_mails import drifting_mails
from tests.support.engines import KINDS, Kind, Stream, fold, predictions, run, settings_for
from tests.support.label_requests import open_request_offsets
from tests.support.learners import LEARNERS

ADDITIVE = [name for name, learner in LEARNERS.items() if learner.is_additive]
PLENTY = {
    "label_history": 10_000,
    "dedup_window": 10_000,
    "budget": 1000,
    "max_open_requests": 1000,
    "request_ttl": "9w",
}
WRONG = 0.05
LATER = 50
"""The share of labels that are wrong at first, and after how many mails they are corrected."""
CORPORA = os.environ.get("STREAM_BAYES_CORPORA", "")
LabelledMail = tuple[bytes, str]


def kind_of(name: str) -> Kind:
    """The learner as settings name it: JSON has no tuples."""
    kind, parameters = LEARNERS[name].description()
    plain = {
        key: value["tuple"] if isinstance(value, dict) and "tuple" in value else value
        for key, value in parameters.items()
    }
    return Kind(kind, plain, (), ())


def observed(name: str, count: int, seed: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Features as events have them, whose names are texts; and labels."""
    for x, y in events(LEARNERS[name], count, seed):
        yield {str(feature): value for feature, value in x.items()}, y


def taught(name: str, *, mistaken: bool) -> tuple[Engine, BatchResult]:
    """An engine after answers to its questions, every second of them at first a wrong one, or never."""
    stream = Stream()
    labels = targets(LEARNERS[name])
    for x, y in observed(name, 12, seed=1):
        stream.observe({"features": x}, y)
    unlabelled = list(observed(name, 20, seed=2))
    places = {stream.observe({"features": x}, None, f"asked {row}"): row for row, (x, _) in enumerate(unlabelled)}
    engine, _ = run(settings_for(kind_of(name), **PLENTY), stream, (5,))
    asked = [places[place] for place in open_request_offsets(engine)]
    begin = len(stream.records)
    assert len(asked) > 6
    for row in asked[::2] if mistaken else ():
        stream.answer(labels[labels.index(unlabelled[row][1]) - 1], f"asked {row}", labeller="ann")
    for row in asked:
        stream.answer(unlabelled[row][1], f"asked {row}", labeller="bob")
    for x, _ in observed(name, 5, seed=3):
        stream.observe({"features": x})
    return engine, fold(engine, stream.arrivals[begin:], (7,))


@pytest.mark.parametrize("name", ADDITIVE)
def test_a_corrected_answer_is_as_if_it_had_never_been_wrong(name: str) -> None:
    (corrected, said), (clean, expected) = (taught(name, mistaken=mistaken) for mistaken in (True, False))
    counts = corrected.selector.counts
    assert counts["corrected"] == (counts["answered"] + 1) // 2 > 3
    assert clean.selector.counts["corrected"] == 0
    assert (corrected.refused, clean.refused) == ({}, {})
    for one, other in zip(predictions(said), predictions(expected), strict=True):
        assert_close(one.probabilities or one.mean, other.probabilities or other.mean)
        assert_close(one.epistemic_variance, other.epistemic_variance)
    for x, _ in observed(name, 20, seed=4):
        assert_close(answer(corrected.model.learner, x), answer(clean.model.learner, x))


def mistakes(mails: Sequence[LabelledMail], wrong: float, *, corrected: bool) -> Stream:
    """Each mail, then its label, a part of them wrong; the right one comes later or never."""
    chance = random.Random(7)
    stream = Stream()
    late = dict[int, str]()
    for place, (raw, label) in enumerate(mails):
        stream.observe({"raw": b64encode(raw).decode()}, None, str(place))
        if (right := late.pop(place - LATER, None)) is not None:
            stream.answer(right, str(place - LATER))
        if chance.random() < wrong:
            stream.answer("ham" if label == "spam" else "spam", str(place))
            late |= {place: label} if corrected else {}
        else:
            stream.answer(label, str(place))
    return stream


def error(mails: Sequence[LabelledMail], stream: Stream) -> float:
    """(1-ROCA)% of what an engine predicts."""
    kind = KINDS["SpamFilter"]._replace(parameters={"buckets": 2**18})
    _, outcome = run(settings_for(kind, **{**PLENTY, "budget": 0}), stream, (1000,))
    tables = [one.probabilities or {} for one in predictions(outcome)]
    odds = [np.log(max(table["spam"], 1e-300)) - np.log(max(table["ham"], 1e-300)) for table in tables]
    return one_minus_roca_percent(np.array([label == "spam" for _, label in mails]), np.array(odds))


def measured(name: str, mails: Sequence[LabelledMail]) -> tuple[float, float, float]:
    """The errors without wrong labels, with corrected ones, and with those that stay; printed."""
    variants = ((0.0, False), (WRONG, True), (WRONG, False))
    clean, corrected, wrong = (error(mails, mistakes(mails, part, corrected=late)) for part, late in variants)
    print(f"{name}, {len(mails)} mails, (1-ROCA)%: {clean:.3f} with right labels; {WRONG:.0%} wrong: ", end="")
    print(f"{corrected:.3f} if corrected {LATER} mails later, {wrong:.3f} if never")
    return clean, corrected, wrong


def generated(seed: int) -> list[LabelledMail]:
    return [(mail.raw, mail.kind.label) for mail in drifting_mails(seed, 1500)]


@pytest.mark.long
def test_a_corrected_mail_filter_is_between_the_clean_and_the_wrong_one() -> None:
    found = np.array([measured(f"generated {seed}", generated(seed)) for seed in (1, 2, 3)])
    clean, corrected, wrong = found.mean(axis=0)
    assert clean < corrected < wrong < 1.0


@pytest.mark.long
@pytest.mark.skipif(not CORPORA, reason="no real mail: name a folder of corpora in STREAM_BAYES_CORPORA")
def test_a_corrected_mail_filter_is_between_the_clean_and_the_wrong_one_on_real_mail() -> None:
    path = Path(CORPORA) / "spamassassin.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    mails = [(mail.raw, mail.label) for mail in open_corpus(path) if mail.label is not None]
    clean, corrected, wrong = measured(path.name, mails)
    assert clean < corrected < wrong < 1.0
