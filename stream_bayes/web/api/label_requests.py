"""The questions: which are open, the next one, answers and second thoughts."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query

from stream_bayes.mail.render.sanitize import visible
from stream_bayes.web.api.chart_schemas import Changes
from stream_bayes.web.api.dependencies import TheOffice, ThePlace, problems
from stream_bayes.web.api.schemas import (
    Labeller,
    LabelReceipt,
    LabelSubmission,
    LeaseBody,
    LeaseRequest,
    NextRequest,
    RequestBody,
    RequestList,
    RequestSummary,
    TakeRequest,
)
from stream_bayes.web.api.schemas import RequestPlace as PlaceBody
from stream_bayes.web.readmodel.request_queue import LeaseOwner, QueuedRequest

router = APIRouter(prefix="/api", tags=["questions"])
_WRITES = problems(403, 404, 409, 503)


@router.get("/requests", responses=problems())
def list_requests(office: TheOffice, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> RequestList:
    """The open questions, the highest score first."""
    now = time.monotonic()
    with office.desk.read_lock():
        waiting, taken = office.desk.questions.count(now)
        shown = office.desk.questions.waiting()[:limit]
        requests = tuple(_summary(entry, now) for entry in shown)
    return RequestList(open=waiting, taken=taken, requests=requests)


@router.post("/requests/next", responses=_WRITES)
def take_next(office: TheOffice, take: TakeRequest) -> NextRequest:
    """The next question of a labeller, which is nobody else's for the time of a lease."""
    skip = frozenset((place.partition, place.offset) for place in take.skip)
    return office.next(LeaseOwner(take.labeller, take.seat), skip)


@router.get("/requests/{partition}/{offset}", responses=problems(404, 503))
def read_request(office: TheOffice, place: ThePlace) -> RequestBody:
    """A question, as a labeller reads it; it stays free for others."""
    with office.desk.read_lock():
        entry = office.desk.questions.get(place)
    return office.letters.question(entry)


@router.post("/requests/{partition}/{offset}/hold", responses=_WRITES)
def hold_request(office: TheOffice, place: ThePlace, hold: LeaseRequest) -> LeaseBody:
    """Keep a question for one more lease."""
    with office.desk.write_lock():
        return LeaseBody(
            seconds=office.desk.questions.hold(place, LeaseOwner(hold.labeller, hold.seat), time.monotonic())
        )


@router.post("/requests/{partition}/{offset}/release", status_code=204, responses=_WRITES)
def release_request(office: TheOffice, place: ThePlace, hold: LeaseRequest) -> None:
    """Let go of a question: somebody else may have it."""
    with office.desk.write_lock():
        office.desk.questions.release(place, LeaseOwner(hold.labeller, hold.seat))


@router.post("/requests/{partition}/{offset}/reopen", responses=_WRITES)
def reopen_request(office: TheOffice, place: ThePlace, hold: LeaseRequest) -> RequestBody:
    """Take up an answer of one's own again; the next label is a correction."""
    with office.desk.write_lock():
        entry = office.desk.questions.reopen(place, LeaseOwner(hold.labeller, hold.seat), time.monotonic())
    return office.letters.question(entry, office.desk.questions.lease)


@router.post("/requests/{partition}/{offset}/label", responses=_WRITES)
def label_request(office: TheOffice, place: ThePlace, say: LabelSubmission) -> LabelReceipt:
    """Answer a question: the label is in the log when this returns."""
    return office.answer(place, say)


@router.get("/changes", responses=problems())
def read_changes(office: TheOffice, labeller: Annotated[Labeller | None, Query()] = None) -> Changes:
    """What the answers of today changed."""
    return office.changes(labeller)


def _summary(entry: QueuedRequest, now: float) -> RequestSummary:
    request = entry.request
    return RequestSummary(
        place=PlaceBody(partition=entry.place[0], offset=entry.place[1]),
        id=visible(request.id),
        subject=None if request.subject is None else visible(request.subject),
        variance=request.variance,
        score=entry.score,
        probabilities=request.probabilities,
        mean=request.mean,
        asked_at=entry.asked_at,
        taken=entry.held(now),
    )
