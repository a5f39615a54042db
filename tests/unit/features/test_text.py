"""Words of texts: found as Python would find them, in the buckets of features of the same name, whatever the text."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_bayes import Batch, BernoulliNB, Beta, Gamma, GaussianNB, MultinomialNB, NormalInverseGamma, PoissonNB
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.features.hashing import hash_words
from stream_bayes.kernels.common.words import CHUNK, FIRST_SLOTS
from stream_bayes.learners.gradient import LogisticRegression, PoissonRegression, SoftmaxRegression
from stream_bayes.testing import assert_close, frozen

BUCKETS = 2**16
GOLDEN = 0x9E3779B97F4A7C15
MAILS = ["Buy cheap PILLS, cheap!", "Lunch at noon?", "", "Größe 42 — cheap", "noon: lunch at 12"]
LABELS = [True, False, False, True, False]
LEARNERS: list[Any] = [
    BernoulliNB(prior=Beta(0.3, 2.5), classes=(False, True), buckets=BUCKETS),
    MultinomialNB(prior_count=0.3, classes=(False, True), buckets=BUCKETS),
    PoissonNB(prior=Gamma(0.4, 2.0), classes=(False, True), buckets=BUCKETS),
    GaussianNB(prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0), classes=(False, True), buckets=BUCKETS),
    LogisticRegression(rate=0.3, l1=0.01, buckets=BUCKETS),
    SoftmaxRegression(step="inverse-root", rate=0.3, classes=(False, True), buckets=BUCKETS),
]


def words_of(text: str) -> list[str]:
    """What the docstring promises, in plain Python."""
    spaced = "".join(character.lower()[0] if character.isalnum() else " " for character in text)
    return spaced.split(" ")


def counts_of(text: str) -> dict[str, int]:
    return dict(Counter(word for word in words_of(text) if word))


def rows_of(batch: Batch) -> list[dict[int, float]]:
    ends = zip(batch.row_starts[:-1].tolist(), batch.row_starts[1:].tolist(), strict=True)
    parts = [slice(begin, end) for begin, end in ends]
    rows = [dict(zip(batch.columns[part].tolist(), batch.values[part].tolist(), strict=True)) for part in parts]
    assert [len(row) for row in rows] == np.diff(batch.row_starts).tolist(), "a bucket stands twice in one row"
    return rows


def bucket_of(word: str, buckets: int) -> int:
    """The hash in plain Python: blocks of eight bytes, each mixed in by a multiplication modulo 2**64."""
    state = 0
    content = word.encode()
    for begin in range(0, len(content), 8):
        block = int.from_bytes(content[begin : begin + 8], "little")
        product = (block ^ state) * GOLDEN % 2**64
        state = product ^ product >> 32
    return state * GOLDEN % 2**64 // (2**64 // buckets)


def expected(texts: list[str], buckets: int) -> list[dict[int, float]]:
    rows = []
    for text in texts:
        row: Counter[int] = Counter()
        for name, count in counts_of(text).items():
            row[bucket_of(name, buckets)] += count
        rows.append({bucket: float(count) for bucket, count in row.items()})
    return rows


def test_by_hand() -> None:
    (row,) = rows_of(hash_words(["Free money! FREE-money, 2free"], buckets=2**20))
    buckets = [bucket_of(word, 2**20) for word in ("free", "money", "2free")]
    assert row == dict(zip(buckets, (2.0, 2.0, 1.0), strict=True))
    assert hash_words(["free"], 2**20).columns.tolist() == buckets[:1]


def test_buckets_are_filled_evenly() -> None:
    """Words that differ in little: in 2**20 buckets 30,000 collide 429 times on average, each 64th has its share."""
    for words in ([f"word{number}" for number in range(30_000)], [f"{number}{'x' * 20}" for number in range(30_000)]):
        columns = hash_words([" ".join(words)], 2**20).columns
        assert 300 < len(words) - len(columns) < 560
        counts = np.bincount(columns // 2**14, minlength=64)
        assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 120.0  # chi-squared, 63 degrees of freedom


characters = st.one_of(
    st.sampled_from("abYZ09 \0\n_-@[`{/:\x7f\x10\x19ÄößÉİΣςK—’\u00a0\ud800\udfff漢字😀𝔸Ⅳ²ǅ\u023a"), st.characters()
)


@pytest.mark.slow
@settings(max_examples=300)
@given(texts=st.lists(st.text(characters, max_size=70), max_size=4), buckets=st.sampled_from([2, 64, 2**20]))
@example(texts=[], buckets=4)
@example(texts=["", "", "a", ""], buckets=4)
@example(texts=["\u023a" * 40, "x" * 7, "x" * 8, "x" * 9, "x" * 16, "x" * 17], buckets=64)
@example(texts=["end", "less words do not run into the next tex", "t"], buckets=64)
def test_any_text_as_python_splits_it(texts: list[str], buckets: int) -> None:
    assert rows_of(hash_words(texts, buckets)) == expected(texts, buckets)


def test_long_texts() -> None:
    """Words across the runs that are looked at together, words longer than a run, more words than the first table."""
    run = 8 * CHUNK
    generator = np.random.default_rng(0)
    many = " ".join(f"w{number}" for number in generator.integers(0, 5 * FIRST_SLOTS, 4 * FIRST_SLOTS))
    texts = ["a" * (run - 1) + " b", "a" * run, "a" * run + " b", "a" * (run + 1), "é" * run, " " * run + "a", many]
    texts += [" " * (run - shift) + "word" for shift in range(6)] + ["a " * run]
    assert rows_of(hash_words(texts, 2**20)) == expected(texts, 2**20)


def test_every_character_alone() -> None:
    """Each of Unicode's code points is in a word, in its lower case, if and only if it is a letter or a digit."""
    texts = ["".join(f"{chr(code)} " for code in range(begin, begin + 4096)) for begin in range(0, 0x110000, 4096)]
    batch = hash_words(texts, 2**20)
    assert batch.values.sum() == sum(chr(code).isalnum() for code in range(0x110000))
    assert rows_of(hash_words(texts[:16], 2**20)) == expected(texts[:16], 2**20)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_in_front_of_every_hashed_learner(learner: Any) -> None:
    """Where no two words share a bucket, a stream of texts makes the model that dicts of their words would make."""
    assert len(np.unique(hash_words([" ".join(MAILS)], BUCKETS).columns)) == len(counts_of(" ".join(MAILS)))
    texts = learner.clone()
    dicts = learner.clone({"buckets": None})
    predictions = texts.test_then_train(hash_words(MAILS, BUCKETS), LABELS)
    told = dicts.test_then_train([counts_of(text) for text in MAILS], LABELS)
    later = ["cheap lunch at 42", "PILLS", "new words"]
    others = texts.predictive_many
    for row in range(len(MAILS)):
        assert_close(predictions.probabilities_of(row), told.probabilities_of(row))
    for row, text in enumerate(later):
        assert_close(others(hash_words(later, BUCKETS)).probabilities_of(row), dicts.predict_proba_one(counts_of(text)))


