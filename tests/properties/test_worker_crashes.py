"""Crashes at any place of the stream: the next worker gives exactly the continuation."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from stream_bayes.config import Settings
from stream_bayes.eventlog.memory import ABORT, EOF, Aborted, MemoryLog, MemoryStore
from stream_bayes.runtime import Worker
from tests.support.workers import INPUTS, JOURNAL, assert_nothing_lost, settings_in, stream, work


def store_with(aborts: set[int], count: int = 60) -> MemoryStore:
    """A stream that ends, with crashes before these messages."""
    store = MemoryStore()
    for place, (topic, value) in enumerate(stream(count)):
        if place in aborts:
            store.put(INPUTS[place % 2], ABORT)
        store.put(topic, value)
    # At equal times labels come after observations.
    store.put("labels", EOF)
    return store


def work_through(settings: Settings, store: MemoryStore, *, keep_checkpoints: bool = True) -> int:
    """Start workers until one comes to the end; returns how many did not."""
    aborted = 0
    while True:
        try:
            with MemoryLog(settings.group, INPUTS, store=store) as log:
                Worker(settings, log).run()
        except Aborted:
            aborted += 1
        else:
            return aborted
        if not keep_checkpoints:
            for path in settings.checkpoint_folder.rglob("*.safetensors"):
                path.unlink()


@pytest.mark.parametrize("keep", [True, False])
def test_after_an_abort_comes_exactly_the_continuation(tmp_path: Path, keep: bool) -> None:
    settings = settings_in(tmp_path, checkpoint={"events": 30})
    store = store_with({3, 60, 61, 140}, 100)
    assert work_through(settings, store, keep_checkpoints=keep) == 4
    assert_nothing_lost(settings, MemoryLog(store=store))


@hypothesis_settings(max_examples=25)
@given(
    aborts=st.sets(st.integers(0, 90), max_size=6),
    commit=st.integers(1, 40),
    save=st.integers(1, 60),
    memory=st.sampled_from((0, 3000, 1 << 20)),
    keep=st.booleans(),
)
def test_wherever_it_crashes(aborts: set[int], commit: int, save: int, memory: int, keep: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_in(
            Path(folder),
            commit={"events": commit},
            checkpoint={"events": save},
            engine={"observation_cache_bytes": memory, "dedup_window": 50, "label_history": 45},
        )
        store = store_with(aborts)
        assert work_through(settings, store, keep_checkpoints=keep) == len(aborts)
        assert_nothing_lost(settings, MemoryLog(store=store))


def test_uncommitted_records_are_processed_again(tmp_path: Path) -> None:
    # Commits so rare that the crash loses all that was done.
    settings = settings_in(tmp_path, commit={"events": 1000, "milliseconds": 60_000})
    store = MemoryStore()
    for topic, value in stream(20):
        store.put(topic, value)
    store.put("emails", ABORT)
    with pytest.raises(Aborted), MemoryLog(settings.group, INPUTS, store=store) as log:
        Worker(settings, log).run()
    assert not store.records("predictions")
    assert not store.records(JOURNAL)
    work(settings, MemoryLog(settings.group, INPUTS, store=store))
    assert_nothing_lost(settings, MemoryLog(store=store))
