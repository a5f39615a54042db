"""Mails made to break a filter: always a prediction, from a bounded part of the mail, in constant memory."""

from __future__ import annotations

import encodings.aliases
import itertools
import string
import time
import tracemalloc
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from stream_bayes import SpamFilter
from stream_bayes.kernels.common.words import GOLDEN
from stream_bayes.kernels.mail.decode import MAX_RAW, MAX_TEXT
from stream_bayes.kernels.mail.features import MAX_FEATURES, slots_for
from stream_bayes.kernels.mail.sources import MAX_FEW
from stream_bayes.testing import frozen
from tests.support.mails import FOREIGN, make_mails
from tests.support.tiers import short_each, short_first

MEGABYTE = 1 << 20
BASE64 = b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n"
NORMAL = make_mails(40, seed=31)


def colliding_words() -> bytes:
    """Words of four letters whose features would all stand in a few of the slots."""
    letters = np.frombuffer((string.ascii_lowercase + string.digits).encode(), np.uint8).astype(np.uint64)
    first, second, third, fourth = np.meshgrid(letters, letters, letters, letters, indexing="ij")
    blocks = (first | second << np.uint64(8) | third << np.uint64(16) | fourth << np.uint64(24)).ravel()
    words = blocks * GOLDEN
    words = (words ^ words >> np.uint64(32)) + np.uint64(12345)
    slots = ((words ^ words >> np.uint64(32)) * GOLDEN >> np.uint64(64 - 22)) & np.uint64(slots_for(6400) - 1)
    chosen = blocks[np.argsort(slots, kind="stable")[:3200]]
    return b" ".join(int(block).to_bytes(4, "little") for block in chosen)


def nested(deep: int) -> bytes:
    opened = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(deep))
    return opened + b"Content-Type: text/plain\n\nat last\n" + b"".join(b"--b%d--\n" % n for n in range(deep)[::-1])