def test_in_front_of_a_regressor() -> None:
    model = PoissonRegression(rate=0.2, buckets=BUCKETS)
    for _ in range(100):
        model.test_then_train(hash_words(MAILS, BUCKETS), [7, 1, 2, 5, 1])
    assert model.predictive_many(hash_words(MAILS, BUCKETS)).mean.round().tolist() == [7, 1, 2, 5, 1]


def test_batches_of_texts_are_single_texts() -> None:
    whole = LogisticRegression(l2=0.1, buckets=BUCKETS)
    single = LogisticRegression(l2=0.1, buckets=BUCKETS)
    whole.test_then_train(hash_words(MAILS, BUCKETS), LABELS)
    for text, label in zip(MAILS, LABELS, strict=True):
        single.test_then_train(hash_words([text], BUCKETS), [label])
    assert frozen(whole) == frozen(single)


@pytest.mark.slow
def test_the_same_in_every_process() -> None:
    script = f"from stream_bayes.features.hashing import hash_words; print(hash_words({MAILS}, 4096).columns.tolist())"
    output = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ".", "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert output == {f"{hash_words(MAILS, 4096).columns.tolist()}\n"}


def test_texts_may_come_from_any_iterable() -> None:
    assert rows_of(hash_words((text for text in MAILS), 64)) == rows_of(hash_words(tuple(MAILS), 64))


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ("one text", "texts are a list of strings; got str"),
        (b"bytes", "got bytes"),
        (None, "got NoneType"),
        (["fine", 3], "text 1 is no string but of type int"),
        ([None], "text 0 is no string but of type NoneType"),
        ([b"bytes"], "text 0 is no string but of type bytes"),
    ],
)
def test_values_that_are_no_text_are_refused(texts: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        hash_words(texts, 64)


@pytest.mark.parametrize("buckets", [0, 1, 3, 1000, 2.0, None, "64"])
def test_buckets_are_a_power_of_two(buckets: Any) -> None:
    with pytest.raises(ParameterError, match="power of two"):
        hash_words(["text"], buckets)


def test_a_batch_knows_how_many_buckets_it_was_made_for() -> None:
    """With another number every word would be looked for in the wrong place."""
    model = LogisticRegression(buckets=2**10)
    model.learn_many(hash_words(["cheap pills"], 2**10), [True])
    for buckets in (2**9, 2**11):
        with pytest.raises(InputError, match=f"{buckets} buckets, the learner has buckets=1024"):
            model.predictive_many(hash_words(["cheap pills"], buckets))
