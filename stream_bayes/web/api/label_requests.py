"""The questions: which are open, the next one, answers and second thoughts."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query

from stream_bayes.mail.render.reader import visible
from stream_bayes.web.api.chart_schemas import Changes
from stream_bayes.web.api.dependencies import TheOffice, ThePlace, problems
from stream_bayes.web.api.schemas import Held, Hold, Labeller, Next, Question, Queue, Say, Sent, Summary, Take
from stream_bayes.web.api.schemas import Place as PlaceBody
from stream_bayes.web.readmodel.request_queue import Entry, Holder

router = APIRouter(prefix="/api", tags=["questions"])
_WRITES = problems(403, 404, 409, 503)


@router.get("/requests", responses=problems())
def list_requests(office: TheOffice, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Queue:
    """The open questions, the highest score first."""
    now = time.monotonic()
    with office.desk.looking():
        waiting, taken = office.desk.questions.count(now)
        shown = office.desk.questions.waiting()[:limit]
        requests = tuple(_summary(entry, now) for entry in shown)
    return Queue(open=waiting, taken=taken, requests=requests)


@router.post("/requests/next", responses=_WRITES)
def take_next(office: TheOffice, take: Take) -> Next:
    """The next question of a labeller, which is nobody else's for the time of a lease."""
    skip = frozenset((place.partition, place.offset) for place in take.skip)
    return office.next(Holder(take.labeller, take.seat), skip)


@router.get("/requests/{partition}/{offset}", responses=problems(404, 503))
def read_request(office: TheOffice, place: ThePlace) -> Question:
    """A question, as a labeller reads it; it stays free for others."""
    with office.desk.looking():
        entry = office.desk.questions.get(place)
    return office.letters.question(entry)


@router.post("/requests/{partition}/{offset}/hold", responses=_WRITES)
def hold_request(office: TheOffice, place: ThePlace, hold: Hold) -> Held:
    """Keep a question for one more lease."""
    with office.desk.changing():
        return Held(seconds=office.desk.questions.hold(place, Holder(hold.labeller, hold.seat), time.monotonic()))


@router.post("/requests/{partition}/{offset}/release", status_code=204, responses=_WRITES)
def release_request(office: TheOffice, place: ThePlace, hold: Hold) -> None:
    """Let go of a question: somebody else may have it."""
    with office.desk.changing():
        office.desk.questions.release(place, Holder(hold.labeller, hold.seat))


@router.post("/requests/{partition}/{offset}/reopen", responses=_WRITES)
def reopen_request(office: TheOffice, place: ThePlace, hold: Hold) -> Question:
    """Take up an answer of one's own again; the next label is a correction."""
    with office.desk.changing():
        entry = office.desk.questions.reopen(place, Holder(hold.labeller, hold.seat), time.monotonic())
    return office.letters.question(entry, office.desk.questions.lease)


@router.post("/requests/{partition}/{offset}/label", responses=_WRITES)
def label_request(office: TheOffice, place: ThePlace, say: Say) -> Sent:
    """Answer a question: the label is in the log when this returns."""
    return office.answer(place, say)


@router.get("/changes", responses=problems())
def read_changes(office: TheOffice, labeller: Annotated[Labeller | None, Query()] = None) -> Changes:
    """What the answers of today changed."""
    return office.changes(labeller)


def _summary(entry: Entry, now: float) -> Summary:
    request = entry.request
    return Summary(
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
