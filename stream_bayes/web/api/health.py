"""For machines that look whether all is well: /healthz, /readyz and /metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from stream_bayes.web.api.chart_schemas import Ready
from stream_bayes.web.api.dependencies import TheOffice, problems
from stream_bayes.web.api.metrics import CONTENT_TYPE, exposition

router = APIRouter(tags=["health"])
# Nobody needs a token here: what is wrong with the log is told to those who have one.
_READY = {
    (True, True): "ready",
    (False, True): "the log cannot be read",
    (False, False): "the log has not been read yet",
}


@router.get("/healthz")
async def live() -> Ready:
    """The page is running."""
    return Ready(ready=True, detail="running")


@router.get("/readyz", responses={503: {"model": Ready}})
async def ready(office: TheOffice) -> Response:
    """The page has read the log, and can read it."""
    desk = office.desk
    well = desk.ready and desk.problem is None
    body = Ready(ready=well, detail=_READY[well, desk.ready])
    return JSONResponse(body.model_dump(), 200 if well else 503)


@router.get("/metrics", response_class=PlainTextResponse, responses=problems())
def metrics(request: Request, office: TheOffice) -> Response:
    """The counters of the worker and of the page, for Prometheus."""
    failures = request.app.state.access.failures.total
    return Response(exposition(office.desk, office.silent_after, failures), media_type=CONTENT_TYPE)
