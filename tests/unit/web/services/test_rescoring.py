"""Open label requests are ordered by the strategy's score under the newest model."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import spearmanr

from stream_bayes.active.strategies import scores
from stream_bayes.demo.mailbox import mailbox
from stream_bayes.eventlog.base import Log
from stream_bayes.events import Observation
from stream_bayes.web.readmodel.log_follower import LogFollower
from stream_bayes.web.readmodel.request_queue import PartitionOffset
from stream_bayes.web.readmodel.state_store import StateStore
from stream_bayes.web.services import model_cache, rescoring
from stream_bayes.web.services.model_cache import ModelCache
from stream_bayes.web.services.rescoring import Rescorer
from tests.support.tiers import short_first
from tests.support.web_testbed import (
    HEADERS,
    WebTestBed,
    client,
    page,
    submit_label,
    take_request,
    wait_until,
    wait_until_rescored,
)
from tests.support.workers import all_records


def _own_scores(testbed: WebTestBed, strategy: str) -> dict[int, float]:
    """What the label of each mail is worth by the newest checkpoint, by offset."""
    model = ModelCache(testbed.settings).newest(0).model
    with testbed.open() as log:
        records = list(all_records(log, "emails", 0))
    assert all(HEADERS[0] in record.headers for record in records)
    contents = [model.prepare(Observation(id="a", raw=record.value)) for record in records]
    found = scores(strategy, model.learner.predictive_many(contents).uncertainties())
    return {record.offset: float(score) for record, score in zip(records, found, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", short_first(["epistemic", "entropy", "latent"]))
def test_item09_order_of_the_queue_is_the_strategys_score(
    tmp_path: Path, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A newer checkpoint is opened at once, however long that takes on this machine.
    monkeypatch.setattr(model_cache, "_SHARE", 1.0)
    labels = {"budget": 200, "max_open_requests": 30, "similarity": 1.0, "strategy": strategy}
    testbed = WebTestBed(tmp_path, labels=labels)
    testbed.send_generated(100)
    testbed.work()
    with page(testbed.settings) as address, client(address) as http:
        before = wait_until_rescored(http)["requests"]
        for _ in range(6):
            label_request = take_request(http)
            submit_label(http, label_request, testbed.truth[label_request["id"]])
        # The answers are learned, and a newer checkpoint is written.
        testbed.work()
        own = _own_scores(testbed, strategy)

        def is_up_to_date() -> bool:
            waiting = http.get("/api/requests").json()["requests"]
            return all(one["score"] == pytest.approx(own[one["place"]["offset"]], rel=1e-6) for one in waiting)

        wait_until(is_up_to_date)
        requests = http.get("/api/requests").json()["requests"]
        offsets = [request["place"]["offset"] for request in requests]
        assert len(offsets) >= 10
        by_score = [own[offset] for offset in offsets]
        assert spearmanr(range(len(offsets)), [-score for score in by_score]).statistic == pytest.approx(1.0)
        # The scores differ from those of the label requests.
        old = {one["place"]["offset"]: one["score"] for one in before}
        assert any(old.get(offset) != own[offset] for offset in offsets)
        first = http.get(f"/api/requests/0/{offsets[0]}").json()["selection"]
        last = http.get(f"/api/requests/0/{offsets[-1]}").json()["selection"]
        assert (first["rank"], last["rank"]) == (1.0, 0.0)
        assert take_request(http)["place"]["offset"] == offsets[0]


class _Rescoring:
    """The open label requests of a log, their rescorer, and the places that it has read."""

    def __init__(self, office: WebTestBed, log: Log) -> None:
        self.store = StateStore(10.0, None)
        self.reads: list[PartitionOffset] = []
        self._log = log
        self._log_follower = LogFollower(office.settings, self.store, lambda: log)
        self._models = ModelCache(office.settings)
        self.rescorer = Rescorer(self.store, self._models, self._read, "epistemic")
        self.poll()

    def _read(self, place: PartitionOffset) -> Observation | None:
        self.reads.append(place)
        (record,) = self._log.read("emails", *place)
        return Observation(id="a", raw=record.value)

    def poll(self) -> None:
        """Read from the log what is new."""
        self._log_follower.poll(self._log)

    def places(self) -> list[PartitionOffset]:
        """The places of the open requests, in their order."""
        return [queued.place for queued in self.store.queue.waiting()]

    def unscored(self) -> int:
        """Requests whose scores are not those of the newest checkpoint."""
        newest = self._models.newest(0).stamp.changed
        return sum(queued.scored_at != newest for queued in self.store.queue.waiting())

    def make_old(self) -> None:
        """As if another checkpoint had made the scores."""
        for queued in self.store.queue.waiting():
            queued.scored_at = 1


def _testbed_with_requests(folder: Path, mails: list[tuple[str, bytes]] | None = None) -> WebTestBed:
    labels = {"budget": 200, "max_open_requests": 30, "similarity": 1.0}
    testbed = WebTestBed(folder, labels=labels)
    if mails is None:
        testbed.send_generated(100)
    else:
        testbed.send(mails)
    testbed.work()
    return testbed


def test_item09_observations_are_read_once_for_all_checkpoints(tmp_path: Path) -> None:
    testbed = _testbed_with_requests(tmp_path)
    with testbed.open() as log:
        rescoring_of = _Rescoring(testbed, log)
        places = rescoring_of.places()
        assert len(places) >= 10
        for _ in range(3):
            rescoring_of.make_old()
            rescoring_of.rescorer.rescore()
            assert rescoring_of.unscored() == 0
        assert sorted(rescoring_of.reads) == sorted(places)


def test_item09_reads_of_one_look_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer waits behind few reads only; the other requests are rescored in the next rounds."""
    monkeypatch.setattr(rescoring, "_READS_AT_ONCE", 4)
    testbed = _testbed_with_requests(tmp_path)
    with testbed.open() as log:
        rescoring_of = _Rescoring(testbed, log)
        rescoring_of.make_old()
        count = len(rescoring_of.places())
        for looks in range(1, count // 4 + 2):
            rescoring_of.rescorer.rescore()
            assert len(rescoring_of.reads) == min(4 * looks, count)
            assert rescoring_of.unscored() == max(count - 4 * looks, 0)


def test_item09_large_mails_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large mail ends a look, what is kept of it is what learners look at, and its score is that of all of it."""
    monkeypatch.setattr(rescoring, "_BYTES_AT_ONCE", 1 << 17)
    monkeypatch.setattr(rescoring, "_KEPT_BYTES", 1 << 18)
    mails = [(mail.id, mail.raw + b" and more" * 20_000) for mail in mailbox(1, 100)]
    testbed = _testbed_with_requests(tmp_path, mails)
    own = _own_scores(testbed, "variance")
    with testbed.open() as log:
        rescoring_of = _Rescoring(testbed, log)
        places = rescoring_of.places()
        assert len(places) >= 8
        for checkpoint in range(2):
            rescoring_of.make_old()
            for _ in places:
                before = len(rescoring_of.reads)
                rescoring_of.rescorer.rescore()
                assert len(rescoring_of.reads) <= before + 1
                assert rescoring_of.rescorer.kept_bytes <= 1 << 18
            assert rescoring_of.unscored() == 0, checkpoint
        assert len(places) < len(rescoring_of.reads) < 2 * len(places), "some are kept, and not all"
        for queued in rescoring_of.store.queue.waiting():
            assert queued.score == pytest.approx(own[queued.place[1]], rel=1e-6)
