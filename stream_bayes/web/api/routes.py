"""Routes of the HTTP API: label requests, state of the worker, charts, predictions, posteriors, events and health.

A new route goes here, with its bodies in `schemas` and its work in a service.
"""

from __future__ import annotations

import asyncio
import binascii
import json
import time
from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import ValidationError

from stream_bayes.errors import InputError
from stream_bayes.events import Observation
from stream_bayes.mail.render.sanitize import visible
from stream_bayes.web import schemas
from stream_bayes.web.api.metrics import exposition
from stream_bayes.web.readmodel.request_queue import LeaseOwner, PartitionOffset, QueuedRequest
from stream_bayes.web.services.labelling_service import LabellingService

_EVENT_SECONDS = 0.5
_KEEP_ALIVE_SECONDS = 15.0
"""Seconds between two events at least, and between two keep-alive comments at most."""
_OBSERVATION_ID = "tried"
# No token is needed for it, so that the reason is left out.
_READINESS = {
    (True, True): "ready",
    (False, True): "the log cannot be read",
    (False, False): "the log has not been read yet",
}


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route, for the OpenAPI description."""
    return {code: {"model": schemas.Problem} for code in (*codes, 400, 401, 413, 415, 421, 422, 429)}


async def _service(request: Request) -> LabellingService:
    service = request.app.state.service
    assert isinstance(service, LabellingService)
    return service


def _place(
    partition: Annotated[int, Path(ge=0, lt=2**31, description="Of the observation of the label request.")],
    offset: Annotated[int, Path(ge=0, lt=2**63)],
) -> PartitionOffset:
    return partition, offset


ServiceDependency = Annotated[LabellingService, Depends(_service)]
PlaceDependency = Annotated[PartitionOffset, Depends(_place)]

label_requests = APIRouter(prefix="/api", tags=["label requests"])
insight = APIRouter(prefix="/api", tags=["insight"])
health = APIRouter(tags=["health"])
_WRITE_PROBLEMS = problems(403, 404, 409, 503)


@label_requests.get("/requests", responses=problems())
def list_requests(service: ServiceDependency, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> schemas.RequestList:
    """The open label requests, the highest score first."""
    now = time.monotonic()
    with service.store.read_lock():
        waiting, leased = service.store.queue.count(now)
        listed = service.store.queue.waiting()[:limit]
        requests = tuple(_summary(queued, now) for queued in listed)
    return schemas.RequestList(open=waiting, leased=leased, requests=requests)


@label_requests.post("/requests/next", responses=_WRITE_PROBLEMS)
def take_next(service: ServiceDependency, take: schemas.TakeRequest) -> schemas.NextRequest:
    """Lease the next label request to a labeller."""
    skip = frozenset((place.partition, place.offset) for place in take.skip)
    return service.next(LeaseOwner(take.labeller, take.session_id), skip)


@label_requests.get("/requests/{partition}/{offset}", responses=problems(404, 503))
def read_request(service: ServiceDependency, place: PlaceDependency) -> schemas.RequestBody:
    """A label request as a labeller reads it, without a lease."""
    with service.store.read_lock():
        queued = service.store.queue.get(place)
    return service.observation_view.request_body(queued)


@label_requests.post("/requests/{partition}/{offset}/renew", responses=_WRITE_PROBLEMS)
def renew_lease(service: ServiceDependency, place: PlaceDependency, lease: schemas.LeaseRequest) -> schemas.LeaseBody:
    """Renew the lease of a label request."""
    owner = LeaseOwner(lease.labeller, lease.session_id)
    with service.store.write_lock():
        seconds = service.store.queue.renew(place, owner, time.monotonic())
    return schemas.LeaseBody(seconds=seconds)


@label_requests.post("/requests/{partition}/{offset}/release", status_code=204, responses=_WRITE_PROBLEMS)
def release_lease(service: ServiceDependency, place: PlaceDependency, lease: schemas.LeaseRequest) -> None:
    """Release a label request, so that another labeller can have it."""
    with service.store.write_lock():
        service.store.queue.release(place, LeaseOwner(lease.labeller, lease.session_id))


@label_requests.post("/requests/{partition}/{offset}/reopen", responses=_WRITE_PROBLEMS)
def reopen_request(
    service: ServiceDependency, place: PlaceDependency, lease: schemas.LeaseRequest
) -> schemas.RequestBody:
    """Reopen a label request that this labeller answered. The next label is a correction."""
    store = service.store
    with store.write_lock():
        queued = store.queue.reopen(place, LeaseOwner(lease.labeller, lease.session_id), time.monotonic())
    return service.observation_view.request_body(queued, store.queue.lease)


@label_requests.post("/requests/{partition}/{offset}/label", responses=_WRITE_PROBLEMS)
def submit_label(
    service: ServiceDependency, place: PlaceDependency, submission: schemas.LabelSubmission
) -> schemas.LabelReceipt:
    """Answer a label request: the label is in the log when this returns."""
    return service.submit(place, submission)


@label_requests.get("/daily-stats", responses=problems())
def read_daily_stats(
    service: ServiceDependency, labeller: Annotated[schemas.Labeller | None, Query()] = None
) -> schemas.DailyStatsBody:
    """The labels of today, and the error rates before and after them."""
    return service.daily_stats(labeller)


@insight.get("/session", responses=problems())
def read_session(request: Request, service: ServiceDependency) -> schemas.SessionBody:
    """The session of the page at its start: the CSRF token, the learner's kind, the length of a lease."""
    return service.session(request.app.state.authenticator)


