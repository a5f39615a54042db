"""The ASGI application: routes, static files, error handlers, and the security middleware before all of it."""

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
from stream_bayes.web.api import routes
from stream_bayes.web.schemas import Problem
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.login import login_router
from stream_bayes.web.security.middleware import (
    BodyLimit,
    ConcurrencyLimit,
    CsrfCheck,
    ErrorResponses,
    HeadCheck,
    HostCheck,
    MediaTypeCheck,
    RejectWebSockets,
    SecurityHeaders,
    TokenCheck,
)
from stream_bayes.web.services.labelling_service import LabellingService

logger = logging.getLogger("stream_bayes.web")

_STATIC = Path(__file__).parents[1] / "static"
_DESCRIPTION = """\
Label requests of a worker, the labels that people submit, and the state of the worker.

Where the page has a token, send it as `Authorization: Bearer TOKEN`. Without that header every write needs the field
`X-CSRF-Token` with the value of `/api/session`. Nothing here writes anything but labels.
"""
# By the code of an error. Every other expected error is 422.
_STATUS: Mapping[str, int] = {
    "unknown": 404,
    "no-model": 404,
    "no-posterior": 404,
    "leased": 409,
    "answered": 409,
    "not-yours": 409,
    "cannot-withdraw": 409,
}
_MAX_DETAIL = 500
_MAX_REQUESTS = 1000
_MAX_STREAMS = 400
_BODY_SECONDS = 30.0


def make_app(
    settings: Settings, authenticator: Authenticator, failures: list[BackgroundError] | None = None
) -> ASGIApp:
    """Return the application, which follows the log while it runs.

    The error of a background thread that fails is added to `failures`.
    """
    return secure(_fastapi_app(settings, authenticator, failures), authenticator)


def secure(
    app: ASGIApp,
    authenticator: Authenticator,
    *,
    max_requests: int = _MAX_REQUESTS,
    max_streams: int = _MAX_STREAMS,
    body_seconds: float = _BODY_SECONDS,
) -> RejectWebSockets:
    """Compose the security middleware around an application, from the inside to the outside.

    Parameters
    ----------
    app
        The application behind the checks.
    authenticator
        Who may use it, and under which host names.
    max_requests
        Requests that are answered at once. Health checks are always answered.
    max_streams
        Event streams that are open at once, besides those requests.
    body_seconds
        The longest time for a body to arrive.
    """
    app = BodyLimit(app, body_seconds)
    app = MediaTypeCheck(app)
    app = CsrfCheck(app, authenticator)
    app = TokenCheck(app, authenticator)
    app = ConcurrencyLimit(app, max_requests, max_streams)
    app = HostCheck(app, authenticator)
    app = HeadCheck(app)
    app = ErrorResponses(app)
    app = SecurityHeaders(app)
    return RejectWebSockets(app)


def _fastapi_app(settings: Settings, authenticator: Authenticator, failures: list[BackgroundError] | None) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with LabellingService(settings, failures) as service:
            app.state.service = service
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
    app.state.authenticator = authenticator
    for router in (routes.label_requests, routes.insight, routes.health, login_router(authenticator)):
        app.include_router(router)
    app.add_api_route("/", _index, include_in_schema=False, response_class=FileResponse)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(StreamBayesError, _package_error)
    app.add_exception_handler(OSError, _os_error)
    return app


def _index() -> FileResponse:
    return FileResponse(_STATIC / "index.html")


def _problem_response(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    problem = Problem(code=code, detail=detail[:_MAX_DETAIL])
    return JSONResponse(problem.model_dump(), status, dict(headers or {}))


async def _validation_error(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    return _problem_response(422, "invalid", "; ".join(map(_field_and_reason, problem.errors()[:5])))


def _field_and_reason(error: Any) -> str:
    """Return the field and what is wrong with it, without the value that was sent."""
    field = ".".join(str(part) for part in error["loc"] if part != "body")
    return f"{ascii(field)[1:-1]}: {error['msg']}" if field else str(error["msg"])


async def _http_error(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HTTPException)
    return _problem_response(problem.status_code, "http", str(problem.detail), problem.headers)


async def _package_error(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, StreamBayesError)
    if isinstance(problem, LogError | SnapshotError):
        return _unavailable(problem.code, problem)
    return _problem_response(_STATUS.get(problem.code, 422), problem.code, str(problem))


def _unavailable(code: str, problem: Exception) -> JSONResponse:
    """Log the reason, which may name paths of this machine, and return a response without it."""
    logger.warning("the log cannot be used", extra={"fields": {"reason": reason_of(problem)}})
    detail = "The log cannot be used right now. What was sent may have been written: send it again."
    return _problem_response(503, code, detail)


async def _os_error(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, OSError)
    return _unavailable("unavailable", problem)