MAKERS: dict[str, Callable[[], bytes]] = {
    "zero bytes": lambda: b"",
    "50 MB of text": lambda: NORMAL[0] + b"the quick brown fox " * (50 * MEGABYTE // 20),
    "50 MB of noise": lambda: np.random.default_rng(1).bytes(50 * MEGABYTE),
    "a line of 50 MB": lambda: b"Subject: " + b"x" * (50 * MEGABYTE),
    "a million parts": lambda: b"Subject: x\n\n" + b"--bound\nContent-Type: text/plain\n\nhello\n" * 1_000_000,
    "a million empty parts": lambda: b"Subject: x\n\n" + b"--bound\nContent-\n\n" * 1_000_000,
    "a million attachments": lambda: b"--bound\nContent-Type: image/gif\n" + BASE64[25:] + b"QUJD\n" * 1_000_000,
    "base64 that never ends": lambda: BASE64 + b"aGVsbG8gd29ybGQg" * (50 * MEGABYTE // 16),
    "base64 of nothing": lambda: BASE64 + b"=" * (50 * MEGABYTE),
    "a header that never ends": lambda: b"X-Field: value of it\n" * (50 * MEGABYTE // 21),
    "a million different fields": lambda: b"".join(b"X-%d: %d.2.3.4\n" % (n, n % 256) for n in range(1_000_000)),
    "a field that never ends": lambda: b"Subject: x\n" + b" more of it\n" * (50 * MEGABYTE // 12),
    "NUL bytes": lambda: bytes(50 * MEGABYTE),
    "line ends": lambda: b"\n" * (50 * MEGABYTE),
    "dashes": lambda: b"Subject: x\n\n" + b"--\n" * (50 * MEGABYTE // 3),
    "nested 10,000 deep": lambda: nested(10_000),
    "ten million addresses": lambda: b"To: " + b"a@b.example, " * 10_000_000 + b"\n\nhello",
    "thousands of addresses": lambda: b"From: " + b", ".join(b"u%d@h%d.example" % (n, n) for n in range(9000)),
    "words of one letter": lambda: b"a b c d e f g h i j k l m n o p " * 3000,
    "words that differ": lambda: b" ".join(
        map(b"".join, itertools.product(map(b"%c".__mod__, b"abcdefghijklmnop"), repeat=3))
    ),
    "words that collide": lambda: b"Subject: x\n\n" + colliding_words(),
    "quoted-printable of nothing": lambda: (
        b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=\n" * (25 * MEGABYTE)
    ),
    "hosts": lambda: b"Subject: x\n\n" + b" ".join(b"http://h%d.example" % n for n in range(9000)),
    "NEL and other controls": lambda: bytes(range(256)) * 1000,
}


@cache
def experienced() -> SpamFilter:
    """A filter that has seen ordinary mail."""
    model = SpamFilter(buckets=2**16)
    model.test_then_train(NORMAL * 3, ["ham", "spam"] * 60)
    return model


def cpu_seconds(model: SpamFilter, raws: list[bytes]) -> float:
    """For each mail, predicted and learned, in a batch so large that the call does not count."""
    mails = raws * (200 // len(raws))
    begun = time.process_time()
    model.test_then_train(mails, ["spam"] * len(mails))
    return (time.process_time() - begun) / len(mails)


@pytest.mark.slow
@pytest.mark.parametrize("name", short_each(MAKERS, 2))
def test_there_is_a_prediction_from_a_bounded_part_in_constant_memory(name: str) -> None:
    model = experienced()
    raw = MAKERS[name]()
    before = frozen(model)
    model.predictive_one(NORMAL[0])
    tracemalloc.start()
    said = model.predictive_many([raw])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEGABYTE, "a copy of what is looked at, and its features"
    assert np.isfinite(said.spam_log_odds).all()
    assert ((said.probabilities > 0.0) & (said.probabilities < 1.0)).all()
    assert frozen(model) == before
    batch = model.batch([raw])
    assert len(batch.raws[0]) <= MAX_RAW
    counts = np.diff(batch.view_starts)
    assert (counts <= (2000, MAX_FEATURES, MAX_FEW, MAX_FEW, MAX_FEW)).all()


@pytest.mark.slow
@pytest.mark.parametrize("make", short_first([SpamFilter, SpamFilter.light]))
def test_all_of_them_can_be_learned(make: Callable[..., SpamFilter]) -> None:
    """The share of the CPU time of an ordinary mail is printed, not judged: it depends on the machine."""
    model = make()
    model.learn_one(NORMAL[0], "ham")
    ordinary = cpu_seconds(model, NORMAL)
    print(f"\nan ordinary mail of {sum(map(len, NORMAL)) / len(NORMAL):.0f} bytes: {1e6 * ordinary:.0f} us")
    for name, made in MAKERS.items():
        raw = made()
        spent = cpu_seconds(model, [raw])
        said = model.predictive_many([raw, NORMAL[0]])
        assert np.isfinite(said.spam_log_odds).all()
        assert np.isfinite(said.member_log_odds).all()
        print(f"{name:>30}: {1e6 * spent:6.0f} us, {spent / ordinary:5.1f} times that")


def test_bytes_after_the_parsed_part_change_nothing() -> None:
    model = experienced()
    raw = NORMAL[1] + b" more words" * MAX_RAW
    whole, part = (model.predictive_many([one]).spam_log_odds[0] for one in (raw, raw[:MAX_RAW]))
    assert whole == part
    text = "Subject: x\n\n" + "ü" * MAX_RAW
    whole, part = (model.predictive_many([one]).spam_log_odds[0] for one in (text, text[:MAX_TEXT]))
    assert whole == part


def test_words_that_collide_cost_features_and_no_more() -> None:
    model = SpamFilter(members=("word counts",), pairs=False)
    batch = model.batch([colliding_words()])
    count = batch.view_starts[2] - batch.view_starts[1]
    assert 64 <= count < 3200, "some are left out, since their places are taken"
    assert np.array_equal(model.batch([colliding_words()]).hashed, batch.hashed)


def test_every_charset_has_its_prediction() -> None:
    model = experienced()
    names = sorted({*encodings.aliases.aliases.values(), *FOREIGN})
    told = 0
    for name in names:
        for text in FOREIGN.values():
            try:
                packed = f"Subject: {text}\nContent-Type: text/plain; charset={name}\n\n{text * 20}\n".encode(name)
            except (LookupError, UnicodeError):
                continue
            said = model.test_then_train([packed], ["spam"])
            assert np.isfinite(said.spam_log_odds).all()
            told += 1
    assert told > 100
