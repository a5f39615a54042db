"""Near-duplicates are found by sketches that estimate how much two contents have in common."""

from __future__ import annotations

import base64
import random
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.active.near_duplicates import BINS, NearDuplicates, similarities, sketch_of
from stream_bayes.errors import InputError, ParameterError
from tests.support.mails import make_mails

contents = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=300),
    st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.floats(), st.text(max_size=5)), max_size=20),
)


def similarity(one: Any, other: Any) -> float:
    return float(similarities(sketch_of(one), sketch_of(other)[np.newaxis])[0])


def words(count: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    return ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(count)]


def copy_of(text: str, seed: int) -> bytes:
    """A mail of a campaign: another header, another name and number in the text, other line ends."""
    generator = random.Random(seed)
    name = words(1, seed)[0]
    number = generator.randrange(10**6)
    header = [f"Received: from {word}.example by mx.example" for word in words(20, seed)]
    header += [f"From: {name}@example.org", "Subject: A great offer", f"Message-ID: <{number}@{name}>"]
    return "\r\n".join([*header, "", f"Dear {name}, your number is {number}.", text]).encode()


def test_the_share_of_common_parts_is_estimated() -> None:
    """Of two dicts with n entries each, c of them common, the share is c / (2 n - c)."""
    errors = []
    for seed in range(100):
        common = seed % 10 * 20
        own = 200 - seed % 10 * 20
        one, other = ({f"{seed} {who} {i}": 1 for i in range(own)} for who in "ab")
        both = {f"{seed} both {i}": 1 for i in range(common)}
        share = common / (400 - common)
        errors.append((similarity({**one, **both}, {**both, **other}) - share) / np.sqrt(0.25 / BINS))
    assert abs(np.mean(errors)) < 0.3
    assert np.std(errors) < 1.2


def test_copies_of_a_campaign_are_near_duplicates() -> None:
    text = " ".join(words(60, 1))
    similar = NearDuplicates()
    similar.add(0, copy_of(text, 0))
    assert all(similar.find(copy_of(text, seed), 0.8) for seed in range(1, 30))
    assert not any(similar.find(copy_of(" ".join(words(60, seed)), 0), 0.5) for seed in range(2, 30))


def test_the_encoding_of_a_mail_is_taken_off() -> None:
    text = " ".join(words(80, 3))
    plain = f"Subject: hello there\n\n{text}\n".encode()
    packed = base64.encodebytes(f"{text}\n".encode()).decode()
    coded = f"Subject: hello there\nContent-Transfer-Encoding: base64\n\n{packed}".encode()
    assert similarity(plain, coded) > 0.95


def test_different_mails_are_not() -> None:
    mails = make_mails(200, seed=4)
    similar = NearDuplicates()
    for place, mail in enumerate(mails[:100]):
        similar.add(place, mail)
    assert sum(similar.find(mail, 0.8) for mail in mails[100:]) == 0
    assert all(similar.find(mail, 1.0) for mail in mails[:100])


def test_a_mail_without_text_is_compared_as_a_whole() -> None:
    one, other = (f"From: {name}\nTo: {name}\nDate: today\n\n".encode() for name in ("ann.b@example", "zoe.y@sample"))
    assert similarity(one, one) == 1.0
    assert similarity(one, other) < 0.8


def test_a_dict_with_a_message_is_compared_by_it() -> None:
    text = " ".join(words(30, 8))
    assert similarity({"text": text, "mailbox": "a"}, {"text": text, "mailbox": "b", "subject": "?"}) == 1.0
    assert similarity({"raw": copy_of(text, 1)}, copy_of(text, 1)) == 1.0
    assert similarity({"a": 1, "b": 2, "text": 3}, {"a": 1, "b": 2, "text": 4}) == pytest.approx(0.5)


def test_nothing_is_like_nothing() -> None:
    nothing: list[Any] = [b"", "", {}, "  \n"]
    for empty in nothing:
        similar = NearDuplicates()
        similar.add(1, empty)
        assert not similar.find(empty, 0.01)
        assert not similar.find("some text", 0.01)


@given(contents)
def test_a_content_is_like_itself(content: Any) -> None:
    sketch = sketch_of(content)
    assert sketch.shape == (BINS,)
    assert sketch.dtype == np.uint32
    assert similarity(content, content) in (0.0, 1.0)
    similar = NearDuplicates()
    similar.add(1, content)
    before = similar.arrays()
    similar.find(content, 0.5)
    after = similar.arrays()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


def test_sketches_are_the_same_in_every_process() -> None:
    golden = [
        zlib.crc32(sketch_of(content).astype("<u4").tobytes())
        for content in ("The quick brown fox", b"Subject: x\n\nThe lazy dog sleeps", {"a": 1, "b": "x", 3: None})
    ]
    assert golden == [3966006302, 67442536, 1386512290]


def test_values_of_numpy_are_the_same_as_plain_ones() -> None:
    assert similarity({"a": 1.5, "b": True}, {np.str_("a"): np.float64(1.5), "b": np.bool_(True)}) == 1.0


def test_the_oldest_and_the_removed_texts_are_dropped() -> None:
    texts = [" ".join(words(20, seed)) for seed in range(10)]
    similar = NearDuplicates(capacity=4)
    for place, text in enumerate(texts):
        similar.add(place, text)
    assert [similar.find(text, 0.8) for text in texts] == [False] * 6 + [True] * 4
    similar.remove(7)
    similar.remove(1)
    assert [similar.find(text, 0.8) for text in texts] == [False] * 6 + [True, False, True, True]
    # A place that is added again is there once, as it is now.
    similar.add(6, texts[0])
    assert (len(similar), similar.find(texts[6], 0.8), similar.find(texts[0], 0.8)) == (3, False, True)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.one_of(st.integers(-(2**62), 2**62), st.text(max_size=3)), contents), max_size=8),
    st.integers(0, 6),
)
def test_near_duplicates_are_restored_from_their_arrays(added: list[tuple[int | str, Any]], capacity: int) -> None:
    similar = NearDuplicates()
    other = NearDuplicates(capacity)
    for place, content in added:
        similar.add(place, content)
    other.restore(similar.arrays())
    assert len(other) == min(len(similar), capacity)
    same = NearDuplicates()
    same.restore(similar.arrays())
    assert all(same.arrays()[name].tobytes() == array.tobytes() for name, array in similar.arrays().items())
    assert all(same.find(content, 0.9) == similar.find(content, 0.9) for _, content in added)


@pytest.mark.parametrize("bad", [None, 3, [1, 2], object()])
def test_other_contents_are_refused(bad: object) -> None:
    similar = NearDuplicates()
    with pytest.raises(InputError, match="raw mails, texts and dicts"):
        similar.add(1, bad)
    assert len(similar) == 0


def test_a_capacity_is_a_whole_number() -> None:
    with pytest.raises(ParameterError, match="capacity"):
        NearDuplicates(capacity=-1)
