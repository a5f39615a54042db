"""200,000 mutated mails through features and filter."""

from __future__ import annotations

import itertools
import random
import time

import numpy as np
import pytest

from stream_bayes import SpamFilter
from stream_bayes.kernels.mail.features import MAX_FEATURES
from stream_bayes.kernels.mail.sources import MAX_FEW
from stream_bayes.mail.filter import MailPredictions
from tests.support.mails import make_mails
from tests.support.mutations import MUTATIONS, Mutation, mutated

BATCH = 500
MAILS = [raw for raw in make_mails(400, seed=41) if len(raw) < 3000]
# A mail in three has no label; ham and spam change places now and then, so that no member can be right for ever.
LABELS = [None if number % 3 == 2 else ("ham", "spam")[(number + number // 700) % 2] for number in range(7 * BATCH)]


def check(said: MailPredictions) -> None:
    assert np.isfinite(said.spam_log_odds).all()
    assert np.isfinite(said.member_log_odds).all()
    assert np.isfinite(said.latent_variance).all()
    assert (said.latent_variance >= 0.0).all()
    assert ((said.probabilities > 0.0) & (said.probabilities < 1.0)).all()


@pytest.mark.parametrize("count", [20_000, pytest.param(200_000, marks=pytest.mark.long)])
def test_no_mail_breaks_features_or_filter(count: int) -> None:
    model = SpamFilter(buckets=2**16)
    check(model.test_then_train(MAILS, ["ham", "spam"] * (len(MAILS) // 2) + ["ham"] * (len(MAILS) % 2)))
    stream = mutated(MAILS, count, seed=42)
    slowest = 0.0
    bytes_seen = 0
    done = 0
    while raws := list(itertools.islice(stream, BATCH)):
        begun = time.process_time()
        batch = model.batch(raws)
        labels = LABELS[done % len(LABELS) :][: len(raws)]
        said = model.test_then_train(batch, labels)
        slowest = max(slowest, (time.process_time() - begun) / len(raws))
        check(said)
        counts = np.diff(batch.view_starts).reshape(len(raws), -1)
        assert (counts <= (2000, MAX_FEATURES, MAX_FEW, MAX_FEW, MAX_FEW)).all()
        done = done + len(raws)
        bytes_seen = bytes_seen + sum(map(len, raws))
    assert done == count
    print(f"\n{bytes_seen / done:.0f} bytes a mail; slowest batch: {1e6 * slowest:.0f} us of CPU a mail")
    assert all(np.isfinite(array).all() for array in model.state().arrays.values())


def test_the_same_mail_for_ever_is_never_certain() -> None:
    model = SpamFilter(buckets=2**12)
    for _ in range(20):
        check(model.test_then_train([MAILS[0], b"", MAILS[1]] * 500, ["spam", "ham", "ham"] * 500))
    for _ in range(20):
        check(model.test_then_train([MAILS[0], b"", MAILS[1]] * 500, ["ham", "spam", "spam"] * 500))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: str(mutation.__name__))
def test_a_mutation_may_come_again_and_again(mutation: Mutation) -> None:
    """The most a mail is mutated above is three times."""
    rng = random.Random(43)
    model = SpamFilter.light()
    raws = MAILS[:50]
    for _ in range(20):
        raws = [mutation(raw, MAILS, rng) for raw in raws]
        check(model.test_then_train(raws, ["spam", "ham"] * (len(raws) // 2)))
