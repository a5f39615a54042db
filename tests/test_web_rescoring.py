"""Open questions are in the order of the strategy's score, as the newest model has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import spearmanr

from stream_bayes.active.scores import doubts_of, scores
from stream_bayes.events import Observation
from stream_bayes.web import models
from stream_bayes.web.models import Models
from tests.webs import HEADERS, Office, client, page, rescored, said, taken, until
from tests.workers import all_records


def _own_scores(office: Office, strategy: str) -> dict[int, float]:
    """What the label of each mail is worth by the newest checkpoint, by offset."""
    model = Models(office.settings).newest(0).model
    with office.open() as log:
        records = list(all_records(log, "emails", 0))
    assert all(record.headers == HEADERS for record in records)
    contents = [model.content(Observation(id="a", raw=record.value)) for record in records]
    found = scores(strategy, doubts_of(model.learner.predictive_many(contents)))
    return {record.offset: float(score) for record, score in zip(records, found, strict=True)}


@pytest.mark.parametrize("strategy", ["epistemic", "entropy", "latent"])
def test_item09_order_of_the_queue_is_the_strategys_score(
    tmp_path: Path, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A newer checkpoint is opened at once, however long that takes on this machine.
    monkeypatch.setattr(models, "_SHARE", 1.0)
    labels = {"budget": 200, "open_requests": 30, "similarity": 1.0, "strategy": strategy}
    office = Office(tmp_path, labels=labels)
    office.send_generated(100)
    office.work()
    with page(office.settings) as address, client(address) as http:
        before = rescored(http)["requests"]
        for _ in range(6):
            question = taken(http)
            said(http, question, office.truth[question["id"]])
        # The answers are learned, and a newer checkpoint is written.
        office.work()
        own = _own_scores(office, strategy)

        def is_up_to_date() -> bool:
            waiting = http.get("/api/requests").json()["requests"]
            return all(one["score"] == pytest.approx(own[one["place"]["offset"]], rel=1e-6) for one in waiting)

        until(is_up_to_date)
        requests = http.get("/api/requests").json()["requests"]
        offsets = [request["place"]["offset"] for request in requests]
        assert len(offsets) >= 10
        by_score = [own[offset] for offset in offsets]
        assert spearmanr(range(len(offsets)), [-score for score in by_score]).statistic == pytest.approx(1.0)
        # The scores are others than those by which the questions were asked.
        old = {one["place"]["offset"]: one["score"] for one in before}
        assert any(old.get(offset) != own[offset] for offset in offsets)
        first = http.get(f"/api/requests/0/{offsets[0]}").json()["asked"]
        last = http.get(f"/api/requests/0/{offsets[-1]}").json()["asked"]
        assert (first["rank"], last["rank"]) == (1.0, 0.0)
        assert taken(http)["place"]["offset"] == offsets[0]
