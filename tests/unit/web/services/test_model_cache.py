"""Checkpoints that the page opens: the newest, read-only, whatever the worker does to the folder meanwhile."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import pytest

from stream_bayes import BayesianLinearRegression, BernoulliNB, SpamFilter
from stream_bayes.events import Observation
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.web.services.model_cache import ModelCache, NoModel
from tests.support.web_checkpoints import Clock, MailWorker, checkpoint_store_of, mails, write_model
from tests.support.workers import settings_in

SPAM = Observation(id="new", text="cheap pills http://shop.example/y", sender="offer@shop.example")


@pytest.fixture
def room(tmp_path: Path) -> MailWorker:
    return MailWorker(tmp_path)


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a folder, to the last byte and the last change."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def why_no_model(models: ModelCache, partition: int | None = None) -> str:
    """The message of the error if there is no model, else an empty text."""
    try:
        models.newest(partition)
    except NoModel as problem:
        return str(problem)
    return ""


def test_a_checkpoint_predicts_like_the_worker(room: MailWorker) -> None:
    worker = room.work(*mails(40))
    before = contents(room.settings.checkpoint_folder)
    models = ModelCache(room.settings)
    assert (models.partitions(), why_no_model(models), why_no_model(models, 0)) == ([0], "", "")
    prediction = models.predict(SPAM)
    learner = worker.processors[0].engine.model.learner
    assert isinstance(learner, SpamFilter)
    content = {"subject": None, "sender": SPAM.sender, "text": SPAM.text}
    assert prediction.probabilities == learner.predict_proba_one(content)
    assert (prediction.partition, prediction.model_version, prediction.label, prediction.action) == (
        0,
        40,
        "spam",
        "quarantine",
    )
    why = learner.explain(content)
    shown = [
        (reason.kind, reason.text, reason.share, reason.seen, reason.seen_towards) for reason in prediction.reasons
    ]
    assert shown == [(one.kind, one.text, one.log_odds, one.mails, one.spam) for one in why.shares]
    assert (prediction.towards, prediction.total, prediction.rest) == ("spam", why.log_odds, why.rest)
    models.posterior("word", "pills")
    assert models.predict(SPAM) == prediction, "nothing is learned"
    assert contents(room.settings.checkpoint_folder) == before, "nothing is written"


def test_the_learner_is_that_of_the_checkpoint_whatever_the_settings_say(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    learner = BayesianLinearRegression(0.3, 2.5)
    learner.learn_one({"x": 2.0}, 3.0)
    write_model(settings, learner, version=7)
    prediction = ModelCache(settings).predict(Observation(id="a", features={"x": 1.0}))
    assert (prediction.mean, prediction.model_version) == (learner.predict_one({"x": 1.0}), 7)


def test_a_newer_checkpoint_is_noticed_within_a_second(room: MailWorker) -> None:
    clock = Clock()
    room.work(*mails(20))
    models = ModelCache(room.settings, clock)
    assert models.predict(SPAM).model_version == 20
    room.work(*mails(10, first=20))
    clock.now = 0.9
    assert models.predict(SPAM).model_version == 20
    clock.now = 1.1
    assert models.predict(SPAM).model_version == 30
    for path in checkpoint_store_of(room.settings).folder.iterdir():
        path.unlink()
    clock.now = 2.2
    with pytest.raises(NoModel, match="no checkpoint yet"):
        models.predict(SPAM)


def test_a_rebuilt_model_is_noticed(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    clock = Clock()
    write_model(settings, BernoulliNB(), number=9, version=50)
    models = ModelCache(settings, clock)
    assert models.newest().model_version == 50
    for number, version in ((9, 3), (4, 1)):
        checkpoint_store_of(settings).path_of(9).unlink()
        write_model(settings, BernoulliNB(), number, version)
        clock.now += 1.1
        assert models.newest().model_version == version


@pytest.mark.parametrize("partition", [None, 0, 5, 2**31 - 1])
def test_before_the_first_checkpoint(tmp_path: Path, partition: int | None) -> None:
    settings = settings_in(tmp_path)
    models = ModelCache(settings)
    assert models.partitions() == []
    with pytest.raises(NoModel) as caught:
        models.predict(SPAM, partition)
    assert (caught.value.code, caught.value.retriable) == ("no-model", True)
    which = "" if partition is None else f" of partition {partition}"
    every = f"no checkpoint{which} yet: the worker writes one every 60 s"
    expected = f"{every}; if it does, name its folder with --checkpoints"
    assert str(caught.value) == why_no_model(models, partition) == expected
    assert not settings.checkpoint_folder.exists()


def test_a_damaged_checkpoint_is_replaced_by_the_one_before(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    clock = Clock()
    write_model(settings, BernoulliNB(), 1, version=11)
    newest = write_model(settings, BernoulliNB(), 2, version=12)
    whole = newest.read_bytes()
    newest.write_bytes(whole[:-3] + b"xyz")
    models = ModelCache(settings, clock)
    first = models.newest()
    assert first.model_version == 11
    clock.now = 5.0
    assert models.newest() is first, "a file that has not changed is not read again"
    newest.write_bytes(whole)
    clock.now = 6.1
    assert models.newest().model_version == 12


def test_without_a_complete_checkpoint_opening_is_retried_later(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    clock = Clock()
    path = write_model(settings, BernoulliNB(), version=12)
    whole = path.read_bytes()
    when = path.stat().st_mtime_ns
    path.write_bytes(whole[:-3] + b"xyz")
    os.utime(path, ns=(when, when))
    models = ModelCache(settings, clock)
    with pytest.raises(
        NoModel, match="has no complete checkpoint: wait for the worker to write the next one"
    ) as caught:
        models.newest()
    assert str(tmp_path) not in str(caught.value)
    assert models.partitions() == [0]
    path.write_bytes(whole)
    os.utime(path, ns=(when, when))
    clock.now = 5.0
    assert why_no_model(models).startswith("the newest checkpoint cannot be opened: ")
    clock.now = 10.1
    assert models.newest().model_version == 12


def later_format(content: bytes) -> bytes:
    return content.replace(b'"version":"1"', b'"version":"7"')


def unknown_learner(content: bytes) -> bytes:
    return content.replace(b"BernoulliNB", b"BernoulliXX")


def not_one(content: bytes) -> bytes:
    return b"GIF89a" + content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (later_format, "is a checkpoint of format 7, and this stream_bayes reads up to 1: update stream_bayes"),
        (unknown_learner, "has no complete checkpoint"),
        (not_one, "has no complete checkpoint"),
        (lambda content: b"", "has no complete checkpoint"),
    ],
)
def test_a_file_that_cannot_be_opened(tmp_path: Path, change: Callable[[bytes], bytes], message: str) -> None:
    settings = settings_in(tmp_path)
    path = write_model(settings, BernoulliNB())
    path.write_bytes(change(path.read_bytes()))
    models = ModelCache(settings)
    assert message in why_no_model(models)
    assert models.partitions() == [0]


def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.checkpoint_folder.mkdir()
    (settings.checkpoint_folder / settings.group).write_text("no folder")
    models = ModelCache(settings)
    with pytest.raises(NoModel, match="Not a directory"):
        models.partitions()
    assert "Not a directory" in why_no_model(models)
    assert "not a directory" in why_no_model(models, 0)


def test_the_partition_with_the_most_labels_is_the_default(tmp_path: Path) -> None:
    room = MailWorker(tmp_path, partitions=3)
    room.work(*mails(10), partition=0)
    room.work(*mails(30), partition=2)
    models = ModelCache(room.settings)
    assert models.partitions() == [0, 1, 2]
    versions = {number: models.newest(number).model_version for number in models.partitions()}
    assert versions == {0: 10, 1: 0, 2: 30}
    assert models.predict(SPAM).partition == 2
    assert models.predict(SPAM, 1).probabilities == {"ham": 0.5, "spam": 0.5}


def test_few_models_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_bayes.web.services.model_cache.MAX_OPEN", 2)
    settings = settings_in(tmp_path)
    for number in range(4):
        write_model(settings, BernoulliNB(), version=number, partition=number)
    models = ModelCache(settings)
    learners = [weakref.ref(models.newest(number).model.learner) for number in (0, 1, 2)]
    kept = weakref.ref(models.newest(1))
    models.newest(3)
    gc.collect()
    assert [learner() is not None for learner in learners] == [False, True, False]
    assert kept() is models.newest(1), "the one that was used last stays"


def test_many_threads_get_the_answers_of_one(tmp_path: Path) -> None:
    room = MailWorker(tmp_path)
    room.work(*mails(40))
    texts = [f"cheap pills lunch {word} at http://{word}.example" for word in ("noon", "bread", "buy", "now")] * 30
    observations = [Observation(id="q", raw=f"Subject: {text}\n\n{text}".encode()) for text in texts]
    alone = ModelCache(room.settings)
    expected = [alone.predict(one) for one in observations]
    models = ModelCache(room.settings)
    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(models.predict, observations)) == expected


def test_checkpoints_may_change_while_they_are_read(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    clock = Clock()
    over = Event()
    write_model(settings, BernoulliNB(classes=("ham", "spam")))
    folder = CheckpointStore(checkpoint_store_of(settings).folder, keep=1)
    found = folder.newest()
    assert found is not None

    def write() -> None:
        number = 1
        while not over.is_set():
            number += 1
            scalars = {**found[1].scalars, "model_version": number}
            folder.write(number, found[1]._replace(scalars=scalars))

    def ask(_: int) -> int:
        clock.now += 1.1
        return models.predict(Observation(id="q", features={"x": 1.0})).model_version

    models = ModelCache(settings, clock)
    writer = Thread(target=write)
    writer.start()
    try:
        with ThreadPoolExecutor(4) as threads:
            versions = list(threads.map(ask, range(200)))
    finally:
        over.set()
        writer.join()
    assert max(versions) > min(versions)
    # Others had moved the clock while one was being opened.
    clock.now += 100_000.0
    (newest,) = folder.checkpoints()
    assert models.newest().model_version == newest[0]


class Ticking(Clock):
    """A tenth of a second passes between two looks at it."""

    def __call__(self) -> float:
        self.now += 0.1
        return self.now


def test_the_previous_model_is_used_while_opening_is_too_slow(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    clock = Ticking()
    write_model(settings, BernoulliNB(), version=1)
    models = ModelCache(settings, clock)
    assert models.newest().model_version == 1
    # To open it took a tenth of a second: for five seconds it is new enough.
    write_model(settings, BernoulliNB(), version=2, number=2)
    clock.now += 3.0
    assert models.newest().model_version == 1
    clock.now += 3.0
    assert models.newest().model_version == 2