@insight.get("/status", responses=problems())
def read_status(service: ServiceDependency) -> schemas.StatusBody:
    """The state of the worker and of the page."""
    return service.status()


@insight.get("/charts", responses=problems())
def read_charts(service: ServiceDependency) -> schemas.Charts:
    """The data of all charts."""
    return service.charts()


@insight.get("/posterior", responses=problems(404))
def read_posterior(
    service: ServiceDependency,
    kind: Annotated[str, Query(max_length=40, description="word, sender, host, feature or weight.")],
    text: Annotated[str, Query(min_length=1, max_length=500)],
    partition: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
) -> schemas.DensityBody:
    """The posterior density of a word, sender, host, feature or weight, by the newest checkpoint."""
    return service.models.posterior(kind, text, partition)


@insight.post("/predict", responses=problems(403, 404, 503))
def predict(service: ServiceDependency, tried: schemas.TryRequest) -> schemas.PredictionBody:
    """The prediction of the newest checkpoint for an observation. Nothing is learned from it."""
    return service.models.predict(_observation(tried), tried.partition)


@insight.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Changes, as they come."}, **problems()},
)
async def follow_events(request: Request, service: ServiceDependency) -> StreamingResponse:
    """Server-sent events: `change`, with a version and the number of open label requests, after every change."""
    return StreamingResponse(_changes(request, service), media_type="text/event-stream")


@health.get("/healthz")
async def live() -> schemas.Ready:
    """Liveness: the page is running."""
    return schemas.Ready(ready=True, detail="running")


@health.get("/readyz", responses={503: {"model": schemas.Ready}})
async def ready(service: ServiceDependency) -> Response:
    """Readiness: the page has read the log to its end, and can read it now."""
    store = service.store
    is_ready = store.ready and store.problem is None
    body = schemas.Ready(ready=is_ready, detail=_READINESS[is_ready, store.ready])
    return JSONResponse(body.model_dump(), 200 if is_ready else 503)


@health.get("/metrics", response_class=PlainTextResponse, responses=problems())
def metrics(request: Request, service: ServiceDependency) -> Response:
    """The metrics of the worker and of the page, for Prometheus."""
    failures = request.app.state.authenticator.failures.total
    return Response(exposition(service.store, service.silent_after, failures), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _summary(queued: QueuedRequest, now: float) -> schemas.RequestSummary:
    request = queued.request
    return schemas.RequestSummary(
        place=schemas.RequestPlace(partition=queued.place[0], offset=queued.place[1]),
        id=visible(request.id),
        subject=None if request.subject is None else visible(request.subject),
        variance=request.variance,
        score=queued.score,
        probabilities=request.probabilities,
        mean=request.mean,
        requested_at=queued.requested_at,
        leased=queued.is_leased(now),
    )


async def _changes(request: Request, service: LabellingService) -> AsyncIterator[bytes]:
    seen = -1
    last_sent = time.monotonic()
    while not await request.is_disconnected():
        version = service.store.version
        if version != seen:
            seen = version
            last_sent = time.monotonic()
            yield _event({"version": version, "open": len(service.store.queue)})
        elif time.monotonic() > last_sent + _KEEP_ALIVE_SECONDS:
            last_sent = time.monotonic()
            yield b": alive\n\n"
        await asyncio.sleep(_EVENT_SECONDS)


def _event(content: dict[str, Any]) -> bytes:
    return f"event: change\ndata: {json.dumps(content)}\n\n".encode()


def _observation(tried: schemas.TryRequest) -> Observation:
    raw = None
    if tried.raw is not None:
        try:
            raw = b64decode(tried.raw, validate=True)
        except (binascii.Error, ValueError) as problem:
            message = f"raw is no base64: {problem}"
            raise InputError(message) from problem
    fields = tried.model_dump(include={"text", "features", "subject", "sender"})
    try:
        return Observation(id=_OBSERVATION_ID, raw=raw, **fields)
    except ValidationError as problem:
        message = "; ".join(error["msg"] for error in problem.errors()[:3])
        raise InputError(message) from problem
