"""What there is to see: the state of the worker, charts, opinions and posteriors, and news of all of it."""

from __future__ import annotations

import asyncio
import binascii
import json
import time
from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from stream_bayes.errors import InputError
from stream_bayes.events import Observation
from stream_bayes.web.api.chart_schemas import Charts, SessionBody, StatusBody
from stream_bayes.web.api.dependencies import TheOffice, problems
from stream_bayes.web.api.schemas import DensityBody, PredictionBody, TryRequest
from stream_bayes.web.services.labeling_service import LabelingService

router = APIRouter(prefix="/api", tags=["insight"])
_NEWS_EVERY = 0.5
_ALIVE_EVERY = 15.0
"""Seconds between two events at least, and between two signs of life at most."""
_TRIED = "tried"


@router.get("/session", responses=problems())
def read_session(request: Request, office: TheOffice) -> SessionBody:
    """What a page needs to know before anything else."""
    return office.session(request.app.state.access)


@router.get("/status", responses=problems())
def read_status(office: TheOffice) -> StatusBody:
    """How the worker and the page are doing."""
    return office.state()


@router.get("/charts", responses=problems())
def read_charts(office: TheOffice) -> Charts:
    """Everything that the charts draw."""
    return office.charts()


@router.get("/posterior", responses=problems(404))
def read_posterior(
    office: TheOffice,
    kind: Annotated[str, Query(max_length=40, description="word, sender, host, feature or weight.")],
    text: Annotated[str, Query(min_length=1, max_length=500)],
    partition: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
) -> DensityBody:
    """The posterior of something that the newest checkpoint knows, as a density."""
    return office.models.posterior(kind, text, partition)


@router.post("/predict", responses=problems(403, 404, 503))
def predict(office: TheOffice, tried: TryRequest) -> PredictionBody:
    """What the newest checkpoint believes of something; nothing is learned from it."""
    return office.models.opinion(_observation(tried), tried.partition)


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "News, as they come."}, **problems()},
)
async def follow_events(request: Request, office: TheOffice) -> StreamingResponse:
    """Server-sent events: `change`, with a version and the number of open questions, whenever something is new."""
    return StreamingResponse(_news(request, office), media_type="text/event-stream")


async def _news(request: Request, office: LabelingService) -> AsyncIterator[bytes]:
    seen = -1
    alive = time.monotonic()
    while not await request.is_disconnected():
        version = office.desk.version
        if version != seen:
            seen = version
            alive = time.monotonic()
            yield _event({"version": version, "open": len(office.desk.questions)})
        elif time.monotonic() > alive + _ALIVE_EVERY:
            alive = time.monotonic()
            yield b": alive\n\n"
        await asyncio.sleep(_NEWS_EVERY)


def _event(content: dict[str, Any]) -> bytes:
    return f"event: change\ndata: {json.dumps(content)}\n\n".encode()


def _observation(tried: TryRequest) -> Observation:
    raw = None
    if tried.raw is not None:
        try:
            raw = b64decode(tried.raw, validate=True)
        except (binascii.Error, ValueError) as problem:
            message = f"raw is no base64: {problem}"
            raise InputError(message) from problem
    sent = tried.model_dump(include={"text", "features", "subject", "sender"})
    try:
        return Observation(id=_TRIED, raw=raw, **sent)
    except ValidationError as problem:
        message = "; ".join(error["msg"] for error in problem.errors()[:3])
        raise InputError(message) from problem
