"""The page as one application: its routes, its files, how it says what is wrong, and the guard before all of it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from stream_bayes import __version__
from stream_bayes.config import Settings
from stream_bayes.errors import BackgroundError, LogError, SnapshotError, StreamBayesError, reason_of
from stream_bayes.web.api import health, insight, label_requests
from stream_bayes.web.api.schemas import Problem
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.login import login_router
from stream_bayes.web.security.middleware import SecurityMiddleware
from stream_bayes.web.services.labeling_service import LabelingService

logger = logging.getLogger("stream_bayes.web")

_STATIC = Path(__file__).parents[1] / "static"
_DESCRIPTION = """\
Questions of a worker to people, their answers, and how the worker is doing.

Where the page has a token, send it as `Authorization: Bearer TOKEN`. Without that header every write needs the field
`X-CSRF-Token` with what `/api/session` says. Nothing here writes anything but labels.
"""
# By the code of an error; every other one that the package raises on purpose is the caller's.
_STATUS: Mapping[str, int] = {
    "unknown": 404,
    "no-model": 404,
    "no-posterior": 404,
    "taken": 409,
    "answered": 409,
    "not-yours": 409,
    "cannot-unsay": 409,
}
_MAX_DETAIL = 500


def make_app(settings: Settings, access: Authenticator, failures: list[BackgroundError] | None = None) -> ASGIApp:
    """The application, which follows the log while it runs; a background thread that fails is added to `failures`."""
    return SecurityMiddleware(_routes(settings, access, failures), access)


def _routes(settings: Settings, access: Authenticator, failures: list[BackgroundError] | None) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with LabelingService(settings, failures) as office:
            app.state.office = office
            yield

    app = FastAPI(
        title="stream_bayes",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.access = access
    for router in (label_requests.router, insight.router, health.router, login_router(access)):
        app.include_router(router)
    app.add_api_route("/", _index, include_in_schema=False, response_class=FileResponse)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _not_found)
    app.add_exception_handler(StreamBayesError, _refused)
    app.add_exception_handler(OSError, _broken)
    return app


def _index() -> FileResponse:
    return FileResponse(_STATIC / "index.html")


def _said(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    problem = Problem(code=code, detail=detail[:_MAX_DETAIL])
    return JSONResponse(problem.model_dump(), status, dict(headers or {}))


async def _not_valid(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    return _said(422, "invalid", "; ".join(map(_place_and_reason, problem.errors()[:5])))


def _place_and_reason(error: Any) -> str:
    """What is wrong with which field; never what was sent."""
    place = ".".join(str(part) for part in error["loc"] if part != "body")
    return f"{ascii(place)[1:-1]}: {error['msg']}" if place else str(error["msg"])


async def _not_found(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HTTPException)
    return _said(problem.status_code, "http", str(problem.detail), problem.headers)


async def _refused(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, StreamBayesError)
    if isinstance(problem, LogError | SnapshotError):
        return _unavailable(problem.code, problem)
    return _said(_STATUS.get(problem.code, 422), problem.code, str(problem))


def _unavailable(code: str, problem: Exception) -> JSONResponse:
    """Where it is on this machine and what its operator can do is for the operator."""
    logger.warning("the log cannot be used", extra={"fields": {"reason": reason_of(problem)}})
    detail = "The log cannot be used right now. What was sent may be written all the same: send it again."
    return _said(503, code, detail)


async def _broken(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, OSError)
    return _unavailable("unavailable", problem)
