"""For machines that look whether all is well: /healthz, /readyz and /metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from stream_bayes.web.exposition import CONTENT_TYPE, exposed
from stream_bayes.web.figures import Ready
from stream_bayes.web.routes.shared import TheOffice, problems

router = APIRouter(tags=["health"])


@router.get("/healthz")
def live() -> Ready:
    """The page is running."""
    return Ready(ready=True, detail="running")


@router.get("/readyz", responses={503: {"model": Ready}})
def ready(office: TheOffice) -> Response:
    """The page has read the log, and can read it."""
    desk = office.desk
    well = desk.ready and desk.problem is None
    body = Ready(ready=well, detail=desk.problem or ("ready" if desk.ready else "the log is still being read"))
    return JSONResponse(body.model_dump(), 200 if well else 503)


@router.get("/metrics", response_class=PlainTextResponse, responses=problems())
def metrics(request: Request, office: TheOffice) -> Response:
    """The counters of the worker and of the page, for Prometheus."""
    failures = request.app.state.access.failures.total
    return Response(exposed(office.desk, office.silent_after, failures), media_type=CONTENT_TYPE)
