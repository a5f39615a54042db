"""Checkpoints written beside the stream."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from stream_bayes import SpamFilter
from stream_bayes.learners.base.learner import LearnerState
from stream_bayes.persistence.checkpoint import Checkpoint
from stream_bayes.persistence.checkpoint_store import BackgroundWriter, CheckpointStore
from tests.support.checkpoints import made, name_of, names
from tests.support.spam_mails import SMALL, stream


def test_the_saver_writes_beside_the_stream(tmp_path: Path) -> None:
    """`make` runs in the thread; the next save waits for the one before."""
    saver = BackgroundWriter(CheckpointStore(tmp_path))
    go = threading.Event()
    threads = []

    def make() -> Checkpoint:
        threads.append(threading.current_thread())
        assert go.wait(60)
        return made(4)

    def said() -> tuple[bool, int | None]:
        return saver.busy, saver.written

    saver.finish()
    assert said() == (False, None)
    saver.save(4, make)
    assert said() == (True, None)
    go.set()
    saver.save(5, lambda: made(5))
    assert said()[1] in (4, 5)
    saver.finish()
    assert said() == (False, 5)
    assert threads[0] is not threading.main_thread()
    assert names(tmp_path) == [name_of(4), name_of(5)]


def test_an_error_of_the_thread_is_raised_once(tmp_path: Path) -> None:
    saver = BackgroundWriter(CheckpointStore(tmp_path))
    saver.save(1, lambda: json.loads("nonsense"))
    with pytest.raises(json.JSONDecodeError):
        saver.save(2, lambda: made(2))
    assert not saver.busy
    saver.save(3, lambda: made(3))
    saver.finish()
    assert names(tmp_path) == [name_of(3)]


def test_a_copy_is_saved_while_its_filter_learns_on(tmp_path: Path) -> None:
    mails, labels = stream(120, seed=8)
    model = SpamFilter(buckets=SMALL)
    folder = CheckpointStore(tmp_path)
    copied = model.snapshot_copy()
    saver = BackgroundWriter(folder)
    expected = None

    def make() -> Checkpoint:
        state = copied.state()
        return Checkpoint({}, {"kind": state.kind, "parameters": state.parameters}, state.arrays)

    for number, start in enumerate(range(0, 120, 30)):
        model.learn_many(mails[start : start + 30], labels[start : start + 30])
        saver.finish()
        model.copy_into(copied)
        expected = model.state()
        saver.save(number, make)
    model.learn_many(mails, labels)
    saver.finish()
    found = folder.newest()
    predictions = model.predictive_many(mails)
    assert found is not None
    assert expected is not None
    assert found[0] == 3
    assert found[1].arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(found[1].arrays[name], array, strict=True)
    state = LearnerState(found[1].scalars["kind"], found[1].scalars["parameters"], found[1].arrays)
    restored = SpamFilter.from_state(state, copy=False)
    restored.learn_many(mails, labels)
    np.testing.assert_array_equal(restored.predictive_many(mails).probabilities, predictions.probabilities)
