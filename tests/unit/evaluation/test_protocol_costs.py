"""What a pass costs: time by stage, memory, and how much of a mail is kept."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.factory import filter_names, open_filter
from stream_bayes.evaluation.feedback import open_feedback
from stream_bayes.evaluation.filters import max_bytes
from stream_bayes.evaluation.protocol import run
from stream_bayes.evaluation.stream import Stream
from stream_bayes.evaluation.timing import FEATURES, LEARN, MAKE, READ, Stopwatch
from stream_bayes.mail.filter import SpamFilter
from tests.support.mail_filters import RiverFilter
from tests.support.mail_filters import generated_mails as stream

KINDS = [("spam", b"cheap pills "), ("ham", b"lunch today "), ("spam", b"cheap lunch "), ("ham", b"lunch pills ")]


def test_time_is_kept_by_stage() -> None:
    found = run(RiverFilter, Stream("generated", stream(200)))
    assert list(found.stages) == [MAKE, READ, FEATURES, LEARN]
    assert all(cpu >= 0.0 and wall > 0.0 for cpu, wall in found.stages.values())
    work = [found.stages[name] for name in (FEATURES, LEARN)]
    assert found.cpu_microseconds == pytest.approx(sum(cpu for cpu, _ in work) * 1e6 / 200)
    assert found.messages_per_second == pytest.approx(200 / sum(wall for _, wall in work))


def test_memory_is_looked_at_each_tenth() -> None:
    found = run(RiverFilter, Stream("generated", stream(200)), chunk=7)
    assert len(found.memory_mb) == 11
    assert all(1.0 < megabytes <= found.peak_memory_mb * 1.01 for megabytes in found.memory_mb)


class Prepared(RiverFilter):
    """Works for a while before the first mail."""

    def prepare(self) -> None:
        assert not self.calls
        begin = time.process_time()
        while time.process_time() - begin < 0.2:
            pass


def test_making_a_filter_is_timed_apart() -> None:
    found = run(Prepared, Stream("generated", stream(50)))
    assert found.stages[MAKE][0] >= 0.2
    work = sum(found.stages[name][0] for name in (FEATURES, LEARN))
    assert found.cpu_microseconds == pytest.approx(work * 1e6 / 50)


def test_a_filter_that_cannot_be_prepared_is_closed() -> None:
    class Unready(RiverFilter):
        def prepare(self) -> None:
            raise MemoryError

    chosen = Unready()
    with pytest.raises(MemoryError):
        run(lambda: chosen, Stream("generated", stream(5)))
    assert chosen.closed == 1


def test_processes_of_a_filter_are_counted() -> None:
    code = "import time\nwhile time.process_time() < 0.3: pass"
    watch = Stopwatch()
    with watch.stage(LEARN):
        subprocess.run([sys.executable, "-c", code], check=True)
    assert watch.stages[LEARN][0] >= 0.3


_GROWTH = """
from stream_bayes.evaluation.factory import open_filter
from stream_bayes.evaluation.filters import prepare
from stream_bayes.evaluation.timing import memory_mb

chosen = open_filter("default")
before = memory_mb()
prepare(chosen)
print(memory_mb() - before)
"""


def test_our_tables_have_their_memory_before_the_first_mail() -> None:
    # In a process of its own: one that has freed as much before need not grow.
    done = subprocess.run([sys.executable, "-c", _GROWTH], check=True, capture_output=True, text=True)
    assert float(done.stdout) > 0.9e-6 * SpamFilter().memory_bytes


@pytest.mark.slow
def test_a_chunk_is_bounded_in_bytes() -> None:
    chosen = RiverFilter()
    mails = [Mail(str(place), "spam", b"a " * (3 << 19)) for place in range(13)]  # 3 MiB each
    run(lambda: chosen, Stream("large", mails))
    assert chosen.calls == [6, 6, 1]


def test_no_more_of_a_mail_is_kept_than_the_filter_looks_at() -> None:
    mails = [Mail(str(place), "spam", b"0123456789"[place:] * 2) for place in range(4)]
    feedback = open_feedback("delayed:1", 15)
    assert feedback is not None
    late = [row.raw for row in feedback.rows(mails) if not row.scored]
    assert late == [mail.raw[:15] for mail in mails[:3]]

    class Short(RiverFilter):
        max_bytes = 4

        def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
            lengths.extend(map(len, mails))
            return super().features(mails)

    lengths: list[int] = []
    run(Short, Stream("digits", mails), feedback="delayed:2")
    assert lengths == [20, 18, 16, 4, 14, 4]


@pytest.mark.slow
@pytest.mark.parametrize("name", filter_names())
def test_a_filter_reads_at_most_its_declared_bytes(name: str) -> None:
    mails = [Mail(str(place), label, words * 9000) for place, (label, words) in enumerate(KINDS * 2)]
    first = open_filter(name)
    first.close()
    most = max_bytes(first)
    cut = [mail._replace(raw=mail.raw[:most]) for mail in mails]
    assert (most is None) == (name == "bogofilter")
    whole, short = (run(partial(open_filter, name), Stream("", part)).log_odds for part in (mails, cut))
    assert np.array_equal(whole, short)
